import type { Series } from "../../data/series.ts";
import { DataError } from "../../device/errors.ts";
import { isCount, isNumber, isRecord } from "../../files/json.ts";
import type { SeriesStreams, SeriesStreamState, StreamedOutputs } from "../../models/series_streams.ts";
import { countedSteps } from "../../charts/format.ts";
import { formatRecordedTime } from "../record/calendar.ts";
import { BlockMean, type BlockSums } from "../record/block_mean.ts";
import type { DataRecord } from "../record/data_record.ts";
import { isSummary, RunningSummary } from "../record/running_summary.ts";
import { scaledValue } from "../record/scaled_values.ts";
import { linearOutputs } from "../math/linear_model.ts";
import { originOf, startOf, targetChannelsOf } from "../read/forecast_windows.ts";
import type { CheckedSeries } from "./learned_ranges.ts";
import type { FollowedState, Prediction, PredictionStreamState, RowsState } from "../record/predictions.ts";
import { requireFiniteOutputs, type SeriesNetwork } from "../models/series_network.ts";
import type { TrainedModel } from "../models/trained_model.ts";

/** How a model predicts from a state and an observation. A state is plain JSON, and is never modified. */
interface StreamRules<State> {
  readonly channels: DataRecord["channels"];
  /** Formats a time for a message. */
  readonly textOf?: (time: number) => string;
  /** Time that the next observation must be later than. */
  lastTime(series: string, state: State): number;
  /** Predicts a series from its state, undefined before the first observation, and its next observation. */
  step(
    series: string,
    time: number,
    values: readonly number[],
    state: State | undefined,
  ): Promise<readonly [Prediction, next: Omit<State, "count">]>;
  /** Throws unless a saved state is a state of this model. @throws {DataError} */
  check(series: string, state: State): void;
}

/** Makes streams whose observations take effect in order. A rejected observation does not change the state. */
function streamsOf<State extends PredictionStreamState>(
  { channels, textOf = String, lastTime, step, check }: StreamRules<State>,
): NonNullable<TrainedModel["stream"]> {
  return (series, saved) => {
    if (saved) check(series, saved as State);
    let state = new Promise<State | undefined>((resolve) => resolve(saved as State | undefined));
    const advance = async (known: State | undefined, time: number, values: readonly number[]) => {
      if (values.length !== channels.length) {
        throw new DataError(
          "invalid-observation",
          `series "${series}": ${values.length} values, expected one for each of ${
            channels.map(({ name }) => name).join(", ")
          }, NaN where nothing was observed`,
        );
      }
      const last = known ? lastTime(series, known) : -Infinity;
      if (!Number.isFinite(time) || time <= last) {
        const expected = `a time later than ${Number.isFinite(last) ? textOf(last) : last}`;
        const text = Number.isFinite(time) ? textOf(time) : `${time}`;
        throw new DataError("invalid-observation", `series "${series}": time ${text}, expected ${expected}`, {
          expected,
        });
      }
      const [prediction, next] = await step(series, time, values, known);
      return { prediction, next: { count: 1 + (known?.count ?? 0), ...next } as State };
    };
    return {
      series,
      async push(time, given) {
        // Copy the values: the caller may overwrite the array before its turn.
        const values = Array.from(given);
        const before = state;
        const done = before.then((known) => advance(known, time, values));
        state = done.then(({ next }) => next, () => before);
        return (await done).prediction;
      },
      async save() {
        const known = await state;
        if (known) return copyOf(known);
        throw new DataError("empty-series", `series "${series}": there was no observation yet`);
      },
    };
  };
}

/** Copies plain JSON. `structuredClone` takes several times as long. */
function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T;
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, copyOf(one)])) as T;
}

/**
 * Streams of a network's predictions. Memory does not grow with the number of observations. Observations of
 * several series that arrive at about the same time are computed in one batch.
 *
 * If the model reads means of blocks, the mean of an incomplete block is read after each of its rows, from the
 * state after the last complete block. A prediction so equals that of the whole series up to its observation.
 *
 * @param predictionOf Converts a network's outputs to a prediction, with warnings about the latest observation.
 * @returns Undefined if the network has no streams.
 */
export function networkStreams(
  network: Pick<SeriesNetwork, "streams">,
  record: Pick<DataRecord, "channels" | "time" | "condensing" | "linear">,
  predictionOf: (observed: CheckedSeries, outputs: ArrayLike<number>) => Prediction,
): TrainedModel["stream"] {
  if (!network.streams) return undefined;
  const { channels, time: { scale, origin }, condensing, linear } = record;
  const { rows } = condensing ?? { rows: 1 };
  const streams = network.streams();
  const push = batched(streams.push);
  return streamsOf<FollowedState>({
    channels,
    lastTime: (_, { last }) => last,
    async step(series, time, values, state) {
      const block = new BlockMean(channels.length, state?.block);
      block.add(time, values);
      /** State after the last complete block. */
      const before = state?.model === undefined ? undefined : state;
      const first = before?.first ?? block.time;
      const means = block.values;
      // As for whole series, a channel has its mean until its first observation.
      const held = channels.map((scale, channel) => {
        const value = scaledValue(means[channel], scale);
        return Number.isNaN(value) ? before?.held[channel] ?? 0 : value;
      });
      const summary = linear && new RunningSummary(channels.length, state?.summary);
      summary?.add(time, channels.map((one, i) => scaledValue(values[i], one)));
      const added = summary ? linearOutputs(linear!, summary.features(record)) : [];
      const row = [(block.time - (origin === "zero" ? 0 : first)) * scale, ...held, ...added];
      const wrong = row.findIndex((value) => !Number.isFinite(Math.fround(value)));
      if (wrong >= 0) {
        throw new DataError(
          "invalid-observation",
          `series "${series}": a ${wrong === 0 ? "time" : "value"} is too large for float32, compared with ` +
            "those of the training series",
        );
      }
      const { outputs, state: model } = await push(row, before?.model as SeriesStreamState | undefined);
      requireFiniteOutputs(series, outputs);
      const next = block.rows < rows
        ? { first, held: before?.held ?? channels.map(() => 0), model: before?.model, block: block.save() }
        : { first, held, model };
      // The times of the first and the latest observation, with the values of the latest.
      const observed = {
        name: series,
        times: Float64Array.of(first, time),
        values: Float64Array.from([...channels.map(() => NaN), ...values]),
      };
      return [predictionOf(observed, outputs), {
        ...next,
        last: time,
        ...(summary ? { summary: summary.save() } : {}),
      }];
    },
    check(series, { count, first, last, held, model, block, summary }) {
      const isSaved = isCount(count, 1) && isNumber(first) && isNumber(last) && first <= last &&
        Array.isArray(held) && held.length === channels.length && held.every(isNumber) &&
        (block === undefined || isBlock(block, channels.length, rows)) &&
        (!linear || isSummary(summary, channels.length));
      if (!isSaved) {
        throw new DataError(
          "invalid-state",
          `series "${series}": not a saved state of this model: expected count, first, last and held, a number for each of ` +
            `${channels.length} channels`,
        );
      }
      if (block === undefined || model !== undefined) streams.check(model);
    },
  });
}

/** Whether a value is an incomplete block. @param most Number of rows of a complete block. */
function isBlock(value: unknown, channels: number, most: number): boolean {
  if (!isRecord(value)) return false;
  const { rows, first, since, sums, counts } = value as Partial<BlockSums>;
  const isRow = (row: unknown) => Array.isArray(row) && row.length === channels && row.every(isNumber);
  return isCount(rows, 1) && rows < most && isNumber(first) && isNumber(since) && isRow(sums) &&
    isRow(counts);
}

type Push = (row: number[], known: unknown) => Promise<StreamedOutputs>;

/** Number of rows of a full batch, and the longest wait for more rows in milliseconds. */
const [fullBatch, gatherTime] = [16, 8];

/**
 * Batches the rows that arrive during a computation or in the same iteration of the event loop. If several
 * arrive, the next batch waits for more, since small batches take as much time as large ones.
 */
function batched(push: SeriesStreams["push"]): Push {
  let waiting: { row: number[]; known: unknown; done: PromiseWithResolvers<StreamedOutputs> }[] = [];
  let isRunning = false;
  let onFull = () => {};
  const gathered = (milliseconds: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      onFull = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const run = async () => {
    isRunning = true;
    let size = 0;
    while (waiting.length > 0) {
      // Let the event loop handle messages that have already arrived.
      await gathered(size > 1 && waiting.length < fullBatch ? gatherTime : 0);
      const batch = waiting;
      size = batch.length;
      waiting = [];
      try {
        const results = await push(batch.map(({ row }) => row), batch.map(({ known }) => known));
        batch.forEach(({ done }, i) => done.resolve(results[i]));
      } catch (error) {
        batch.forEach(({ done }) => done.reject(error));
      }
    }
    isRunning = false;
  };
  return (row, known) => {
    const done = Promise.withResolvers<StreamedOutputs>();
    waiting.push({ row, known, done });
    if (!isRunning) void run();
    else if (waiting.length >= fullBatch) onFull();
    return done.promise;
  };
}

/** Maximum number of observations kept per step of the window. */
const mostPerStep = 16;

/**
 * Streams of forecasts, which equal those of the whole series. Of the past, only the observations in the
 * window and each channel's last value before the window are kept.
 *
 * @param predict Returns the forecast of a series.
 */
export function forecastStreams(
  { channels, time: times, windows }: Pick<DataRecord, "channels" | "time" | "windows">,
  predict: (series: Series) => Promise<Prediction>,
): NonNullable<TrainedModel["stream"]> {
  const sizes = windows!;
  const most = mostPerStep * (sizes.context + sizes.horizon);
  const width = channels.length;
  const targetChannels = targetChannelsOf(channels);
  const seriesOf = (name: string, rows: RowsState["rows"]): Series => ({
    name,
    times: Float64Array.from(rows, ([time]) => time!),
    values: Float64Array.from(rows.flatMap(([_, ...values]) => values.map((value) => value ?? NaN))),
    label: -1,
  });
  const origin = (name: string, rows: RowsState["rows"]) =>
    rows[originOf(seriesOf(name, rows), width, targetChannels)][0]!;
  return streamsOf<RowsState>({
    channels,
    ...(times.calendar ? { textOf: (time: number) => formatRecordedTime(time, times) } : {}),
    lastTime: (series, { rows }) => origin(series, rows),
    async step(series, time, values, { rows } = { count: 0, rows: [] }) {
      const row = [time, ...values.map((value) => Number.isNaN(value) ? null : value)];
      // The observation may be before rows that request forecasts, or replace such a row.
      const all = [...rows.filter(([other]) => other !== time), row].sort(([a], [b]) => a! - b!);
      const kept = keptRows(all, startOf(origin(series, all), sizes), width);
      if (kept.length > most) {
        throw new DataError(
          "too-large",
          `series "${series}": more than ${most} observations among the ${
            countedSteps(sizes.context, sizes.gap, times.kind)
          } that the model ` +
            `reads and the ${sizes.horizon} after them`,
          { fixes: ["send fewer, such as means of several"] },
        );
      }
      return [await predict(seriesOf(series, kept)), { rows: kept }];
    },
    check(series, { count, rows }) {
      const isRow = (row: unknown, i: number) =>
        Array.isArray(row) && row.length === width + 1 && isNumber(row[0]) &&
        !(i > 0 && row[0] <= rows[i - 1][0]!) &&
        row.every((value) => value === null || isNumber(value));
      const isSaved = isCount(count, 1) && Array.isArray(rows) && isCount(rows.length, 1) &&
        rows.length <= most + width && rows.every(isRow);
      if (isSaved) return;
      throw new DataError(
        "invalid-state",
        `series "${series}": not a saved state of this model: expected a count, and rows of a time and ${width} values`,
      );
    },
  });
}

/** Rows from a time on, and the earlier rows with the last value of each channel. */
function keptRows(rows: RowsState["rows"], start: number, width: number): RowsState["rows"] {
  const first = rows.findIndex(([time]) => time! >= start);
  const needed = new Set<number>();
  for (let channel = 1; channel <= width; channel++) {
    needed.add(rows.slice(0, first).findLastIndex((row) => row[channel] !== null));
  }
  return rows.filter((_, i) => i >= first || needed.has(i));
}
