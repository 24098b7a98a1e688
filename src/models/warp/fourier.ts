/**
 * Convolution by Fourier transforms computed as matrix products. A transform of N = n1 n2 numbers is a
 * transform of length n1, multiplication by twiddle factors, and a transform of length n2 (Bailey, "FFTs in
 * external or hierarchical memory", 1990: the four-step form). Its transpositions are omitted, because the
 * order of frequencies does not matter for a product. For a real series, half of the frequencies determine
 * the others. A transform then takes 2.5 N^(3/2) multiplications, whereas the direct product takes N^2 / 8.
 */
import { currentDevice } from "../../device/current.ts";
import type { Device } from "../../device/device.ts";
import type { DType } from "../../device/dtype.ts";
import { arange, tensor } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { record, withoutRecording } from "../../tensor/primitive.ts";
import { keep, tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Sizes of a transform of length N = `first * second`. */
interface TransformSizes {
  readonly first: number;
  readonly second: number;
  /**
   * Number of rows of the padded series as a matrix of `second` columns, without rows that contain only padding.
   */
  readonly rows: number;
  /** Number of frequencies of the first factor that are computed. Symmetry determines the others. */
  readonly half: number;
}

/** Sizes of a transform of a series padded to at least twice its length, which avoids wrap-around. */
function transformSizes(length: number): TransformSizes {
  const first = Math.ceil(Math.sqrt(2 * length - 1));
  const second = Math.ceil((2 * length - 1) / first);
  return { first, second, rows: Math.ceil(length / second), half: Math.floor(first / 2) + 1 };
}

/** Multiplications of one transform or inverse transform of a series. */
export function transformCost(length: number): number {
  const { second, rows, half } = transformSizes(length);
  return 2 * half * rows * second + half * (2 * second) ** 2;
}

/** Multiplications of a product of a spectrum with that of a kernel. */
export function spectrumCost(length: number): number {
  const { second, half } = transformSizes(length);
  return 4 * half * second;
}

/** Maximum number of elements of the spectra that are computed at once. The batch is split accordingly. */
const maxSpectrumElements = 2 ** 24;

/**
 * y_t = sum over l <= t of K_l u_(t-l).
 *
 * @param u `(batch, length, inputs)`.
 * @param kernel `(length, inputs, D)`.
 * @returns `(batch, length, D)`.
 */
export function convolveByFourier(u: Tensor, kernel: Tensor): Tensor {
  const [batch, length, inputs] = u.shape;
  const each = Math.max(
    1,
    Math.floor(maxSpectrumElements / (2 * length * Math.max(inputs, kernel.shape[2]))),
  );
  const parts = <T>(f: (from: number, to: number) => T) =>
    Array.from({ length: Math.ceil(batch / each) }, (_, i) => f(i * each, Math.min(batch, (i + 1) * each)));
  const output = withoutRecording(() =>
    tidy(() => {
      const convolve = convolutionWith(kernel);
      return concatenate(parts((from, to) => tidy(() => convolve(u.slice(0, from, to)))));
    })
  );
  // Both gradients are also convolutions, backwards in time.
  record([u, kernel], [output], ([cotangent], wanted) =>
    tidy(() => {
      const reversed = cotangent!.flip(1);
      const ofKernel = (from: number, to: number) =>
        convolveByFourier(u.slice(0, from, to).transpose(0, 2), reversed.slice(0, from, to).transpose(0, 1));
      return [
        wanted[0] ? convolveByFourier(reversed, kernel.transpose(1, 2)).flip(1) : undefined,
        wanted[1] ? parts(ofKernel).reduce((sum, part) => sum.add(part)).flip(1).transpose(0, 1) : undefined,
      ];
    }));
  return output;
}

/** Returns the convolution with a fixed kernel. */
function convolutionWith(kernel: Tensor): (u: Tensor) => Tensor {
  const [length, inputs, size] = kernel.shape;
  const transform = new Transform(length, kernel.dtype);
  // The rounding error of a transform is relative to its largest elements. If the kernel grows, scale kernel
  // and input by exp(-growth t) and the output by exp(growth t).
  const growth = growthOf(kernel).mul(arange(length, { dtype: kernel.dtype })).reshape([length, 1, 1]);
  const weight = growth.neg().exp();
  const kernelSpectrum = transform.apply(kernel.mul(weight).flatten(1)).reshape([-1, 2 * inputs, size]);
  return (u) => {
    const series = u.shape[0];
    const spectrum = transform.weigh(transform.apply(u.transpose(0, 1).mul(weight).flatten(1)));
    const [real, imaginary] = [0, 1].map((k) => spectrum.select(1, k).reshape([-1, series, inputs]));
    // Complex numbers as 2 by 2 matrices, times the real and imaginary rows of the kernel.
    const matrices = concatenate([
      concatenate([real, imaginary.neg()], 2),
      concatenate([imaginary, real], 2),
    ], 1);
    return transform.transposed(matrices.matmul(kernelSpectrum)).reshape([length, series, size])
      .mul(growth.exp()).transpose(0, 1);
  };
}

/** Growth per step of the logarithm of the kernel's size, zero if the kernel decays: `()`. */
function growthOf(kernel: Tensor): Tensor {
  const length = kernel.shape[0];
  const quarter = Math.ceil(length / 4);
  const largest = (from: number, to: number) => kernel.slice(0, from, to).abs().max().add(1e-30);
  const ratio = largest(length - quarter, length).div(largest(0, quarter));
  return ratio.log().div(Math.max(1, length - quarter)).maximum(0);
}

/** The matrices of transforms of one length. */
class Transform {
  readonly #length: number;
  readonly #sizes: TransformSizes;
  /** `(2 half, rows)`. */
  readonly #first: Tensor;
  /** `(half, 2 second, 2 second)`, including the twiddle factors. */
  readonly #second: Tensor;
  /** Factors that make the transposed transform the inverse transform: `(frequencies, 1, 1)`. */
  readonly #weights: Tensor;

  constructor(length: number, dtype: DType) {
    this.#length = length;
    this.#sizes = transformSizes(length);
    [this.#first, this.#second, this.#weights] = matricesOf(length, this.#sizes, dtype);
  }

  /** Maps `(length, series)` to `(frequencies, 2, series)`: real and imaginary parts. */
  apply(x: Tensor): Tensor {
    const { second, rows, half } = this.#sizes;
    const series = x.shape[1];
    const padded = x.pad([[0, rows * second - this.#length], [0, 0]]).reshape([rows, second * series]);
    const turned = this.#first.matmul(padded).reshape([half, 2 * second, series]);
    return this.#second.matmul(turned).reshape([half * second, 2, series]);
  }

  /** The transposed map, `(frequencies, 2, series)` to `(length, series)`. Axes may be flattened. */
  transposed(spectrum: Tensor): Tensor {
    const { second, rows, half } = this.#sizes;
    const turned = this.#second.mT.matmul(spectrum.reshape([half, 2 * second, -1]));
    return this.#first.mT.matmul(turned.reshape([2 * half, -1])).reshape([rows * second, -1])
      .slice(0, 0, this.#length);
  }

  /** Multiplies frequencies by factors so that {@linkcode transposed} inverts the transform. */
  weigh(spectrum: Tensor): Tensor {
    return spectrum.mul(this.#weights);
  }
}

/** Caches the most recent matrices of each device, because training requests the same matrices repeatedly. */
const cache = new WeakMap<Device, { name: string; matrices: Tensor[] }>();

function matricesOf(length: number, sizes: TransformSizes, dtype: DType): Tensor[] {
  const device = currentDevice();
  const name = `${length} ${dtype}`;
  const cached = cache.get(device);
  if (cached?.name === name) return cached.matrices;
  const matrices = withoutRecording(() => makeMatrices(sizes, dtype)).map((x) => keep(x));
  cache.set(device, { name, matrices });
  return matrices;
}

function makeMatrices({ first, second, rows, half }: TransformSizes, dtype: DType): Tensor[] {
  const toFirst = new Float64Array(2 * half * rows);
  for (let k = 0; k < half; k++) {
    for (let j = 0; j < rows; j++) {
      const angle = 2 * Math.PI * (k * j % first) / first;
      toFirst[2 * k * rows + j] = Math.cos(angle);
      toFirst[(2 * k + 1) * rows + j] = -Math.sin(angle);
    }
  }
  const total = first * second;
  const side = 2 * second;
  const toSecond = new Float64Array(half * side * side);
  for (let k1 = 0; k1 < half; k1++) {
    for (let k2 = 0; k2 < second; k2++) {
      // Rows alternate real and imaginary parts of frequencies. Columns hold all real parts, then all
      // imaginary parts.
      const real = (k1 * side + 2 * k2) * side;
      const imaginary = real + side;
      for (let j = 0; j < second; j++) {
        const angle = 2 * Math.PI * (j * (k1 + first * k2) % total) / total;
        const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
        toSecond[real + j] = toSecond[imaginary + second + j] = cos;
        toSecond[real + second + j] = sin;
        toSecond[imaginary + j] = -sin;
      }
    }
  }
  // A frequency counts twice if its mirror image is omitted.
  const weights = Float64Array.from({ length: half * second }, (_, i) => {
    const k1 = Math.floor(i / second);
    return (k1 === 0 || 2 * k1 === first ? 1 : 2) / total;
  });
  return [
    tensor(toFirst, { shape: [2 * half, rows], dtype }),
    tensor(toSecond, { shape: [half, side, side], dtype }),
    tensor(weights, { shape: [half * second, 1, 1], dtype }),
  ];
}
