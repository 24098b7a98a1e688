/** Streams of the predictions of networks. */
import { DataError } from "../../../device/errors.ts";
import { isCount, isNumber, isRecord } from "../../../files/json.ts";
import type { SeriesStreams, SeriesStreamState, StreamedOutputs } from "../../../models/series_streams.ts";
import { linearOutputs } from "../../math/linear_model.ts";
import { requireFiniteOutputs, type SeriesNetwork } from "../../models/series_network.ts";
import type { TrainedModel } from "../../models/trained_model.ts";
import { BlockMean, type BlockSums } from "../../record/block_mean.ts";
import type { DataRecord } from "../../record/data_record.ts";
import type { FollowedState, Prediction } from "../../record/predictions.ts";
import { isSummary, RunningSummary } from "../../record/running_summary.ts";
import { scaledValue } from "../../record/scaled_values.ts";
import type { CheckedSeries } from "../range_warnings.ts";
import { streamsOf } from "./prediction_stream.ts";

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

type Push = (row: number[], state: unknown) => Promise<StreamedOutputs>;

/** Number of rows of a full batch, and the longest wait for more rows in milliseconds. */
const [fullBatch, gatherTime] = [16, 8];

/**
 * Batches the rows that arrive during a computation or in the same iteration of the event loop. If several
 * arrive, the next batch waits for more, since small batches take as much time as large ones.
 */
function batched(push: SeriesStreams["push"]): Push {
  let waiting: { row: number[]; state: unknown; done: PromiseWithResolvers<StreamedOutputs> }[] = [];
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
        const results = await push(batch.map(({ row }) => row), batch.map(({ state }) => state));
        batch.forEach(({ done }, i) => done.resolve(results[i]));
      } catch (error) {
        batch.forEach(({ done }) => done.reject(error));
      }
    }
    isRunning = false;
  };
  return (row, state) => {
    const done = Promise.withResolvers<StreamedOutputs>();
    waiting.push({ row, state, done });
    if (!isRunning) void run();
    else if (waiting.length >= fullBatch) onFull();
    return done.promise;
  };
}
