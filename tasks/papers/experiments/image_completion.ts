/** Experiments that complete images pixel by pixel, with uncertainty (Nzoyem et al., 2025, section 3.1). */
import { type Key, key, OptionError, splitKey } from "@weft/weft";
import { mapSplits, type Splits } from "@weft/weft/data";
import {
  checkDataRecord,
  countSeen,
  type DataRecord,
  type ForecastModel,
  type ForecastModelSizes,
  type ModelExperiment,
  modelRules,
  type RecordedSeries,
  recordVersion,
  requireSame,
  type TrainedModel,
} from "@weft/weft/series";
import type { OptionSchema, PixelImage, Task } from "@weft/weft/train";
import type { Trajectories } from "../data/trajectories.ts";
import { valuesOf } from "../recipes/recipe.ts";
import type { celeba, mnist } from "../recipes/warp_images.ts";
import { forecaster, forecasting, toForecastBatch } from "./forecasting.ts";
import { imageModel, imageModels } from "./image_models.ts";
import type { ImageSettings } from "./images.ts";
import { forecastOptions, type ForecastSettings } from "./options.ts";
import { recipeDefaults } from "./recipe_defaults.ts";

/** Settings of a run. */
export type CompletionSettings = ForecastSettings & ImageSettings;

/** Images of a part of the data. */
export interface CompletedImages {
  readonly recorded: readonly RecordedSeries[];
  /** Pixels from -1 to 1, row by row. Shape (images, pixels, channels). */
  readonly series: Trajectories;
}

/** A data set of images, with the recipe of the paper. */
export interface ImageProblem {
  readonly name: string;
  readonly summary: string;
  /** Default folder of the data. */
  readonly data: string;
  /** Names of the channels. */
  readonly channels: readonly string[];
  /** Default number of pixels of an image. */
  readonly length: number;
  /** Further options. */
  readonly options?: OptionSchema;
  /** The recipe of the paper, and the settings of single models. */
  readonly recipe: typeof mnist | typeof celeba;
  readonly ofModels: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Rows of an image with `length` pixels. @throws {OptionError} If there is no such image. */
  sideOf(length: number): number;
  /** Sizes and options of the model that differ between data sets. */
  model(settings: CompletionSettings): Pick<ForecastModelSizes, "root" | "clipWeights" | "time">;
  /** Reads the images of a run, and a line about them for its report. */
  read(
    settings: CompletionSettings,
    side: number,
    key: Key,
  ): Promise<{ splits: Splits<CompletedImages>; notice?: string }>;
  /** Reads the test images of a folder. */
  readTest(folder: string, side: number): Promise<CompletedImages>;
}

/** Rows of an image, and its number of given pixels. */
interface Grid {
  readonly side: number;
  readonly context: number;
}

/** @throws {OptionError} If `length` is not the size of a possible square, or the context covers all pixels. */
function gridOf(problem: ImageProblem, settings: CompletionSettings): Grid {
  const { length = problem.length, context = Math.floor(length / 2) } = settings;
  if (context < length) return { side: problem.sideOf(length), context };
  const expected = `less than the ${length} pixels`;
  throw new OptionError(
    "invalid-option",
    (write) => `${write("context")} ${context}: expected ${expected}`,
    { option: "context", expected },
  );
}

/** An experiment that completes images from their first pixels: by default from the upper half. */
export function imageCompletion(problem: ImageProblem): ModelExperiment {
  const { name, summary, data, recipe, ofModels, options = {} } = problem;
  return modelRules({
    name,
    summary,
    options: {
      ...forecastOptions(
        { epochs: 20, batchSize: 50, learningRate: 0.0001, hidden: 16, data, model: "warp" },
        ["data", "samples", "length", "context"],
      ),
      ...options,
    },
    checkRecord: checkDataRecord,
    models: () => imageModels,
    prepare: (settings: CompletionSettings, earlier?: DataRecord) => prepare(problem, settings, earlier),
    open: (settings: CompletionSettings, record: DataRecord) => open(problem, settings, record),
  }, recipeDefaults(recipe.settings, ofModels));
}

/** As in the paper's appendix C.1: means are fed back, in training too. */
function trainingOf({ recipe }: ImageProblem) {
  return { forcing: recipe.rules.forcing.value, deviations: true } as const;
}

async function prepare(
  problem: ImageProblem,
  settings: CompletionSettings,
  earlier?: DataRecord,
): Promise<Task> {
  const { channels, recipe } = problem;
  const [dataKey, modelKey] = splitKey(key(settings.seed));
  const grid = gridOf(problem, settings);
  const { splits, notice } = await problem.read(settings, grid.side, dataKey);
  const recorded = mapSplits(splits, ({ recorded }) => recorded);
  if (earlier) requireSame(settings.data!, Object.values(recorded).flat(), earlier);
  // Training does not depend on the context, because it feeds pixels at random positions.
  const paperLength = recipe.settings.length.value;
  const contexts = [100, 300, 600].map((given) =>
    [`after ${given}/${paperLength}`, Math.round(grid.side ** 2 * given / paperLength)] as const
  );
  const task = forecasting({
    ...trainingOf(problem),
    leastDeviation: recipe.rules.leastDeviation.value,
    context: grid.context,
    otherContexts: Object.fromEntries(contexts),
    splits: mapSplits(splits, ({ series }) => series),
    record: earlier ?? {
      version: recordVersion,
      // Maps pixels from 0 ... 255 to -1 ... 1.
      channels: channels.map((name) => ({ name, kind: "number", mean: 127.5, standardDeviation: 127.5 })),
      time: { kind: "number", origin: "first observation of each series", scale: 1 },
      length: grid.side ** 2,
      classes: [],
      split: recorded,
      ignored: [],
    },
    model: modelOf(problem, settings, modelKey),
    settings,
    draw: (examples) => ({
      ...{ kind: "images", title: "Completed test images" },
      groups: examples.map(({ position, truth, predicted }) => ({
        title: `test image ${position}`,
        images: drawImages(grid, channels.length, truth, predicted),
      })),
    }),
  });
  return {
    ...task,
    description: [...task.description ?? [], ...(notice ? [notice] : [])],
    ...(notice ? { notices: [notice] } : {}),
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

function open(problem: ImageProblem, settings: CompletionSettings, record: DataRecord): TrainedModel {
  const { side, context } = gridOf(problem, settings);
  const model = modelOf(problem, settings, splitKey(key(settings.seed))[1]);
  return {
    ...forecaster({ ...trainingOf(problem), context, model }),
    async samples(path: string) {
      const { recorded, series } = await problem.readTest(path, side);
      return {
        batches: [toForecastBatch(series)],
        count: recorded.length,
        seen: countSeen(recorded, record),
        kind: "image",
      };
    },
  };
}

function modelOf(problem: ImageProblem, settings: CompletionSettings, key: Key): ForecastModel {
  const { model, hidden, units, layers } = settings;
  const { leastDeviation, initial, bound } = valuesOf(problem.recipe.rules);
  return imageModel(model!, {
    channels: problem.channels.length,
    length: gridOf(problem, settings).side ** 2,
    ...{ hidden, units, layers, key, leastDeviation, initial, bound },
    ...problem.model(settings),
  });
}

/** Grey images, or images of red, green and blue. */
function drawImages(
  { side, context }: Grid,
  channels: number,
  truth: Float32Array,
  predicted: Float32Array,
): PixelImage[] {
  const brightness = (value: number) => (value + 1) / 2;
  const image = (name: string, of: (pixel: number, channel: number) => number): PixelImage => ({
    ...{ name, width: side },
    ...(channels === 3 ? { channels } : {}),
    pixels: Float64Array.from(truth, (_, i) => of(Math.floor(i / channels), i % channels)),
  });
  const trueValue = (pixel: number, channel: number) => brightness(truth[pixel * channels + channel]);
  // Row t - 1 of the predictions (means and standard deviations) is for pixel t.
  const after = (pixel: number, column: number) => predicted[2 * channels * (pixel - 1) + column];
  return [
    image("given", (pixel, channel) => pixel < context ? trueValue(pixel, channel) : 0.5),
    image("ground truth", trueValue),
    image(
      "completion",
      (pixel, channel) => pixel < context ? trueValue(pixel, channel) : brightness(after(pixel, channel)),
    ),
    image("standard deviation", (pixel, channel) => pixel < context ? 0 : after(pixel, channels + channel)),
  ];
}
