import { type FunctionBuilder, hasRelaxedSimd, type Operand } from "./wasm.ts";

/** Pushes the vector x * y + sum: in one instruction, rounded once, where the engine has it. */
export function emitMultiplyAdd(
  f: FunctionBuilder,
  type: "f32x4" | "f64x2",
  x: Operand,
  y: Operand,
  sum: Operand,
): void {
  if (hasRelaxedSimd) f.op(`${type}.relaxed_madd`, x, y, sum);
  else f.op(`${type}.add`, sum, () => f.op(`${type}.mul`, x, y));
}
