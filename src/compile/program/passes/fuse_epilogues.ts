/** Fuses matrix products with the elementwise kernels that read them, so that the products are not stored. */
import { isFloat } from "../../../device/dtype.ts";
import { lower as lowerMath } from "../../../device/scalar/float32_math.ts";
import { renumbered, rewrite, type Scalar, topological } from "../../../device/scalar/scalar.ts";
import { reshapeStrides, sameShape, sizeOf } from "../../../device/shape.ts";
import { readersOf, resultsOf } from "../liveness.ts";
import type { ContractKernel, Kernel, MapKernel, Operand, Program } from "../program.ts";
import { fuse, outerProductAsMap } from "./fuse.ts";

/** Fuses biases and maps with the products that they read, and rewrites products that sum nothing as maps. */
export function fuseEpilogues(program: Program): Program {
  const { kernels, ...biased } = fuseBiases(program);
  const maps = kernels.map((kernel) => kernel.kind === "contract" ? outerProductAsMap(kernel) : kernel);
  return fuseReaders(fuse({ ...biased, kernels: maps }));
}

/** Maps that are the only readers of products. */
function readersOfProducts(program: Program): Map<ContractKernel, MapKernel> {
  const readers = readersOf(program.kernels, resultsOf(program));
  return new Map(program.kernels.flatMap((kernel) => {
    const [reader, ...others] = readers.get(kernel.output?.slot) ?? [];
    const isFusible = kernel.kind === "contract" && others.length === 0 && reader?.kind === "map";
    return isFusible ? [[kernel, reader]] : [];
  }));
}

/** Fuses additions of biases: sums of products start from the bias. */
function fuseBiases(program: Program): Program {
  const fused = new Map<Kernel, Kernel>();
  for (const [product, map] of readersOfProducts(program)) {
    if (fused.has(map)) continue;
    const position = resultOf(product, map);
    const nodes = topological(map.expression);
    const isResult = ({ op, value }: Scalar) => op === "input" && value === position;
    const [sum, ...others] = nodes.filter(({ args }) => args.some(isResult));
    if (others.length > 0 || sum?.op !== "add") continue;
    const addend = sum.args.find((arg) => !isResult(arg));
    const bias = addend?.op === "input" ? asIn(product, map.operands[addend.value!]) : undefined;
    if (bias?.shared === undefined || bias.dtype !== product.output.dtype) continue;
    const expression = rewrite(
      map.expression,
      (node) => node === sum ? sum.args.find(isResult) : undefined,
    );
    const read = [
      ...new Set(topological(expression).flatMap(({ op, value }) => op === "input" ? [value!] : [])),
    ];
    fused.set(product, { ...product, operands: [...product.operands, bias], hasBias: true });
    fused.set(map, {
      ...map,
      operands: read.map((position) => map.operands[position]),
      expression: renumbered(expression, (position) => read.indexOf(position)),
    });
  }
  return { ...program, kernels: program.kernels.map((kernel) => fused.get(kernel) ?? kernel) };
}

/** Fuses maps as epilogues of products. */
function fuseReaders(program: Program): Program {
  const { kernels } = program;
  const fused = new Map<Kernel, Kernel[]>();
  for (const [product, reader] of readersOfProducts(program)) {
    const between = kernels.slice(kernels.indexOf(product) + 1, kernels.indexOf(reader) + 1);
    const isOverwritten = between.some(({ output }) =>
      product.operands.some(({ slot }) => slot !== undefined && slot === output?.slot)
    );
    const both = fused.has(reader) || isOverwritten ? undefined : fuseReader(product, reader);
    if (both) fused.set(product, []).set(reader, [both]);
  }
  return { ...program, kernels: kernels.flatMap((kernel) => fused.get(kernel) ?? [kernel]) };
}

/** Fuses a map as the epilogue of a product, if it computes one element per element of the product. */
function fuseReader(product: ContractKernel, map: MapKernel): ContractKernel | undefined {
  const { expression, operands, output } = map;
  if (!isFloat(expression.type) || hasManyConstants(expression)) return undefined;
  const [target, ...sources] = [output, ...operands].map((operand) => asIn(product, operand));
  const position = resultOf(product, map);
  if (!target || position < 0 || sources.some((source) => !source)) return undefined;
  const others = sources.filter((_, i) => i !== position) as Operand[];
  const epilogue = renumbered(expression, (i) => i === position ? 0 : i < position ? i + 1 : i);
  return { ...product, operands: [...product.operands, ...others], output: target, epilogue };
}

/** An operand of a map in the shape of a product. Returns undefined if that needs a copy or negative strides. */
function asIn({ output: { shape } }: ContractKernel, operand: Operand): Operand | undefined {
  if (sizeOf(operand.shape) !== sizeOf(shape)) return undefined;
  const strides = reshapeStrides(operand.shape, operand.strides, shape);
  // Constant offsets of loads and stores must not be negative.
  return strides?.every((stride) => stride >= 0) ? { ...operand, shape, strides } : undefined;
}

/** Position of a product's result among a map's operands. Returns -1 if the map does not read it element by element. */
function resultOf(product: ContractKernel, { operands }: MapKernel): number {
  const { slot, offset, strides } = product.output;
  const [position, ...others] = operands.flatMap((operand, i) => operand.slot === slot ? [i] : []);
  if (position === undefined || others.length > 0) return -1;
  const result = asIn(product, operands[position]);
  return result?.offset === offset && sameShape(result.strides, strides) ? position : -1;
}

/** Whether the constants of an expression would need the registers that hold sums, as the constants of `tanh` do. */
function hasManyConstants(root: Scalar): boolean {
  return topological(lowerMath(root)).filter(({ op }) => op === "constant").length > 4;
}
