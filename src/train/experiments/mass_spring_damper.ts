import { massSpringDamper as makeTrajectories } from "../../data/dynamics.ts";
import { rescale, type Trajectories, valueRange } from "../../data/trajectories.ts";
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
  defaults: { epochs: 20, batchSize: 64, learningRate: 0.0003, hidden: 16, drop: 0, model: "warp" },
  async prepare(settings: Settings) {
    const [trainKey, validationKey, testKey, modelKey] = split(key(settings.seed), 4);
    const made = {
      train: await makeTrajectories(series.train, trainKey, { length }),
      validation: await makeTrajectories(series.validation, validationKey, { length }),
      test: await makeTrajectories(series.test, testKey, { length, regime: "outOfDistribution" }),
    };
    // One factor for both channels, so that what is linear stays linear.
    const { low, high } = valueRange(made.train);
    const largest = Math.max(-low, high);
    const scaled = (part: Trajectories) => rescale(part, { low: -largest, high: largest });
    const splits = {
      train: scaled(made.train),
      validation: scaled(made.validation),
      test: scaled(made.test),
    };
    const model = forecastModel(settings.model!, {
      channels: 2,
      length,
      hidden: settings.hidden,
      root: { depth: 2, activation: "silu" },
      physics: linearFlow(),
      key: modelKey,
    });
    return forecasting({
      splits,
      model,
      settings,
      context,
      forcing: 0.25,
      draw: drawContinuation("test oscillation", ["position", "velocity"], context, largest),
    });
  },
};
