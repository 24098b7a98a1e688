/** Adaptive solves. The steps are found first, and then taken once more, with their sizes as constants, for outputs and derivatives. */
import { bufferScope } from "../../device/memory/buffer_scope.ts";
import { isCapturing, JitError } from "../../device/capture.ts";
import type { Buffer } from "../../device/device.ts";
import { makeContiguous } from "../../device/view.ts";
import { beneathAll, peekBeneath } from "../../compile/loop/while_loop.ts";
import { inEachCall } from "../../compile/jit/each_call.ts";
import type { ScanOptions } from "../../compile/loop/scan.ts";
import type { Reading } from "../../compile/loop/while_loop.ts";
import { concatenate, stack } from "../../tensor/functions.ts";
import { derivativeOrder, isRecording, withoutRecording } from "../../tensor/primitive.ts";
import { tidy, tidyLater } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { ones } from "../../tensor/creation.ts";
import { type FailureReason, failureReasons } from "../divergence.ts";
import { replay } from "./adaptive_replay.ts";
import { tableOf } from "./step_table.ts";
import { type SearchStart, searchSteps, startOf } from "./adaptive_search.ts";
import { type AdaptiveOptions, largestCount, type StepList, type Steps } from "./steps.ts";
import { readRows, type RowTimes, type Saved, type Trajectory } from "./trajectory.ts";
import type { AdaptiveMethod } from "./embedded.ts";
import type { Parts, PartsField, VectorField } from "../runge_kutta.ts";
import { type ClosedField, closedField, type TracedField, traceField } from "../traced_functions.ts";

/** The cost of a solve. */
export interface SolveStatistics {
  /** Number of steps. If each sample takes its own steps, the maximum over samples. */
  steps: number;
  /** Number of steps whose error was too large, and that were repeated with a smaller size. */
  rejected: number;
  /**
   * Number of evaluations of the vector field. If each sample takes its own steps, the maximum over samples. An implicit method
   * counts the maximum number of Newton's iterations, without the products with Jacobians of large states.
   */
  evaluations: number;
  /** Number of steps of each sample, if each takes its own steps. */
  stepsOfSamples?: number[];
  /** Number of rejected steps of each sample. */
  rejectedOfSamples?: number[];
}

/** Options of an adaptive solve. */
type Options = AdaptiveOptions & ScanOptions & { statistics?: SolveStatistics };

/** Records the cost of a solve. */
export function recordStatistics(
  statistics: SolveStatistics | undefined,
  { lists, norm, evaluations, examples }: Steps,
): void {
  if (!statistics) return;
  const steps = lists.map(({ starts }) => starts.length);
  const rejected = lists.map((list) => list.rejected);
  Object.assign(statistics, { steps: largestCount(steps), rejected: largestCount(rejected), evaluations });
  if (norm === "sample" || examples.length > 0) {
    Object.assign(statistics, { stepsOfSamples: steps, rejectedOfSamples: rejected });
  }
}

/**
 * Runs a search on a device whose values can be read synchronously.
 *
 * @throws {Error} On other devices.
 */
export function runSearch<T>(search: Reading<T>): T {
  let turn = search.next();
  while (!turn.done) {
    const values = peekBeneath(turn.value);
    if (!values) throw cannotRead(turn.value);
    turn = search.next(values);
  }
  return turn.value;
}

/** The error for a solve whose values cannot be read without waiting. */
export function cannotRead(x: Tensor): Error {
  const reason = isCapturing()
    ? "jit traces the solve before the state has values"
    : `the state is on ${x.device.info.kind}, whose values must be awaited`;
  return new (isCapturing() ? JitError : Error)(
    `an adaptive method, such as the default dopri5, computes its step sizes from values, but ${reason}: find the steps ` +
      "first, with const steps = await findOdeintSteps(f, y0, t, options) or findCdeintSteps, and solve with the option { steps }; or solve on the " +
      "CPU, or use a fixed-step method, such as rk4, with a stepSize",
  );
}

/** Runs a search, awaiting values. Frees all tensors of the search, so its result must not hold tensors. */
export async function runSearchAsync<T>(search: Reading<T>): Promise<T> {
  const owned: Buffer[] = [];
  const go = (...values: [] | [ArrayLike<number>]) =>
    bufferScope(() => withoutRecording(() => search.next(...values)), (_, buffers) => {
      for (const buffer of buffers) owned.push(buffer);
      return buffers;
    });
  try {
    let turn = go();
    while (!turn.done) {
      const { memoryDevice: device, view } = turn.value;
      const [values] = await device.read([makeContiguous(device, view)]);
      turn = go(values);
    }
    return turn.value;
  } finally {
    for (const buffer of owned) buffer.free();
  }
}

/** Finds steps from the first to the last of the times. */
export function* findSteps(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  times: Float64Array,
  options: AdaptiveOptions & ScanOptions,
): Reading<Steps> {
  const interval = [times[0], times[times.length - 1]] as const;
  const traced = options.compile === false ? undefined : traceField(f, y0, options);
  const { f: field, closure, measure } = traced ? closedField(traced) : { ...options, f };
  return (yield* searchSteps(tableau, ofParts(field), [y0], interval, { ...options, measure }, { closure }))
    .steps;
}

function ofParts(f: VectorField): PartsField {
  return (t, [y]) => [f(t, y)];
}

/** Results of a solve beside the states at the times that all samples share. */
export interface Wanted {
  /** Other times, whose states are returned instead. */
  readonly rows?: RowTimes;
  /** Whether the trajectory is returned. */
  readonly keepsSteps?: boolean;
  /** Whether a sample that does not reach the end is an error. Default: true. */
  readonly throws?: boolean;
}

/** The result of a solve. */
export interface Solved extends Saved {
  /** Why the solve has ended, `()` or `(samples)`. Missing if a failure is an error. */
  readonly result?: Tensor;
  readonly trajectory?: Trajectory;
}

/** The states at the output times, `(times, ...state)`. */
export function solveAdaptively(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  times: Float64Array,
  options: Options,
  chosenSteps?: Steps,
  wanted: Wanted = {},
): Solved {
  const isRepeated = !chosenSteps && isCapturing();
  if (isRepeated && wanted.keepsSteps) {
    throw new JitError(
      "solve: inside jit the number of steps is unknown, so that save.steps and save.dense have no shape; save the states at " +
        "given times, save: { t }, find the steps before, or solve outside of jit",
    );
  }
  if (!chosenSteps && !isRepeated && beneathAll(y0).values.device.info.kind !== "cpu") throw cannotRead(y0);
  const { norm } = chosenSteps ?? options;
  const { measure } = options;
  const interval = [times[0], times[times.length - 1]] as const;
  const { result: { traced, field, start }, release } = tidyLater(() => {
    // Without compilation, the function itself runs.
    const isTraced = isRepeated || options.compile !== false;
    const traced = isTraced ? traceField(f, y0, { norm, measure }, isRepeated) : undefined;
    const field = traced ? closedField(traced) : { f, measure };
    const start = chosenSteps
      ? undefined
      : startOf(tableau, ofParts(field.f), [y0], interval, { ...options, measure: field.measure });
    return { traced, field, start };
  });
  if (isRepeated) {
    return inEachCallOf(
      traced!,
      y0,
      start!,
      options,
      wanted.rows,
      (field, y0, start, watchedJumps) =>
        solveClosed(tableau, field, y0, times, { ...options, watchedJumps }, start, wanted),
    );
  }
  const solved = solveClosed(tableau, field, y0, times, options, chosenSteps ?? start!, wanted);
  release([solved.y, solved.valid, solved.result, solved.trajectory?.support]);
  return solved;
}

/** As {@linkcode solveAdaptively}, with values. @param from The start of the search for steps, or known steps. */
function solveClosed(
  tableau: AdaptiveMethod,
  field: ClosedField,
  y0: Tensor,
  times: Float64Array,
  { statistics, ...options }: Options,
  from: SearchStart | Steps,
  { rows, keepsSteps = false, throws = true }: Wanted,
): Solved {
  const interval = [times[0], times[times.length - 1]] as const;
  const direction = Math.sign(interval[1] - interval[0]);
  const start = "slope" in from ? from : undefined;
  let steps = "slope" in from ? undefined : from;
  let final: Tensor | undefined;
  if (!steps) {
    const isFinal = !rows && !keepsSteps && times.length === 2 && derivativeOrder() === 0 && !isRecording();
    const wantsFinal = isFinal && options.norm === "batch";
    final = tidy(() => {
      const searched = { ...options, measure: field.measure, throws };
      const goal = { wantsFinal, closure: field.closure, start };
      const outcome = runSearch(searchSteps(tableau, ofParts(field.f), [y0], interval, searched, goal));
      steps = outcome.steps;
      // With steps per sample, each last step ends at the last time.
      const isReached = steps.lists.every(({ failure }) => !failure);
      return isFinal && isReached ? (wantsFinal ? outcome.kept : outcome.y)[0] : undefined;
    });
  }
  recordStatistics(statistics, steps!);
  const result = throws ? undefined : numbersOf(steps!, y0, codeOf);
  if (final) return { y: stack([y0, final]), result };
  const isWhole = steps!.lists.every(({ failure }) => !failure);
  // With steps per sample, each last step ends at the last time. Shared steps may end later.
  const isLast = !rows && !keepsSteps && times.length === 2 && steps!.norm === "sample" && isWhole;
  const [y, ...rest] = tidy(() => {
    const taken = replay(tableau, field, y0, interval, steps!, options, !isLast, start?.slope[0]);
    steps = taken.steps;
    if (isLast) return [stack([y0, taken.last])];
    const own = rows ?? { count: times.length - 1, of: () => times.subarray(1) };
    const trajectory = { steps, direction, support: taken.support! };
    const { y, valid } = readRows(trajectory, y0, own);
    return [
      rows ? y : concatenate([y0.expandDims(0), y]),
      ...valid ? [valid] : [],
      ...keepsSteps ? [trajectory.support] : [],
    ];
  });
  const support = keepsSteps ? rest.pop() : undefined;
  const [valid] = rest;
  return {
    y,
    valid: valid && !rows ? concatenate([valid.slice(0, 0, 1).zerosLike().add(1), valid]) : valid,
    result,
    trajectory: support && { steps: steps!, direction, support },
  };
}

/** A whole number of each list of steps, `()` or `(samples)`. */
export function numbersOf(
  { lists, examples, norm }: Steps,
  y0: Tensor,
  number: (list: StepList) => number,
): Tensor {
  const shape = norm === "sample" ? y0.shape.slice(0, 1) : [];
  return tableOf({ lists, examples }, 1, shape, number, "int32").squeeze(0);
}

/** How a solve ends: the code of a result is its position. */
export const solveResults: readonly ("success" | FailureReason)[] = [
  "success",
  ...Object.keys(failureReasons) as FailureReason[],
];

function codeOf({ failure }: StepList): number {
  return solveResults.indexOf(failure ?? "success");
}

/** Solves in each call of a function of `jit` again. */
function inEachCallOf(
  field: TracedField,
  y0: Tensor,
  { slope, size }: SearchStart,
  { norm, watchedJumps }: AdaptiveOptions,
  rows: RowTimes | undefined,
  solve: (field: ClosedField, y0: Tensor, start: SearchStart, watchedJumps?: Tensor) => Solved,
): Solved {
  const jumps = watchedJumps ? [watchedJumps] : [];
  const isPadded = rows !== undefined && rows.all.length < rows.count * y0.shape[0];
  const inputs = [y0, ...slope, size, ...jumps, ...field.tensors];
  const [y, valid, result] = inEachCall(inputs, ([y0, slope, size, ...rest]) => {
    const [watched] = rest.splice(0, jumps.length);
    const { y, valid, result } = solve(closedField(field, rest), y0, { slope: [slope], size }, watched);
    if (!result && !isPadded) return [y];
    // Results have the same shapes in each call.
    const shape = [y.shape[0], ...norm === "sample" || rows ? [y0.shape[0]] : []];
    const all = valid ?? ones(shape, { dtype: y0.dtype });
    return [y, all, ...result ? [result.cast(y0.dtype)] : []];
  });
  return { y, valid, result: result?.cast("int32") };
}

/**
 * A state of several parts at the second of two times.
 *
 * @param controlled Number of parts, from the first, whose error is controlled.
 */
export function solveParts(
  tableau: AdaptiveMethod,
  f: PartsField,
  y0: Parts,
  interval: readonly [number, number],
  options: AdaptiveOptions,
  controlled: number,
): Parts {
  const goal = { controlled, wantsFinal: true };
  return tidy(() =>
    runSearch(searchSteps(tableau, f, y0, interval, { ...options, norm: "batch" }, goal)).kept
  );
}
