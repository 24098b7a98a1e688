import { OptionError } from "../../../src/device/errors.ts";
import { digestOf } from "../../../src/files/digest.ts";
import { type Digits, pixelSeries } from "../data/mnist.ts";
import { type Key, key, randpermArray, splitKey } from "../../../src/tensor/random.ts";
import { mapSplits, type Splits } from "../../../src/data/series.ts";
import {
  checkDataRecord,
  countSeen,
  type DataRecord,
  type RecordedSeries,
  requireSame,
} from "../../../src/series/data_record.ts";
import type { GreyImage } from "../../../src/charts/section.ts";
import type { Task } from "../../../src/train/task.ts";
import type { TrainedModel } from "../../../src/series/trained_model.ts";
import { type ModelExperiment, modelRules } from "../../../src/series/model_kind.ts";
import { forecastOptions, type ForecastSettings } from "./options.ts";
import { recipeDefaults } from "./recipe_defaults.ts";
import { forecaster, forecasting, toForecastBatch } from "./forecasting.ts";
import { type ForecastModel, forecastModel, forecastModels } from "../../../src/series/forecast_models.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { mnist, recurrent, s4 } from "../recipes/warp_images.ts";
import {
  fromTestImagesOption,
  type ImageSettings,
  readImages,
  readLearningImages,
  type Square,
  squareOf,
} from "./images.ts";

/** As in the paper's appendix C.1: means are fed back, in training too. */
const training = { forcing: 0.15, deviations: true };
const paper = valuesOf(mnist.rules);
const { leastDeviation } = paper;
const { gruUnits, lstmUnits } = valuesOf(recurrent.rules);
/** Settings of single models with the recipe. */
const ofModels = { gru: { units: gruUnits }, lstm: { units: lstmUnits }, s4d: valuesOf(s4.settings) };
/** Numbers of images. Settings can change the number of training images. */
const series = { train: 4000, validation: 500, test: 1000 };

/**
 * The contexts of the paper's table 1 (100, 300 and 600 of 784 pixels), scaled to images of `length` pixels.
 * Training does not depend on the context, because it feeds pixels at random positions.
 */
function paperContexts(length: number): Record<string, number> {
  return Object.fromEntries(
    [100, 300, 600].map((given) => [`after ${given}/784`, Math.round(length * given / 784)]),
  );
}

/** The pixels that are read of an image, and the number of context pixels. */
interface Pixels extends Square {
  readonly context: number;
}

/**
 * By default 10 by 10 pixels, with the upper half as context.
 *
 * @throws {OptionError} If `length` is not the size of a possible square, or the context covers all pixels.
 */
function pixelsOf({ length = 100, context = Math.floor(length / 2) }: ForecastSettings): Pixels {
  if (context >= length) {
    const expected = `less than the ${length} pixels`;
    throw new OptionError(
      "invalid-option",
      (write) => `${write("context")} ${context}: expected ${expected}`,
      {
        option: "context",
        expected,
      },
    );
  }
  return { ...squareOf(length), context };
}

/** Completes the lower rows of images pixel by pixel, with uncertainty. */
function imageCompletion(name: string, summary: string, data: string): ModelExperiment {
  return modelRules({
    name,
    summary,
    options: {
      ...forecastOptions(
        { epochs: 20, batchSize: 50, learningRate: 0.0001, hidden: 16, data, model: "warp" },
        ["data", "samples", "length", "context"],
      ),
      ...fromTestImagesOption,
    },
    checkRecord: checkDataRecord,
    models: () => forecastModels,
    prepare,
    open,
  }, recipeDefaults(mnist.settings, ofModels));
}

/** Completes images of the handwritten digits of MNIST. */
export const mnistCompletion: ModelExperiment = imageCompletion(
  "mnist-completion",
  "complete digits of MNIST, pixel by pixel",
  "data/mnist",
);

/** Completes images of the clothes of Fashion-MNIST. */
export const fashionMnistCompletion: ModelExperiment = imageCompletion(
  "fashion-mnist-completion",
  "complete images of Fashion-MNIST, pixel by pixel",
  "data/fashion-mnist",
);

async function prepare(settings: ForecastSettings & ImageSettings, earlier?: DataRecord): Promise<Task> {
  const [dataKey, modelKey] = splitKey(key(settings.seed));
  const pixels = pixelsOf(settings);
  const images = await readLearningImages(settings.data!, settings);
  const splits = chooseSplits(settings.data!, images, dataKey, {
    ...series,
    ...(settings.samples === undefined ? {} : { train: settings.samples }),
    // The paper tests on all test images.
    ...(settings.recipe === "paper" && images.train ? { test: images.test.shape[0] } : {}),
  });
  const recorded: DataRecord["split"] = {
    train: await recordDigits(splits.train),
    validation: await recordDigits(splits.validation),
    test: await recordDigits(splits.test),
  };
  if (earlier) requireSame(settings.data!, Object.values(recorded).flat(), earlier);
  const pixelsOfParts = mapSplits(splits, ({ digits }) => pixelSeries(digits, pixels.every));
  const task = forecasting({
    ...training,
    leastDeviation,
    context: pixels.context,
    otherContexts: paperContexts(pixels.side ** 2),
    splits: pixelsOfParts,
    record: earlier ?? {
      version: 1,
      // Maps pixels from 0 ... 255 to -1 ... 1.
      channels: [{ name: "grey", kind: "number", mean: 127.5, standardDeviation: 127.5 }],
      time: { kind: "number", origin: "first observation of each series", scale: 1 },
      length: pixelsOfParts.train.shape[1],
      classes: [],
      split: recorded,
      ignored: [],
    },
    model: modelOf(settings, modelKey),
    settings,
    draw: (examples) => ({
      ...{ kind: "images", title: "Completed test images" },
      groups: examples.map(({ position, truth, predicted }) => ({
        title: `test image ${position}`,
        images: drawImages(pixels, truth, predicted),
      })),
    }),
  });
  return {
    ...task,
    description: [...task.description ?? [], ...(images.notice ? [images.notice] : [])],
    ...(images.notice ? { notices: [images.notice] } : {}),
    async evaluatePredictions() {
      const { measures, baselines, ...rest } = await task.evaluatePredictions!();
      return {
        ...rest,
        measures: withUnitRange(measures),
        baselines: Object.fromEntries(
          Object.entries(baselines).map(([name, measures]) => [name, withUnitRange(measures)]),
        ),
      };
    },
  } as Task;
}

/**
 * Adds the errors of values from 0 to 1, which compare with the paper's table 1, to those of values from -1 to
 * 1: a quarter of squared errors, and one bit less per dimension.
 */
export function withUnitRange(measures: Readonly<Record<string, number>>): Record<string, number> {
  const added = Object.entries(measures).filter(([name]) => /^(mse|bpd) after/.test(name))
    .map(([name, value]) => [`${name} in [0, 1]`, name.startsWith("mse") ? value / 4 : value - 1]);
  return { ...measures, ...Object.fromEntries(added) };
}

function open(settings: ForecastSettings, record: DataRecord): TrainedModel {
  const { every, context } = pixelsOf(settings);
  return {
    ...forecaster({ ...training, context, model: modelOf(settings, splitKey(key(settings.seed))[1]) }),
    async samples(path: string) {
      const { test } = await readImages(path);
      const all = {
        file: "t10k",
        digits: test,
        positions: Array.from({ length: test.shape[0] }, (_, i) => i),
      };
      return {
        batches: [toForecastBatch(pixelSeries(test, every))],
        count: test.shape[0],
        seen: countSeen(await recordDigits(all), record),
        kind: "digit",
      };
    },
  };
}

function modelOf(settings: ForecastSettings, key: Key): ForecastModel {
  const { model, hidden, units, layers, depth = 1, clipWeights = 0.5, recipe } = settings;
  return forecastModel(model!, {
    channels: 1,
    length: pixelsOf(settings).side ** 2,
    hidden,
    units,
    layers,
    root: recipe === "paper"
      ? { depth, activation: paper.activation }
      : { depth, activation: "silu", frequencies: 5, previousInput: true },
    // As in the paper: the first pixel of a digit is black.
    initial: "learned",
    bound: "dynamicTanh",
    // Also as in the paper: an unusually large lower bound of the standard deviation, and clipped weights.
    leastDeviation,
    clipWeights,
    key,
  });
}

/** Selected digits of a file, with their positions in the file. */
interface Chosen {
  readonly file: string;
  readonly digits: Digits;
  readonly positions: readonly number[];
}

/**
 * Training, validation and test digits. The test set comes from MNIST's test images. The other sets come from
 * its training images, or from other test images if there are no training images to learn from.
 */
function chooseSplits(
  folder: string,
  { train, test }: Awaited<ReturnType<typeof readLearningImages>>,
  shuffleKey: Key,
  counts: Splits<number>,
): Splits<Chosen> {
  const part = (file: "train" | "t10k", digits: Digits, from: number, count: number): Chosen => {
    const there = digits.shape[0];
    if (from + count > there) {
      throw new OptionError(
        "invalid-option",
        `${folder}: ${there} images of ${file}, expected ${from + count}`,
        { option: "samples", fixes: [(write) => `choose fewer ${write("samples")}`] },
      );
    }
    const positions = [...randpermArray(shuffleKey, there).subarray(from, from + count)];
    const size = digits.shape[1] * digits.shape[2];
    const images = new Uint8Array(count * size);
    positions.forEach((image, i) =>
      images.set(digits.images.subarray(image * size, (image + 1) * size), i * size)
    );
    const labels = Uint8Array.from(positions, (image) => digits.labels[image]);
    return {
      file,
      digits: { images, labels, shape: [count, digits.shape[1], digits.shape[2]] },
      positions,
    };
  };
  // Of test images, the first ones of the shuffled order are tested.
  const first = train ? 0 : counts.test;
  const rest = (from: number, count: number) =>
    train ? part("train", train, from, count) : part("t10k", test, from, count);
  return {
    test: part("t10k", test, 0, counts.test),
    train: rest(first, counts.train),
    validation: rest(first + counts.train, counts.validation),
  };
}

async function recordDigits({ file, digits, positions }: Chosen): Promise<RecordedSeries[]> {
  const size = digits.shape[1] * digits.shape[2];
  return await Promise.all(positions.map(async (position, i) => ({
    name: `${file} ${position + 1}`,
    position,
    digest: await digestOf("", Float64Array.from(digits.images.subarray(i * size, (i + 1) * size))),
  })));
}

function drawImages(
  { side, context }: Pixels,
  truth: Float32Array,
  predicted: Float32Array,
): GreyImage[] {
  const grey = (value: number) => (value + 1) / 2;
  const image = (name: string, of: (pixel: number) => number): GreyImage => ({
    ...{ name, width: side },
    pixels: Float64Array.from(truth, (_, pixel) => of(pixel)),
  });
  // Row t - 1 of the predictions (a mean and a standard deviation) is for pixel t.
  const after = (pixel: number, column: number) => predicted[2 * (pixel - 1) + column];
  return [
    image("given", (pixel) => pixel < context ? grey(truth[pixel]) : 0.5),
    image("ground truth", (pixel) => grey(truth[pixel])),
    image("completion", (pixel) => grey(pixel < context ? truth[pixel] : after(pixel, 0))),
    image("standard deviation", (pixel) => pixel < context ? 0 : after(pixel, 1)),
  ];
}
