import { describe } from "../../device/describe.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { isFloat } from "../../device/dtype.ts";
import { normalizeAxes, normalizeAxis } from "../../device/shape.ts";
import { stopGradient } from "../functions.ts";
import { apply } from "../primitive.ts";
import * as reduction from "../primitives/reduction.ts";
import * as structural from "../primitives/structural.ts";
import type { NormOptions, ReduceOptions, Tensor } from "../tensor.ts";

type Axes = number | readonly number[];

const reduceOptionNames = namesOf<ReduceOptions>()("keepDims?");
const normOptionNames = namesOf<NormOptions>()(reduceOptionNames, "order?");

/** Methods of {@linkcode Tensor} that combine elements along axes. */
export const reductionMethods = {
  sum(axes, options) {
    return reduce(reduction.sum, this, axes, options);
  },
  max(axes, options) {
    return reduce(reduction.max, this, axes, options);
  },
  min(axes, options) {
    return reduce(reduction.min, this, axes, options);
  },
  mean(axes, options) {
    const list = checkedAxes("mean", this, axes, options);
    return this.sum(axes, options).div(list.reduce((count, axis) => count * this.shape[axis], 1));
  },
  variance(axes, options) {
    checkedAxes("variance", this, axes, options);
    return this.sub(this.mean(axes, { keepDims: true })).square().mean(axes, options);
  },
  std(axes, options) {
    checkedAxes("std", this, axes, options);
    return this.variance(axes, options).sqrt();
  },
  prod(axes, options = {}) {
    const list = checkedAxes("prod", this, axes, options);
    if (this.dtype === "bool") throw new TypeError("prod: takes numbers, got bool; cast first");
    const result = productAlong(this, list);
    return options.keepDims ? result : result.squeeze(list);
  },
  any(axes, options) {
    checkedAxes("any", this, axes, options);
    return this.cast("bool").cast("int32").sum(axes, options).greater(0);
  },
  all(axes, options) {
    checkedAxes("all", this, axes, options);
    return this.cast("bool").not().cast("int32").sum(axes, options).equal(0);
  },
  norm(axes, options = {}) {
    checkOptions("norm", options, normOptionNames);
    const { order = 2, ...rest } = options;
    normalizeAxes(axes, this.rank, "norm");
    if (!isFloat(this.dtype)) {
      throw new TypeError(`norm: takes float32 or float64, got ${this.dtype}; cast first`);
    }
    if (!(typeof order === "number" && order > 0)) {
      throw new RangeError(`norm: order is ${describe(order)}, expected a number above 0, or Infinity`);
    }
    if (order === Infinity) return this.abs().max(axes, rest);
    if (order === 1) return this.abs().sum(axes, rest);
    const sum = (order === 2 ? this.square() : this.abs().pow(order)).sum(axes, rest);
    // The slope of a root is infinite at 0. The gradient of the norm of a zero vector is 0, as PyTorch's.
    const isZero = sum.equal(0);
    return isZero.where(0, isZero.where(1, sum).pow(1 / order));
  },
  argmax(axis = -1) {
    return apply(reduction.argReduce, [this], {
      reduction: "max",
      axis: normalizeAxis(axis, this.rank, "argmax"),
    });
  },
  argmin(axis = -1) {
    return apply(reduction.argReduce, [this], {
      reduction: "min",
      axis: normalizeAxis(axis, this.rank, "argmin"),
    });
  },
  cumsum(axis = -1) {
    return apply(reduction.cumulativeSum, [this], { axis: normalizeAxis(axis, this.rank, "cumsum") });
  },
  logsumexp(axes, options = {}) {
    const list = checkedAxes("logsumexp", this, axes, options);
    const max = constantMax(this, list);
    // If the maximum is infinite, it is the result: Infinity - Infinity would be NaN.
    const result = logOfSum(this, list, max.abs().equal(Infinity).where(0, max));
    return options.keepDims ? result : result.squeeze(list);
  },
  softmax(axis = -1) {
    const list = [normalizeAxis(axis, this.rank, "softmax")];
    const powers = this.sub(constantMax(this, list)).exp();
    return powers.div(powers.sum(list, { keepDims: true }));
  },
  logSoftmax(axis = -1) {
    const list = [normalizeAxis(axis, this.rank, "logSoftmax")];
    // If the maximum is infinite, all results are NaN, as those of softmax.
    return this.sub(logOfSum(this, list, constantMax(this, list)));
  },
} satisfies Partial<Tensor> & ThisType<Tensor>;

/** The axes of a reduction, ascending, after checks of its arguments. */
function checkedAxes(operation: string, { rank }: Tensor, axes?: Axes, options?: ReduceOptions): number[] {
  if (options !== undefined) checkOptions(operation, options, reduceOptionNames);
  return normalizeAxes(axes, rank, operation);
}

function reduce(primitive: typeof reduction.sum, x: Tensor, axes?: Axes, options?: ReduceOptions): Tensor {
  const list = checkedAxes(primitive.name, x, axes, options);
  const reduced = list.length === 0 ? x : apply(primitive, [x], { axes: list });
  return options?.keepDims ? reduced.expandDims(list) : reduced;
}

/** The maximum along axes, which get length one, as a constant; 0 if there are no elements. */
function constantMax(x: Tensor, axes: readonly number[]): Tensor {
  const isEmpty = axes.some((axis) => x.shape[axis] === 0);
  const max = isEmpty ? x.sum(axes, { keepDims: true }) : x.max(axes, { keepDims: true });
  return stopGradient(max);
}

/** log(sum(exp(x))) along axes, which get length one, from the sum of exp(x - shift). */
function logOfSum(x: Tensor, axes: readonly number[], shift: Tensor): Tensor {
  return x.sub(shift).exp().sum(axes, { keepDims: true }).log().add(shift);
}

/** The product along axes, which get length one. Products of pairs have exact gradients at zeros. */
function productAlong(x: Tensor, axes: readonly number[]): Tensor {
  // The product of no elements is 1.
  if (axes.some((axis) => x.shape[axis] === 0)) return x.sum(axes, { keepDims: true }).add(1);
  return axes.reduce((rows, axis) => {
    while (rows.shape[axis] > 1) {
      const n = rows.shape[axis];
      const half = Math.floor(n / 2);
      const pairs = rows.slice(axis, 0, half).mul(rows.slice(axis, half, 2 * half));
      rows = n % 2 === 0 ? pairs : apply(structural.concatenate, [pairs, rows.slice(axis, n - 1)], { axis });
    }
    return rows;
  }, x);
}
