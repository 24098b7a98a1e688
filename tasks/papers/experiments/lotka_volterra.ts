import { key, splitKey } from "@weft/weft";
import { mapSplits } from "@weft/weft/data";
import { forecastModel, forecastModels, type ModelExperiment, modelRules } from "@weft/weft/series";
import { choiceOption } from "@weft/weft/train";
import { lotkaVolterra as makeTrajectories, repeatCopy, type RepeatCopyOptions } from "../data/dynamics.ts";
import { maxAbsolute, rescale, valueRange } from "../data/trajectories.ts";
import { drawForecast } from "./draw_forecast.ts";
import { forecastOptions, type ForecastSettings } from "./options.ts";
import { recipeDefaults } from "./recipe_defaults.ts";
import { forecasting } from "./forecasting.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { baselines, lotkaVolterra as recipe } from "../recipes/warp_dynamics.ts";

/** Default numbers of training series and of observations. */
const sizes = { samples: 1024, length: 64 };

const paper = valuesOf(recipe.rules);
const { gruUnits, lstmUnits, transformerRate } = valuesOf(baselines.rules);
const recurrentUnits = {
  gru: { units: gruUnits },
  lstm: { units: lstmUnits },
  transformer: { learningRate: transformerRate },
};

/**
 * Sizes of the task in proportion to the length. For 256 observations the paper shows 32 to 64, with 10
 * between copies.
 */
function taskOf(length: number): RepeatCopyOptions {
  return { shown: [Math.ceil(length / 8), Math.ceil(length / 4)], spacing: Math.ceil(10 * length / 256) };
}

/**
 * WARP's repeat-copy task: repeats the beginning of a predator-prey trajectory three times. Tested out of
 * distribution.
 */
export const lotkaVolterra: ModelExperiment = modelRules({
  name: "lotka-volterra",
  summary: "repeat trajectories of prey and predators",
  options: {
    ...forecastOptions(
      { epochs: 60, batchSize: 32, learningRate: 0.001, hidden: 16, model: "warp" },
      ["samples", "length"],
    ),
    ranges: choiceOption(
      {
        group: "data",
        help: "ranges of the parameters: those of the paper's table 6, or of the authors' code",
        implied: paper.ranges,
      },
      ["paper", "code"],
    ),
  },
  models: () => forecastModels,
  async prepare(settings: ForecastSettings & { readonly ranges?: "paper" | "code" }) {
    const { samples = sizes.samples, length = sizes.length, depth = 1 } = settings;
    // At the short recipe's learning rate, unclipped weights diverge. The paper's rate is 100 times smaller.
    const { clipWeights = settings.recipe === "paper" ? paper.clipWeights : 1 } = settings;
    const task = taskOf(length);
    const [trainKey, validationKey, testKey, modelKey] = splitKey(key(settings.seed), 4);
    // By default the ranges of the authors' code. With the ranges of table 6, the mean of the training series
    // as a forecast has a smaller error than every model of the paper.
    const { ranges = paper.ranges } = settings;
    const options = { length, ranges };
    const made = {
      train: await makeTrajectories(samples, trainKey, options),
      validation: await makeTrajectories(Math.ceil(samples / 4), validationKey, options),
      test: await makeTrajectories(Math.ceil(samples / 2), testKey, {
        ...options,
        regime: "outOfDistribution",
      }),
    };
    const range = valueRange(made.train);
    const shownKeys = mapSplits(
      { train: trainKey, validation: validationKey, test: testKey },
      (partKey) => splitKey(partKey)[1],
    );
    const copied = {
      train: repeatCopy(rescale(made.train, range), shownKeys.train, task),
      validation: repeatCopy(rescale(made.validation, range), shownKeys.validation, task),
      test: repeatCopy(rescale(made.test, range), shownKeys.test, task),
    };
    const splits = mapSplits(copied, ({ inputs }) => inputs);
    const model = forecastModel(settings.model!, {
      channels: 2,
      length,
      hidden: settings.hidden,
      units: settings.units,
      root: { depth, activation: paper.activation },
      initial: paper.initial,
      // A dynamic tanh, as in the paper's appendix C.4.
      bound: { a: maxAbsolute(splits.train), alpha: maxAbsolute(splits.train) },
      clipWeights,
      key: modelKey,
    });
    return forecasting({
      splits,
      targets: mapSplits(copied, ({ targets }) => targets),
      model,
      settings,
      context: length,
      forcing: paper.forcing,
      draw: drawForecast("test series", ["prey", "predators"], 1),
    });
  },
}, recipeDefaults(recipe.settings, recurrentUnits));
