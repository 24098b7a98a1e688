/**
 * Learning rate schedules. A schedule is a plain function from the index of a step (or epoch), starting at 0,
 * to a factor: `optimizer.learningRate = rate * schedule(step)`.
 */
import { checkOptions, namesOf } from "../device/options.ts";
import { checkWord } from "../tensor/checks.ts";

/** Options of {@linkcode warmup}. */
export interface WarmupOptions {
  /** The number of steps. */
  steps: number;
  /**
   * The factor before the first step, from 0 to 1.
   *
   * @default {0}
   */
  from?: number;
}

/** Options of {@linkcode cosineDecay}. */
export interface CosineDecayOptions {
  /** The step at which the factor reaches `minimum`. */
  steps: number;
  /**
   * The step at which the factor begins to fall, for example the end of a {@linkcode warmup}.
   *
   * @default {0}
   */
  start?: number;
  /**
   * The last factor, from 0 to 1.
   *
   * @default {0}
   */
  minimum?: number;
}

const cosineDecayOptionNames = namesOf<CosineDecayOptions>()("steps start? minimum?");

const warmupOptionNames = namesOf<WarmupOptions>()("steps from?");

/** Maps the index of a step to a factor on the learning rate. */
export type Schedule = (step: number) => number;

function checkSteps(schedule: string, name: string, value: number) {
  if (!(Number.isFinite(value) && value >= 0)) {
    throw new RangeError(`${schedule}: ${name} is ${value}, expected a number of at least 0`);
  }
}

function checkFactor(schedule: string, name: string, value: number) {
  if (!(value >= 0 && value <= 1)) {
    throw new RangeError(`${schedule}: ${name} is ${value}, expected a factor from 0 to 1`);
  }
}

/**
 * Rises linearly to 1, which it reaches at step `steps - 1`.
 */
export function warmup(options: WarmupOptions): Schedule {
  checkOptions("warmup", options, warmupOptionNames);
  const { steps, from = 0 } = options;
  checkSteps("warmup", "steps", steps);
  checkFactor("warmup", "from", from);
  return (step) => step + 1 >= steps ? 1 : from + (1 - from) * (step + 1) / steps;
}

/**
 * Falls along half a cosine from 1 to `minimum` (Loshchilov and Hutter, 2017, eq. 5, without restarts).
 */
export function cosineDecay(options: CosineDecayOptions): Schedule {
  checkOptions("cosineDecay", options, cosineDecayOptionNames);
  const { steps, start = 0, minimum = 0 } = options;
  checkSteps("cosineDecay", "start", start);
  checkFactor("cosineDecay", "minimum", minimum);
  if (!(Number.isFinite(steps) && steps > start)) {
    throw new RangeError(`cosineDecay: steps is ${steps}, expected more than start (${start})`);
  }
  return (step) => {
    const progress = Math.min(1, Math.max(0, (step - start) / (steps - start)));
    return minimum + (1 - minimum) * (1 + Math.cos(Math.PI * progress)) / 2;
  };
}

/**
 * The product of schedules.
 *
 * @example
 * ```ts
 * import { multiplySchedules, cosineDecay, warmup } from "@weft/weft";
 *
 * const schedule = multiplySchedules(warmup({ steps: 100 }), cosineDecay({ start: 100, steps: 1000 }));
 * schedule(49); // 0.5
 * ```
 */
export function multiplySchedules(...schedules: readonly Schedule[]): Schedule {
  return (step) => schedules.reduce((factor, schedule) => factor * schedule(step), 1);
}

/** Options of {@linkcode reduceOnPlateau}. */
export interface PlateauOptions {
  /**
   * Factor that lowers the learning rate.
   *
   * @default {0.1}
   */
  factor?: number;
  /**
   * Number of epochs without improvement that are tolerated.
   *
   * @default {10}
   */
  patience?: number;
  /**
   * Lower bound of the factor on the initial learning rate.
   *
   * @default {0}
   */
  minimum?: number;
  /**
   * The relative change that counts as an improvement.
   *
   * @default {1e-4}
   */
  threshold?: number;
  /**
   * `"min"` (default) if a smaller metric is better, such as a loss; `"max"` if a larger one is better, such
   * as an accuracy.
   *
   * @default {"min"}
   */
  mode?: "min" | "max";
  /**
   * Number of consecutive metrics to average into one, 1 by default. WARP's recipe averages 50 training losses
   * (Nzoyem et al., 2025, appendix C).
   *
   * @default {1}
   */
  average?: number;
}

const plateauOptionNames = namesOf<PlateauOptions>()(
  "factor? patience? minimum? threshold? mode? average?",
);

/** State of {@linkcode reduceOnPlateau}: plain data, for a checkpoint. */
export interface PlateauState {
  /** The factor on the initial learning rate. */
  readonly factor: number;
  /** The best metric so far. `null` before the first finite metric. */
  readonly best: number | null;
  /** Number of epochs since the best metric. */
  readonly waited: number;
  /** Sum and count of the metrics in the current, incomplete average. Only used with `average` above 1. */
  readonly pending?: readonly [sum: number, count: number];
}

/** A schedule driven by a metric. */
export interface Plateau {
  /** Takes a metric, for example of an epoch, and returns the new factor on the initial learning rate. */
  update(metric: number): number;
  /** Number of metrics that are averaged into one. */
  readonly average: number;
  /** The current state. Set it to resume from a checkpoint. */
  state: PlateauState;
}

/**
 * Lowers the learning rate when a metric stops improving, as PyTorch's `ReduceLROnPlateau`. An infinite or
 * NaN metric is never an improvement, not even the first.
 *
 * @example
 * ```ts
 * import { reduceOnPlateau } from "@weft/weft";
 *
 * const plateau = reduceOnPlateau({ factor: 0.5, patience: 0 });
 * [1, 0.5, 0.6].map((loss) => plateau.update(loss)); // 1, 1, 0.5
 * ```
 */
export function reduceOnPlateau(options: PlateauOptions = {}): Plateau {
  checkOptions("reduceOnPlateau", options, plateauOptionNames);
  const { factor = 0.1, patience = 10, minimum = 0, threshold = 1e-4, mode = "min", average = 1 } = options;
  checkFactor("reduceOnPlateau", "factor", factor);
  checkFactor("reduceOnPlateau", "minimum", minimum);
  checkSteps("reduceOnPlateau", "patience", patience);
  checkSteps("reduceOnPlateau", "threshold", threshold);
  checkWord("reduceOnPlateau", "mode", mode, ["min", "max"]);
  if (!(Number.isInteger(average) && average >= 1)) {
    throw new RangeError(`reduceOnPlateau: average is ${average}, expected a whole number of at least 1`);
  }
  const isImprovement = (metric: number, best: number | null) => {
    if (!Number.isFinite(metric)) return false;
    if (best === null) return true;
    return mode === "min" ? metric < best * (1 - threshold) : metric > best * (1 + threshold);
  };
  const plateau: Plateau = {
    average,
    state: { factor: 1, best: null, waited: 0 },
    update(latest) {
      const { best, waited, factor: current, pending: [sum, count] = [0, 0] } = plateau.state;
      if (count + 1 < average) {
        plateau.state = { ...plateau.state, pending: [sum + latest, count + 1] };
        return current;
      }
      const metric = (sum + latest) / average;
      if (isImprovement(metric, best)) {
        plateau.state = { factor: current, best: metric, waited: 0 };
      } else if (waited < patience) plateau.state = { factor: current, best, waited: waited + 1 };
      else plateau.state = { factor: Math.max(minimum, current * factor), best, waited: 0 };
      return plateau.state.factor;
    },
  };
  return plateau;
}
