import mapSource from "../../../../kernels/map.wgsl" with { type: "text" };
import { collapse } from "../../collapse.ts";
import type { DType } from "../../dtype.ts";
import { ExpressionCache } from "../../scalar/expression_cache.ts";
import { identity, instantiate, type ScalarFunction, topological } from "../../scalar/scalar.ts";
import { sizeOf } from "../../shape.ts";
import { type Gpu, type MemoryView, workgroupSize } from "../gpu.ts";
import { type Binding, type KernelSource, kernelSource, storageType } from "../kernel.ts";
import { emitScalar, valueType } from "./scalar_wgsl.ts";
import { offsetsFunction, offsetsWords } from "./strided.ts";
import { operationsPerWord } from "../submission_budget.ts";

/** A number as an operand: all elements have this value. */
interface NumberOperand {
  readonly value: number;
  readonly dtype: DType;
}

function isNumber(input: MemoryView | NumberOperand): input is NumberOperand {
  return "value" in input;
}

/** Whether an input has the same memory locations as the output. */
function isInPlace(input: MemoryView, output: MemoryView): boolean {
  return input.memory === output.memory && input.offset === output.offset && input.dtype === output.dtype &&
    input.strides.every((stride, axis) => stride === output.strides[axis] || output.shape[axis] === 1);
}

/** output[i] = fn(inputs[0][i], ...). Numbers are parameters, so a new number needs no new kernel. */
export function map(
  gpu: Gpu,
  fn: ScalarFunction,
  inputs: readonly (MemoryView | NumberOperand)[],
  output: MemoryView,
): void {
  const size = sizeOf(output.shape);
  if (size === 0) return;
  // WebGPU does not allow two bindings of a buffer in a kernel that writes it.
  const copies: MemoryView[] = [];
  const separate = inputs.map((input) => {
    if (isNumber(input) || input.memory !== output.memory) return input;
    if (isInPlace(input, output)) return output;
    const copy = gpu.temporary(input.shape, input.dtype);
    map(gpu, identity, [input], copy);
    copies.push(copy);
    return copy;
  });
  const views = [
    output,
    ...separate.filter((input): input is MemoryView => !isNumber(input) && input !== output),
  ];
  const walk = collapse(output.shape, views.map((view) => view.strides));
  const words = [0, size, ...offsetsWords(walk, views.map((view) => view.offset))];
  const kinds = separate.map((input) =>
    input === output ? "in place" : isNumber(input) ? `${input.dtype} number` : input.dtype
  );
  for (const input of separate) if (isNumber(input)) words.push(wordOf(input));
  const { number, operations } = expressions.get(fn, inputs, output.dtype, (expression) => ({
    number: expressionCount++,
    operations: topological(expression).length,
  }));
  gpu.run({
    key: `map ${number} ${kinds} ${walk.shape.length}`,
    source: () => mapKernel(fn, separate, output, walk.shape.length),
    buffers: views.map((view) => view.memory),
    words,
    workgroups: gpu.workgroupsFor(size),
    operations: size * (operations + operationsPerWord * views.length),
    shapes: [output.shape],
  });
  for (const copy of copies) gpu.pool.release(copy.memory);
}

/** Numbers of expressions, and their scalar operations: equal expressions have equal numbers. */
const expressions = new ExpressionCache<{ readonly number: number; readonly operations: number }>();
let expressionCount = 0;

const word = new DataView(new ArrayBuffer(4));

/** The bits of a number in memory. */
export function wordOf({ value, dtype }: NumberOperand): number {
  if (dtype === "bool") return value ? 1 : 0;
  if (dtype === "float32") word.setFloat32(0, value);
  else word.setUint32(0, value);
  return word.getUint32(0);
}

function mapKernel(
  fn: ScalarFunction,
  inputs: readonly (MemoryView | NumberOperand)[],
  output: MemoryView,
  axes: number,
): KernelSource {
  const bindings: Binding[] = [{ name: "result", type: storageType(output.dtype), access: "read_write" }];
  const numbers: string[] = [];
  const reads: string[] = [];
  inputs.forEach((input, i) => {
    const type = storageType(input.dtype);
    let read = `params.number${i}`;
    if (input === output) read = "result[at[0]]";
    else if (isNumber(input)) numbers.push(`number${i}`);
    else {
      read = `x${i}[at[${bindings.length}]]`;
      bindings.push({ name: `x${i}`, type, access: "read" });
    }
    if (input.dtype === "bool") read += " != 0u";
    else if (isNumber(input) && type !== "u32") read = `bitcast<${type}>(${read})`;
    reads.push(`let input${i}: ${valueType(input.dtype)} = ${read};`);
  });
  const offsets = offsetsFunction("offsets", axes, bindings.length);
  const root = instantiate(fn, inputs.map((input) => input.dtype));
  const { lines, result } = emitScalar(root, {
    inputs: inputs.map((_, i) => `input${i}`),
    index: "position",
    zero: "params.zero",
  });
  const stored = output.dtype === "bool" ? `select(0u, 1u, ${result})` : result;
  const statements = ["let at = offsets(position);", ...reads, ...lines, `result[at[0]] = ${stored};`];
  return kernelSource(fn.name, bindings, ["zero", "size", ...offsets.params, ...numbers], [
    offsets.code,
    `const invocations = ${workgroupSize};`,
    "fn element(position: u32) {",
    ...statements.map((statement) => `  ${statement}`),
    "}",
    mapSource,
  ]);
}
