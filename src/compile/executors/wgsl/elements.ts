/** Code of all kinds of chains: the loop over elements, and the epilogue of each element. */
import type { Scalar } from "../../../device/scalar/scalar.ts";
import { sizeOf } from "../../../device/shape.ts";
import { emitScalar, type EmittedScalar } from "../../../device/webgpu/kernels/scalar_wgsl.ts";
import type { MapKernel, Operand } from "../../program/program.ts";
import { type Chain, type Item, lineKey, lineOf } from "./chains.ts";
import type { Blocks } from "./block_size.ts";
import type { SumKernel } from "./split_sums.ts";
import { type FunctionText, indent, toWord } from "./function_text.ts";
import type { Path, Pointer, ShaderMemory, Use } from "./shader_memory.ts";

/** Statements that store an element and run the later items of the chain, given its row-major position and value. */
type Epilogue = (position: string, value: string, suffix?: string) => string[];

/** A chain's function under construction. */
export interface ChainCode {
  readonly f: FunctionText;
  readonly memory: ShaderMemory;
  readonly workgroup: Blocks;
  readonly epilogue: Epilogue;
  /** Statements before the epilogue of a sample, if an invocation computes its elements for all samples. */
  readonly prelude: readonly string[];
}

/** Names of the values of a chain's elements, by {@linkcode lineKey}. */
type Values = Map<string, string>;

/** The epilogue of a chain's first item: stores the element if another chain reads it, and runs the other items. */
export function epilogueOf(f: FunctionText, chain: Chain, memory: ShaderMemory): Epilogue {
  const computed = new Set<string>();
  const steps = chain.map((item, k) => {
    const compute = k === 0 ? undefined : following(f, item, k, computed, memory);
    const target = item.output;
    if (!target) return { compute };
    const key = lineKey(target);
    if (key !== undefined) computed.add(key);
    // Elements without a constant distance are stored by the first item: see `scattered`.
    const isWritten = memory.has(target.slot!) && lineOf(target) !== undefined;
    return {
      compute,
      key,
      pointer: isWritten ? linePointer(f, `y${k}`, target, memory, "write own") : undefined,
    };
  });
  return (position, value, suffix = "") => {
    const values: Values = new Map();
    return steps.flatMap(({ compute, key, pointer }) => {
      const { lines, result } = compute?.(position, values, suffix) ?? { lines: [], result: value };
      if (key !== undefined) values.set(key, result);
      return pointer ? [...lines, pointer.write([position], result)] : lines;
    });
  };
}

function linePointer(
  f: FunctionText,
  name: string,
  operand: Operand,
  memory: ShaderMemory,
  use: Use,
): Pointer {
  const path = { shape: [sizeOf(operand.shape)], strides: [lineOf(operand)!] };
  return memory.pointer(f, name, operand, path, use);
}

/** An item after the first item of a chain. */
function following(
  f: FunctionText,
  item: Item,
  k: number,
  computed: ReadonlySet<string>,
  memory: ShaderMemory,
): (position: string, values: Values, suffix: string) => EmittedScalar {
  const reads = item.operands.map((operand, i) => {
    const key = lineKey(operand);
    if (key !== undefined && computed.has(key)) return { key };
    const name = `x${k}_${i}`;
    const pointer = linePointer(f, name, operand, memory, "read own");
    if (pointer.isConstant) f.push(`let ${name} = ${pointer.read(["0u"])};`);
    return { name, pointer };
  });
  const element = item.kind === "store" ? memory.member(f, `array${k}`, item.place) : undefined;
  return (position, values, suffix) => {
    const lines: string[] = [];
    const inputs = reads.map(({ key, name, pointer }) => {
      if (!pointer) return values.get(key)!;
      if (pointer.isConstant) return name;
      lines.push(`let ${name}${suffix} = ${pointer.read([position])};`);
      return `${name}${suffix}`;
    });
    if (item.kind === "store") {
      const word = toWord(item.place.group.word, item.operands[0].dtype, inputs[0]);
      return { lines: [...lines, `if (own < valid) { ${element!(position)} = ${word}; }`], result: "" };
    }
    const emitted = expression((item as MapKernel).expression, inputs, `v${k}${suffix}_`);
    return { lines: [...lines, ...emitted.lines], result: emitted.result };
  };
}

/**
 * Emits statements for the elements `i` of an invocation, and for elements at a distance of `invocations` that it computes with each.
 *
 * @param count The number of elements as an expression.
 * @param size The number of elements.
 * @param width Elements that an invocation computes at once.
 */
export function eachElement(
  f: FunctionText,
  count: string,
  size: number,
  invocations: number,
  width: number,
  body: readonly string[],
): void {
  const step = invocations * width;
  const isOnce = f.hasLiteralSizes && size <= step;
  // Implementations of WebGPU count the iterations of loops, which takes time.
  const head = !isOnce
    ? [`for (var i = ${f.first}; i < ${count}; i += ${step}u) {`]
    : [`let i = ${f.first};`, size < invocations ? `if (i < ${count}) {` : "{"];
  f.push(...head, ...body.map(indent), "}");
}

/** The number of terms of a sum as an expression, and the statements that compute it for element `i`. */
export function termsText(
  f: FunctionText,
  { terms, output }: SumKernel,
  length: number,
): { readonly lines: readonly string[]; readonly count: string; readonly literalCount?: number } {
  if (terms === undefined) {
    return {
      lines: [],
      count: f.size("terms", length),
      literalCount: f.hasLiteralSizes ? length : undefined,
    };
  }
  const [parts] = output.shape;
  const [all, part] = [
    f.size("all_terms", terms),
    `i / ${f.size("outputs", sizeOf(output.shape) / parts)}`,
  ];
  const count = f.size("parts", parts);
  return { lines: [`let terms = (${all} + ${count} - 1u - ${part}) / ${count};`], count: "terms" };
}

/**
 * Emits a loop over the terms `k` of a sum. `unroll` terms are computed at once, with their reads first, so that the reads overlap.
 * A known number of at most `unroll` terms needs no loop.
 *
 * @param terms The number of terms.
 * @param reads Statements that read the operands of a term: the first, second ... of an iteration.
 * @param add Statements that add a term.
 */
export function eachTerm(
  { count: terms, literalCount }: { readonly count: string; readonly literalCount?: number },
  unroll: number,
  { reads, add }: {
    readonly reads: (term: number) => readonly string[];
    readonly add: (term: number) => readonly string[];
  },
): string[] {
  const body = (count: number) => {
    const each = (part: (term: number) => readonly string[]) =>
      Array.from({ length: count }, (_, term) => part(term)).flat();
    return [...each(reads), ...each(add)].map(indent);
  };
  if (literalCount !== undefined && literalCount <= unroll) {
    return ["{", "  const k = 0u;", ...body(literalCount), "}"];
  }
  if (unroll === 1) return [`for (var k = 0u; k < ${terms}; k++) {`, ...body(1), "}"];
  return [
    "var k = 0u;",
    `for (; k + ${unroll - 1}u < ${terms}; k += ${unroll}u) {`,
    ...body(unroll),
    "}",
    `for (; k < ${terms}; k++) {`,
    ...body(1),
    "}",
  ];
}

export function expression(root: Scalar, inputs: readonly string[], prefix: string): EmittedScalar {
  return emitScalar(root, { inputs, index: "0u", zero: "params.zero", prefix });
}

/** The statement that stores an element, if the elements of the output have no constant distance. */
export function scattered(
  f: FunctionText,
  output: Operand,
  path: Path,
  memory: ShaderMemory,
): (coordinates: readonly string[], value: string) => string[] {
  if (lineOf(output) !== undefined) return () => [];
  const target = memory.pointer(f, "output", output, path, "write own");
  return (coordinates, value) => [target.write(coordinates, value)];
}
