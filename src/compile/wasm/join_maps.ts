/** Joins matrix products with what is computed of their results, so that those do not go through memory. */
import { isFloat } from "../../device/dtype.ts";
import { lower as lowerMath } from "../../device/float32_math.ts";
import { type Scalar, topological } from "../../device/scalar.ts";
import { reshapeStrides, sameShape, sizeOf } from "../../device/shape.ts";
import { operandsOf } from "../layout.ts";
import type { ContractKernel, Kernel, MapKernel, Operand, Program } from "../program.ts";

/** The same program, in which a product whose only reader is a map over all of its elements computes that too. */
export function joinMaps(program: Program): Program {
  const readers = new Map<number, (Kernel | undefined)[]>();
  const read = ({ slot }: Operand, by?: Kernel) =>
    slot !== undefined && readers.set(slot, [...readers.get(slot) ?? [], by]);
  for (const kernel of program.kernels) operandsOf(kernel).forEach((operand) => read(operand, kernel));
  for (const operand of [...program.next, ...program.outputs, ...program.stepSums]) read(operand);

  const joined = new Map<Kernel, ContractKernel | undefined>();
  program.kernels.forEach((kernel, position) => {
    if (kernel.kind !== "contract") return;
    const [reader, ...others] = readers.get(kernel.output.slot!)!.filter((other) => other !== kernel);
    if (others.length > 0 || reader?.kind !== "map" || joined.has(reader)) return;
    const between = program.kernels.slice(position + 1, program.kernels.indexOf(reader) + 1);
    const isOverwritten = between.some((other) =>
      "output" in other &&
      [kernel.a, kernel.b].some(({ slot }) => slot !== undefined && slot === other.output.slot)
    );
    const both = isOverwritten ? undefined : join(kernel, reader);
    if (!both) return;
    joined.set(kernel, undefined);
    joined.set(reader, both);
  });
  const kernels = program.kernels.flatMap((kernel) =>
    joined.has(kernel) ? joined.get(kernel) ?? [] : [kernel]
  );
  return { ...program, kernels };
}

/** A product and its reader as one kernel, if each element of the one is an element of the other. */
function join(
  product: ContractKernel,
  { expression, operands, output }: MapKernel,
): ContractKernel | undefined {
  const { shape, slot, offset } = product.output;
  if (!isFloat(expression.type) || hasManyConstants(expression) || sizeOf(output.shape) !== sizeOf(shape)) {
    return undefined;
  }
  // Constant offsets of loads and stores are not negative.
  const asProduct = (operand: Operand): Operand | undefined => {
    const strides = reshapeStrides(operand.shape, operand.strides, shape);
    return strides?.every((stride) => stride >= 0) ? { ...operand, shape, strides } : undefined;
  };
  const [target, ...sources] = [output, ...operands].map(asProduct);
  const position = operands.findIndex((operand) => operand.slot === slot);
  const result = sources[position];
  const isWhole = result?.offset === offset && sameShape(result.strides, product.output.strides);
  if (!target || !isWhole || sources.some((source, i) => !source || i !== position && source.slot === slot)) {
    return undefined;
  }
  const others = sources.filter((_, i) => i !== position) as Operand[];
  const then = {
    expression: renumbered(expression, (i) => i === position ? 0 : i < position ? i + 1 : i),
    operands: others,
  };
  return { ...product, output: target, then };
}

/** Whether an expression has so many constants, as functions have, that they would take the registers that hold sums. */
function hasManyConstants(root: Scalar): boolean {
  return topological(lowerMath(root)).filter(({ op }) => op === "constant").length > 4;
}

/** An expression of inputs at other positions. */
function renumbered(root: Scalar, positionOf: (position: number) => number): Scalar {
  const done = new Map<Scalar, Scalar>();
  const visit = (scalar: Scalar): Scalar => {
    let copy = done.get(scalar);
    if (!copy) {
      copy = scalar.op === "input"
        ? { ...scalar, value: positionOf(scalar.value!) }
        : scalar.args.length === 0
        ? scalar
        : { ...scalar, args: scalar.args.map(visit) };
      done.set(scalar, copy);
    }
    return copy;
  };
  return visit(root);
}
