/** Code of all kinds of chains: the loop over elements, and the epilogue of each element. */
import type { Scalar } from "../../../device/scalar/scalar.ts";
import { sizeOf } from "../../../device/shape.ts";
import { emitScalar, type EmittedScalar } from "../../../device/webgpu/kernels/scalar_wgsl.ts";
import type { MapKernel, Operand } from "../../program/program.ts";
import { type Chain, type Item, lineKey, lineOf } from "./chains.ts";
import type { WorkgroupShape } from "./choose_workgroup.ts";
import type { SumKernel } from "./split_sums.ts";
import { type FunctionText, indent, toWord } from "./function_text.ts";
import type { Path, Pointer, ShaderMemory, Use } from "./shader_memory.ts";

/** Statements that store an element and run the later items of the chain, given its row-major position and value. */
type Epilogue = (position: string, value: string, suffix?: string) => string[];

/** A chain's function under construction. */
export interface ChainCode {
  readonly f: FunctionText;
  readonly memory: ShaderMemory;
  readonly workgroup: WorkgroupShape;
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
      return pointer ? [...lines, pointer.write(pointer.at([position]), result)] : lines;
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
    if (pointer.isConstant) f.push(`let ${name} = ${pointer.read(pointer.at(["0u"]))};`);
    return { name, pointer };
  });
  const element = item.kind === "store" ? memory.member(f, `array${k}`, item.place) : undefined;
  return (position, values, suffix) => {
    const lines: string[] = [];
    const inputs = reads.map(({ key, name, pointer }) => {
      if (!pointer) return values.get(key)!;
      if (pointer.isConstant) return name;
      lines.push(`let ${name}${suffix} = ${pointer.read(pointer.at([position]))};`);
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

/** Emits a loop over the elements `i` of an invocation: every `step`-th element, beginning with its first. */
export function eachElement(f: FunctionText, count: number, step: number, body: readonly string[]): void {
  f.push(
    `for (var i = ${f.first}; i < ${f.param("count", count)}; i += ${step}u) {`,
    ...body.map(indent),
    "}",
  );
}

/** The number of terms of a sum as an expression, and the statements that compute it for element `i`. */
export function termsText(
  f: FunctionText,
  { terms, output }: SumKernel,
  length: number,
): { readonly lines: readonly string[]; readonly count: string } {
  if (terms === undefined) return { lines: [], count: f.param("terms", length) };
  const [parts] = output.shape;
  const [all, part] = [
    f.param("all_terms", terms),
    `i / ${f.param("outputs", sizeOf(output.shape) / parts)}`,
  ];
  const count = f.param("parts", parts);
  return { lines: [`let terms = (${all} + ${count} - 1u - ${part}) / ${count};`], count: "terms" };
}

/**
 * Emits a loop over the terms of a sum. `unroll` terms are computed at once, with their reads first, so that the reads overlap.
 *
 * @param terms The number of terms, as an expression.
 * @param reads Statements that read the operands of a term: the first, second ... of an iteration.
 * @param add Statements that add a term.
 * @param advance Statements that advance the addresses by a number of terms.
 */
export function eachTerm(
  terms: string,
  unroll: number,
  { reads, add, advance }: {
    readonly reads: (term: number) => readonly string[];
    readonly add: (term: number) => readonly string[];
    readonly advance: (count: number) => readonly string[];
  },
): string[] {
  const body = (count: number) => {
    const each = (part: (term: number) => readonly string[]) =>
      Array.from({ length: count }, (_, term) => part(term)).flat();
    return [...each(reads), ...each(add), ...advance(count)].map(indent);
  };
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
  return (coordinates, value) => [target.write(target.at(coordinates), value)];
}
