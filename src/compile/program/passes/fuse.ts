/** Fuses the elementwise kernels and the reductions of a program. */
import { input, mul, topological } from "../../../device/scalar/scalar.ts";
import { isContiguous, sizeOf } from "../../../device/shape.ts";
import { operationsOf } from "../expressions.ts";
import { readersOf, resultsOf } from "../liveness.ts";
import type { ContractKernel, Kernel, MapKernel, Operand, Program } from "../program.ts";
import { fuseElementwise, type FusionKernel } from "./fuse_elementwise.ts";

/** Maximum operands of a fused kernel. */
const maxOperands = 12;

/** Computes values in the kernels that read them instead of storing them. */
export function fuse(program: Program): Program {
  const { slots } = program;
  const results = resultsOf(program);
  const readers = readersOf(program.kernels, results);
  const stored = new Set(results.map(({ slot }) => slot));
  const kernels = program.kernels.map((kernel) => {
    if (kernel.kind !== "contract" || kernel.operands.some(({ slot }) => slot === undefined)) return kernel;
    const [reader] = readers.get(kernel.output.slot!) ?? [];
    const map = reader?.kind === "map" || reader?.kind === "reduce" ? outerProductAsMap(kernel) : kernel;
    return map.kind === "map" && isSmallProduct(map) ? map : kernel;
  });
  const plan = fuseElementwise(
    kernels.map((kernel): FusionKernel<Operand> => ({
      operands: kernel.operands,
      output: kernel.output,
      expression: kernel.kind === "map" || kernel.kind === "reduce" ? kernel.expression : undefined,
      shape: kernel.kind === "reduce" ? kernel.shape : kernel.output?.shape ?? [],
      recompute: kernel.kind !== "map" ? "none" : isSmallProduct(kernel) ? "all" : "one",
      isStored: kernel.output !== undefined &&
        (stored.has(kernel.output.slot) || slots[kernel.output.slot!].persistent),
    })),
    {
      memoryOf: ({ slot, shared }) => slot ?? `shared ${shared}`,
      isWhole: ({ slot, shape, strides, offset }) =>
        slot !== undefined && offset === 0 && sizeOf(shape) === slots[slot].size &&
        isContiguous(shape, strides),
      fits: ({ length }) => length <= maxOperands,
      reshapesOutput: true,
    },
  );
  return {
    ...program,
    kernels: kernels.flatMap((kernel, i): Kernel[] => {
      const fused = plan[i];
      if (fused === "fused") return [];
      return fused === "unchanged" ? [kernel] : [{ ...kernel, ...fused } as Kernel];
    }),
  };
}

/** Whether a value is a product of much smaller values: computing it in each reader is faster than loading it. */
function isSmallProduct({ expression, operands, output }: MapKernel): boolean {
  if (operationsOf(expression) > 2) return false;
  const distinct = ({ shape, strides }: Operand) => sizeOf(shape.filter((_, axis) => strides[axis] !== 0));
  const elements = operands.reduce((sum, operand) => sum + distinct(operand), 0);
  return topological(expression).every(({ op, args }) => args.length === 0 || op === "mul") &&
    2 * elements <= sizeOf(output.shape);
}

/** Rewrites the product of a column and a row as a map, because nothing is summed. */
export function outerProductAsMap(kernel: ContractKernel): ContractKernel | MapKernel {
  const { operands: [a, b, ...others], output } = kernel;
  if (a.shape.at(-1) !== 1 || others.length > 0) return kernel;
  const over = (operand: Operand, axis: number): Operand => ({
    ...operand,
    shape: output.shape,
    strides: operand.strides.with(axis, 0),
  });
  const expression = mul(input(0, output.dtype), input(1, output.dtype));
  return { kind: "map", expression, operands: [over(a, -1), over(b, -2)], output };
}
