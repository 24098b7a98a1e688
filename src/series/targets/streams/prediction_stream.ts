/** Streams of predictions: what the streams of all models share. */
import { DataError } from "../../../device/errors.ts";
import { isRecord } from "../../../files/json.ts";
import type { TrainedModel } from "../../models/trained_model.ts";
import type { DataRecord } from "../../record/data_record.ts";
import type { Prediction, PredictionStreamState } from "../../record/predictions.ts";

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
export function streamsOf<State extends PredictionStreamState>(
  { channels, textOf = String, lastTime, step, check }: StreamRules<State>,
): NonNullable<TrainedModel["stream"]> {
  return (series, saved) => {
    if (saved) check(series, saved as State);
    let state = new Promise<State | undefined>((resolve) => resolve(saved as State | undefined));
    const advance = async (previous: State | undefined, time: number, values: readonly number[]) => {
      if (values.length !== channels.length) {
        throw new DataError(
          "invalid-observation",
          `series "${series}": ${values.length} values, expected one for each of ${
            channels.map(({ name }) => name).join(", ")
          }, NaN where nothing was observed`,
        );
      }
      const last = previous ? lastTime(series, previous) : -Infinity;
      if (!Number.isFinite(time) || time <= last) {
        const expected = `a time later than ${Number.isFinite(last) ? textOf(last) : last}`;
        const text = Number.isFinite(time) ? textOf(time) : `${time}`;
        throw new DataError("invalid-observation", `series "${series}": time ${text}, expected ${expected}`, {
          expected,
        });
      }
      const [prediction, next] = await step(series, time, values, previous);
      return { prediction, next: { count: 1 + (previous?.count ?? 0), ...next } as State };
    };
    return {
      series,
      async push(time, observation) {
        // Copy the values: the caller may overwrite the array before its turn.
        const values = Array.from(observation);
        const before = state;
        const done = before.then((previous) => advance(previous, time, values));
        state = done.then(({ next }) => next, () => before);
        return (await done).prediction;
      },
      async save() {
        const current = await state;
        if (current) return copyOf(current);
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
