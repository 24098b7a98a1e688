/** Convolutional conditional neural process on a grid of pixels (ConvCNP; Gordon et al., 2020, section 4). */
import {
  arange,
  concatenate,
  type ForecastCallOptions,
  type Key,
  type Layer,
  layer,
  Linear,
  type LinearParameters,
  parameter,
  splitKey,
  type Tensor,
  uniform,
} from "@weft/weft";

/** Rows and columns of the kernels: of the encoder, and of the residual blocks. */
const [encoderKernel, blockKernel] = [9, 5];
/** Smallest density that the signal is divided by. */
const leastDensity = 1e-5;

/** Sizes of a {@linkcode ConvCNP}. */
export interface ConvCNPOptions {
  /** Channels of a pixel. */
  readonly channels: number;
  /** Rows, and columns, of the images. */
  readonly side: number;
  /** Features of a pixel in the residual blocks. */
  readonly units: number;
  /** Number of residual blocks. */
  readonly layers: number;
  /** Number of random pixels of an image that are given in training. */
  readonly shots: number;
  /** Lower bound of the predicted standard deviations. */
  readonly leastDeviation: number;
  /** Random key of the initial parameters. */
  readonly key: Key;
}

/** Parameters of a {@linkcode ConvCNP}. */
export type ConvCNPParameters = {
  /** Kernel of the encoder for each channel, `(81, channels)`. Its absolute values are used. */
  readonly kernel: Tensor;
  /** Maps density and signal of a pixel to its features. */
  readonly input: LinearParameters;
  /** Convolutions of the residual blocks, as maps of 25 neighbours. */
  readonly blocks: readonly LinearParameters[];
  readonly output: LinearParameters;
};

/**
 * Predicts all pixels of an image at once from a set of given pixels. The encoder convolves the given pixels,
 * and their mask, with a positive kernel for each channel; the first divided by the second is the signal.
 * Residual blocks x + conv(relu(x)) then map mask and signal to means and standard deviations.
 *
 * It is called like a forecaster: maps images `(batch, side², channels)`, row by row, to `(batch, side², 2
 * channels)`, where prediction s is for pixel s + 1. With a key, in training, `shots` random pixels of each
 * image are given, otherwise the first `context` pixels.
 */
export function ConvCNP(
  options: ConvCNPOptions,
): Layer<[x: Tensor, call: ForecastCallOptions], ConvCNPParameters> {
  const { channels, side, units, layers, shots, leastDeviation, key } = options;
  const keys = splitKey(key, 3 + layers);
  const kernel = parameter(
    uniform(keys[0], [encoderKernel ** 2, channels]).mul(2 / encoderKernel ** 2),
  );
  const input = Linear({ inputs: 2 * channels, outputs: units, key: keys[1] });
  const output = Linear({ inputs: units, outputs: 2 * channels, key: keys[2] });
  const blocks = keys.slice(3).map((key) =>
    Linear({ inputs: blockKernel ** 2 * units, outputs: units, key })
  );
  const parameters = {
    ...{ kernel, input: input.parameters, output: output.parameters },
    blocks: blocks.map((block) => block.parameters),
  };
  return layer(parameters, (x: Tensor, { context = 1, key }: ForecastCallOptions) => {
    const [batch, length] = x.shape;
    const mask = key
      ? randomMask(key, batch, length, shots)
      : arange(length).less(context).cast("float32").reshape([1, length, 1]).broadcastTo([batch, length, 1]);
    const onGrid = (pixels: Tensor) => pixels.reshape([batch, side, side, channels]);
    const smooth = (pixels: Tensor) =>
      neighbours(pixels, encoderKernel).map((shifted, i) => shifted.mul(kernel.select(0, i).abs()))
        .reduce((sum, term) => sum.add(term));
    const density = smooth(onGrid(mask.broadcastTo(x.shape)));
    const signal = smooth(onGrid(x.mul(mask))).div(density.maximum(leastDensity));
    let features = input(concatenate([density, signal], -1));
    for (const block of blocks) {
      features = features.add(block(concatenate(neighbours(features.relu(), blockKernel), -1)));
    }
    const raw = output(features.relu()).reshape([batch, length, 2 * channels]);
    const means = raw.slice(-1, 0, channels);
    const predicted = concatenate([means, raw.slice(-1, channels).softplus().maximum(leastDeviation)], -1);
    // The last prediction is for a pixel after the image, which no loss reads.
    return concatenate([predicted.slice(1, 1), predicted.slice(1, length - 1)], 1);
  });
}

/** The number of parameters of a {@linkcode ConvCNP}. */
export function convCNPParameters({ channels, units, layers }: Omit<ConvCNPOptions, "key">): number {
  return encoderKernel ** 2 * channels + (2 * channels + 1) * units +
    layers * (blockKernel ** 2 * units + 1) * units + 2 * channels * (units + 1);
}

/** 1 for `shots` random pixels of each image, 0 for the others: `(batch, length, 1)`. */
function randomMask(key: Key, batch: number, length: number, shots: number): Tensor {
  const draws = uniform(key, [batch, length]);
  const largest = draws.sort(1).slice(1, shots - 1, shots);
  return draws.lessEqual(largest).cast("float32").expandDims(2);
}

/**
 * The neighbours of each pixel in a square of `size` rows, which is odd: `size²` images, in the order of rows and
 * columns. Outside of the image they are 0.
 *
 * @param pixels Shape `(batch, rows, columns, channels)`.
 */
function neighbours(pixels: Tensor, size: number): Tensor[] {
  const [, rows, columns] = pixels.shape;
  const margin = (size - 1) / 2;
  const padded = pixels.pad([[0, 0], [margin, margin], [margin, margin], [0, 0]]);
  return Array.from({ length: size ** 2 }, (_, i) => {
    const [row, column] = [Math.floor(i / size), i % size];
    return padded.slice(1, row, row + rows).slice(2, column, column + columns);
  });
}
