import { vmap } from "../autodiff/vmap.ts";
import { isFloat } from "../device/dtype.ts";
import { OptionError } from "../device/errors.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { checkFunction } from "../tensor/checks.ts";
import { tensor, zeros } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeMap } from "../tensor/tree.ts";
import { numbersOf, type Solved, solveResults, type SolveStatistics } from "./adaptive/adaptive.ts";
import { largestCount, type StepList } from "./adaptive/steps.ts";
import { readRows, trajectoryOf } from "./adaptive/trajectory.ts";
import { checkState, type ControlledEquation, fieldOf } from "./cdeint.ts";
import { stepChoiceOf } from "./check_arguments.ts";
import { cdeSolveOptionNames, type CdeSolveOptions, equationAlong } from "./controlled.ts";
import { cdeDefaults, odeDefaults, type SolveDefaults } from "./defaults.ts";
import { type DenseSolution, denseSolution } from "./dense_solution.ts";
import { checkOutputTimes, shiftTimes, stepTimes } from "./fixed/step_times.ts";
import { isAdaptive, methodOf } from "./methods.ts";
import { normOf, type ShiftedField, shiftField, solveTimed } from "./odeint.ts";
import { type PackedState, packState } from "./packed_state.ts";
import type { VectorField } from "./runge_kutta.ts";
import { checkSave, joinTimes, type SaveAt, savedTimes } from "./save_options.ts";
import type { SolveOptions } from "./solve_options.ts";
import { type SolveTimes, solveTimes } from "./time_gradients.ts";

/** Options of {@linkcode solve}. */
export interface SaveSolveOptions<S extends Tree, R extends Tree = S> extends CdeSolveOptions {
  /** The states that are saved: by default, the last one. */
  save?: SaveAt<S, R>;
  /**
   * Whether a solve that does not reach the end is an error. If false, `result` says why, and states after the last accepted step
   * are NaN. Other samples are not affected with `norm: "sample"` and inside `vmap`.
   *
   * @default {true}
   */
  throw?: boolean;
}

const optionNames = namesOf<SaveSolveOptions<Tensor>>()(cdeSolveOptionNames, "save? throw?");

/** The result of {@linkcode solve}. */
export interface Solution<S extends Tree, R extends Tree = S> {
  /**
   * The times of the saved states, of the type of the state: `(times)`; `(batch, times)` if the times of samples differ, with NaN where
   * a sample has fewer times.
   */
  readonly t: Tensor;
  /** The saved states, or the results of `save.fn`, with the times as first axis. NaN if a sample has no such time or does not reach it. */
  readonly y: R;
  /**
   * How the solve ended, int32: a position in {@linkcode solveResults}, 0 for success. `(batch)` if each sample takes its own steps,
   * otherwise `()`. Fixed steps end with `"notFinite"` if the last state is not finite.
   */
  readonly result: Tensor;
  /** The cost of the solve. */
  readonly statistics: SolveStatistics;
  /** With `save.steps`, the number of saved times, int32, of the shape of `result`. */
  readonly counts?: Tensor;
  /** With `save.dense`, the solution at any time. */
  readonly dense?: DenseSolution<S>;
}

/**
 * Solves dy/dt = f(t, y), or dy = f(t, y) dX(t) along a control, and saves what `save` asks for. {@linkcode odeint} and
 * {@linkcode cdeint} are the short forms for output times.
 *
 * All samples are solved to the end of the interval, whatever their times. Works inside `jit` (on the CPU), `vmap`, `jvp`, `grad`
 * and `scan`, except that adaptive steps have no known number inside `jit`: `save.steps` and `save.dense` throw there.
 *
 * @example
 * ```ts
 * import { solve, solveResults, tensor } from "@weft/weft";
 *
 * const { dense, result } = solve((_t, y) => y.neg(), tensor([1]), [0, 2], { save: { dense: true } });
 * console.log(await dense!.evaluate([0.5, 1.5]).data(), solveResults[await result.item()]);
 * ```
 *
 * @example Times of each sample, and the energy instead of the state
 * ```ts
 * import { solve, tensor } from "@weft/weft";
 *
 * const y0 = tensor([[1, 0], [0, 2]]);
 * const rotate = tensor([[0, -1], [1, 0]]);
 * const { y } = solve((_t, y) => y.matmul(rotate), y0, [0, 3], {
 *   norm: "sample",
 *   save: { t: [[0.5, 1, 3], [2, NaN, NaN]], fn: (_t, y) => y.square().sum(-1) },
 * });
 * console.log(y.shape); // [3, 2]: times and samples
 * ```
 *
 * @example Along a control, with the times of each series
 * ```ts
 * import { CubicSpline, naturalCubicCoeffs, ones, solve, type Tensor } from "@weft/weft";
 *
 * const X = CubicSpline(naturalCubicCoeffs(ones([2, 10, 3]))); // 2 series of 10 observations in 3 channels
 * const equation = { X, f: (_t: Tensor, z: Tensor) => z.tanh().expandDims(-1).broadcastTo([2, 4, 3]) };
 * const { y } = solve(equation, ones([2, 4]), X.interval, { save: { t: [[1, 5.5, 8], [3, NaN, NaN]] } });
 * console.log(y.shape); // [3, 2, 4]: times, series and hidden channels
 * ```
 *
 * @param f The vector field, as of {@linkcode odeint}; or a control and the vector field of {@linkcode cdeint}. The defaults are
 * those of that function.
 * @param y0 The state at the first time: a tensor or a tree of tensors.
 * @param interval The first and the last time. First-order gradients flow to a tensor.
 * @param options As of {@linkcode odeint}, and what to save.
 * @throws {RangeError | ShapeError | TypeError | OptionError} As {@linkcode odeint} or {@linkcode cdeint}, and if times to save
 * are outside the interval, not monotone, or do not fit the samples.
 */
export function solve<S extends Tree, R extends Tree = S>(
  f: VectorField<S> | ControlledEquation<S>,
  y0: S,
  interval: Tensor | ArrayLike<number>,
  options: SaveSolveOptions<S, R> & { save: { dense: true } },
): Solution<S, R> & { readonly dense: DenseSolution<S> };
/** {@linkcode solve} without a dense solution. */
export function solve<S extends Tree, R extends Tree = S>(
  f: VectorField<S> | ControlledEquation<S>,
  y0: S,
  interval: Tensor | ArrayLike<number>,
  options?: SaveSolveOptions<S, R>,
): Solution<S, R>;
export function solve<S extends Tree, R extends Tree = S>(
  f: VectorField<S> | ControlledEquation<S>,
  y0: S,
  interval: Tensor | ArrayLike<number>,
  options: SaveSolveOptions<S, R> = {},
): Solution<S, R> {
  const along = isAlong(f) ? f : undefined;
  checkFunction("solve", along ? "f.f" : "f", along ? along.f : f);
  checkOptions("solve", options, optionNames);
  const { save = {}, throw: throws = true, statistics = {} as SolveStatistics, ...others } = options;
  checkSave(save);
  const span = solveTimes(interval, "solve", "interval");
  if (span.host.length !== 2) {
    throw new RangeError(
      `solve: interval has ${span.host.length} times, expected the first and the last; put output times into save: { t }`,
    );
  }
  checkOutputTimes(span.host, "solve");
  const state = packState(y0, "solve", normOf(options));
  if (along) checkState("solve", "y0", y0);
  else if (options.stepsPerPiece !== undefined) {
    throw new OptionError("unusable-option", "solve: the option stepsPerPiece needs a control", {
      option: "stepsPerPiece",
      fixes: ["pass { X, f } as equation, or leave it out"],
    });
  }
  const { field, solver } = along
    ? equationAlong(along.X, fieldOf(along.X, along.f, "solve"), state, span.host, others, "solve")
    : { field: shiftField(f as VectorField<S>, state, span.host, options), solver: others };
  const defaults = along ? cdeDefaults : odeDefaults;
  const chosen = solver.method ?? solver.steps?.method ?? defaults.method;
  const run = isAdaptive(methodOf(chosen)) ? solveInOwnSteps : solveInFixedSteps;
  const own = { ...solver, statistics };
  const { saved, t, result, counts, dense } = run(field, state, span, save, own, defaults, throws);
  return {
    t: t.rank === 2 ? t.permute([1, 0]) : t,
    y: finish(saved, t, state, save, normOf(options) === "sample", span.host[0]),
    result: result ??
      zeros(normOf(options) === "sample" ? state.y0.shape.slice(0, 1) : [], { dtype: "int32" }),
    statistics,
    ...counts ? { counts } : {},
    ...dense ? { dense: dense as DenseSolution<S> } : {},
  };
}

function isAlong<S extends Tree>(f: VectorField<S> | ControlledEquation<S>): f is ControlledEquation<S> {
  return typeof f === "object" && f !== null && "X" in f;
}

/** States that were saved, with their times `(rows)` or `(rows, samples)`. */
interface Rows {
  readonly saved: Solved;
  readonly t: Tensor;
  readonly result?: Tensor;
  readonly counts?: Tensor;
  readonly dense?: DenseSolution<Tree>;
}

type Run = <S extends Tree>(
  field: ShiftedField,
  state: PackedState<S>,
  span: SolveTimes,
  save: SaveAt<S, Tree>,
  solver: SolveOptions,
  defaults: SolveDefaults,
  throws: boolean,
) => Rows;

const solveInOwnSteps: Run = (field, state, span, save, solver, defaults, throws) => {
  const { y0 } = state;
  const { origin } = field;
  const times = savedTimes(save, span, y0);
  const keepsSteps = Boolean(save.steps || save.dense);
  const shifted = times.rows?.map((row) => shiftTimes(row, origin));
  const rows = shifted && {
    count: shifted[0].length,
    of: (_: StepList, i: number) => shifted[i % y0.shape[0]],
    all: shifted.flatMap((row) => Array.from(row.filter(Number.isFinite))),
    ofSamples: true,
  };
  const solved = solveTimed(field, state, times.nodes, solver, defaults, { rows, keepsSteps, throws });
  const { trajectory, result } = solved;
  const dense = save.dense ? denseSolution(trajectory!, state, origin) : undefined;
  if (!save.steps) return { saved: pick(solved, times.kept), t: times.t, result, dense };
  const [begin, end] = shiftTimes(span.host, origin);
  const { steps, direction } = trajectory!;
  // Steps that samples share may end after the interval.
  const endsOf = ({ ends, failure, starts }: StepList) => [
    ...save.start ? [begin] : [],
    ...failure && ends[0] === starts[0] ? [] : ends.map((time) => direction * (time - end) > 0 ? end : time),
  ];
  const count = largestCount(steps.lists.map((list) => endsOf(list).length));
  const saved = readRows(trajectory!, y0, { count, of: endsOf });
  const counts = numbersOf(steps, y0, (list) => endsOf(list).length);
  return { saved, t: saved.t.add(origin), result, counts, dense };
};

const solveInFixedSteps: Run = (field, state, span, save, solver, defaults) => {
  const { y0 } = state;
  const { origin } = field;
  const { grid: _, stepSize: __, controller: ___, ...others } = solver;
  const { grid: points, stepSize } = stepChoiceOf(solver, 0);
  const times = savedTimes(save, span, y0);
  if (times.rows && points === undefined && stepSize === undefined) {
    throw new OptionError(
      "missing-option",
      "solve: fixed steps to the times of each sample need a step size",
      {
        option: "stepSize",
        fixes: ["choose a stepSize or a grid"],
      },
    );
  }
  if (save.dense && times.sources[1]?.watched) {
    throw new Error(
      "solve: fixed steps with save.dense have no gradients with respect to save.t; evaluate the dense solution at the times, or " +
        "leave dense out",
    );
  }
  const needsAll = save.steps || save.dense || times.rows;
  const grid = needsAll ? stepTimes(times.nodes.host, { grid: points, stepSize }) : times.nodes.host;
  const solved = needsAll
    ? solveTimed(field, state, joinTimes(grid, times.sources), others, defaults)
    : solveTimed(field, state, times.nodes, solver, defaults);
  const { y } = solved;
  const isFinite = y.select(0, -1).isFinite().all();
  const result = isFinite.where(0, solveResults.indexOf("notFinite")).cast("int32");
  if (!needsAll) return { saved: pick(solved, times.kept), t: times.t, result };
  const ends = shiftTimes(grid, origin);
  const points1 = tensor(ends, { dtype: y0.dtype });
  const slopes = save.dense ? vmap(field.f)(points1, y) : undefined;
  const dense = slopes ? denseSolution(trajectoryOf(ends, y, slopes), state, origin) : undefined;
  if (save.steps) {
    const [saved, t] = save.start ? [y, points1] : [y.slice(0, 1), points1.slice(0, 1)];
    const counts = tensor(t.shape[0], { dtype: "int32" });
    return { saved: { y: saved }, t: t.add(origin), result, counts, dense };
  }
  const { rows = [times.kept!.map((i) => times.nodes.host[i])] } = times;
  // Between the ends of steps, states are interpolated linearly, as those of odeint.
  const saved = readRows(trajectoryOf(ends, y), y0, {
    count: rows[0].length,
    of: (_, i) => shiftTimes(rows[i % rows.length], origin),
    ofSamples: times.rows !== undefined,
  });
  return { saved, t: times.t, result, dense };
};

/** Some rows. */
function pick(solved: Solved, kept: readonly number[] | undefined): Solved {
  if (!kept || kept.length === solved.y.shape[0] && kept.every((row, i) => row === i)) return solved;
  const rows = tensor(kept, { dtype: "int32" });
  return { ...solved, y: solved.y.take(rows), valid: solved.valid?.take(rows) };
}

/** The states that were saved, or the results of a function of them. A state that does not exist becomes NaN. */
function finish<S extends Tree, R extends Tree>(
  { y, valid }: Solved,
  t: Tensor,
  state: PackedState<S>,
  { fn }: SaveAt<S, R>,
  ownTimes: boolean,
  begin: number,
): R {
  const isValid = valid?.greater(0);
  const results = fn
    ? vmap((t: Tensor, y: Tensor) => fn(state.timeOf(t), state.unpack(y)))(
      timesFor(t, state.y0, ownTimes, begin),
      y,
    )
    : state.unpack(y, 1) as unknown as R;
  if (!isValid) return results;
  return treeMap(results, (x: Tensor) => {
    if (!isFloat(x.dtype)) return x;
    const isOfSamples = isValid.rank === 2 && x.rank > 1 && x.shape[1] === isValid.shape[1];
    const flags = isOfSamples || isValid.rank === 1 ? isValid : isValid.all(1);
    const wide = flags.reshape([...flags.shape, ...x.shape.slice(flags.rank).map(() => 1)]);
    return wide.where(x, NaN);
  }) as R;
}

/** Times of rows for a function: one for all samples, or a column. Padding becomes the first time, which has finite results. */
function timesFor(t: Tensor, { shape: [batch, ...rest] }: Tensor, ownTimes: boolean, begin: number): Tensor {
  const filled = t.equal(t).where(t, begin);
  if (t.rank === 1 && !ownTimes) return filled;
  const column = [t.shape[0], t.rank === 2 ? batch : 1, ...rest.map(() => 1)];
  return filled.reshape(column).broadcastTo([t.shape[0], batch, ...rest.map(() => 1)]);
}
