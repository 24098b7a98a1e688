/** Steps of the length that tolerances ask for. As torchdiffeq's, with the same steps. */
import { scan, type ScanOptions } from "../compile/scan.ts";
import type { DType } from "../device/dtype.ts";
import { tensor } from "../tensor/creation.ts";
import { concatenate, stack } from "../tensor/functions.ts";
import { isRecording, withoutRecording } from "../tensor/primitive.ts";
import { scope } from "../tensor/scope.ts";
import { scalar, Symbolic, type Tensor } from "../tensor/tensor.ts";
import {
  type EmbeddedStep,
  embeddedStep,
  type EmbeddedTableau,
  interpolate,
  type Parts,
  type PartsField,
  type StepSupport,
  supportOf,
  weigh,
} from "./embedded.ts";
import { errorRatio, firstStep, growth, type Tolerances } from "./step_control.ts";
import type { VectorField } from "./tableau.ts";

/** What a solve has cost. */
export interface SolveStatistics {
  /** Steps taken. */
  steps: number;
  /** Steps whose error was too large, so that shorter ones took their place. */
  rejected: number;
  /** Evaluations of the vector field. */
  evaluations: number;
}

/** How an adaptive solve is done. */
export interface AdaptiveOptions extends Tolerances {
  /** Steps that may be tried. */
  readonly maxSteps: number;
  /** The length of the first step; found from the vector field when left out. */
  readonly stepSize?: number;
  /** Times at which the vector field may jump: a step ends at each, and the next begins with a slope of its own. */
  readonly jumps?: ArrayLike<number>;
}

/** The steps of a solve, and the one that each output time lies in. */
interface Steps<T> extends SolveStatistics {
  readonly starts: number[];
  readonly ends: number[];
  /** Whether the slope is taken anew at the start of each. */
  readonly renewed: boolean[];
  readonly outputs: { step: number; fraction: number; kept: T | undefined }[];
}

/** A time just after another, in the precision of the state. */
function justAfter(t: number, direction: number, dtype: DType): number {
  const precision = dtype === "float32" ? 2 ** -23 : 2 ** -52;
  return t + direction * precision * Math.max(Math.abs(t), 2 ** -100);
}

/** When the first slope is taken: after a jump at the start. */
function firstTime(t: number, direction: number, dtype: DType, { jumps }: AdaptiveOptions): number {
  return jumps ? justAfter(t, direction, dtype) : t;
}

/**
 * Finds steps from the first to the last of some times.
 *
 * @param keep What is kept of a step in which an output lies.
 * @param controlled How many of the state's parts count in the error; the others are carried along.
 * @param stop Ends the search, told of each step that is taken.
 */
function findSteps<T>(
  tableau: EmbeddedTableau,
  f: PartsField,
  y0: Parts,
  times: Float64Array,
  options: AdaptiveOptions,
  keep: ((step: EmbeddedStep, y: Parts, dt: number) => T) | undefined,
  controlled = y0.length,
  stop?: (kept: T, start: number, dt: number) => boolean,
): Steps<T> {
  const { dtype } = y0[0];
  const { order } = tableau;
  const direction = Math.sign(times[times.length - 1] - times[0]);
  const timeAt = (t: number) => scalar(t, dtype);
  const jumps = Array.from(options.jumps ?? []).filter((jump) => direction * (jump - times[0]) > 0)
    .sort((a, b) => direction * (a - b));
  const wanted = stop ? "the event" : `t = ${times.at(-1)}`;
  const control = (parts: Parts) => parts.slice(0, controlled);

  const found: Steps<T> = {
    starts: [],
    ends: [],
    renewed: [],
    outputs: [],
    steps: 0,
    rejected: 0,
    evaluations: 1,
  };
  let [t, y, renewed] = [times[0], y0, true];
  let slope = scope(() => f(timeAt(firstTime(t, direction, dtype, options)), y));
  let size = options.stepSize ?? 0;
  if (size === 0) {
    size = scope(() =>
      firstStep(
        (time, z) => control(f(time, [...z, ...y.slice(controlled)])),
        t,
        direction,
        control(y),
        control(slope),
        order,
        options,
      )
    );
    found.evaluations++;
  }

  for (let next = 1; next < times.length;) {
    if (found.steps + found.rejected === options.maxSteps) {
      throw new RangeError(
        `odeint: ${options.maxSteps} steps of ${tableau.name} led from t = ${times[0]} to ${t} only, ` +
          `${found.rejected} of them rejected; the next would be ${size} long, and ${wanted} is wanted. ` +
          "Raise maxSteps, rtol or atol; very short steps are a sign of a stiff or diverging equation",
      );
    }
    const jumping = jumps.length > 0 && direction * (jumps[0] - t) <= size;
    const end = jumping ? jumps[0] : t + direction * size;
    const dt = end - t;
    if (dt === 0 || !Number.isFinite(dt)) {
      throw new RangeError(
        `odeint: ${tableau.name} cannot go on at t = ${t}, where a step became ${size} long after ${found.steps} steps: ` +
          "the state is not finite there, or rtol and atol are below the precision of " + dtype,
      );
    }
    const [start, before, first] = [t, y, slope];
    const tried = scope(() => {
      // At a jump the slopes on either side differ: each step asks on its own.
      const near = jumping ? timeAt(justAfter(end, -direction, dtype)) : timeAt(end);
      const step = embeddedStep(
        tableau,
        f,
        (c) => c === 1 ? near : timeAt(start + c * dt),
        dt,
        before,
        first,
      );
      const error = weigh(tableau.error, step.stages.map(control), dt);
      const ratio = errorRatio(error, control(before), control(step.y), options);
      if (!(ratio <= 1)) return { ratio };
      const isNeeded = stop !== undefined || direction * (end - times[next]) >= 0;
      const after = jumping ? f(timeAt(justAfter(end, direction, dtype)), step.y) : step.stages.at(-1)!;
      const kept = isNeeded ? keep?.(step, before, dt) : undefined;
      return { ratio, accepted: { y: step.y, slope: after, kept } };
    });
    found.evaluations += tableau.a.length;
    const { accepted } = tried;
    if (accepted) {
      for (; next < times.length && direction * (end - times[next]) >= 0; next++) {
        found.outputs.push({ step: found.steps, fraction: (times[next] - start) / dt, kept: accepted.kept });
      }
      found.starts.push(start);
      found.ends.push(end);
      found.renewed.push(renewed);
      found.steps++;
      if (stop?.(accepted.kept as T, start, dt)) break;
      [t, y, slope, renewed] = [end, accepted.y, accepted.slope, jumping];
      if (jumping) {
        jumps.shift();
        found.evaluations++;
      }
    } else found.rejected++;
    size = Math.abs(dt) * growth(tried.ratio, order);
  }
  return found;
}

/**
 * The states at some times, `(times, ...state)`. Their gradient is that of the steps that were found, whose lengths count as
 * given: the steps are taken once more in a compiled loop, of which the gradient is known.
 */
export function solveAdaptively(
  tableau: EmbeddedTableau,
  f: VectorField,
  y0: Tensor,
  times: Float64Array,
  { statistics, ...options }: AdaptiveOptions & ScanOptions & { statistics?: SolveStatistics },
): Tensor {
  if (y0.storage instanceof Symbolic) {
    throw new Error(
      `odeint: ${tableau.name} chooses its steps while it runs and cannot be part of a traced loop; use a method of fixed steps`,
    );
  }
  const field: PartsField = (t, [y]) => [f(t, y)];
  const again = isRecording();
  const keep = (step: EmbeddedStep, y: Parts, dt: number) => supportOf(tableau, step, y, dt)[0];
  const found = withoutRecording(() =>
    scope(() => findSteps(tableau, field, [y0], times, options, again ? undefined : keep))
  );
  const { steps, rejected, evaluations, outputs } = found;
  if (statistics) Object.assign(statistics, { steps, rejected, evaluations });
  const support = again
    ? supportAgain(tableau, field, y0, found, options)
    : found.outputs[0].kept!.map((_, i) => stack(outputs.map(({ kept }) => kept![i])));
  const fractions = outputs.map(({ fraction }) => fraction);
  return concatenate([y0.expandDims(0), interpolate(support as unknown as StepSupport, fractions)]);
}

/**
 * A state of several parts at the last of two times.
 *
 * @param controlled How many of the parts count in the error.
 */
export function solveParts(
  tableau: EmbeddedTableau,
  f: PartsField,
  y0: Parts,
  interval: Float64Array,
  options: AdaptiveOptions,
  controlled: number,
): Parts {
  const keep = (step: EmbeddedStep, y: Parts, dt: number) => supportOf(tableau, step, y, dt);
  return withoutRecording(() =>
    scope(() => {
      const { outputs: [{ fraction, kept }] } = findSteps(
        tableau,
        f,
        y0,
        interval,
        options,
        keep,
        controlled,
      );
      return kept!.map((support) =>
        interpolate(support.map((x) => x.expandDims(0)) as unknown as StepSupport, [fraction]).squeeze(0)
      );
    })
  );
}

/**
 * The time at which a function of the state changes its sign.
 *
 * @param event One number; it is positive at the start.
 */
export function findEvent(
  tableau: EmbeddedTableau,
  f: VectorField,
  y0: Tensor,
  start: number,
  direction: number,
  options: AdaptiveOptions,
  event: (t: number, y: Tensor) => number,
): number {
  const keep = (step: EmbeddedStep, y: Parts, dt: number) => supportOf(tableau, step, y, dt)[0];
  let time = NaN;
  const crosses = (support: StepSupport, start: number, dt: number) => {
    const rows = support.map((x) => x.expandDims(0)) as unknown as StepSupport;
    const at = (fraction: number) =>
      scope(() => event(start + fraction * dt, interpolate(rows, [fraction]).squeeze(0)));
    if (at(1) > 0) return false;
    let [low, high] = [0, 1];
    // Until the time is known to its last digits but four.
    while ((high - low) * Math.abs(dt) > 2 ** -48 * Math.max(Math.abs(start), Math.abs(dt))) {
      const middle = (low + high) / 2;
      if (at(middle) > 0) low = middle;
      else high = middle;
    }
    time = start + (low + high) / 2 * dt;
    return true;
  };
  const times = Float64Array.of(start, direction * Infinity);
  withoutRecording(() =>
    scope(() => {
      findSteps(tableau, (t, [y]) => [f(t, y)], [y0], times, options, keep, 1, crosses);
    })
  );
  return time;
}

/** The support of the steps that outputs lie in, from a loop over all steps. */
function supportAgain(
  tableau: EmbeddedTableau,
  f: PartsField,
  y0: Tensor,
  { starts, ends, renewed, outputs }: Steps<unknown>,
  options: AdaptiveOptions & ScanOptions,
): Tensor[] {
  const { dtype } = y0;
  const direction = Math.sign(ends[0] - starts[0]);
  const vector = (values: number[]) => tensor(Float64Array.from(values), { dtype });
  const jumping = options.jumps !== undefined;
  const row = {
    t: vector(starts),
    dt: vector(ends.map((end, i) => end - starts[i])),
    // The last stage belongs to this step's side of a jump, the first one too.
    end: vector(ends.map((end, i) => renewed[i + 1] ? justAfter(end, -direction, dtype) : end)),
    ...(jumping
      ? { begin: vector(starts.map((t) => justAfter(t, direction, dtype))), renewed: tensor(renewed) }
      : {}),
  };
  const [slope] = f(scalar(firstTime(starts[0], direction, dtype, options), dtype), [y0]);
  const body = ([y, carried]: Tensor[], { t, dt, end, begin, renewed }: typeof row) => {
    const first = begin && renewed ? renewed.where(f(begin, [y])[0], carried) : carried;
    const at = (c: number) => c === 0 ? t : c === 1 ? end : t.add(dt.mul(c));
    const step = embeddedStep(tableau, f, at, dt, [y], [first]);
    return [[step.y[0], step.stages.at(-1)![0]], supportOf(tableau, step, [y], dt)[0]] as [
      Tensor[],
      StepSupport,
    ];
  };
  const [, support] = scan(body, [y0, slope], row, options);
  const at = tensor(outputs.map(({ step }) => step), { dtype: "int32" });
  return support.map((all) => all.gather(at));
}
