/** The steps of a solve with events, read from the turns of its search. */
import { type Growing, growing } from "../../device/memory/growing.ts";
import type { StepList, Steps } from "../adaptive/steps.ts";

/** How far the search of a sample has come. */
interface Progress {
  rejected: number;
  time: number;
  /** Size of the last attempted step, in units of time. */
  length: number;
  done: boolean;
  /** Whether the last step was too short to advance the time, and whether its end was finite. */
  stuck: boolean;
  finite: boolean;
  /** The end of a step that is closest to an event. */
  closest?: { readonly t: number; readonly distance: number };
}

/** The steps of a sample. */
export interface EventList extends StepList, Readonly<Progress> {
  readonly rejected: number;
  /** For each step, the number that crosses zero at its end; {@linkcode none}, or {@linkcode landed} at a fixed time. */
  readonly crossed: Int32Array;
}

/** A step that ends at no event. */
export const none = -1;
/** A step that ends at a jump or at the last time. */
export const landed = -2;

/** Steps with events. */
export interface EventSteps extends Steps {
  readonly lists: readonly EventList[];
}

/** A sample whose turns are read. Each step starts where the step before it ends. */
interface Reader {
  readonly progress: Progress;
  /** The start of the first step, and the ends of all steps. */
  readonly times: Growing<Float64Array>;
  /** Whether the first step, and the step after each step, evaluates its first slope again. */
  readonly restarted: Growing<Uint8Array>;
  readonly crossed: Growing<Int32Array>;
}

/** Collects the steps of each sample from the turns of a search. */
export function readerOf(direction: number, begin: number) {
  const readers: Reader[] = [];
  return {
    lists: (): EventList[] =>
      readers.map(({ progress, times, restarted, crossed }) => ({
        ...progress,
        starts: times.view().subarray(0, -1),
        ends: times.view().subarray(1),
        restarted: restarted.view().subarray(0, -1),
        crossed: crossed.view(),
      })),
    /** @param rows `(examples, turns, samples, columns)`. The columns are those of the turns' outputs. */
    read(rows: ArrayLike<number>, [turns, samples, columns]: readonly number[]): void {
      const parts = (columns - 6) / 2;
      const perExample = turns * samples * columns;
      const count = perExample === 0 ? samples : rows.length / (turns * columns);
      const timeAt = (i: number) => direction * (rows[i] + (parts === 2 ? rows[i + 1] : 0));
      for (let i = 0; i < count; i++) {
        const first = Math.floor(i / samples) * perExample + i % samples * columns;
        const { progress } = readers[i] ??= readerFrom(begin, timeAt(first));
        for (let turn = 0; turn < turns && !progress.done && !progress.stuck; turn++) {
          const at = first + turn * samples * columns;
          readTurn(readers[i], timeAt(at), timeAt(at + parts), rows, at + 2 * parts);
        }
      }
    },
  };
}

function readerFrom(begin: number, start: number): Reader {
  const progress = { rejected: 0, time: begin, length: NaN, done: false, stuck: false, finite: true };
  const [times, restarted] = [growing(Float64Array), growing(Uint8Array)];
  times.push(start);
  restarted.push(1);
  return { progress, times, restarted, crossed: growing(Int32Array) };
}

/** Reads one turn of a sample. @param at The position of the columns after the times. */
function readTurn(
  { progress, times, restarted, crossed }: Reader,
  start: number,
  end: number,
  rows: ArrayLike<number>,
  at: number,
): void {
  const taken = rows[at] !== 0;
  progress.time = taken ? end : start;
  progress.length = Math.abs(end - start);
  progress.stuck = rows[at + 3] === 0;
  progress.finite = rows[at + 4] !== 0;
  if (!taken) {
    progress.rejected++;
    return;
  }
  const [isLast, kind, distance] = [rows[at + 1] !== 0, rows[at + 2], rows[at + 5]];
  times.push(end);
  restarted.push(Number(kind === landed));
  crossed.push(kind);
  progress.done = isLast;
  if (!(distance >= progress.closest?.distance!)) progress.closest = { t: end, distance };
}
