import { type Digits, pixelSeries, readDigits } from "../../data/mnist.ts";
import { type Key, key, permutationArray, split } from "../../tensor/random.ts";
import type { Splits } from "../../data/series.ts";
import type { Trajectories } from "../../data/trajectories.ts";
import type { ForecastFigure } from "../forecast_figure.ts";
import type { Experiment, Settings } from "./experiment.ts";
import { forecasting } from "./forecasting.ts";
import { forecastModel } from "./forecast_models.ts";

/** Every third row and column: 10 by 10 pixels. */
const every = 3;
const side = Math.ceil(28 / every);
/** The upper half. */
const context = 5 * side;
const series = { train: 4000, validation: 500, test: 1000 };

/** Completes the lower rows of handwritten digits, pixel by pixel, with an estimate of its uncertainty. */
export const mnistCompletion: Experiment = {
  name: "mnist-completion",
  summary: "handwritten digits (MNIST at 10 by 10) from their upper rows, pixel by pixel",
  defaults: {
    epochs: 60,
    batchSize: 50,
    learningRate: 0.0007,
    hidden: 16,
    drop: 0,
    data: "data/mnist",
    model: "warp",
  },
  async prepare(settings: Settings) {
    const [dataKey, modelKey] = split(key(settings.seed));
    const splits = await readSplits(settings.data!, dataKey);
    const model = forecastModel(settings.model!, {
      channels: 1,
      length: side * side,
      hidden: settings.hidden,
      root: { depth: 1, activation: "silu", frequencies: 5, previousInput: true },
      // As the paper's: the first pixel of a digit is black.
      initial: "learned",
      bound: "dynamicTanh",
      leastDeviation: 0.05,
      key: modelKey,
    });
    return forecasting({
      splits,
      model,
      settings,
      context,
      forcing: 0.25,
      trainFrom: context,
      deviations: true,
      draw: drawDigit,
    });
  },
};

/** Of the images to train on where they are there, otherwise all of those to test on: in any case the test images test. */
async function readSplits(folder: string, shuffleKey: Key): Promise<Splits<Trajectories>> {
  const test = await readDigits(folder, "t10k");
  if (!test) {
    throw new Error(
      `${folder}: expected a folder with MNIST's t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz, and perhaps those ` +
        "that begin with train: deno task download mnist",
    );
  }
  const train = await readDigits(folder, "train");
  const part = (digits: Digits, from: number, count: number) => {
    const order = permutationArray(shuffleKey, digits.shape[0]).subarray(from, from + count);
    const size = digits.shape[1] * digits.shape[2];
    const images = new Uint8Array(count * size);
    order.forEach((image, i) =>
      images.set(digits.images.subarray(image * size, (image + 1) * size), i * size)
    );
    const labels = Uint8Array.from(order, (image) => digits.labels[image]);
    return pixelSeries({ images, labels, shape: [count, digits.shape[1], digits.shape[2]] }, every);
  };
  const rest = train ?? test;
  return {
    test: part(test, 0, series.test),
    train: part(rest, series.test, series.train),
    validation: part(rest, series.test + series.train, series.validation),
  };
}

function drawDigit(truth: Float32Array, predicted: Float32Array, position: number): ForecastFigure {
  const grey = (value: number) => (value + 1) / 2;
  const pixels = (of: (pixel: number) => number) => Float64Array.from(truth, (_, pixel) => of(pixel));
  // Row t - 1 of the predictions, a mean and a deviation, is about pixel t.
  const after = (pixel: number, column: number) => predicted[2 * (pixel - 1) + column];
  return {
    title: `test digit ${position}`,
    images: [
      { name: "given", width: side, pixels: pixels((pixel) => pixel < context ? grey(truth[pixel]) : 0.5) },
      { name: "ground truth", width: side, pixels: pixels((pixel) => grey(truth[pixel])) },
      {
        name: "completion",
        width: side,
        pixels: pixels((pixel) => grey(pixel < context ? truth[pixel] : after(pixel, 0))),
      },
      {
        name: "deviation",
        width: side,
        pixels: pixels((pixel) => pixel < context ? 0 : after(pixel, 1)),
      },
    ],
  };
}
