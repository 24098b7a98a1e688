/** Matrix products as WGSL functions. */
import { collapse } from "../../../device/collapse.ts";
import { sizeOf } from "../../../device/shape.ts";
import type { ContractKernel, Operand } from "../../program/program.ts";
import { type ChainCode, eachElement, eachTerm, scattered, termsText } from "./elements.ts";
import { coordinatesOf, indent } from "./function_text.ts";
import { pathOf, type Pointer } from "./shader_memory.ts";
import type { SumKernel } from "./split_sums.ts";

/** Maximum number of outputs that an invocation computes at once. */
const maxTileWidth = 8;
const softwareTileWidth = 4;

/** Reads of the wider operand that an invocation issues before it waits for the first. */
const readsAhead = 16;

/** Maximum terms of an iteration. */
const maxUnroll = 8;

/** output[..., i, j] = sum over k of a[..., i, k] b[..., k, j]: a tile of elements of the last axis at once. */
export function contractText(
  kernel: ContractKernel & SumKernel,
  { f, memory, lanes, epilogue }: ChainCode,
): void {
  const { operands: [a, b], output } = kernel;
  const rank = output.shape.length;
  const walk = walkOf(a, b, output);
  const last = walk.shape.length - 1;
  const depth = a.shape[rank - 1];
  const side = (view: number, stride: number) => ({
    shape: [...walk.shape, depth],
    strides: [...walk.strides[view], stride],
  });
  const store = scattered(f, output, pathOf(walk, 0), memory);
  const left = memory.pointer(f, "a", a, side(1, a.strides[rank - 1]), "read any");
  const right = memory.pointer(f, "b", b, side(2, b.strides[rank - 2]), "read any");
  const terms = termsText(f, kernel, depth);

  /** Statements that compute the sums of a tile as sum0, sum1 ... Elements of a tile are `lanes` apart. */
  const sums = (width: number, first: readonly string[]) => {
    const elements = Array.from({ length: width }, (_, t) => t);
    /** A factor of the products, read once if it is the same for all elements of the tile. */
    const operand = (name: string, pointer: Pointer) => {
      const hop = pointer.strides[last];
      const step = pointer.strides[last + 1];
      const distinct = hop === undefined ? [0] : elements;
      // Values past the last column are read but not used.
      const address = (t: number, k: number) =>
        [
          `${name}_at`,
          ...t === 0 ? [] : [`${t * lanes}u * ${hop}`],
          ...k === 0 || !step ? [] : [`${k}u * ${step}`],
        ].join(" + ");
      return {
        start: `var ${name}_at = ${pointer.at(first)};`,
        reads: (k: number) => distinct.map((t) => `let ${name}${t}_${k} = ${pointer.read(address(t, k))};`),
        advance: (count: number) =>
          step ? [`${name}_at += ${count === 1 ? step : `${count}u * ${step}`};`] : [],
        value: (t: number, k: number) => `${name}${hop === undefined ? 0 : t}_${k}`,
      };
    };
    const [x, y] = [operand("a", left), operand("b", right)];
    return [
      x.start,
      y.start,
      ...elements.map((t) => `var sum${t} = 0.0;`),
      ...terms.lines,
      ...eachTerm(terms.count, unrollOf(width, lanes), {
        reads: (k) => [...x.reads(k), ...y.reads(k)],
        add: (k) => elements.map((t) => `sum${t} = fma(${x.value(t, k)}, ${y.value(t, k)}, sum${t});`),
        advance: (count) => [...x.advance(count), ...y.advance(count)],
      }),
    ];
  };

  const width = widthOf(kernel, walk.shape, lanes);
  const { lines, names } = coordinatesOf(f, walk.shape);
  const others = Array.from({ length: width - 1 }, (_, t) => t + 1).flatMap((t) => [
    `let i${t} = i + ${t * lanes}u;`,
    `if (i${t} < count) {`,
    ...[...store([`i${t}`], `sum${t}`), ...epilogue(`i${t}`, `sum${t}`, `_${t}`)].map(indent),
    "}",
  ]);
  eachElement(f, sizeOf(output.shape), width * lanes, [
    ...lines,
    ...sums(width, names),
    ...store(names, "sum0"),
    ...epilogue("i", "sum0"),
    ...others,
  ]);
}

/** The axes of the outputs, and the strides of the output and of both matrices on them. */
function walkOf(a: Operand, b: Operand, output: Operand) {
  const rank = output.shape.length;
  const without = ({ strides }: Operand, axis: number) => strides.map((stride, i) => i === axis ? 0 : stride);
  return collapse(output.shape, [output.strides, without(a, rank - 1), without(b, rank - 2)]);
}

/** Only outputs with a single axis are tiled. Otherwise lanes take single outputs, so that no lane is idle. */
function widthOf({ terms }: SumKernel, shape: readonly number[], lanes: number): number {
  return shape.length > 1 || terms !== undefined ? 1 : tileWidth(shape[0], lanes);
}

/** Terms of an iteration. One on software GPUs, which compile long loops slowly and wait for no reads. */
function unrollOf(width: number, lanes: number): number {
  return lanes === 1 ? 1 : Math.min(maxUnroll, Math.floor(readsAhead / width));
}

/** Outputs that an invocation computes at once, and terms that it reads at once, for `explain`. */
export function tileOfProduct(
  kernel: ContractKernel & SumKernel,
  lanes: number,
): { outputs: number; terms: number } {
  const { operands: [a, b], output } = kernel;
  const outputs = widthOf(kernel, walkOf(a, b, output).shape, lanes);
  return { outputs, terms: unrollOf(outputs, lanes) };
}

/** The tile width with the lowest cost; the largest of equal widths. */
function tileWidth(columns: number, lanes: number): number {
  const most = Math.max(
    1,
    Math.min(lanes === 1 ? softwareTileWidth : maxTileWidth, Math.ceil(columns / lanes)),
  );
  /** Cost of reading the other operand in an iteration, in elements. */
  const overhead = 4;
  let best = 1;
  const cost = (width: number) => Math.ceil(columns / (width * lanes)) * (width + overhead);
  for (let width = 2; width <= most; width++) if (cost(width) <= cost(best)) best = width;
  return best;
}
