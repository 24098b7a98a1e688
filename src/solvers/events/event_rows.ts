/** The events of a solve among the rows of its steps. */
import type { Chunk } from "../../compile/loop/scan.ts";
import { growing } from "../../device/memory/growing.ts";
import type { DType } from "../../device/dtype.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { tableOf } from "../adaptive/step_table.ts";
import { largestCount } from "../adaptive/steps.ts";
import type { EventSteps } from "./event_lists.ts";

/**
 * Takes the rows of events from the rows of steps, first in each chunk of steps, then from the joined rows of all chunks.
 *
 * @param samples The number of lists of an example.
 */
export function eventRows(eventSteps: EventSteps, chunks: readonly Chunk[], samples: number) {
  const { lists, norm } = eventSteps;
  const column = norm === "sample" ? [samples] : [];
  /** The rows in a chunk of the events of each list. */
  const eventsIn = ({ start, count }: Chunk) =>
    lists.map(({ crossed }) => {
      const own = crossed.subarray(start, start + count);
      return [...own.keys()].filter((row) => own[row] >= 0);
    });
  // A row for events that do not exist.
  const rowCount = (events: readonly number[][]) =>
    Math.max(1, largestCount(events.map(({ length }) => length)));
  /** The positions of the events of each list among the joined rows. */
  const positions = lists.map(() => growing(Int32Array));
  let joined = 0;
  for (const chunk of chunks) {
    const events = eventsIn(chunk);
    events.forEach(({ length }, i) => {
      for (let k = 0; k < length; k++) positions[i].push(joined + k);
    });
    joined += rowCount(events);
  }
  const views = positions.map((list) => list.view());
  const take = (tensors: readonly Tensor[], rows: readonly ArrayLike<number>[], count: number) => {
    if (tensors.length === 0) return [];
    const at = tableOf(
      eventSteps,
      count,
      column,
      (_, k, i) => (rows[i][k] ?? 0) * samples + i % samples,
      "int32",
    )
      .flatten();
    return tensors.map((x) => {
      const [length, ...shape] = x.shape;
      const sample = norm === "sample" ? shape.slice(1) : shape;
      return x.reshape([length * samples, ...sample]).take(at).reshape([count, ...shape]);
    });
  };
  return {
    /** The rows of a chunk's events, from the rows of its steps. */
    inChunk(steps: readonly Tensor[], chunk: Chunk): Tensor[] {
      const events = eventsIn(chunk);
      return take(steps, events, rowCount(events));
    },
    /** The rows of the first events of each list, from the joined rows of all chunks. */
    ofEvents: (joined: readonly Tensor[], count: number): Tensor[] => take(joined, views, count),
    /** Whether each list has as many events, `(count)` or `(count, samples)`. */
    areThere: (count: number, dtype: DType): Tensor =>
      tableOf(eventSteps, count, column, (_, k, i) => k < views[i].length, dtype).greater(0),
  };
}
