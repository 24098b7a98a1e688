/** The choice of the states that a solve saves. */
import { OptionError } from "../device/errors.ts";
import { checkOptions, namesOf, type OptionNames } from "../device/options.ts";
import { formatShape, ShapeError } from "../device/shape.ts";
import { checkFunction } from "../tensor/checks.ts";
import { tensor, zeros } from "../tensor/creation.ts";
import { concatenate, stopGradient } from "../tensor/functions.ts";
import { hostTimes } from "../tensor/host.ts";
import { isWatched } from "../tensor/primitive.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { checkOutputTimes } from "./fixed/step_times.ts";
import { type SolveTimes, solveTimes } from "./time_gradients.ts";

/** The states that a solve saves: without `t`, `steps` and `start`, the last state. */
export interface SaveAt<S extends Tree, R extends Tree = S> {
  /**
   * Times in the interval, in the order of the solve. They are a vector, and first-order gradients flow to it; or times of each sample,
   * `(batch, times)`, with NaN at the end of shorter rows. A sample is then a position along the first axis of the state.
   */
  t?: Tensor | ArrayLike<number> | readonly (readonly number[])[];
  /**
   * A function of each saved state, whose results are saved instead: a part of the state, or values that the vector field computes on
   * the way. Times have the shape that the vector field receives; with times of each sample, it is `(batch, 1, ...)`.
   */
  fn?: (t: Tensor, y: S) => R;
  /** Whether to save the state at the end of each accepted step, padded with NaN up to the largest count. Excludes `t`. */
  steps?: boolean;
  /** Whether to keep the interpolants of all steps, to evaluate the solution at any time. */
  dense?: boolean;
  /** Whether to save the first state too. */
  start?: boolean;
  /** Whether to save the last state too. The last step is the end of the interval, so that `steps` includes it. */
  end?: boolean;
}

const saveOptionNames = namesOf<SaveAt<Tensor>>()("t? fn? steps? dense? start? end?");

/** @throws {OptionError | TypeError} If an option is unknown, or options exclude each other. */
export function checkSave<S extends Tree, R extends Tree>(save: SaveAt<S, R>): void {
  checkOptions("solve: save", save as object, saveOptionNames as OptionNames<object>);
  if (save.fn !== undefined) checkFunction("solve", "save.fn", save.fn);
  if (!save.steps || save.t === undefined) return;
  throw new OptionError(
    "conflicting-options",
    "solve: save.t and save.steps both determine the saved times",
    {
      option: "save",
      fixes: ["leave one out", "save: { dense: true } gives states at further times"],
    },
  );
}

/** The times that a solve saves. */
interface SavedTimes {
  /** The ends of the interval, and the saved times that all samples share. */
  readonly nodes: SolveTimes;
  /** The nodes that are saved. */
  readonly kept?: readonly number[];
  /** The saved times of each sample, if they differ. */
  readonly rows?: readonly (readonly number[])[];
  /** The saved times, `(rows)` or `(rows, samples)`. */
  readonly t: Tensor;
  /** Times with gradients. */
  readonly sources: readonly SolveTimes[];
}

export function savedTimes<S extends Tree, R extends Tree>(
  { t, start, end, steps }: SaveAt<S, R>,
  span: SolveTimes,
  y0: Tensor,
): SavedTimes {
  const [begin, finish] = span.host;
  const { dtype } = y0;
  const keepsEnd = end ?? (t === undefined && !start && !steps);
  const around = (
    times: readonly number[],
  ) => [...start ? [begin] : [], ...times, ...keepsEnd ? [finish] : []];
  const rows = t === undefined ? undefined : rowsOf(t, y0);
  if (span.watched && (rows || steps)) {
    throw new Error(
      `solve: with ${
        rows ? "save.t of each sample" : "save.steps"
      } no gradients flow to the interval; pass ` +
        "stopGradient(interval), or save the states at shared times",
    );
  }
  if (rows) {
    rows.forEach((row, i) =>
      checkSaved(row.slice(0, row.findLastIndex((x) => !Number.isNaN(x)) + 1), span, `[${i}]`)
    );
    // The last time follows the times of a sample, before the padding.
    const all = rows.map((row) => {
      const own = row.filter((time) => !Number.isNaN(time));
      return [...around(own), ...Array<number>(row.length - own.length).fill(NaN)];
    });
    const columns = all[0].map((_, k) => all.map((row) => row[k]));
    const times = tensor(Float64Array.from(columns.flat()), { shape: [columns.length, all.length], dtype });
    return { nodes: joinTimes(span.host, [span]), rows: all, t: times, sources: [span] };
  }
  const own = t === undefined
    ? { host: new Float64Array() }
    : solveTimes(t as Tensor | ArrayLike<number>, "solve", "save.t");
  checkSaved([...own.host], span, "");
  const host = Float64Array.from(new Set([begin, ...own.host, finish]));
  const saved = around([...own.host]);
  if (saved.length === 0 && !steps) {
    throw new RangeError("solve: save asks for no state; choose save.t, save.start or save.end");
  }
  const sources = [span, own];
  const nodes = joinTimes(host, sources);
  const kept = saved.map((time) => host.indexOf(time));
  const moves = nodes.watched?.cast(dtype).take(tensor(kept, { dtype: "int32" }));
  const times = tensor(Float64Array.from(saved), { dtype });
  return {
    nodes,
    kept,
    t: moves ? times.add(moves) : times,
    sources,
  };
}

/** Times of each sample, or `undefined` for times that all share. */
function rowsOf(
  t: NonNullable<SaveAt<Tensor>["t"]>,
  y0: Tensor,
): readonly (readonly number[])[] | undefined {
  const isNested = !(t instanceof Tensor) && Array.isArray(t[0]);
  if (!isNested && !(t instanceof Tensor && t.rank > 1)) return undefined;
  if (t instanceof Tensor && isWatched(t)) {
    throw new Error(
      "solve: save.t of each sample has no gradients; evaluate the solution of save: { dense: true } at the times, or " +
        "pass stopGradient(t)",
    );
  }
  let rows = t as readonly (readonly number[])[];
  if (t instanceof Tensor) {
    const [count, length] = t.shape;
    const values = hostTimes(t.rank === 2 ? t.reshape([count * length]) : t, "solve: save.t");
    rows = Array.from({ length: count }, (_, i) => [...values.subarray(i * length, (i + 1) * length)]);
  }
  const wrong = rows.findIndex(({ length }) => length !== rows[0].length);
  if (wrong > 0) {
    throw new ShapeError(
      `solve: save.t[${wrong}] has ${rows[wrong].length} times, save.t[0] ${
        rows[0].length
      }; fill shorter rows with NaN`,
    );
  }
  if (y0.rank > 0 && rows.length === y0.shape[0]) return rows;
  throw new ShapeError(
    `solve: save.t has rows for ${rows.length} samples, but the state has shape ${
      formatShape(y0.shape)
    }; expected one row for each position along its first axis`,
  );
}

/** @throws {RangeError} If saved times are not monotone, or outside of the interval. */
function checkSaved(times: readonly number[], { host: [begin, finish] }: SolveTimes, place: string): void {
  const direction = Math.sign(finish - begin);
  if (times.length > 1) checkOutputTimes(Float64Array.from(times), `solve: save.t${place}`);
  const wrong = times.findIndex((time) =>
    !(direction * (time - begin) >= 0 && direction * (finish - time) >= 0)
  );
  if (wrong < 0 && !(times.length > 1 && direction * (times[1] - times[0]) < 0)) return;
  throw new RangeError(
    `solve: save.t${place}[${Math.max(0, wrong)}] is ${
      times[Math.max(0, wrong)]
    }, expected times from ${begin} to ${finish}, in this order`,
  );
}

/** Times, with the gradients of equal times of other sources. */
export function joinTimes(host: Float64Array, sources: readonly SolveTimes[]): SolveTimes {
  const watched = sources.flatMap((source) => source.watched ? [{ ...source, watched: source.watched }] : []);
  if (watched.length === 0) return { host };
  const moves = watched.map(({ host: from, watched: t }) => {
    const all = concatenate([t.sub(stopGradient(t)), zeros([1], { dtype: t.dtype })]);
    const at = Array.from(host, (time) => from.includes(time) ? from.indexOf(time) : from.length);
    return all.take(tensor(at, { dtype: "int32" }));
  });
  return { host, watched: moves.reduce((sum, move) => sum.add(move.cast(sum.dtype))) };
}
