/** Mel-frequency cepstral coefficients: a short description of the spectrum of a sound in each window. */
import { checkOptions, namesOf } from "../device/options.ts";
import { checkCounts } from "../nn/layer.ts";
import { tensor } from "../tensor/creation.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Options of {@linkcode mfcc}. The defaults are from Kidger et al., 2020, appendix D.4. */
export interface MfccOptions {
  /**
   * Number of samples per second, an integer.
   *
   * @default {16000}
   */
  sampleRate?: number;
  /**
   * Number of coefficients per window, at most `mels`.
   *
   * @default {20}
   */
  coefficients?: number;
  /**
   * Number of samples per window, even.
   *
   * @default {200}
   */
  windowLength?: number;
  /** Number of samples from the start of a window to the start of the next; `windowLength / 2` by default. */
  hopLength?: number;
  /**
   * Number of triangular filters, equidistant on the mel scale from 0 to half the sample rate.
   *
   * @default {128}
   */
  mels?: number;
}

const mfccOptionNames = namesOf<MfccOptions>()(
  "sampleRate? coefficients? windowLength? hopLength? mels?",
);

/**
 * Mel-frequency cepstral coefficients as `torchaudio.transforms.MFCC` with `log_mels`.
 *
 * The windows are centred on the samples 0, `hopLength`, `2 * hopLength`, ... and the sound is mirrored at
 * both ends. Each window is multiplied by a periodic Hann window. Mel filters sum the power of its Fourier
 * transform. The logarithms of these sums plus 1e-6 go through an orthonormal discrete cosine transform of
 * type 2.
 *
 * @example
 * ```ts
 * import { zeros } from "@weft/weft";
 * import { mfcc } from "@weft/weft/data";
 *
 * console.log(mfcc(zeros([16000])).shape); // [20, 161]
 * ```
 *
 * @param waveform `(..., samples)`.
 * @returns `(..., coefficients, windows)`.
 * @throws {RangeError} If the waveform is not longer than half a window, or an option is outside its range.
 */
export function mfcc(waveform: Tensor, options: MfccOptions = {}): Tensor {
  checkOptions("mfcc", options, mfccOptionNames);
  const { sampleRate = 16000, coefficients = 20, windowLength = 200, mels = 128 } = options;
  const { hopLength = windowLength / 2 } = options;
  const samples = waveform.shape.at(-1) ?? 0;
  checkCounts("mfcc", { sampleRate, coefficients, windowLength, hopLength, mels });
  if (windowLength % 2 === 1) {
    throw new RangeError(`mfcc: windowLength ${windowLength}, expected an even one`);
  }
  if (coefficients > mels) {
    throw new RangeError(`mfcc: ${coefficients} coefficients of ${mels} mels, expected at most as many`);
  }
  if (samples <= windowLength / 2) {
    throw new RangeError(`mfcc: ${samples} samples, expected more than ${windowLength / 2}, half a window`);
  }
  const { dtype } = waveform;
  const matrix = (rows: number, columns: number, of: (row: number, column: number) => number) =>
    tensor(
      Float64Array.from({ length: rows * columns }, (_, i) => of(Math.floor(i / columns), i % columns)),
      { shape: [rows, columns], dtype },
    );
  const frequencies = windowLength / 2 + 1;
  const hann = (n: number) => 0.5 - 0.5 * Math.cos(2 * Math.PI * n / windowLength);
  // Reduce n k modulo the window length, so that the angles are small and exact.
  const angle = (n: number, k: number) => 2 * Math.PI * (n * k % windowLength) / windowLength;
  const filters = melFilters(sampleRate, frequencies, mels);
  return tidy(() => {
    const frames = framesOf(waveform, windowLength, hopLength);
    const real = frames.matmul(matrix(windowLength, frequencies, (n, k) => hann(n) * Math.cos(angle(n, k))));
    const imaginary = frames.matmul(
      matrix(windowLength, frequencies, (n, k) => hann(n) * Math.sin(angle(n, k))),
    );
    const power = real.mul(real).add(imaginary.mul(imaginary));
    const logarithms = power.matmul(matrix(frequencies, mels, filters)).add(1e-6).log();
    const cosines = matrix(
      mels,
      coefficients,
      (n, k) => Math.sqrt((k === 0 ? 1 : 2) / mels) * Math.cos(Math.PI * (n + 0.5) * k / mels),
    );
    return logarithms.matmul(cosines).transpose(-2, -1);
  });
}

/** Windows of a sound, mirrored at both ends: `(..., windows, windowLength)`. */
function framesOf(waveform: Tensor, windowLength: number, hopLength: number): Tensor {
  const samples = waveform.shape.at(-1)!;
  const windows = Math.floor(samples / hopLength) + 1;
  const sampleIndices = Int32Array.from({ length: windows * windowLength }, (_, i) => {
    const index = Math.abs(Math.floor(i / windowLength) * hopLength + i % windowLength - windowLength / 2);
    return index < samples ? index : 2 * (samples - 1) - index;
  });
  const indices = tensor(sampleIndices, { dtype: "int32", shape: [windows, windowLength] });
  return waveform.take(indices, -1);
}

/**
 * Weight of a frequency in a mel filter: a triangle from the centre of the previous filter to that of the
 * next.
 */
function melFilters(sampleRate: number, frequencies: number, mels: number) {
  const mel = (hertz: number) => 2595 * Math.log10(1 + hertz / 700);
  const hertz = (mel: number) => 700 * (10 ** (mel / 2595) - 1);
  const highest = Math.floor(sampleRate / 2);
  const centre = (filter: number) => hertz(mel(highest) * (filter + 1) / (mels + 1));
  return (bin: number, filter: number) => {
    const frequency = highest * bin / (frequencies - 1);
    const [left, middle, right] = [centre(filter - 1), centre(filter), centre(filter + 1)];
    return Math.max(
      0,
      Math.min((frequency - left) / (middle - left), (right - frequency) / (right - middle)),
    );
  };
}
