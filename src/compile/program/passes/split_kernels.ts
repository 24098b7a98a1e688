/** Splits kernels into the kernels that devices provide for whole arrays. */
import { input, renumbered, rewrite, type Scalar, topological } from "../../../device/scalar/scalar.ts";
import { contiguousStrides, type Shape, sizeOf } from "../../../device/shape.ts";
import type { Kernel, Operand, Program, Slot } from "../program.ts";

/**
 * Splits elementwise kernels with more than `maxOperands` operands (at least three), and reductions of expressions.
 * Intermediate results get slots.
 */
export function splitKernels(program: Program, maxOperands: number): Program {
  const slots: Slot[] = [...program.slots];
  const kernels: Kernel[] = [];

  /** Computes an expression into a new slot. */
  const store = (expression: Scalar, operands: readonly Operand[], shape: Shape): Operand => {
    const { type: dtype } = expression;
    const slot = slots.push({ size: sizeOf(shape), dtype, persistent: false }) - 1;
    const output: Operand = { slot, dtype, shape, strides: contiguousStrides(shape), offset: 0 };
    kernels.push({ kind: "map", ...cut(expression, operands, shape), output });
    return output;
  };
  /** Splits an expression until it has few operands. */
  const cut = (root: Scalar, operands: readonly Operand[], shape: Shape) => {
    const sources = [...operands];
    let expression = root;
    for (;;) {
      const used = inputsOf(expression);
      const all = used.get(expression)!;
      if (all.size <= maxOperands) return renumber(expression, [...all], sources);
      let largest: Scalar | undefined;
      for (const [node, inputs] of used) {
        if (node.op === "input" || inputs.size < 2 || inputs.size > maxOperands) continue;
        if (!largest || inputs.size > used.get(largest)!.size) largest = node;
      }
      const part = renumber(largest!, [...used.get(largest!)!], sources);
      const position = sources.push(store(part.expression, part.operands, shape)) - 1;
      const stored = input(position, largest!.type);
      expression = rewrite(expression, (node) => node === largest ? stored : undefined);
    }
  };

  for (const kernel of program.kernels) {
    if (kernel.kind === "map") {
      kernels.push({ ...kernel, ...cut(kernel.expression, kernel.operands, kernel.output.shape) });
    } else if (kernel.kind === "reduce" && kernel.expression.op !== "input") {
      const source = store(kernel.expression, kernel.operands, kernel.shape);
      kernels.push({ ...kernel, expression: input(0, source.dtype), operands: [source] });
    } else kernels.push(kernel);
  }
  return { ...program, slots, kernels };
}

/** Operands that each node depends on. */
function inputsOf(root: Scalar): Map<Scalar, Set<number>> {
  const operands = new Map<Scalar, Set<number>>();
  for (const scalar of topological(root)) {
    const inputs = scalar.op === "input"
      ? [scalar.value!]
      : scalar.args.flatMap((arg) => [...operands.get(arg)!]);
    operands.set(scalar, new Set(inputs));
  }
  return operands;
}

/** Numbers the operands of an expression from zero. */
function renumber(root: Scalar, used: readonly number[], operands: readonly Operand[]) {
  const expression = renumbered(root, (position) => used.indexOf(position));
  return { expression, operands: used.map((position) => operands[position]) };
}
