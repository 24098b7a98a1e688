/**
 * Chains as WGSL functions. An invocation computes every n-th element for its sample, where n is the number of lanes. In products
 * with weights, it can compute every n-th element for all samples of the workgroup, where n is the number of invocations.
 */
import { collapse } from "../../../device/collapse.ts";
import { add, constant, input, max, min } from "../../../device/scalar/scalar.ts";
import { contiguousStrides, sizeOf } from "../../../device/shape.ts";
import {
  type ByKind,
  byKind,
  type GatherKernel,
  type MapKernel,
  type Operand,
  type ReduceKernel,
} from "../../program/program.ts";
import { type Chain, elementsOf, type Item, type Load, type Store } from "./chains.ts";
import { contractText, type Tile, tileOfProduct } from "./contract.ts";
import {
  type ChainCode,
  eachElement,
  eachTerm,
  epilogueOf,
  expression,
  scattered,
  termsText,
} from "./elements.ts";
import { coordinatesOf, fromWord, FunctionText, toWord } from "./function_text.ts";
import { pathOf, type ShaderMemory } from "./shader_memory.ts";
import type { WorkgroupShape } from "./choose_workgroup.ts";
import type { Blocks } from "./block_size.ts";
import type { SumKernel } from "./split_sums.ts";

const texts: ByKind<Item, [code: ChainCode], void> = {
  load: loadText,
  store: storeText,
  map: mapText,
  reduce: reduceText,
  contract: contractText,
  gather: gatherText,
};

/** Emits a chain. */
export function chainText(
  chain: Chain,
  memory: ShaderMemory,
  workgroup: Blocks,
): FunctionText {
  const [head] = chain;
  const isForAllSamples = tileOf(head, workgroup).samples > 1;
  const f = new FunctionText(workgroup.lanes > 1, isForAllSamples);
  const { result: epilogue, lines } = f.capture(() => epilogueOf(f, chain, memory));
  if (!isForAllSamples) f.push(...lines);
  byKind(texts, head, { f, memory, workgroup, epilogue, prelude: lines });
  return f;
}

/** Elements, samples and terms that an invocation computes at once. */
export function tileOf(head: Item, workgroup: Blocks): Tile {
  if (head.kind === "contract") return tileOfProduct(head, workgroup);
  const terms = head.kind === "reduce" ? reduceUnroll(workgroup) : 1;
  return { outputs: 1, samples: 1, terms, termsAhead: terms };
}

/** output[i] = expression(operands[0][i], ...). */
function mapText(kernel: MapKernel, { f, memory, workgroup, epilogue }: ChainCode): void {
  const { expression: root, operands, output } = kernel;
  const walk = collapse(output.shape, [output, ...operands].map(({ strides }) => strides));
  const store = scattered(f, output, pathOf(walk, 0), memory);
  const sources = operands.map((operand, i) =>
    memory.pointer(f, `input${i}`, operand, pathOf(walk, i + 1), "read own")
  );
  const { lines, names } = coordinatesOf(f, walk.shape);
  const inputs = operands.map((_, i) => `x${i}`);
  const value = expression(root, inputs, "v");
  inputs.forEach((name, i) => {
    if (sources[i].isConstant) f.push(`let ${name} = ${sources[i].read(names)};`);
  });
  each(f, sizeOf(output.shape), workgroup, [
    ...lines,
    ...inputs.flatMap((name, i) => sources[i].isConstant ? [] : [`let ${name} = ${sources[i].read(names)};`]),
    ...value.lines,
    ...store(names, value.result),
    ...epilogue("i", value.result),
  ]);
}

/** Terms of a reduction that an invocation reads at once. */
function reduceUnroll({ lanes }: WorkgroupShape): number {
  return lanes === 1 ? 1 : 8;
}

/** Emits statements for the elements of an invocation. */
function each(f: FunctionText, size: number, { lanes }: WorkgroupShape, body: readonly string[]): void {
  eachElement(f, f.size("count", size), size, lanes, 1, body);
}

/** output[i] = reduction over axes of expression(operands[0][i, axes], ...). */
function reduceText(kernel: ReduceKernel & SumKernel, { f, memory, workgroup, epilogue }: ChainCode): void {
  const { reduction, axes, shape, expression: root, operands, output } = kernel;
  const keptAxes = shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  const walkOf = (chosen: readonly number[], views: readonly Operand[]) => {
    const pick = (values: readonly number[]) => chosen.map((axis) => values[axis]);
    return collapse(pick(shape), views.map(({ strides }) => pick(strides)));
  };
  const outer = walkOf(keptAxes, [output, ...operands]);
  const inner = walkOf(axes, operands);
  const terms = axes.reduce((product, axis) => product * shape[axis], 1);
  const store = scattered(f, output, pathOf(outer, 0), memory);
  const sources = operands.map((operand, i) => {
    const strides = [...outer.strides[i + 1], ...inner.strides[i]];
    const path = { shape: [...outer.shape, ...inner.shape], strides };
    return memory.pointer(f, `input${i}`, operand, path, "read any");
  });
  const { lines, names } = coordinatesOf(f, outer.shape);
  const outerLengths = inner.shape.slice(0, -1).map((length, axis) =>
    f.size(`terms${axis}`, terms === 0 ? 0 : length)
  );
  const innermost = termsText(f, kernel, terms === 0 ? 0 : inner.shape.at(-1)!);
  const combination = { sum: add, max, min }[reduction](input(0, output.dtype), input(1, output.dtype));
  const inputs = (k: number) => operands.map((_, i) => `x${i}_${k}`);
  const coordinates = (k: number) => [
    ...names,
    ...outerLengths.map((_, axis) => `j${axis}`),
    k === 0 ? "k" : `(k + ${k}u)`,
  ];
  const first = output.dtype === "int32"
    ? { sum: 0, max: -(2 ** 31), min: 2 ** 31 - 1 }[reduction]
    : { sum: 0, max: -Infinity, min: Infinity }[reduction];
  const start = expression(constant(first, output.dtype), [], "s");
  each(f, sizeOf(output.shape), workgroup, [
    ...lines,
    ...innermost.lines,
    `var total = ${start.result};`,
    ...outerLengths.map((length, axis) => `for (var j${axis} = 0u; j${axis} < ${length}; j${axis}++) {`),
    ...eachTerm(innermost, reduceUnroll(workgroup), {
      reads: (k) => inputs(k).map((name, i) => `let ${name} = ${sources[i].read(coordinates(k))};`),
      add: (k) => {
        const value = expression(root, inputs(k), `v${k}_`);
        const combined = expression(combination, ["total", value.result], `w${k}_`);
        return [...value.lines, ...combined.lines, `total = ${combined.result};`];
      },
    }),
    ...outerLengths.map(() => "}"),
    ...store(names, "total"),
    ...epilogue("i", "total"),
  ]);
}

/** output[i, j] = table[indices[i], j]. */
function gatherText(
  { operands: [table, indices], output }: GatherKernel,
  { f, memory, workgroup, epilogue }: ChainCode,
): void {
  const rows = f.size("rows", table.shape[0]);
  const { lines, names: [row, column] } = coordinatesOf(f, output.shape);
  const positions = memory.pointer(f, "index", indices, indices, "read any");
  const source = memory.pointer(f, "table", table, table, "read any");
  const nan = expression(constant(NaN, output.dtype), [], "n");
  each(f, sizeOf(output.shape), workgroup, [
    ...lines,
    `let wanted = u32(${positions.read([row])});`,
    `let found = ${source.read([`min(wanted, ${rows} - 1u)`, column])};`,
    ...nan.lines,
    `let value = select(${nan.result}, found, wanted < ${rows});`,
    ...epilogue("i", "value"),
  ]);
}

function loadText(load: Load, { f, memory, workgroup, epilogue }: ChainCode): void {
  const { place, output } = load;
  const element = memory.member(f, "array0", place);
  const value = fromWord(place.group.word, output.dtype, element("i"));
  each(f, elementsOf(load), workgroup, [`let x = ${value};`, ...epilogue("i", "x")]);
}

function storeText(store: Store, { f, memory, workgroup, epilogue }: ChainCode): void {
  const { place, operands: [operand] } = store;
  const element = memory.member(f, "array0", place);
  const walk = collapse(operand.shape, [operand.strides, contiguousStrides(operand.shape)]);
  const source = memory.pointer(f, "slot", operand, pathOf(walk, 0), "read own");
  const { lines, names } = coordinatesOf(f, walk.shape);
  const value = toWord(place.group.word, operand.dtype, source.read(names));
  each(f, elementsOf(store), workgroup, [
    ...lines,
    `if (own < valid) { ${element("i")} = ${value}; }`,
    ...epilogue("i", "0.0"),
  ]);
}
