import { key, sinePhase, splitKey } from "@weft/weft";
import { forecastModel, forecastModels, type ModelExperiment, modelRules } from "@weft/weft/series";
import { sineSizes, sineWaves } from "../data/dynamics.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { baselines, sine as recipe } from "../recipes/warp_dynamics.ts";
import { drawForecast } from "./draw_forecast.ts";
import { forecastOptions, type ForecastSettings } from "./options.ts";
import { recipeDefaults } from "./recipe_defaults.ts";
import { forecasting } from "./forecasting.ts";

const paper = valuesOf(recipe.rules);
/**
 * Number of visits of an epoch to each series. With one visit to each of ten series, validation and
 * checkpoints would take longer than training.
 */
const visits = { short: 100, paper: paper.visits };

const { sineUnits: units, transformerRate: learningRate } = valuesOf(baselines.rules);
const ofModels = { gru: { units }, lstm: { units }, transformer: { learningRate } };

/** Forecasts a sine wave of unknown phase from its first value, after training on ten others. */
export const sine: ModelExperiment = modelRules({
  name: "sine",
  summary: "forecast a sine wave from its first value",
  options: forecastOptions(
    { epochs: 20, batchSize: 10, learningRate: 0.0003, hidden: 16, model: "warp" },
    ["samples", "length"],
  ),
  models: () => forecastModels,
  prepare(settings: ForecastSettings) {
    const { depth = 2, samples = sineSizes.small, length = 16, recipe = "short" } = settings;
    const { clipWeights = paper.clipWeights } = settings;
    const [trainKey, validationKey, testKey, modelKey] = splitKey(key(settings.seed), 4);
    const model = forecastModel(settings.model!, {
      channels: 1,
      length,
      hidden: settings.hidden,
      units: settings.units,
      root: { depth, activation: paper.activation },
      physics: sinePhase(),
      clipWeights,
      key: modelKey,
    });
    const splits = {
      train: sineWaves(samples, trainKey, { length }),
      validation: sineWaves(200, validationKey, { length }),
      test: sineWaves(1000, testKey, { length }),
    };
    return forecasting({
      splits,
      model,
      settings,
      context: paper.context,
      forcing: paper.forcing,
      percentage: true,
      visits: visits[recipe],
      draw: drawForecast("test wave", ["value"], paper.context),
    });
  },
}, recipeDefaults(recipe.settings, ofModels));
