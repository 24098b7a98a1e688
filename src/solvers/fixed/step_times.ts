/** The times at which a fixed-step solver steps. */

/** Steps of one solve at most: their times alone take 200 MB. */
const maxFixedSteps = 2 ** 23;

/** Times counted from an origin. */
export function since(times: ArrayLike<number>, origin: number): Float64Array {
  return Float64Array.from(times, (time) => time - origin);
}

/** The choice of fixed steps: between the points of a grid, or of one length. */
export interface StepChoice {
  readonly stepSize?: number;
  /** Times in any order; those outside the interval do not count, repeated ones once. */
  readonly grid?: ArrayLike<number>;
}

/**
 * Times from the first to the last of `t`: the grid's between them, or in steps of `stepSize`, the last one shortened, as
 * torchdiffeq's; `t` itself without either.
 *
 * @throws {RangeError} If the step size is not positive or needs more than {@linkcode maxFixedSteps} steps, or a point of the
 * grid is no number.
 */
export function stepTimes(t: Float64Array, { stepSize, grid: given }: StepChoice): Float64Array {
  if (given) {
    checkFinite(given, "grid");
    const [low, high] = [t[0], t[t.length - 1]].sort((a, b) => a - b);
    const inside = Array.from(given).filter((time) => low < time && time < high);
    const points = Float64Array.from(new Set([low, ...inside, high])).sort();
    return t[0] < t[t.length - 1] ? points : points.reverse();
  }
  if (stepSize === undefined) return t;
  checkStepSize(stepSize);
  const [start, end] = [t[0], t[t.length - 1]];
  const direction = Math.sign(end - start);
  // Rounding must not add a step of length zero at the end.
  const steps = Math.max(1, Math.ceil(Math.abs(end - start) / stepSize * (1 - 1e-12)));
  checkStepCount(steps, `odeint: stepSize ${stepSize}`, start, end);
  const grid = Float64Array.from({ length: steps + 1 }, (_, i) => start + direction * i * stepSize);
  grid[steps] = end;
  return grid;
}

/** @throws {RangeError} If steps are more than a solve may take. */
export function checkStepCount(steps: number, reason: string, start: number, end: number): void {
  if (steps <= maxFixedSteps) return;
  throw new RangeError(
    `${reason} makes ${
      steps.toPrecision(3)
    } steps from t = ${start} to ${end}, expected ${maxFixedSteps} at most: ` +
      "take longer steps, or an adaptive method, dopri5 say, which chooses their length",
  );
}

/** Step and position in it of each time, in the grid's order: 0 at the step's start, 1 at its end. */
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
 * @throws {RangeError} If they are fewer than two, not finite, or not monotone.
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

/** @throws {RangeError} If one of an option's times is NaN or infinite. */
export function checkFinite(times: ArrayLike<number>, name: string): void {
  const wrong = Array.from(times).findIndex((time) => !Number.isFinite(time));
  if (wrong >= 0) {
    throw new RangeError(`odeint: ${name}[${wrong}] is ${times[wrong]}, expected a finite time`);
  }
}

/** @throws {RangeError} If a step size is not a positive number. */
export function checkStepSize(stepSize: number, operation = "odeint"): void {
  if (!(stepSize > 0) || !Number.isFinite(stepSize)) {
    throw new RangeError(`${operation}: stepSize is ${stepSize}, expected a positive, finite number`);
  }
}
