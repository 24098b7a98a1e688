import type { DataRecord } from "../data_record.ts";
import type { FollowedState, Prediction, PredictionStream, PredictionStreamState } from "../predictions.ts";
import type { TrainedModel } from "../task.ts";
import { isCount, isNumber } from "../../files/json.ts";
import type { SeriesStreams, StreamedOutputs } from "../../models/series_streams.ts";
import { requireFiniteOutputs, type SeriesNetwork } from "./series_network.ts";

/**
 * Streams of a network's predictions, in memory that does not grow with the number of observations. Observations of several series
 * that come at about the same time are computed together.
 *
 * @param predictionOf The prediction that a network's outputs mean.
 * @returns Nothing where the network has no streams.
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
  let { count, first, last } = state ?? { count: 0, first: 0, last: -Infinity };
  // As for whole series: a channel has its mean until it is observed.
  const held = state ? [...state.held] : channels.map(() => 0);
  /** State of the model when all observations so far are computed. */
  let known = Promise.resolve(state?.model);
  return {
    series,
    async push(now, values) {
      requireRow(series, channels, values);
      if (!Number.isFinite(now) || count > 0 && now <= last) {
        throw new RangeError(`series "${series}": time ${now}, expected one later than ${last}`);
      }
      if (count === 0) first = now;
      channels.forEach(({ mean, standardDeviation }, channel) => {
        const value = (values[channel] - mean) / standardDeviation;
        if (!Number.isNaN(value)) held[channel] = value;
      });
      last = now;
      count++;
      const row = [(now - first) * time.scale, ...held];
      const before = known;
      const pushed = before.then(async (own) => {
        const next = await push(row, own);
        requireFiniteOutputs(series, next.outputs);
        return next;
      });
      // An observation that the model makes no number of leaves what it knows as it was.
      known = pushed.then((next) => next.state, () => before);
      return predictionOf(series, (await pushed).outputs);
    },
    async save() {
      if (count === 0) throw new Error(`series "${series}": there was no observation yet`);
      return { count, first, last, held: [...held], model: asJson(await known) };
    },
  };
}

/** A state with arrays of numbers in place of typed ones. */
function asJson(known: unknown): unknown {
  return JSON.parse(
    JSON.stringify(
      known,
      (_, value) => ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value,
    ),
  );
}

/** Pushes rows together that come while others are computed, or in one iteration of the event loop. */
function gathered(push: SeriesStreams["push"]): (row: number[], known: unknown) => Promise<StreamedOutputs> {
  let waiting: { row: number[]; known: unknown; done: PromiseWithResolvers<StreamedOutputs> }[] = [];
  let isRunning = false;
  const run = async () => {
    isRunning = true;
    while (waiting.length > 0) {
      // Messages that have come already are handled first.
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

/** @throws {RangeError} If a state is none that a stream of the model saves. */
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
    throw new RangeError(
      `series "${series}": no saved state of this model: expected count, first, last and held, a number for each of ` +
        `${channels.length} channels`,
    );
  }
  check(model);
}

/** @throws {RangeError} If there is not a value for each channel. */
export function requireRow(
  series: string,
  channels: DataRecord["channels"],
  values: ArrayLike<number>,
): void {
  if (values.length === channels.length) return;
  throw new RangeError(
    `series "${series}": ${values.length} values, expected one for each of ${
      channels.map(({ name }) => name).join(", ")
    }, NaN where nothing was observed`,
  );
}
