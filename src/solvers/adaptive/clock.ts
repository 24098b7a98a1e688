/** Times in the loop of an adaptive solve. */
import type { DType } from "../../device/dtype.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { precisionOf } from "./step_control.ts";

/**
 * Times in one tensor. In float32 there are two, the rounded times and what rounding dropped, so that the sum of many steps is exact
 * to 48 bits.
 */
export type Clock = readonly Tensor[];

/** A time after all times. */
export const latest = 2 ** 120;

/** Minimum absolute value of a time for its neighbours: the precision at zero would be too fine. */
export const smallestTime = 2 ** -100;

/** Relative distance between adjacent times. */
export function timePrecisionOf(dtype: DType): number {
  return dtype === "float32" ? 2 ** -46 : 2 ** -52;
}

/** The time next to another, on one side: 1 is later, -1 earlier. */
export function neighbourOf(time: Tensor, side: 1 | -1): Tensor {
  return time.add(time.abs().maximum(smallestTime).mul(side * precisionOf(time.dtype)));
}

/** The number in the type, and what rounding drops. */
function split(t: number, isPair: boolean): number[] {
  return isPair ? [Math.fround(t), Math.fround(t - Math.fround(t))] : [t];
}

/** Arithmetic of times. @param fill Makes a tensor of a number for all samples. */
export function clockOf(dtype: DType, fill: (value: number) => Tensor) {
  const isPair = dtype === "float32";
  const at = (t: number): Clock => split(t, isPair).map(fill);
  /** The time from a to b. */
  const between = (a: Clock, b: Clock): Tensor =>
    a.map((part, i) => b[i].sub(part)).reduce((sum, part) => sum.add(part));
  const where = (isFirst: Tensor, a: Clock, b: Clock): Clock => a.map((part, i) => isFirst.where(part, b[i]));
  const add = ([high, low]: Clock, duration: Tensor): Clock => {
    const sum = high.add(duration);
    if (!isPair) return [sum];
    const change = sum.sub(high);
    const lost = high.sub(sum.sub(change)).add(duration.sub(change));
    const rest = low.add(lost);
    const rounded = sum.add(rest);
    return [rounded, rest.sub(rounded.sub(sum))];
  };
  return {
    at,
    /** A time that loops with different times share as an input, instead of compiling a number. */
    constant: (t: number): Clock => split(t, isPair).map((part) => tensor([part], { dtype }).squeeze(0)),
    between,
    where,
    add,
    earlier: (a: Clock, b: Clock) => where(between(a, b).greater(0), a, b),
    /** Times for {@linkcode next}, that loops with as many times share as an input. */
    list: (times: readonly number[]): Clock => {
      const parts = times.map((t) => split(t, isPair));
      return split(0, isPair).map((_, i) => tensor(parts.map((part) => part[i]), { dtype }));
    },
    /** The first of some times after each time, {@linkcode latest} if none is. */
    next: (time: Clock, all: Clock): Clock => {
      const { shape } = time[0];
      const isLater = between(time.map((x) => x.reshape([-1, 1])), all).greater(0);
      const high = isLater.where(all[0], latest).min(-1, { keepDims: true });
      const low = isPair ? isLater.and(all[0].equal(high)).where(all[1], latest).min(-1) : undefined;
      const isNone = high.greaterEqual(latest).squeeze(-1);
      return [high.squeeze(-1), ...low ? [isNone.where(0, low)] : []].map((x) => x.reshape(shape));
    },
    /** Length of a step from `start` to `end`, whose size is known. */
    lengthOf: (start: Clock, size: Tensor, end: Clock): Tensor => isPair ? size : between(start, end),
  };
}
