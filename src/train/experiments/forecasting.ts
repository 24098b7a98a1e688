import { takeSamples } from "../../data/batches.ts";
import { mapSplits, type Splits } from "../../data/series.ts";
import type { Trajectories } from "../../data/trajectories.ts";
import {
  bitsPerDimension,
  meanAbsoluteError,
  meanSquaredError,
  normalNegativeLogLikelihood,
} from "../../nn/losses.ts";
import { Adam } from "../../optim/adam.ts";
import { combineSchedules, cosine, warmup } from "../../optim/schedules.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { scope } from "../../tensor/scope.ts";
import type { ForecastFigure } from "../forecast_figure.ts";
import type { Measures, Task } from "../task.ts";
import type { Settings } from "./experiment.ts";
import type { ForecastModel } from "./forecast_models.ts";

/** Series `(batch, length, channels)`. */
type Batch = { readonly x: Tensor };

/** Options of {@linkcode forecasting}. */
export interface ForecastingOptions {
  splits: Splits<Trajectories>;
  model: ForecastModel;
  settings: Settings;
  /** Observations that a prediction starts from. */
  context: number;
  /** The probability that an observation is fed in training, at every step but the first (p_forcing of WARP's section 2.3). */
  forcing: number;
  /** The first step whose prediction counts in training, 1 by default. */
  trainFrom?: number;
  /** How often an epoch visits each training series, 1 by default: few series make short epochs otherwise. */
  visits?: number;
  /** Whether the model predicts deviations, and learns by their likelihood instead of the mean squared error. */
  deviations?: boolean;
  /** Draws predictions of some test series; the last axis of `predicted` is that of the model. */
  draw(truth: Float32Array, predicted: Float32Array, position: number): ForecastFigure;
  /** How many are drawn, 6 by default. */
  drawn?: number;
}

/**
 * Learns to predict series from their beginning: with scheduled sampling at every step in training, where all predictions
 * count, or those from some step on; with the model's own predictions after the context in validation and test,
 * where only those count.
 */
export function forecasting(options: ForecastingOptions): Task<Batch> {
  const {
    splits,
    model,
    settings,
    context,
    forcing,
    trainFrom = 1,
    visits = 1,
    deviations = false,
    draw,
    drawn = 6,
  } = options;
  const [, length, channels] = splits.train.shape;
  const data = mapSplits(splits, toBatch);
  const steps = settings.epochs * Math.ceil(visits * splits.train.shape[0] / settings.batchSize);
  /** Measures of predictions y of x, from the prediction of x_from on. */
  const measure = (x: Tensor, y: Tensor, from: number): Measures => {
    const [targets, predicted] = [x.slice(1, from), y.slice(1, from - 1, length - 1)];
    const means = predicted.slice(-1, 0, channels);
    const [mse, mae] = [meanSquaredError(means, targets), meanAbsoluteError(means, targets)];
    if (!deviations) return { loss: mse, mae };
    const own = predicted.slice(-1, channels);
    return {
      loss: normalNegativeLogLikelihood(means, own, targets),
      mse,
      mae,
      bpd: bitsPerDimension(means, own, targets),
    };
  };
  return {
    parameters: model.parameters,
    optimizer: Adam(model.parameters, { learningRate: settings.learningRate }),
    // A's first steps are the most dangerous ones: what it multiplies grows with the length of a series.
    schedule: combineSchedules(warmup({ steps: Math.min(100, steps / 5) }), cosine({ steps, minimum: 0.01 })),
    clipNorm: 1,
    data: { ...data, train: repeat(data.train, visits) },
    evaluate: ({ x }, key) =>
      key ? measure(x, model(x, { forcing, key }), trainFrom) : measure(x, model(x, { context }), context),
    metric: { name: deviations ? "mse" : "loss", mode: "min" },
    async figures() {
      const count = Math.min(drawn, splits.test.shape[0]);
      const positions = Array.from({ length: count }, (_, i) => Math.floor(i * splits.test.shape[0] / count));
      const { x } = takeSamples(data.test, positions);
      const y = scope(() => model(x, { context }));
      const [truth, predicted] = [await x.data(), await y.data()] as Float32Array[];
      const rowOf = (values: Float32Array, i: number) =>
        values.subarray(i * values.length / count, (i + 1) * values.length / count);
      return positions.map((position, i) => draw(rowOf(truth, i), rowOf(predicted, i), position));
    },
  };
}

function toBatch({ values, shape }: Trajectories): Batch {
  return { x: tensor(Float32Array.from(values), { shape }) };
}

function repeat({ x }: Batch, times: number): Batch {
  return { x: scope(() => x.expandDims(0).broadcastTo([times, ...x.shape]).flatten(0, 1)) };
}
