/** The end of loops whose number of steps depends on their values. */
import { peekHostValues } from "../../tensor/host.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { Uncompilable } from "../trace/uncompilable.ts";

/**
 * Two tensors of the state of a loop, with a number per sample: `settled` becomes nonzero when the sample no longer changes, and
 * `count` is the number of steps that changed the sample.
 */
export type Ending = readonly [settled: Tensor, count: Tensor];

/**
 * The values of a tensor, row-major, if the host has them without waiting. A symbol of a transformation has the values of all
 * examples, without tangents.
 *
 * @throws {Uncompilable} If the tensor is a symbol in the body of a compiled loop.
 */
export function peekBeneath(x: Tensor): Float64Array | undefined {
  const { values } = beneathAll(x);
  return peekHostValues(values);
}

/** {@linkcode peekBeneath}, or `undefined` for a symbol in the body of a compiled loop. */
export function peekOutsideLoops(x: Tensor): Float64Array | undefined {
  while (x.storage instanceof Symbolic && x.storage.parts.length > 0) x = x.storage.parts[0] as Tensor;
  return x.storage instanceof Symbolic ? undefined : peekHostValues(x);
}

/** The tensor beneath the symbols of transformations, with the axes of the examples in front, and the transformations, outermost first. */
export function beneathAll(x: Tensor): { values: Tensor; traces: object[] } {
  const traces: object[] = [];
  while (x.storage instanceof Symbolic) {
    const { trace, parts } = x.storage;
    if (parts.length === 0) {
      throw new Uncompilable(
        "the number of steps of an inner loop depends on values of the outer loop's body",
      );
    }
    traces.unshift(trace);
    x = parts[0] as Tensor;
  }
  return { values: x, traces };
}

/** Whether all samples are settled. `undefined` if the host would have to wait for the values. */
export function areSettled(settled: Tensor): boolean | undefined {
  return peekBeneath(settled)?.every((value) => value !== 0);
}

/** The number of steps that a loop has taken, at least 1. `undefined` if the host would have to wait for the values. */
export function stepsTaken(before: Tensor, after: Tensor): number | undefined {
  const [from, to] = [peekBeneath(before), peekBeneath(after)];
  return from && to?.reduce((most, count, i) => Math.max(most, count - from[i]), 1);
}
