/** Cases of primitives as functions of their floating-point operands. */
import type { Tensor } from "../../mod.ts";
import type { Primitive } from "../../src/tensor/primitive.ts";
import { toTensor } from "../tensor/nd.ts";
import { type Case, cases, modules } from "../tensor/primitive_cases.ts";

/** A function of the floating-point operands of a case, and the operands in float64. */
export function differentiable(
  { operands, run }: Case,
): { f: (...floats: Tensor[]) => Tensor; args: Tensor[] } {
  const isFloat = operands.map(({ dtype }) => dtype === undefined);
  const fixed = operands.map(({ array, dtype }) => toTensor(array, dtype ?? "float64"));
  const f = (...floats: Tensor[]) => {
    const rest = [...floats];
    return run(...fixed.map((x, i) => isFloat[i] ? rest.shift()! : x));
  };
  return { f, args: fixed.filter((_, i) => isFloat[i]) };
}

/** The primitive of an entry of the table of cases. */
export function primitiveOf(name: string): Primitive<unknown> {
  const [module, exported] = name.split(".");
  return modules[module][exported] as Primitive<unknown>;
}

/** Each entry of the table with its differentiable cases. */
export const differentiableCases: readonly (readonly [name: string, list: readonly Case[]])[] = Object
  .entries(cases)
  .map(([name, list]) => [name, list.filter(({ smooth }) => smooth >= 1)] as const)
  .filter(([, list]) => list.length > 0);
