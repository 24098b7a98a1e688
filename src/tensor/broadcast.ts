import { broadcastShapes } from "../device/shape.ts";
import { apply, traceOf } from "./primitive.ts";
import type { Elementwise } from "./primitives/elementwise.ts";
import type { Tensor } from "./tensor.ts";

/** Applies an elementwise primitive to operands that broadcast together. */
export function applyBroadcast(primitive: Elementwise, operands: readonly Tensor[]): Tensor {
  const shape = broadcastShapes(operands.map((x) => x.shape), primitive.name);
  return apply(primitive, liftTogether(operands).map((x) => x.broadcastTo(shape)), undefined);
}

/**
 * Converts constants among the operands to symbols if other operands are symbols. The trace then contains the broadcast: a bias
 * stays a vector in a compiled loop, and so does its gradient.
 */
export function liftTogether(operands: readonly Tensor[]): readonly Tensor[] {
  const trace = traceOf(operands);
  return trace ? operands.map((x) => traceOf([x]) === trace ? x : trace.lift(x)) : operands;
}
