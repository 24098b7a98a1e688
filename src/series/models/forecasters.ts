/** Kinds of forecasting models, whose code is loaded on demand. */
import { maxTreeRows } from "./fit_limits.ts";
import type { WindowModelKind, WindowModelSizes } from "./forecaster.ts";
import { onDemand } from "./on_demand.ts";
import type { SeriesModelKind } from "./whole_series.ts";

/** Options that have no effect on a model that is fitted in closed form, and its number of epochs. */
const closedForm = {
  takes: [],
  rejects: ["epochs", "learningRate", "patience"],
  defaults: { epochs: 1 },
} as const;

/** Maximum number of past steps, unless ten seasons are longer. */
const mostSteps = 500;
/** Minimum number of seasons within the maximum number of past steps. */
const mostSeasons = 10;

/** Default number of past steps of a model that reads whole histories. */
function historyLength(season: number): number {
  return Math.max(mostSteps, mostSeasons * season);
}

const linearForecaster = () => import("./linear_forecaster.ts");
const smoothing = () => import("./local/smoothing_model.ts");

/** A linear map of the past, fitted by least squares. */
export const linear: WindowModelKind = {
  ...closedForm,
  isCandidate: true,
  takesKnown: true,
  ...onDemand(linearForecaster, ({ linearModel }, sizes: WindowModelSizes) => linearModel(sizes)),
};

/** The last value. It ignores channels that are known ahead of time. */
export const naive: WindowModelKind = {
  ...closedForm,
  isCandidate: true,
  takesKnown: true,
  contextOf: historyLength,
  ...onDemand(smoothing, ({ naiveModel }, sizes: WindowModelSizes) => naiveModel(sizes)),
};

/** The value of one season before; without a season the last value. */
export const seasonalNaive: WindowModelKind = {
  ...naive,
  ...onDemand(smoothing, ({ seasonalNaiveModel }, sizes: WindowModelSizes) => seasonalNaiveModel(sizes)),
};

/** Exponential smoothing of each channel. */
export const exponentialSmoothing: WindowModelKind = {
  ...closedForm,
  isCandidate: true,
  contextOf: historyLength,
  ...onDemand(
    smoothing,
    ({ exponentialSmoothingModel }, sizes: WindowModelSizes) => exponentialSmoothingModel(sizes),
  ),
};

/** Autoregression of each channel. */
export const autoregression: WindowModelKind = {
  ...closedForm,
  isCandidate: true,
  contextOf: historyLength,
  ...onDemand(
    () => import("./local/autoregression_model.ts"),
    ({ autoregressionModel }, sizes: WindowModelSizes) => autoregressionModel(sizes),
  ),
};

/** Steps of a horizon in the estimate of operations. */
const assumedHorizon = 24;
/** Estimated scalar operations of a fit of trees for each row. */
const operationsPerRow = 1e6;
/** Minimum default number of past steps of trees. */
const minContext = 64;

/** Boosted trees on lags, dates and known columns. */
export const treeForecaster: WindowModelKind = {
  ...closedForm,
  isCandidate: true,
  // The sizes do not contain the horizon: assume one day of hours.
  operations: ({ samples, rows, outputs }) =>
    operationsPerRow * Math.min(maxTreeRows, assumedHorizon * samples * rows * outputs),
  takesKnown: true,
  contextOf: (season) => Math.max(minContext, 2 * season),
  ...onDemand(
    () => import("./trees/tree_forecaster.ts"),
    ({ treeForecaster }, sizes: WindowModelSizes) => treeForecaster(sizes),
  ),
};

/** A model of whole series whose outputs are added to a linear map of the past. */
export function besideLinear(kind: SeriesModelKind): WindowModelKind {
  const load = async () => {
    await kind.load?.();
    return await linearForecaster();
  };
  return {
    takes: kind.takes.filter((setting) => setting !== "online" && setting !== "condense"),
    takesKnown: true,
    ...onDemand(
      load,
      ({ withLinear }, sizes: WindowModelSizes) =>
        withLinear(sizes, sizes.network(kind, sizes.horizon * sizes.channels)),
    ),
  };
}

/** A model that forecasts step by step, and feeds back its predictions. @param name Name in `forecastModels`. */
export function stepByStep(name: string): WindowModelKind {
  return {
    takes: ["hidden"],
    // WARP applies A at every step: with a larger learning rate its state diverges.
    defaults: { learningRate: 0.001, hidden: 8 },
    ...onDemand(
      () => import("./next_step_models.ts"),
      ({ rollout }, sizes: WindowModelSizes) => rollout(name, sizes),
    ),
  };
}
