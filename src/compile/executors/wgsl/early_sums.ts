/**
 * Adds the terms of sums over the steps as soon as they are known. Programs add the terms of a step at once, for example the
 * gradients of a bias from all stages of a Runge-Kutta step, which would keep all of them in memory.
 */
import { add, input, type Scalar } from "../../../device/scalar/scalar.ts";
import { sizeOf } from "../../../device/shape.ts";
import type { Kernel, MapKernel, Operand, Program } from "../../program/program.ts";

/** Adds each term of the sums of a program after the kernel that computes the term. */
export function addEarly(program: Program): Program {
  const { kernels, sums } = program;
  const early = new Map<Kernel | undefined, Kernel[]>();
  const replaced = new Set<Kernel>();
  for (const { slot } of sums) {
    const users = kernels.filter(({ operands, output }) =>
      output?.slot === slot || operands.some((operand) => operand.slot === slot)
    );
    const [sum] = users;
    if (users.length !== 1 || sum.kind !== "map") continue;
    const added = termsOf(sum.expression)?.map((i) => sum.operands[i]) ?? [];
    const terms = added.filter((operand) => operand.slot !== slot);
    const writers = terms.map((term) => writerOf(term, program));
    if (terms.length < 2 || terms.length !== added.length - 1 || writers.includes(undefined)) continue;
    replaced.add(sum);
    terms.forEach((term, i) => {
      const list = early.get(writers[i]) ?? [];
      early.set(writers[i], [...list, addition(sum, term)]);
    });
  }
  return {
    ...program,
    kernels: kernels.flatMap((
      kernel,
    ) => [...replaced.has(kernel) ? [] : [kernel], ...early.get(kernel) ?? []]),
  };
}

/** The inputs of an expression that only adds its inputs. */
function termsOf({ op, args, value }: Scalar): number[] | undefined {
  if (op === "input") return [value!];
  if (op !== "add") return undefined;
  const [a, b] = args.map((arg) => termsOf(arg));
  return a && b && [...a, ...b];
}

/** The kernel that computes a term. Undefined if there are several kernels, or if their elements differ in number. */
function writerOf({ slot, shape }: Operand, { kernels, slots }: Program): Kernel | undefined {
  const writers = kernels.filter(({ output }) => output?.slot === slot);
  const [writer] = writers;
  const isSingle = slot !== undefined && writers.length === 1 && !slots[slot].persistent;
  return isSingle && sizeOf(writer.output!.shape) === sizeOf(shape) ? writer : undefined;
}

function addition({ output }: MapKernel, term: Operand): MapKernel {
  const expression = add(input(0, output.dtype), input(1, output.dtype));
  return { kind: "map", expression, operands: [output, term], output };
}
