/** All models of users' own series. */
import { forecastModels } from "./next_step_models.ts";
import { constant, lastValueModel } from "./fitted/baselines.ts";
import { blendOf } from "./fitted/blend.ts";
import type { Model } from "./model.ts";
import { isWarp } from "./model_settings.ts";
import { neuralModels } from "./neural_models.ts";
import { randomConvolutions } from "./ridge_network.ts";
import { summaryModel } from "./fitted/summary_model.ts";
import { boostedTrees } from "./trees/tree_network.ts";
import { treeForecaster } from "./trees/tree_forecaster.ts";
import {
  autoregression,
  besideLinear,
  exponentialSmoothing,
  linear,
  naive,
  seasonalNaive,
  stepByStep,
} from "./forecasters.ts";

/**
 * Whether a model forecasts step by step. WARP does, since its state would otherwise contain weights for every forecast
 * value, and so do the models that do not read whole series.
 */
function isStepByStep(name: string): boolean {
  return isWarp(name) || !Object.hasOwn(neuralModels, name);
}

/** Models of whole series. Most of them also forecast, beside a linear map. */
const ofWholeSeries = Object.entries(neuralModels).map(([name, wholeSeries]): Model => ({
  name,
  wholeSeries,
  forecasts: isStepByStep(name)
    ? stepByStep(name)
    : { ...besideLinear(wholeSeries), isCandidate: name === "neural-cde" },
}));

/** Models that only forecast, step by step. */
const ofSteps = Object.entries(forecastModels)
  .filter(([name, { needsPhysics }]) => !needsPhysics && !Object.hasOwn(neuralModels, name))
  .map(([name]): Model => ({ name, forecasts: stepByStep(name) }));

/** Models for the option `model`, the simplest first. The automatic choice compares its candidates in this order. */
export const seriesModels: readonly Model[] = [
  { name: "constant", wholeSeries: constant },
  { name: "last-values", wholeSeries: lastValueModel },
  { name: "naive", forecasts: naive },
  { name: "seasonal-naive", forecasts: seasonalNaive },
  { name: "exponential-smoothing", forecasts: exponentialSmoothing },
  { name: "autoregression", forecasts: autoregression },
  { name: "linear", forecasts: linear },
  { name: "random-convolutions", wholeSeries: randomConvolutions },
  { name: "boosted-trees", wholeSeries: boostedTrees, forecasts: treeForecaster },
  {
    name: "blend",
    wholeSeries: blendOf({
      "last-values": lastValueModel,
      summaries: summaryModel,
      "boosted-trees": boostedTrees,
    }),
  },
  ...ofWholeSeries,
  ...ofSteps,
];
