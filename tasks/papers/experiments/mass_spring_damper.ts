import { key, linearFlow, splitKey } from "@weft/weft";
import { mapSplits } from "@weft/weft/data";
import {
  forecastModel,
  forecastModels,
  type ModelExperiment,
  modelRules,
  takeColumns,
} from "@weft/weft/series";
import { massSpringDamper as makeTrajectories } from "../data/dynamics.ts";
import { maxAbsolute, type Trajectories, valueRange } from "../data/trajectories.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { baselines, massSpringDamper as recipe, physics } from "../recipes/warp_dynamics.ts";
import { drawForecast } from "./draw_forecast.ts";
import { forecastOptions, type ForecastSettings } from "./options.ts";
import { recipeDefaults } from "./recipe_defaults.ts";
import { forecasting } from "./forecasting.ts";

/** Default numbers of training series, of observations and of context observations. */
const sizes = { samples: 2048, length: 64, context: 25 };

const paper = valuesOf(recipe.rules);
const { gruUnits, lstmUnits, transformerRate } = valuesOf(baselines.rules);
const { epochs, zeroEpochs } = valuesOf(physics.rules);

/** Settings of single models with `--recipe paper`. @param epochs Number of epochs of WARP-Phys. */
function modelsOf(epochs: number) {
  return {
    "gru": { units: gruUnits },
    "lstm": { units: lstmUnits },
    "transformer": { learningRate: transformerRate },
    "warp-phys": { epochs },
  };
}

/**
 * Forecasts the oscillations of masses on damped springs with unknown parameters, tested out of distribution
 * (MSD).
 */
export const massSpringDamper: ModelExperiment = oscillations(
  "mass-spring-damper",
  "forecast oscillations, tested out of distribution",
  false,
);

/** Like {@linkcode massSpringDamper}, with random initial positions and velocities (MSD-Zero). */
export const massSpringDamperZero: ModelExperiment = oscillations(
  "mass-spring-damper-zero",
  "forecast oscillations from random initial states",
  true,
);

function oscillations(name: string, summary: string, variesInitial: boolean): ModelExperiment {
  return modelRules({
    name,
    summary,
    options: forecastOptions(
      { epochs: 60, batchSize: 32, learningRate: 0.002, hidden: 16, model: "warp" },
      ["samples", "length", "context"],
    ),
    models: () => forecastModels,
    async prepare(settings: ForecastSettings) {
      const { samples = sizes.samples, length = sizes.length, context = sizes.context, depth = 1 } = settings;
      const { clipWeights = paper.clipWeights } = settings;
      const [trainKey, validationKey, testKey, modelKey] = splitKey(key(settings.seed), 4);
      const made = {
        train: await makeTrajectories(samples, trainKey, { length, variesInitial }),
        validation: await makeTrajectories(Math.ceil(samples / 8), validationKey, { length, variesInitial }),
        test: await makeTrajectories(Math.ceil(samples / 4), testKey, {
          length,
          variesInitial,
          regime: "outOfDistribution",
        }),
      };
      const isPaper = settings.recipe === "paper";
      const isPhysical = forecastModels[settings.model!]?.needsPhysics ?? false;
      // The paper's scale, shared by both channels. The offset is left out where linear dynamics must stay
      // linear.
      const { low, high } = valueRange(made.train);
      const scale = (high - low) / 2;
      const offset = isPaper && !isPhysical ? (high + low) / 2 : 0;
      const splits = mapSplits(made, (part: Trajectories): Trajectories => ({
        ...part,
        values: part.values.map((value) => (value - offset) / scale),
      }));
      // Velocities are about 25 times larger than positions.
      const largest = [0, 1].map((channel) =>
        maxAbsolute({ values: takeColumns(splits.train.values, 2, [channel]) })
      );
      const bound = Math.max(...largest);
      const model = forecastModel(settings.model!, {
        channels: 2,
        length,
        hidden: settings.hidden,
        units: settings.units,
        // In the published settings, only the root network of WARP-Phys reads the previous input.
        root: { depth, activation: paper.activation, previousInput: !isPaper || isPhysical },
        physics: linearFlow(2, largest),
        // As in the paper's appendix A.3: a dynamic tanh initialized with the largest value of the training
        // data; in the runs as in appendix C.4, with 1.
        bound: isPaper ? paper.bound : { a: bound, alpha: bound },
        clipWeights,
        key: modelKey,
      });
      return forecasting({
        splits,
        model,
        settings,
        context,
        forcing: paper.forcing,
        isZeroForecast: true,
        draw: drawForecast(
          "test oscillation",
          ["position", "velocity"],
          context,
          [0, 1].map(() => ({ mean: offset, standardDeviation: scale })),
        ),
      });
    },
  }, recipeDefaults(recipe.settings, modelsOf(variesInitial ? zeroEpochs : epochs)));
}
