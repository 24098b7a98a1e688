import { massSpringDamper as makeTrajectories } from "../../data/dynamics.ts";
import { mapSplits } from "../../data/series.ts";
import type { Trajectories } from "../../data/trajectories.ts";
import { linearFlow } from "../../models/warp/physics.ts";
import { key, split } from "../../tensor/random.ts";
import { drawContinuation } from "./draw_continuation.ts";
import type { Experiment, Settings } from "./experiment.ts";
import { forecasting } from "./forecasting.ts";
import { forecastModel } from "./forecast_models.ts";

const series = { train: 2048, validation: 256, test: 512 };
/** Every fourth of the paper's 256 observations, and of its context of 100. */
const length = 64;
const context = 25;

/** Continues the oscillations of masses on damped springs of unknown parameters, tested out of distribution. */
export const massSpringDamper: Experiment = {
  name: "mass-spring-damper",
  summary:
    "oscillations of unknown mass, stiffness and damping, tested out of distribution, made from the seed",
  defaults: { epochs: 60, batchSize: 32, learningRate: 0.002, hidden: 16, model: "warp" },
  takes: ["model"],
  async prepare(settings: Settings) {
    const [trainKey, validationKey, testKey, modelKey] = split(key(settings.seed), 4);
    const made = {
      train: await makeTrajectories(series.train, trainKey, { length }),
      validation: await makeTrajectories(series.validation, validationKey, { length }),
      test: await makeTrajectories(series.test, testKey, { length, regime: "outOfDistribution" }),
    };
    // Our choice: a factor for each channel and nothing added, so that what is linear stays linear.
    const largest = [0, 1].map((channel) =>
      made.train.values.reduce(
        (most, value, i) => i % 2 === channel ? Math.max(most, Math.abs(value)) : most,
        0,
      )
    );
    const splits = mapSplits(made, (part: Trajectories): Trajectories => ({
      ...part,
      values: part.values.map((value, i) => value / largest[i % 2]),
    }));
    const model = forecastModel(settings.model!, {
      channels: 2,
      length,
      hidden: settings.hidden,
      root: { depth: 1, activation: "silu", previousInput: true },
      physics: linearFlow(),
      bound: { low: -1.5, high: 1.5 },
      key: modelKey,
    });
    return forecasting({
      splits,
      model,
      settings,
      context,
      forcing: 0.25,
      draw: drawContinuation(
        "test oscillation",
        ["position", "velocity"],
        context,
        largest.map((deviation) => ({ mean: 0, deviation })),
      ),
    });
  },
};
