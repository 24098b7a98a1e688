import { type FunctionBuilder, hasRelaxedSimd, instantiate, ModuleBuilder, type Operand } from "./wasm.ts";

/** Pushes the vector x * y + sum, a new sum. Relaxed SIMD has a single instruction for it, which rounds once. */
export function emitMultiplyAdd(
  f: FunctionBuilder,
  type: "f32x4" | "f64x2",
  x: Operand,
  y: Operand,
  sum: Operand,
): void {
  if (hasRelaxedSimd) f.op(`${type}.relaxed_madd`, x, y, sum);
  else f.op(`${type}.add`, sum, () => f.op(`${type}.mul`, x, y));
  f.noteSum();
}

/** Whether {@linkcode emitMultiplyAdd} rounds once. Relaxed SIMD leaves the rounding to the processor. */
export function isMultiplyAddFused(): boolean {
  const module = new ModuleBuilder();
  const f = module.addFunction("multiplyAdd", ["f32", "f32"], ["f32"]);
  const [x, sum] = f.params;
  const splat = (value: Operand) => () => f.op("f32x4.splat", value);
  f.lane("f32x4.extract_lane", 0, () => emitMultiplyAdd(f, "f32x4", splat(x), splat(x), splat(sum)));
  const multiplyAdd = instantiate(module.toBytes()).multiplyAdd as (x: number, sum: number) => number;
  // The square is 1 + 2^-11 + 2^-24. Float32 cannot represent the last term.
  return multiplyAdd(1 + 2 ** -12, -1 - 2 ** -11) === 2 ** -24;
}
