/** Continues series: learns from windows of the past, and says how each goes on. */
import { channelStatistics, mapSplits, type Series, type SeriesSet } from "../../data/series.ts";
import { largest } from "../../device/extremes.ts";
import { arange, tensor } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { type Key, key as makeKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { ForecastAnswer } from "../answers.ts";
import { type DataRecord, requireSame } from "../data_record.ts";
import type { Task, TrainedModel } from "../task.ts";
import { type ContinuationModel, continuationModel, type Given } from "./continuation_models.ts";
import { type ContinuationWindow, untilOf, windowAt, windowsOf } from "./continuation_windows.ts";
import type { Settings } from "./experiment.ts";
import { learning } from "./recipe.ts";
import { inRecordedOrder, recordSeries, requireValues } from "./recorded_series.ts";
import { knownErrors } from "./regression.ts";
import { readSeries, typicalGap } from "./series_experiment.ts";
import { readAlike, seriesNetwork } from "./series_network.ts";

/** Windows as a model reads them. */
export type ContinuationBatch = Given & {
  /** Mean of each channel over the grid, in deviations of the data to train on. Shape (batch, 1, channels). */
  readonly level: Tensor;
  /** Standard deviation of each channel over the grid, in the same unit. Shape (batch, 1, channels). */
  readonly spread: Tensor;
  /** What follows, in the same unit; NaN is unknown. Shape (batch, times, channels). */
  readonly targets: Tensor;
  /** Times of what follows, in steps after the present; where they are missing, the steps 1, 2, ... Shape (batch, times). */
  readonly at?: Tensor;
};

/** Least deviation of a window that it is divided by, in deviations of the data to train on. */
const leastSpread = 0.01;

/** A model that continues series as its record says. */
interface Continuer {
  readonly model: ContinuationModel;
  toBatch(windows: readonly ContinuationWindow[]): ContinuationBatch;
  /** Values at the steps 1, 2, ... after the present, in deviations of the data to train on. Shape (batch, horizon, channels). */
  steps(batch: ContinuationBatch, key?: Key): Tensor;
  evaluate: Task<ContinuationBatch>["evaluate"];
  answer(series: readonly Series[]): Promise<ForecastAnswer[]>;
}

function continuer(settings: Settings, record: DataRecord): Continuer {
  const { channels, windows } = record;
  const sizes = windows!;
  const { context, horizon, gap } = sizes;
  const width = channels.length;
  const key = makeKey(settings.seed);
  const name = settings.model ?? "linear";
  const unscaled = channels.map((channel) => ({ ...channel, mean: 0, standardDeviation: 1 }));
  let network: ReturnType<typeof seriesNetwork> | undefined;
  const model = continuationModel(name, {
    ...{ channels: width, context, horizon, hidden: settings.hidden, key },
    network: (outputs) =>
      network = seriesNetwork(
        { record: { ...record, channels: unscaled }, settings, key, width: 32, depth: 1 },
        outputs,
      ),
  });

  const toBatch = (given: readonly ContinuationWindow[]): ContinuationBatch => {
    const count = given.length;
    const [grid, level, spread] = [context, 1, 1].map((rows) => new Float32Array(count * rows * width));
    const past = given.map(({ grid: values, past }, i) => {
      const own = channels.map(({ mean, standardDeviation }, channel) => {
        const column = Array.from(
          { length: context },
          (_, t) => (values[t * width + channel] - mean) / standardDeviation,
        );
        const average = column.reduce((sum, value) => sum + value, 0) / context;
        const square = column.reduce((sum, value) => sum + (value - average) ** 2, 0) / context;
        const deviation = Math.max(Math.sqrt(square), leastSpread);
        column.forEach((value, t) =>
          grid[(i * context + t) * width + channel] = (value - average) / deviation
        );
        level[i * width + channel] = average;
        spread[i * width + channel] = deviation;
        return { mean: mean + average * standardDeviation, deviation: deviation * standardDeviation };
      });
      return {
        ...past,
        values: past.values.map((value, at) => (value - own[at % width].mean) / own[at % width].deviation),
      };
    });
    const isRegular = given.every(({ at }) =>
      at.length === horizon && at.every((step, i) => Math.abs(step - i - 1) < 1e-3)
    );
    const length = isRegular ? horizon : Math.max(1, largest(given.map(({ at }) => at.length)));
    const targets = new Float32Array(count * length * width).fill(NaN);
    const at = new Float32Array(count * length);
    given.forEach((window, i) => {
      at.set(window.at, i * length);
      window.targets.forEach((value, t) => {
        const { mean, standardDeviation } = channels[t % width];
        targets[i * length * width + t] = (value - mean) / standardDeviation;
      });
    });
    return {
      grid: tensor(grid, { shape: [count, context, width] }),
      ...(network ? { inputs: network.inputs(past) } : {}),
      level: tensor(level, { shape: [count, 1, width] }),
      spread: tensor(spread, { shape: [count, 1, width] }),
      targets: tensor(targets, { shape: [count, length, width] }),
      ...(isRegular ? {} : { at: tensor(at, { shape: [count, length] }) }),
    };
  };
  const steps = (batch: ContinuationBatch, key?: Key) => model(batch, key).mul(batch.spread).add(batch.level);

  return {
    model,
    toBatch,
    steps,
    evaluate(batch, key) {
      const predicted = steps(batch, key);
      if (!batch.at) return knownErrors(predicted, batch.targets);
      const present = batch.grid.slice(1, -1).mul(batch.spread).add(batch.level);
      return knownErrors(atTimes(concatenate([present, predicted], 1), batch.at), batch.targets);
    },
    async answer(series) {
      const given = series.map((one) => ({ one, present: presentOf(one, width) }));
      const cut = given.map(({ one, present }) => windowAt(one, present, width, sizes));
      const read = await readAlike(
        Array.from(given.keys()),
        (positions) => steps(toBatch(positions.map((i) => cut[i]))),
      );
      return read.map(([i, own]) => {
        const { one, present } = given[i];
        const asked = Array.from(one.times.subarray(present + 1));
        const times = asked.length > 0
          ? asked
          : Array.from({ length: horizon }, (_, step) => one.times[present] + (step + 1) * gap);
        const beyond = times.find((time) => time > one.times[present] + (horizon + 1e-6) * gap);
        if (beyond !== undefined) {
          throw new Error(
            `series "${one.name}": asked ${
              (beyond - one.times[present]) / gap
            } steps after its last observation, and the ` +
              `model was trained for ${horizon}: ask for less, or train with a longer --horizon`,
          );
        }
        const forecast = channels.map(({ name, mean, standardDeviation }, channel) => {
          const last = cut[i].grid[(context - 1) * width + channel];
          const line = Array.from(
            { length: horizon + 1 },
            (_, step) => step === 0 ? last : own[(step - 1) * width + channel] * standardDeviation + mean,
          );
          return [name, {
            mean: times.map((time) => between(line, (time - one.times[present]) / gap)),
            quantiles: {},
          }];
        });
        return {
          series: one.name,
          times: record.time.kind === "date"
            ? times.map((time) => new Date(1000 * time).toISOString())
            : times,
          channels: Object.fromEntries(forecast),
        };
      });
    },
  };
}

/** Values of lines through the steps 0, 1, ... `(batch, steps, channels)` at some times `(batch, times)`, in steps. */
function atTimes(lines: Tensor, at: Tensor): Tensor {
  const grid = arange(lines.shape[1]).reshape([1, 1, -1]);
  const weights = at.expandDims(-1).sub(grid).abs().neg().add(1).relu();
  return weights.matmul(lines);
}

/** The value of a line through the steps 0, 1, ... */
function between(line: readonly number[], at: number): number {
  const left = Math.min(Math.floor(at + 1e-9), line.length - 1);
  const share = at - left;
  return share < 1e-9 || left === line.length - 1
    ? line[left]
    : line[left] + share * (line[left + 1] - line[left]);
}

/**
 * Position of the last observation of a series; rows after it, of times alone, ask for these times.
 *
 * @throws {Error} If the series has none.
 */
function presentOf({ name, values }: Series, channels: number): number {
  for (let row = values.length / channels - 1; row >= 0; row--) {
    if (!values.subarray(row * channels, (row + 1) * channels).every(Number.isNaN)) return row;
  }
  throw new Error(`series "${name}": no value at all: there is nothing to continue; leave it out`);
}

/** The task of a run that learns to continue series of a table. */
export async function prepareContinuation(settings: Settings, earlier?: DataRecord): Promise<Task> {
  if (!settings.data) throw new Error("own-series needs data: name a table with --data");
  const made = await readSeries(settings.data, { targets: "channels" });
  return await continuationTask(made, settings, earlier);
}

/** The task of a run that learns to continue the series of a set. */
export async function continuationTask(
  made: SeriesSet,
  settings: Settings,
  earlier?: DataRecord,
): Promise<Task<ContinuationBatch>> {
  requireValues(made);
  const set = earlier ? inRecordedOrder(made, earlier) : made;
  const recorded = await recordSeries(set);
  if (earlier) requireSame(set.name, recorded, earlier);
  const record = earlier ?? recordOf(set, recorded, settings);
  const { until, ...sizes } = record.windows!;
  const spans = {
    train: { from: -Infinity, to: until.train },
    validation: { from: until.train, to: until.validation },
    test: { from: until.validation, to: Infinity },
  };
  const windows = mapSplits(spans, (span) => windowsOf(set.series, set.channels.length, sizes, span));
  for (const [part, { length }] of Object.entries(windows)) {
    if (length > 0) continue;
    throw new Error(
      `${set.name}: no series is long enough to ${
        part === "train" ? "learn" : "check"
      } ${sizes.horizon} steps of ${sizes.gap} ` +
        `in the part "${part}": choose a smaller --horizon`,
    );
  }
  const own = continuer(settings, record);
  const { parameters } = own.model;
  const data = mapSplits(windows, own.toBatch);
  const steps = settings.epochs * Math.ceil(windows.train.length / settings.batchSize);
  return {
    record,
    parameters,
    ...learning({ parameters, settings, steps }),
    data,
    evaluate: own.evaluate,
    metric: { name: "loss", mode: "min" },
  };
}

function recordOf(
  set: SeriesSet,
  recorded: DataRecord["split"]["train"],
  { horizon = 24, context = Math.max(2, 2 * horizon) }: Settings,
): DataRecord {
  const until = untilOf(set.series);
  const width = set.channels.length;
  const train = set.series.map((one) => {
    const rows = one.times.filter((time) => time <= until.train).length;
    return { ...one, values: one.values.slice(0, rows * width) };
  });
  const statistics = channelStatistics(train, width);
  const gap = typicalGap(set);
  return {
    version: 1,
    channels: set.channels.map((name, i) => ({ name, kind: "number", ...statistics[i] })),
    time: { kind: set.times, origin: "first observation of each series", scale: 0.1 / gap },
    length: context,
    classes: [],
    windows: { gap, context, horizon, until },
    split: { train: recorded, validation: [], test: [] },
    ignored: set.ignored ?? [],
  };
}

/** A run's model for series that it was not trained on. */
export function openContinuation(settings: Settings, record: DataRecord): TrainedModel {
  const own = continuer(settings, record);
  const conform = (other: SeriesSet) => {
    const set = inRecordedOrder(other, record);
    requireValues(set);
    return set;
  };
  const read = async (path: string) => conform(await readSeries(path, { targets: "channels" }));
  return {
    parameters: own.model.parameters,
    evaluate: own.evaluate,
    async samples(path) {
      const { series } = await read(path);
      const windows = windowsOf(series, record.channels.length, record.windows!, {
        from: -Infinity,
        to: Infinity,
      });
      if (windows.length === 0) {
        throw new Error(`${path}: no series is long enough to check ${record.windows!.horizon} steps`);
      }
      return { batch: own.toBatch(windows), count: windows.length, seen: 0 };
    },
    conform,
    series: read,
    answer: ({ series }) => own.answer(series),
  };
}
