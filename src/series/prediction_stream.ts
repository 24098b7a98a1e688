import type { DataRecord } from "./data_record.ts";
import type { FollowedState, Prediction, PredictionStream, PredictionStreamState } from "./predictions.ts";
import type { TrainedModel } from "./trained_model.ts";
import { isCount, isNumber } from "../files/json.ts";
import type { SeriesStreams, StreamedOutputs } from "../models/series_streams.ts";
import { DataError } from "../files/data_error.ts";
import { requireFiniteOutputs, type SeriesNetwork } from "./series_network.ts";
import { transactionsOn } from "./transactions.ts";

/**
 * Streams of a network's predictions. Memory does not grow with the number of observations. Observations of
 * several series that arrive at about the same time are computed in one batch.
 *
 * @param predictionOf Converts a network's outputs to a prediction.
 * @returns Undefined if the network has no streams.
 */
export function streamOf(
  network: Pick<SeriesNetwork, "streams">,
  record: Pick<DataRecord, "channels" | "time">,
  predictionOf: (series: string, outputs: ArrayLike<number>) => Prediction,
): TrainedModel["stream"] {
  if (!network.streams) return undefined;
  const { check, push } = network.streams();
  const together = gathered(push);
  return (series, state) => {
    if (state !== undefined) requireFollowed(series, record, state, check);
    return predictionStream(series, record, together, predictionOf, state as FollowedState | undefined);
  };
}

function predictionStream(
  series: string,
  { channels, time }: Pick<DataRecord, "channels" | "time">,
  push: (row: number[], known: unknown) => Promise<StreamedOutputs>,
  predictionOf: (series: string, outputs: ArrayLike<number>) => Prediction,
  state?: FollowedState,
): PredictionStream {
  const observed = transactionsOn(state);
  return {
    series,
    async push(now, given) {
      // Copy the values: the caller may overwrite the array before its turn.
      const values = Array.from(given);
      return await observed.run(async (before) => {
        requireRow(series, channels, values);
        if (!Number.isFinite(now) || before && now <= before.last) {
          throw new DataError(
            `series "${series}": time ${now}, expected one later than ${before?.last ?? -Infinity}`,
          );
        }
        const { count = 0, first = now } = before ?? {};
        // As for whole series, a channel has its mean until its first observation.
        const held = channels.map(({ mean, standardDeviation }, channel) => {
          const value = (values[channel] - mean) / standardDeviation;
          return Number.isNaN(value) ? before?.held[channel] ?? 0 : value;
        });
        const row = [(now - first) * time.scale, ...held];
        requireFloat32(series, row);
        const { outputs, state: model } = await push(row, before?.model);
        requireFiniteOutputs(series, outputs);
        return [predictionOf(series, outputs), { count: count + 1, first, last: now, held, model }];
      });
    },
    async save() {
      const known = await observed.state;
      if (!known) throw new DataError(`series "${series}": there was no observation yet`);
      return { ...known, held: [...known.held], model: asJson(known.model) };
    },
  };
}

/** @throws {DataError} If a row for the model has a value that float32 cannot represent. */
function requireFloat32(series: string, row: readonly number[]): void {
  const wrong = row.findIndex((value) => !Number.isFinite(Math.fround(value)));
  if (wrong < 0) return;
  throw new DataError(
    `series "${series}": a ${
      wrong === 0 ? "time" : "value"
    } is too large for float32, compared with those of the series to ` +
      "train on",
  );
}

/** Converts a state to JSON: typed arrays become arrays of numbers. */
function asJson(known: unknown): unknown {
  return JSON.parse(
    JSON.stringify(
      known,
      (_, value) => ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value,
    ),
  );
}

/** Batches the rows that arrive during a computation or in the same iteration of the event loop. */
function gathered(push: SeriesStreams["push"]): (row: number[], known: unknown) => Promise<StreamedOutputs> {
  let waiting: { row: number[]; known: unknown; done: PromiseWithResolvers<StreamedOutputs> }[] = [];
  let isRunning = false;
  const run = async () => {
    isRunning = true;
    while (waiting.length > 0) {
      // Let the event loop handle messages that have already arrived.
      await new Promise((resolve) => setTimeout(resolve));
      const own = waiting;
      waiting = [];
      try {
        const results = await push(own.map(({ row }) => row), own.map(({ known }) => known));
        own.forEach(({ done }, i) => done.resolve(results[i]));
      } catch (error) {
        own.forEach(({ done }) => done.reject(error));
      }
    }
    isRunning = false;
  };
  return (row, known) => {
    const done = Promise.withResolvers<StreamedOutputs>();
    waiting.push({ row, known, done });
    if (!isRunning) void run();
    return done.promise;
  };
}

/** @throws {DataError} If the state is not one of the model's streams. */
function requireFollowed(
  series: string,
  { channels }: Pick<DataRecord, "channels">,
  state: PredictionStreamState,
  check: SeriesStreams["check"],
): void {
  const { count, first, last, held, model } = state as FollowedState;
  const isSaved = isCount(count, 1) && isNumber(first) && isNumber(last) && first <= last &&
    Array.isArray(held) &&
    held.length === channels.length && held.every(isNumber);
  if (!isSaved) {
    throw new DataError(
      `series "${series}": no saved state of this model: expected count, first, last and held, a number for each of ` +
        `${channels.length} channels`,
    );
  }
  check(model);
}

/** @throws {DataError} If the number of values differs from the number of channels. */
export function requireRow(
  series: string,
  channels: DataRecord["channels"],
  values: ArrayLike<number>,
): void {
  if (values.length === channels.length) return;
  throw new DataError(
    `series "${series}": ${values.length} values, expected one for each of ${
      channels.map(({ name }) => name).join(", ")
    }, NaN where nothing was observed`,
  );
}
