import { lotkaVolterra as makeTrajectories, repeatCopy } from "../../data/dynamics.ts";
import { mapSplits } from "../../data/series.ts";
import { maxAbsolute, rescale, valueRange } from "../../data/trajectories.ts";
import { key, split } from "../../tensor/random.ts";
import { drawContinuation } from "./draw_continuation.ts";
import { type Experiment, forecastSettings, type Settings } from "./experiment.ts";
import { forecasting } from "./forecasting.ts";
import { forecastModel } from "./forecast_models.ts";

const series = { train: 1024, validation: 256, test: 512 };
/** Number of observations, a quarter of the paper's 256; the sizes of the task are scaled with it. */
const length = 64;
const task = { shown: [8, 16], spacing: 3 } as const;

/** Repeats the beginning of a trajectory of prey and predators three times: WARP's repeat-copy, tested out of distribution. */
export const lotkaVolterra: Experiment = {
  name: "lotka-volterra",
  summary: "repeat-copy of prey and predators, tested out of distribution, made from the seed",
  defaults: { epochs: 60, batchSize: 32, learningRate: 0.001, hidden: 16, model: "warp" },
  takes: forecastSettings,
  async prepare(settings: Settings) {
    const [trainKey, validationKey, testKey, modelKey] = split(key(settings.seed), 4);
    const made = {
      train: await makeTrajectories(series.train, trainKey, { length }),
      validation: await makeTrajectories(series.validation, validationKey, { length }),
      test: await makeTrajectories(series.test, testKey, { length, regime: "outOfDistribution" }),
    };
    const range = valueRange(made.train);
    const shownKeys = mapSplits(
      { train: trainKey, validation: validationKey, test: testKey },
      (own) => split(own)[1],
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
      root: { depth: 1, activation: "silu" },
      // As the paper's: theta_0 without phi (appendix C), a dynamic tanh, and all inputs given (appendix C.4).
      initial: "learned",
      bound: { a: maxAbsolute(splits.train), alpha: maxAbsolute(splits.train) },
      clipWeights: settings.clipWeights,
      key: modelKey,
    });
    return forecasting({
      splits,
      targets: mapSplits(copied, ({ targets }) => targets),
      model,
      settings,
      context: length,
      forcing: 1,
      draw: drawContinuation("test series", ["prey", "predators"], 1),
    });
  },
};
