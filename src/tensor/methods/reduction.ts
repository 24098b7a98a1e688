import { checkOptions, type OptionNames } from "../../device/options.ts";
import { normalizeAxes, normalizeAxis } from "../../device/shape.ts";
import { stopGradient } from "../functions.ts";
import { apply } from "../primitive.ts";
import * as reduction from "../primitives/reduction.ts";
import type { ReduceOptions, Tensor } from "../tensor.ts";

type Axes = number | readonly number[];

const reduceOptionNames: OptionNames<ReduceOptions> = { keepDims: "optional" };

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
    if (options !== undefined) checkOptions("mean", options, reduceOptionNames);
    const list = normalizeAxes(axes, this.rank, "mean");
    return this.sum(axes, options).div(list.reduce((count, axis) => count * this.shape[axis], 1));
  },
  variance(axes, options) {
    if (options !== undefined) checkOptions("variance", options, reduceOptionNames);
    normalizeAxes(axes, this.rank, "variance");
    return this.sub(this.mean(axes, { keepDims: true })).square().mean(axes, options);
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
  cumsum(axis = 0) {
    return apply(reduction.cumulativeSum, [this], { axis: normalizeAxis(axis, this.rank, "cumsum") });
  },
  logsumexp(axes, options = {}) {
    checkOptions("logsumexp", options, reduceOptionNames);
    const list = normalizeAxes(axes, this.rank, "logsumexp");
    const max = stopGradient(this.max(list, { keepDims: true }));
    // An infinite maximum is the result; subtracting it from itself would not be a number.
    const largest = max.abs().equal(Infinity).where(0, max);
    const result = this.sub(largest).exp().sum(list, { keepDims: true }).log().add(largest);
    return options.keepDims ? result : result.squeeze(list);
  },
  softmax(axis = -1) {
    normalizeAxis(axis, this.rank, "softmax");
    const powers = this.sub(stopGradient(this.max(axis, { keepDims: true }))).exp();
    return powers.div(powers.sum(axis, { keepDims: true }));
  },
  logSoftmax(axis = -1) {
    normalizeAxis(axis, this.rank, "logSoftmax");
    return this.sub(this.logsumexp(axis, { keepDims: true }));
  },
} satisfies Partial<Tensor> & ThisType<Tensor>;

function reduce(primitive: typeof reduction.sum, x: Tensor, axes?: Axes, options?: ReduceOptions): Tensor {
  if (options !== undefined) checkOptions(primitive.name, options, reduceOptionNames);
  const list = normalizeAxes(axes, x.rank, primitive.name);
  const reduced = list.length === 0 ? x : apply(primitive, [x], { axes: list });
  return options?.keepDims ? reduced.expandDims(list) : reduced;
}
