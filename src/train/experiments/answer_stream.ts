import type { DataRecord } from "../data_record.ts";
import type { Answer, AnswerStream, AnswerStreamState, FollowedState } from "../answers.ts";
import type { TrainedModel } from "../task.ts";
import type { SeriesNetwork } from "./series_network.ts";

/**
 * Streams of a network's answers, in memory that does not grow with the number of observations.
 *
 * @param answerOf The answer that a network's outputs mean.
 * @returns Nothing where the network follows no series.
 */
export function streamOf(
  network: Pick<SeriesNetwork, "stream">,
  record: Pick<DataRecord, "channels" | "time">,
  answerOf: (series: string, outputs: ArrayLike<number>) => Answer,
): TrainedModel["stream"] {
  const { stream } = network;
  return stream && ((series, state) => answerStream(series, record, stream, answerOf, state));
}

function answerStream(
  series: string,
  { channels, time }: Pick<DataRecord, "channels" | "time">,
  open: NonNullable<SeriesNetwork["stream"]>,
  answerOf: (series: string, outputs: ArrayLike<number>) => Answer,
  state?: AnswerStreamState,
): AnswerStream {
  const earlier = state as FollowedState | undefined;
  const stream = open({ state: earlier?.model });
  let { count, first, last } = earlier ?? { count: 0, first: 0, last: -Infinity };
  // As for whole series: a channel has its mean until it is observed.
  const held = earlier ? [...earlier.held] : channels.map(() => 0);
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
      const outputs = stream.push(count++, [(now - first) * time.scale, ...held]);
      return answerOf(series, await outputs.data());
    },
    async save() {
      return { count, first, last, held: [...held], model: await stream.save() };
    },
  };
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
