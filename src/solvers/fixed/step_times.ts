/** The times of fixed steps. */
import { describe } from "../../device/describe.ts";

/** Maximum number of steps of a solve: their times alone occupy 200 MB. */
const maxFixedSteps = 2 ** 23;

/** Times relative to an origin. */
export function shiftTimes(times: ArrayLike<number>, origin: number): Float64Array {
  return Float64Array.from(times, (time) => time - origin);
}

/** The choice of fixed steps: between grid points, or of a constant size. */
export interface StepChoice {
  readonly stepSize?: number;
  /** Times in any order. Times outside the interval and duplicates are ignored. */
  readonly grid?: ArrayLike<number>;
}

/**
 * The ends of steps from the first to the last of `t`: at the grid points, or of size `stepSize` with a shorter last step, as in
 * torchdiffeq; otherwise at `t`.
 *
 * @throws {RangeError} If the step size is not positive or requires more than {@linkcode maxFixedSteps} steps, or a grid point
 * is not finite.
 */
export function stepTimes(t: Float64Array, { stepSize, grid: gridPoints }: StepChoice): Float64Array {
  if (gridPoints) {
    checkFinite(gridPoints, "grid");
    const [low, high] = [t[0], t[t.length - 1]].sort((a, b) => a - b);
    const inside = Array.from(gridPoints).filter((time) => low < time && time < high);
    const points = Float64Array.from(new Set([low, ...inside, high])).sort();
    return t[0] < t[t.length - 1] ? points : points.reverse();
  }
  if (stepSize === undefined) return t;
  checkStepSize(stepSize);
  const [start, end] = [t[0], t[t.length - 1]];
  const direction = Math.sign(end - start);
  // The factor prevents an extra last step whose size is only a rounding error.
  const steps = Math.max(1, Math.ceil(Math.abs(end - start) / stepSize * (1 - 1e-12)));
  checkStepCount(steps, `odeint: stepSize ${stepSize}`, start, end);
  const grid = Float64Array.from({ length: steps + 1 }, (_, i) => start + direction * i * stepSize);
  grid[steps] = end;
  return grid;
}

/** @throws {RangeError} If there are more steps than a solve may take. */
export function checkStepCount(steps: number, reason: string, start: number, end: number): void {
  if (steps <= maxFixedSteps) return;
  throw new RangeError(
    `${reason} makes ${
      steps.toPrecision(3)
    } steps from t = ${start} to ${end}, expected ${maxFixedSteps} at most: ` +
      "choose larger steps, or an adaptive method, such as dopri5",
  );
}

/** The step of each time and the position in it: 0 at its start, 1 at its end. Times are in the order of the grid. */
export function locateInSteps(times: Float64Array, grid: Float64Array): { step: number; fraction: number }[] {
  const direction = Math.sign(grid[grid.length - 1] - grid[0]);
  let step = 0;
  return Array.from(times, (time) => {
    while (step < grid.length - 2 && direction * (time - grid[step + 1]) > 0) step++;
    return { step, fraction: (time - grid[step]) / (grid[step + 1] - grid[step]) };
  });
}

/**
 * Checks output times.
 *
 * @throws {RangeError} If there are fewer than two, or they are not finite and monotone.
 */
export function checkOutputTimes(t: Float64Array, operation: string): void {
  if (t.length < 2) throw new RangeError(`${operation}: t needs two times at least, got ${t.length}`);
  const direction = Math.sign(t[1] - t[0]);
  t.forEach((time, i) => {
    if (!Number.isFinite(time)) {
      throw new RangeError(`${operation}: t[${i}] is ${time}, expected a finite time`);
    }
    if (i > 0 && !(direction * (time - t[i - 1]) > 0)) {
      throw new RangeError(
        `${operation}: times must increase or decrease throughout, but t[${i - 1}] = ${
          t[i - 1]
        } and t[${i}] = ${time}`,
      );
    }
  });
}

/** @throws {RangeError} If a time of an option is NaN or infinite. */
export function checkFinite(times: ArrayLike<number>, name: string, operation = "odeint"): void {
  const wrong = Array.from(times).findIndex((time) => !Number.isFinite(time));
  if (wrong >= 0) {
    throw new RangeError(`${operation}: ${name}[${wrong}] is ${times[wrong]}, expected a finite time`);
  }
}

/** @throws {RangeError} If a step size is not positive and finite. */
export function checkStepSize(stepSize: number, operation = "odeint"): void {
  if (Number.isFinite(stepSize) && stepSize > 0) return;
  const value = typeof stepSize === "number" ? stepSize : describe(stepSize);
  throw new RangeError(`${operation}: stepSize is ${value}, expected a positive, finite number`);
}
