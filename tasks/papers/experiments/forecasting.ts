import {
  bitsPerDimension,
  gaussianNLL,
  key as makeKey,
  meanAbsoluteError,
  meanAbsolutePercentageError,
  meanSquaredError,
  takeSamples,
  type Tensor,
  tensor,
  tidy,
} from "@weft/weft";
import { mapSplits, type Splits } from "@weft/weft/data";
import { type DataRecord, describeRecord, type ForecastModel } from "@weft/weft/series";
import { evaluate, type Evaluation, type Measures, type Section, type Task } from "@weft/weft/train";
import type { Trajectories } from "../data/trajectories.ts";
import type { ForecastSettings } from "./options.ts";
import { measureForecastBaselines } from "./forecast_baselines.ts";
import { learning } from "./recipe.ts";

/** Series `(batch, length, channels)`, and the target series if they differ. */
type ForecastBatch = { readonly x: Tensor; readonly targets?: Tensor };

/** Options of {@linkcode forecaster}. */
interface ForecasterOptions {
  /** The model. */
  model: ForecastModel;
  /** Number of observations before the first prediction. */
  context: number;
  /**
   * Probability of feeding the observation in training, at every step but the first (p_forcing of WARP's
   * section 2.3).
   */
  forcing: number;
  /**
   * Whether to feed back reparameterized samples of the predicted normal distributions instead of means: in
   * training, and at evaluation unless forecasts are `smooth`.
   */
  sample?: boolean;
  /** Whether to feed back means at evaluation even if training feeds back samples. */
  smooth?: boolean;
  /**
   * Whether the model predicts standard deviations and is trained by likelihood instead of mean squared
   * error.
   */
  deviations?: boolean;
  /** Whether to measure the mean absolute percentage error. A target of zero makes it infinite. */
  percentage?: boolean;
}

/** A test series and its predictions. */
export interface ForecastExample {
  /** Position of the series in the test set. */
  readonly position: number;
  /** Values `(length, channels)`, row-major. */
  readonly truth: Float32Array;
  /** Output of the model `(length, outputs)`, row-major. */
  readonly predicted: Float32Array;
}

/** Options of {@linkcode forecasting}. */
export interface ForecastingOptions extends ForecasterOptions {
  /** Training, validation and test series. */
  splits: Splits<Trajectories>;
  /** Target series; by default the series themselves. */
  targets?: Splits<Trajectories>;
  /** Whether zero is a forecast to compare with, for values that decay to zero. */
  isZeroForecast?: boolean;
  /** Smallest standard deviation of predictions, which is that of baselines; without it they have none. */
  leastDeviation?: number;
  /** Number of losses that the paper's recipe averages. */
  average?: number;
  /** Settings of the run. */
  settings: ForecastSettings;
  /** Other context lengths for the test predictions, by a name such as `after 100`. */
  otherContexts?: Readonly<Record<string, number>>;
  /** Record of the data, if they are read from files. */
  record?: DataRecord;
  /** Number of times that an epoch visits each training series; see {@linkcode Task.visits}. */
  visits?: number;
  /** Makes a section of the report about the predictions of some test series. */
  draw(examples: readonly ForecastExample[]): Section;
  /** Number of plotted test series, 6 by default. */
  drawn?: number;
}

/**
 * Loss and metrics of a forecasting model. In training: scheduled sampling at every step, and the loss of all
 * predictions. y_t is compared with x_(t+1), which it predicts (Nzoyem et al., 2025, section 2.3 and equation
 * 3; the authors' code compares it with x_t). At evaluation: the model feeds back its predictions after the
 * context, and only these predictions are measured.
 */
export function forecaster(options: ForecasterOptions): Pick<Task<ForecastBatch>, "parameters" | "evaluate"> {
  const { model, forcing, sample = false, deviations = false, percentage = false } = options;
  /** Metrics of the predictions y of a batch, from the prediction of x_from on. */
  const measure = ({ x, targets: wanted = x }: ForecastBatch, y: Tensor, from: number): Measures => {
    const [, length, channels] = x.shape;
    const [targets, predicted] = [wanted.slice(1, from), y.slice(1, from - 1, length - 1)];
    const means = predicted.slice(-1, 0, channels);
    const [mse, mae] = [meanSquaredError(means, targets), meanAbsoluteError(means, targets)];
    // Half the mean squared error is the measure of WARP's code for series that differ from their targets.
    if (!deviations) {
      return {
        loss: mse,
        mae,
        ...(wanted === x ? {} : { "half mse": mse.div(2) }),
        ...(percentage ? { mape: meanAbsolutePercentageError(means, targets) } : {}),
      };
    }
    const standardDeviations = predicted.slice(-1, channels);
    return {
      loss: gaussianNLL(means, standardDeviations, targets),
      mse,
      mae,
      bpd: bitsPerDimension(means, standardDeviations, targets),
    };
  };
  return {
    parameters: model.parameters,
    evaluate: (batch, key) =>
      key
        ? measure(batch, model(batch.x, { forcing, sample, key }), 1)
        : measure(batch, forecast(options, batch.x), batch.targets ? 1 : options.context),
  };
}

/** Predictions at evaluation. */
function forecast({ model, context, sample, smooth }: ForecasterOptions, x: Tensor): Tensor {
  return model(x, { context, ...(sample && !smooth ? { sample, key: makeKey(0) } : {}) });
}

/** Trains a {@linkcode forecaster} to predict series from their beginning. */
export function forecasting(options: ForecastingOptions): Task<ForecastBatch> {
  const { splits, targets, record, model, settings, visits = 1, deviations, average, draw, drawn = 6 } =
    options;
  const batchOf = (part: keyof Splits<unknown>): ForecastBatch => ({
    ...toForecastBatch(splits[part]),
    ...(targets ? { targets: toForecastBatch(targets[part]).x } : {}),
  });
  const data = mapSplits({ train: "train", validation: "validation", test: "test" } as const, batchOf);
  const steps = settings.epochs! * Math.ceil(visits * splits.train.shape[0] / settings.batchSize);
  return {
    ...forecaster(options),
    record,
    ...(record
      ? {
        description: [describeRecord(record)],
        testSize: `${record.split.test.length} of ${Object.values(record.split).flat().length} series`,
      }
      : {}),
    ...learning({ parameters: model.parameters, settings, steps, average }),
    data,
    visits,
    metric: { name: deviations ? "mse" : "loss", mode: "min" },
    evaluatePredictions: () => measurePredictions(options, data),
    async examples() {
      const count = Math.min(drawn, splits.test.shape[0]);
      const positions = Array.from({ length: count }, (_, i) => Math.floor(i * splits.test.shape[0] / count));
      const { x, targets: wanted = x } = takeSamples(data.test, positions);
      const y = tidy(() => forecast(options, x));
      const [truth, predicted] = [await wanted.data(), await y.data()] as Float32Array[];
      const rowOf = (values: Float32Array, i: number) =>
        values.subarray(i * values.length / count, (i + 1) * values.length / count);
      return [
        draw(positions.map((position, i) => ({
          position,
          truth: rowOf(truth, i),
          predicted: rowOf(predicted, i),
        }))),
      ];
    },
  };
}

/**
 * Squared errors after other contexts (`mse after 100`, ...), bits per dimension if available, and the errors
 * of baselines.
 */
async function measurePredictions(
  options: ForecastingOptions,
  { train, test }: Pick<Splits<ForecastBatch>, "train" | "test">,
): Promise<Evaluation> {
  const { otherContexts = {}, context, deviations, settings } = options;
  const measures: Record<string, number> = {};
  const start = test.targets ? 1 : context;
  const squaredErrors: Record<string, number> = { [deviations ? "mse" : "loss"]: start };
  for (const [name, context] of Object.entries(otherContexts)) {
    const evaluation = await evaluate(forecaster({ ...options, context }), test, settings.batchSize);
    measures[`mse ${name}`] = evaluation.mse ?? evaluation.loss;
    if (evaluation.bpd !== undefined) measures[`bpd ${name}`] = evaluation.bpd;
    squaredErrors[`mse ${name}`] = context;
  }
  const baselines = await measureForecastBaselines({
    train: train.targets ?? train.x,
    test: test.targets ?? test.x,
    squaredErrors,
    start,
    ...(test.targets ? { inputs: test.x } : {}),
    deviation: options.leastDeviation,
    isZeroForecast: options.isZeroForecast,
    isLastGiven: !test.targets,
  });
  return { measures, baselines, sections: () => Promise.resolve([]) };
}

/** Converts series to the input of a forecasting model. */
export function toForecastBatch({ values, shape }: Trajectories): ForecastBatch {
  return { x: tensor(Float32Array.from(values), { shape }) };
}
