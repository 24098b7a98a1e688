/** Adaptive solves. The steps are found first. If a gradient is recorded, the steps are taken once more. */
import type { ScanOptions } from "../../compile/loop/scan.ts";
import { scalar } from "../../tensor/creation.ts";
import { concatenate, stack } from "../../tensor/functions.ts";
import { hasValues, isRecording, withoutRecording } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { replay } from "./adaptive_replay.ts";
import { findStepsOfSamples } from "./adaptive_samples.ts";
import {
  type AdaptiveOptions,
  findSteps,
  largestCount,
  runSearch,
  type Search,
  type StepObserver,
  type Steps,
} from "./adaptive_search.ts";
import { type AdaptiveMethod, embeddedStep } from "./embedded.ts";
import { interpolate, interpolateAt, type StepSupport, supportOf } from "./interpolation.ts";
import { solveExamples } from "./examples.ts";
import { findSignChange } from "../sign_change.ts";
import type { Parts, PartsField, VectorField } from "../runge_kutta.ts";

/** The cost of a solve. */
export interface SolveStatistics {
  /** Number of steps. If each sample takes its own steps, the maximum over samples. */
  steps: number;
  /** Number of steps whose error was too large, and that were repeated with a smaller size. */
  rejected: number;
  /** Number of evaluations of the vector field. If each sample takes its own steps, the maximum over samples. */
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
  { lists, norm, evaluations }: Steps,
): void {
  if (!statistics) return;
  const steps = lists.map(({ starts }) => starts.length);
  const rejected = lists.map((list) => list.rejected);
  Object.assign(statistics, { steps: largestCount(steps), rejected: largestCount(rejected), evaluations });
  if (norm === "sample") Object.assign(statistics, { stepsOfSamples: steps, rejectedOfSamples: rejected });
}

/** Finds steps from the first to the last of the times. */
export function* searchSteps(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  times: Float64Array,
  options: AdaptiveOptions & ScanOptions,
): Search<{ steps: Steps; final?: Tensor }> {
  const ends = [times[0], times[times.length - 1]] as const;
  if (options.norm === "sample") {
    return yield* findStepsOfSamples(tableau, f, y0, ends, options, options.compile);
  }
  return { steps: yield* findSteps(tableau, ofParts(f), [y0], ends, options) };
}

function ofParts(f: VectorField): PartsField {
  return (t, [y]) => [f(t, y)];
}

/** The states at the output times, `(times, ...state)`. */
export function solveAdaptively(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  times: Float64Array,
  { statistics, ...options }: Options,
  given?: Steps,
): Tensor {
  const batch = given ? undefined : solveExamples(f, y0, (f, y0) => {
    const ofExamples = { ...options, norm: "sample", statistics } as const;
    return solveAdaptively(tableau, f, y0, times, ofExamples);
  }, options.norm);
  if (batch) return batch;
  if (!given && !hasValues(y0)) {
    throw new Error(
      `odeint: ${tableau.name} chooses its steps while it runs and cannot be part of a traced loop, or of jvp inside vmap; use a ` +
        "fixed-step method, such as rk4",
    );
  }
  const first = y0.expandDims(0);
  if (!given && !isRecording() && options.norm === "batch") {
    return concatenate([first, solveAtOnce(tableau, f, y0, times, options, statistics)]);
  }
  let steps = given;
  let final: Tensor | undefined;
  if (!steps) {
    final = withoutRecording(() =>
      tidy(() => {
        const found = runSearch(searchSteps(tableau, f, y0, times, options));
        steps = found.steps;
        return found.final;
      })
    );
  }
  recordStatistics(statistics, steps!);
  if (final && times.length === 2 && !isRecording()) return stack([y0, final]);
  return tidy(() => concatenate([first, replay(tableau, f, y0, times, steps!, options)]));
}

/** The states at all output times except the first, computed during the search. */
function solveAtOnce(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  times: Float64Array,
  options: AdaptiveOptions,
  statistics?: SolveStatistics,
): Tensor {
  const [begin, finish] = [times[0], times[times.length - 1]];
  const direction = Math.sign(finish - begin);
  const outputs: { support: StepSupport; fraction: number }[] = [];
  const isReached = (end: number) =>
    outputs.length + 1 < times.length && direction * (end - times[outputs.length + 1]) >= 0;
  const watch: StepObserver<StepSupport> = {
    keep: (step, y, dt) => supportOf(tableau, step, y, dt)[0],
    wants: (_, end) => isReached(end),
    take(support, start, end) {
      while (isReached(end)) {
        outputs.push({ support, fraction: (times[outputs.length + 1] - start) / (end - start) });
      }
    },
  };
  return tidy(() => {
    recordStatistics(
      statistics,
      runSearch(findSteps(tableau, ofParts(f), [y0], [begin, finish], options, watch)),
    );
    const support = outputs[0].support.map((_, i) => stack(outputs.map(({ support }) => support[i])));
    return interpolate(support as unknown as StepSupport, outputs.map(({ fraction }) => fraction));
  });
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
  let result: Parts = [];
  const [begin, finish] = interval;
  const watch: StepObserver<StepSupport[]> = {
    keep: (step, y, dt) => supportOf(tableau, step, y, dt),
    wants: (_, end) => Math.sign(finish - begin) * (end - finish) >= 0,
    take(supports, start, end) {
      const fraction = (finish - start) / (end - start);
      result = supports.map((support) => interpolateAt(support, fraction));
    },
  };
  return withoutRecording(() =>
    tidy(() => {
      runSearch(findSteps(tableau, f, y0, interval, options, watch, undefined, controlled));
      return result;
    })
  );
}

/** Data of a step. Shorter steps from the same start, which locate the event, begin with the state and the slope. */
interface KeptStep {
  readonly y: Tensor;
  readonly slope: Tensor;
  readonly end: Tensor;
}

/**
 * Finds steps until a function of the state changes its sign. The last step ends at the sign change. A state within a step is
 * computed by a shorter step of the same method: interpolated states are orders of magnitude less accurate.
 *
 * @param event Returns a number, which must be positive at the start.
 */
export function findEvent(
  tableau: AdaptiveMethod,
  f: VectorField,
  y0: Tensor,
  start: number,
  direction: number,
  options: AdaptiveOptions,
  event: (t: number, y: Tensor) => number,
): Steps {
  let time = NaN;
  let evaluations = 0;
  const watch: StepObserver<KeptStep> = {
    keep: (step, y) => ({ y: y[0], slope: step.stages[0][0], end: step.y[0] }),
    wants: () => true,
    take({ y, slope, end: stateAtEnd }, start, end) {
      const atEnd = tidy(() => event(end, stateAtEnd));
      if (atEnd > 0) return false;
      const dt = end - start;
      const eventAt = (fraction: number) =>
        tidy(() => {
          const at = (c: number) => scalar(start + c * fraction * dt, y0.dtype);
          const step = embeddedStep(tableau, ofParts(f), at, fraction * dt, [y], [slope]);
          evaluations += step.evaluations ?? tableau.a.length;
          return event(start + fraction * dt, step.y[0]);
        });
      const atStart = tidy(() => event(start, y));
      // Leave four bits of float64 for rounding errors.
      const tolerance = 2 ** -48 * Math.max(Math.abs(start / dt), 1);
      time = start + findSignChange(eventAt, atStart, atEnd, tolerance) * dt;
      return true;
    },
  };
  const ends = [start, direction * Infinity] as const;
  const steps = withoutRecording(() =>
    tidy(() => runSearch(findSteps(tableau, ofParts(f), [y0], ends, options, watch, "the event")))
  );
  const [list] = steps.lists;
  const found = { ...list, ends: [...list.ends.slice(0, -1), time] };
  return { ...steps, lists: [found], evaluations: steps.evaluations + evaluations };
}
