/**
 * The dynamical systems of WARP's experiments (Nzoyem et al., "Weight-Space Linear Recurrent Neural Networks", 2025), made
 * from a seed. Numbers are those of the authors' public code, which makes the paper's data; what it leaves open is said to be
 * our choice. The same key gives the same parameters on every machine, and a longer list begins with a shorter one, up to the
 * solver's error.
 */
import { type Key, split } from "../tensor/random.ts";
import { unitPair } from "./host_random.ts";
import { solveSystem, timesUpTo, type Trajectories } from "./trajectories.ts";

/** From where to where a parameter is drawn, uniformly. */
export type Range = readonly [low: number, high: number];

/** Whether parameters are drawn as for training, or from the wider ranges of the paper's tests. */
export type Regime = "train" | "outOfDistribution";

/** Options of {@linkcode massSpringDamper} and {@linkcode lotkaVolterra}. */
export interface DynamicsOptions {
  /** `"train"` by default. */
  regime?: Regime;
  /** Observations from time 0 to 1. 256 by default. */
  length?: number;
}

/** A series' numbers, one from each range. */
function drawFrom(ranges: readonly Range[], key: Key, offset = 0): number[] {
  return ranges.map(([low, high], i) => low + (high - low) * unitPair(key, offset + i)[0]);
}

/** Mass, stiffness and damping. */
export const massSpringDamperRanges: Readonly<Record<Regime, readonly [m: Range, k: Range, c: Range]>> = {
  train: [[0.02, 0.04], [4, 16], [0.01, 0.2]],
  outOfDistribution: [[0.01, 0.05], [2, 18], [0.01, 0.3]],
};

/**
 * Damped oscillations m x'' + c x' + k x = 0: position and velocity at equal distances of time from 0 to 1, not normalised.
 * They start at position 1 at rest (MSD), or, with `variesInitial`, with up to 0.5 more or less of both (MSD-Zero). The first
 * 100 of 256 observations are the context.
 *
 * The paper trains on 20,480 series and tests on 4,096 out of distribution (MSD-Zero: 8,192 and 2,048).
 */
export async function massSpringDamper(
  count: number,
  key: Key,
  options: DynamicsOptions & { variesInitial?: boolean } = {},
): Promise<Trajectories> {
  const { regime = "train", length = 256, variesInitial = false } = options;
  const keys = split(key, count);
  const offset = variesInitial ? 0.5 : 0;
  const ranges = massSpringDamperRanges[regime];
  return await solveSystem(
    ([x, v], [m, k, c]) => [v, c.mul(v).add(k.mul(x)).div(m).neg()],
    keys.map((own) => drawFrom([[1 - offset, 1 + offset], [-offset, offset]], own, ranges.length)),
    keys.map((own) => drawFrom(ranges, own)),
    timesUpTo(1, length),
  );
}

/** Growth of the prey, predation, growth of the predator, its death. */
export const lotkaVolterraRanges: Readonly<
  Record<Regime, readonly [alpha: Range, beta: Range, delta: Range, gamma: Range]>
> = {
  train: [[20, 50], [80, 120], [80, 120], [20, 50]],
  outOfDistribution: [[10, 60], [70, 130], [70, 130], [10, 60]],
};

/**
 * Prey and predators x' = alpha x - beta x y, y' = delta x y - gamma y from (1, 1), at equal distances of time from 0 to 1.
 * WARP's experiment makes them {@linkcode repeatCopy} sequences. The paper trains on 15,000 series and tests on 3,000 out of
 * distribution.
 */
export async function lotkaVolterra(
  count: number,
  key: Key,
  options: DynamicsOptions = {},
): Promise<Trajectories> {
  const { regime = "train", length = 256 } = options;
  const keys = split(key, count);
  return await solveSystem(
    ([x, y], [alpha, beta, delta, gamma]) => {
      const meetings = x.mul(y);
      return [alpha.mul(x).sub(beta.mul(meetings)), delta.mul(meetings).sub(gamma.mul(y))];
    },
    keys.map(() => [1, 1]),
    keys.map((own) => drawFrom(lotkaVolterraRanges[regime], own)),
    timesUpTo(1, length),
  );
}

/** What a model reads and what it should say. */
export interface RepeatCopy {
  readonly inputs: Trajectories;
  readonly targets: Trajectories;
  /** How many observations of each series its inputs show. Shape (series). */
  readonly shown: Int32Array;
}

/**
 * The repeat-copy task: the inputs show the beginning of each trajectory and zeros from there on, the targets repeat that
 * beginning again and again with zeros in between. All inputs are given. Rescale both by the range of the training targets
 * afterwards, over both channels.
 *
 * @param key Decides how many observations each series shows.
 * @param options `shown`: at least and below how many, [32, 64] by default; `spacing`: zeros between two repetitions, 50 by
 * default.
 */
export function repeatCopy(
  trajectories: Trajectories,
  key: Key,
  options: { shown?: Range; spacing?: number } = {},
): RepeatCopy {
  const { shown: range = [32, 64], spacing = 50 } = options;
  const [series, length, channels] = trajectories.shape;
  const shown = Int32Array.from(split(key, series), (own) => Math.floor(drawFrom([range], own)[0]));
  const [inputs, targets] = [
    new Float64Array(series * length * channels),
    new Float64Array(series * length * channels),
  ];
  shown.forEach((own, i) => {
    const row = (values: Float64Array) => values.subarray(i * length * channels, (i + 1) * length * channels);
    const beginning = row(trajectories.values).subarray(0, own * channels);
    row(inputs).set(beginning);
    for (let at = 0; at < length; at += own + spacing) {
      row(targets).set(beginning.subarray(0, (length - at) * channels), at * channels);
    }
  });
  return {
    inputs: { ...trajectories, values: inputs },
    targets: { ...trajectories, values: targets },
    shown,
  };
}

/** Training series of the five sizes of SINE; 1,000 validate and 1,000 test each of them. */
export const sineSizes = { tiny: 1, small: 10, medium: 100, large: 1000, huge: 10_000 } as const;

/**
 * Sine waves sin(2 pi t + phi) over one period, with phases phi drawn uniformly from -pi/6 to pi/6. The first observation is
 * the context: it tells the phase.
 *
 * @param options `length`: observations from time 0 to 1, 16 by default.
 */
export function sineWaves(count: number, key: Key, options: { length?: number } = {}): Trajectories {
  const { length = 16 } = options;
  const times = timesUpTo(1, length);
  const values = new Float64Array(count * length);
  split(key, count).forEach((own, i) => {
    const [phase] = drawFrom([[-Math.PI / 6, Math.PI / 6]], own);
    times.forEach((t, at) => values[i * length + at] = Math.sin(2 * Math.PI * t + phase));
  });
  return { times, values, shape: [count, length, 1] };
}
