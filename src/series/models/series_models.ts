/** All models of users' own series. */
import {
  blendOf,
  boostedTrees,
  constant,
  lastValueModel,
  randomConvolutions,
  summaryModel,
} from "./fitted/fitted_kinds.ts";
import type { Model } from "./model.ts";
import { isWarp } from "./model_settings.ts";
import { neuralModels } from "./neural/neural_models.ts";
import {
  autoregression,
  besideLinear,
  exponentialSmoothing,
  linear,
  naive,
  seasonalNaive,
  stepByStep,
  treeForecaster,
} from "./forecasters.ts";

/**
 * Models of whole series. They also forecast, beside a linear map. WARP forecasts step by step: its state would
 * otherwise contain weights for every forecast value.
 */
const ofWholeSeries = Object.entries(neuralModels).map(([name, wholeSeries]): Model => ({
  name,
  wholeSeries,
  forecasts: isWarp(name)
    ? stepByStep(name)
    : { ...besideLinear(wholeSeries), isCandidate: name === "neural-cde" },
}));

/** Models that only forecast, step by step: the ablations of section 3.4 of WARP's paper. */
const ablations = [
  "warp-no-initial",
  "warp-fixed-tau",
  "warp-diagonal",
  "warp-block-diagonal",
  "warp-low-rank",
];
const ofSteps = ablations.map((name): Model => ({ name, forecasts: stepByStep(name) }));

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
      // In runs with records before version 3, a blend has the three models above.
      "random-convolutions": { ...randomConvolutions, since: 3 },
    }),
  },
  ...ofWholeSeries,
  ...ofSteps,
];
