/**
 * The dynamical systems of WARP's experiments (Nzoyem et al., "Weight-Space Linear Recurrent Neural
 * Networks", 2025, tables 4 to 6), generated from a seed. Where the authors' public code differs from the
 * paper, the paper is the default. Comments mark choices that neither of them specifies. The same key gives
 * the same parameters on every machine. A longer list begins with the elements of a shorter one, up to the
 * solver's error.
 */
import { type Key, splitKey } from "@weft/weft";
import { unitPair } from "@weft/weft/data";
import { checkCount } from "./check_count.ts";
import { solveSystem, timesUpTo, type Trajectories } from "./trajectories.ts";

/** Range of a uniform distribution: [low, high). */
type Range = readonly [low: number, high: number];

/** Whether parameters come from the training ranges, or from the wider ranges of the paper's tests. */
type Regime = "train" | "outOfDistribution";

/** Options of {@linkcode massSpringDamper} and {@linkcode lotkaVolterra}. */
interface DynamicsOptions {
  /** Ranges of the parameters. `"train"` by default. */
  regime?: Regime;
  /** Number of observations from time 0 to 1, at least 2. 256 by default. */
  length?: number;
}

/** Draws a number from each range. */
function drawFrom(ranges: readonly Range[], key: Key, offset = 0): number[] {
  return ranges.map(([low, high], i) => low + (high - low) * unitPair(key, offset + i)[0]);
}

/** Mass, stiffness and damping (table 6). */
export const massSpringDamperRanges: Readonly<Record<Regime, readonly [m: Range, k: Range, c: Range]>> = {
  train: [[0.02, 0.04], [4, 16], [0.01, 0.2]],
  outOfDistribution: [[0.01, 0.05], [2, 18], [0.01, 0.3]],
};

/**
 * Damped oscillations m x'' + c x' + k x = 0 (table 5): position and velocity at equally spaced times from 0
 * to 1, not normalized. They start at rest at position 1 (MSD), or with `variesInitial` within 0.5 of that
 * state in both components (MSD-Zero). The first 100 of 256 observations are the context.
 *
 * The paper trains on 20,480 series of each (table 4). The authors' code generates 20,480 series, and 4,096
 * out-of-distribution test series; for MSD-Zero 8,192 and 2,048.
 *
 * @param count Number of series.
 * @param key Random key of parameters and initial states.
 * @throws {RangeError} If `length` is not an integer of at least 2.
 */
export async function massSpringDamper(
  count: number,
  key: Key,
  options: DynamicsOptions & { variesInitial?: boolean } = {},
): Promise<Trajectories> {
  const { regime = "train", length = 256, variesInitial = false } = options;
  checkCount("massSpringDamper", "length", length, 2);
  const keys = splitKey(key, count);
  const offset = variesInitial ? 0.5 : 0;
  const ranges = massSpringDamperRanges[regime];
  return await solveSystem(
    ([x, v], [m, k, c]) => [v, c.mul(v).add(k.mul(x)).div(m).neg()],
    keys.map((seriesKey) =>
      drawFrom([[1 - offset, 1 + offset], [-offset, offset]], seriesKey, ranges.length)
    ),
    keys.map((seriesKey) => drawFrom(ranges, seriesKey)),
    timesUpTo(1, length),
  );
}

/**
 * Ranges of the prey's growth alpha and predation beta, and of the predator's death gamma and growth delta.
 */
type LotkaVolterraRanges = Readonly<
  Record<Regime, readonly [alpha: Range, beta: Range, gamma: Range, delta: Range]>
>;

/**
 * Parameters of {@linkcode lotkaVolterra}: the ranges of table 6, and the ranges of the authors' code, which swaps
 * gamma and delta.
 */
export const lotkaVolterraRanges: Readonly<Record<"paper" | "code", LotkaVolterraRanges>> = {
  paper: {
    train: [[20, 50], [80, 120], [80, 120], [20, 50]],
    outOfDistribution: [[10, 60], [70, 130], [70, 130], [10, 60]],
  },
  code: {
    train: [[20, 50], [80, 120], [20, 50], [80, 120]],
    outOfDistribution: [[10, 60], [70, 130], [10, 60], [70, 130]],
  },
};

/**
 * Prey and predators x' = alpha x - beta x y, y' = delta x y - gamma y (table 5) from (1, 1), as in the
 * authors' code, at equally spaced times from 0 to 1. WARP's experiment turns them into
 * {@linkcode repeatCopy} sequences. The paper trains on 15,000 series; the code tests on 3,000
 * out-of-distribution series.
 *
 * @param count Number of series.
 * @param key Random key of the parameters.
 * @param options `ranges`: `"paper"` by default; see {@linkcode lotkaVolterraRanges}.
 * @throws {RangeError} If `length` is not an integer of at least 2.
 */
export async function lotkaVolterra(
  count: number,
  key: Key,
  options: DynamicsOptions & { ranges?: "paper" | "code" } = {},
): Promise<Trajectories> {
  const { regime = "train", length = 256, ranges = "paper" } = options;
  checkCount("lotkaVolterra", "length", length, 2);
  const keys = splitKey(key, count);
  return await solveSystem(
    ([x, y], [alpha, beta, gamma, delta]) => {
      const meetings = x.mul(y);
      return [alpha.mul(x).sub(beta.mul(meetings)), delta.mul(meetings).sub(gamma.mul(y))];
    },
    keys.map(() => [1, 1]),
    keys.map((seriesKey) => drawFrom(lotkaVolterraRanges[ranges][regime], seriesKey)),
    timesUpTo(1, length),
  );
}

/** Inputs of a model, and its targets. */
interface RepeatCopy {
  /** The beginning of each series, followed by separators. Shape (series, length, channels). */
  readonly inputs: Trajectories;
  /** Copies of that beginning, with separators between them. Shape (series, length, channels). */
  readonly targets: Trajectories;
  /** Number of observations of each series in its inputs. Shape (series). */
  readonly shown: Int32Array;
}

/** Options of {@linkcode repeatCopy}. */
export interface RepeatCopyOptions {
  /** Range of the number of observations in the inputs. [32, 64] by default, as in the authors' code. */
  shown?: Range;
  /** Number of separators between two copies. 10 by default, as in the paper; 50 in the authors' code. */
  spacing?: number;
  /** Number of copies. 3 by default, as in the paper; `Infinity` (until the end) in the authors' code. */
  copies?: number;
  /** Value of separators, and of everything after the last copy. -1 by default. */
  separator?: number;
}

/**
 * The repeat-copy task of section 3.2. The inputs show the beginning of each trajectory, followed by
 * separators. The targets repeat that beginning three times, separated by ten tokens of -1. All inputs are
 * given. Rescale the series to [-1, 1] first (`rescale`). The authors' code inserts zeros before it rescales,
 * which become -1.
 *
 * @param trajectories Series to copy.
 * @param key Random key of the number of observations in the inputs of each series.
 * @throws {RangeError} If `shown` is not within 1 and the series' length, or `spacing` is not an integer of
 * at least 0.
 */
export function repeatCopy(
  trajectories: Trajectories,
  key: Key,
  options: RepeatCopyOptions = {},
): RepeatCopy {
  const { shown: range = [32, 64], spacing = 10, copies = 3, separator = -1 } = options;
  const [series, length, channels] = trajectories.shape;
  const [shortest, longest] = range;
  if (!(shortest >= 1 && shortest <= longest && longest <= length)) {
    throw new RangeError(
      `repeatCopy: shown is ${shortest} to ${longest}, expected a range from 1 to the series' length, ${length}`,
    );
  }
  checkCount("repeatCopy", "spacing", spacing, 0);
  const shown = Int32Array.from(
    splitKey(key, series),
    (seriesKey) => Math.floor(drawFrom([range], seriesKey)[0]),
  );
  const [inputs, targets] = [0, 0].map(() => new Float64Array(series * length * channels).fill(separator));
  shown.forEach((shownSteps, i) => {
    const row = (values: Float64Array) => values.subarray(i * length * channels, (i + 1) * length * channels);
    const beginning = row(trajectories.values).subarray(0, shownSteps * channels);
    row(inputs).set(beginning);
    const period = shownSteps + spacing;
    for (let copy = 0; copy < copies && copy * period < length; copy++) {
      const at = copy * period;
      row(targets).set(beginning.subarray(0, (length - at) * channels), at * channels);
    }
  });
  return {
    inputs: { ...trajectories, values: inputs },
    targets: { ...trajectories, values: targets },
    shown,
  };
}

/**
 * Number of training series for the five sizes of SINE. Each size has 1,000 validation and 1,000 test series.
 */
export const sineSizes = { tiny: 1, small: 10, medium: 100, large: 1000, huge: 10_000 } as const;

/**
 * Sine waves sin(2 pi t + phi) over one period, with phases phi drawn uniformly from -pi/6 to pi/6. The first
 * observation is the context: it determines the phase.
 *
 * @param count Number of series.
 * @param key Random key of the phases.
 * @param options `length`: number of observations from time 0 to 1, at least 2; 16 by default.
 * @throws {RangeError} If `length` is not an integer of at least 2.
 */
export function sineWaves(count: number, key: Key, options: { length?: number } = {}): Trajectories {
  const { length = 16 } = options;
  checkCount("sineWaves", "length", length, 2);
  const times = timesUpTo(1, length);
  const values = new Float64Array(count * length);
  splitKey(key, count).forEach((seriesKey, i) => {
    const [phase] = drawFrom([[-Math.PI / 6, Math.PI / 6]], seriesKey);
    times.forEach((t, at) => values[i * length + at] = Math.sin(2 * Math.PI * t + phase));
  });
  return { times, values, shape: [count, length, 1] };
}
