/**
 * Brownian increments from a counter-based generator. The increments of a step depend on the key, the number of the step and its
 * length alone. So a reverse pass draws them again, and memory need not hold them.
 */
import { type DType, isFloat } from "../../device/dtype.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { checkedShape, type Shape } from "../../device/shape.ts";
import { vmap } from "../../autodiff/vmap.ts";
import { arange, tensor, tensorOptionNames, type TensorOptions } from "../../tensor/creation.ts";
import { stack } from "../../tensor/functions.ts";
import { hostTimes } from "../../tensor/host.ts";
import { foldIn, type Key, normalOfMember } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { checkOutputTimes } from "../fixed/step_times.ts";

/** Options of {@linkcode brownianIncrements}. */
export interface BrownianOptions extends TensorOptions {
  /**
   * Number of times that each interval is halved. The increments of the halves add up to the increment of the interval, so that
   * solves with different step sizes can share a path.
   *
   * @default {0}
   */
  refine?: number;
}

const optionNames = namesOf<BrownianOptions>()(tensorOptionNames, "refine?");

/** Separates the keys of Brownian motions from other keys that are derived from the same key. */
const brownianStream = 0xb205;

/** The key of the increments; of a refinement, the key of the midpoints of a level. */
export function brownianKey(key: Key, level = 0): Key {
  return foldIn(key, brownianStream + level);
}

/** The numbers of the steps of a solve, as counters of the generator. */
export function stepNumbers(count: number): Tensor {
  return arange(count, { dtype: "uint32" });
}

/**
 * The increments of a Brownian motion between times: independent normal numbers of mean 0, whose variance is the length of the
 * interval. `sdeint` with the same key and steps at `t` draws the same numbers.
 *
 * @example
 * ```ts
 * import { brownianIncrements, key } from "@weft/weft";
 *
 * const dw = brownianIncrements(key(0), [0, 0.5, 1], [2]); // (2, 2): two steps of two motions
 * const finer = brownianIncrements(key(0), [0, 0.5, 1], [2], { refine: 1 }); // (4, 2): the same path in four steps
 * ```
 *
 * @param t Times, increasing.
 * @param shape The shape of the motions, such as `(batch, channels)`.
 * @returns `((length(t) - 1) * 2 ** refine, ...shape)`.
 * @throws {RangeError} If the times do not increase, or `refine` is not a whole number from 0 to 30.
 * @throws {TypeError} If the type is not a float.
 */
export function brownianIncrements(
  key: Key,
  t: Tensor | ArrayLike<number>,
  shape: Shape,
  options: BrownianOptions = {},
): Tensor {
  checkOptions("brownianIncrements", options, optionNames);
  const { dtype = "float32", refine = 0 } = options;
  if (!(Number.isInteger(refine) && refine >= 0 && refine <= 30)) {
    throw new RangeError(`brownianIncrements: refine is ${refine}, expected a whole number from 0 to 30`);
  }
  checkedShape("brownianIncrements", shape);
  if (!isFloat(dtype)) {
    throw new TypeError(`brownianIncrements: dtype is ${dtype}, expected float32 or float64`);
  }
  const times = hostTimes(t, "brownianIncrements: t");
  checkIncreasing(times, "brownianIncrements");
  let lengths = Float64Array.from(times.subarray(1), (end, i) => end - times[i]);
  const normals = (level: number) => {
    const own = brownianKey(key, level);
    return vmap((step: Tensor) => normalOfMember(own, step, shape, dtype))(stepNumbers(lengths.length));
  };
  const column = (values: Float64Array) => tensor(values, { dtype }).reshape([-1, ...shape.map(() => 1)]);
  let increments = normals(0).mul(column(lengths).sqrt());
  for (let level = 1; level <= refine; level++) {
    // A Brownian bridge: given the increment of an interval, that of its first half has this mean and variance.
    const first = increments.mul(0.5).add(normals(level).mul(column(lengths).sqrt().mul(0.5)));
    increments = stack([first, increments.sub(first)], 1).flatten(0, 1);
    lengths = Float64Array.from({ length: 2 * lengths.length }, (_, i) => lengths[i >> 1] / 2);
  }
  return increments;
}

/** @throws {RangeError} If times do not increase. */
export function checkIncreasing(times: Float64Array, operation: string): void {
  checkOutputTimes(times, operation);
  if (times[1] > times[0]) return;
  throw new RangeError(
    `${operation}: times decrease from ${times[0]} to ${
      times[1]
    }, expected increasing times; a Brownian motion starts at ` +
      "the first time",
  );
}

/** The increments of a step, from its number and the square root of its length. */
export function incrementOf(key: Key, step: Tensor, root: Tensor, shape: Shape, dtype: DType): Tensor {
  return normalOfMember(key, step, shape, dtype).mul(root);
}
