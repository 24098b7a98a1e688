/** Matrix products as WGSL functions. */
import { collapse } from "../../../device/collapse.ts";
import { sizeOf } from "../../../device/shape.ts";
import type { ContractKernel, Operand } from "../../program/program.ts";
import { type ChainCode, eachElement, scattered } from "./elements.ts";
import { coordinatesOf, indent } from "./function_text.ts";
import { pathOf, type Pointer } from "./shader_memory.ts";

/** Maximum number of outputs that an invocation computes at once. */
const maxTileWidth = 4;

/** output[..., i, j] = sum over k of a[..., i, k] b[..., k, j]: a tile of elements of the last axis at once. */
export function contractText(
  { operands: [a, b], output }: ContractKernel,
  { f, memory, lanes, epilogue }: ChainCode,
): void {
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
  const terms = f.param("terms", depth);

  /** Statements that compute the sums of a tile as sum0, sum1 ... Elements of a tile are `lanes` apart. */
  const sums = (width: number, first: readonly string[]) => {
    const elements = Array.from({ length: width }, (_, t) => t);
    /** A factor of the products, read once if it is the same for all elements of the tile. */
    const operand = (name: string, pointer: Pointer) => {
      const hop = pointer.strides[last];
      const step = pointer.strides[last + 1];
      const distinct = hop === undefined ? [0] : elements;
      // Values past the last column are read but not used.
      const address = (t: number) => t === 0 ? `${name}_at` : `${name}_at + ${t * lanes}u * ${hop}`;
      return {
        start: `var ${name}_at = ${pointer.at(first)};`,
        reads: distinct.map((t) => `let ${name}${t} = ${pointer.read(address(t))};`),
        steps: step ? [`${name}_at += ${step};`] : [],
        value: (t: number) => `${name}${hop === undefined ? 0 : t}`,
      };
    };
    const [x, y] = [operand("a", left), operand("b", right)];
    return [
      x.start,
      y.start,
      ...elements.map((t) => `var sum${t} = 0.0;`),
      `for (var k = 0u; k < ${terms}; k++) {`,
      ...[...x.reads, ...y.reads].map(indent),
      ...elements.map((t) => indent(`sum${t} = fma(${x.value(t)}, ${y.value(t)}, sum${t});`)),
      ...[...x.steps, ...y.steps].map(indent),
      "}",
    ];
  };

  const width = widthOf(walk.shape, lanes);
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
function widthOf(shape: readonly number[], lanes: number): number {
  return shape.length > 1 ? 1 : tileWidth(shape[0], lanes);
}

/** Number of outputs that an invocation computes at once, for `explain`. */
export function outputsAtOnce({ operands: [a, b], output }: ContractKernel, lanes: number): number {
  return widthOf(walkOf(a, b, output).shape, lanes);
}

/** The tile width with the lowest cost; the largest of equal widths. */
function tileWidth(columns: number, lanes: number): number {
  const most = Math.max(1, Math.min(maxTileWidth, Math.floor(columns / lanes)));
  /** Cost of reading the other operand in an iteration, in elements. */
  const overhead = 4;
  let best = 1;
  const cost = (width: number) => Math.ceil(columns / (width * lanes)) * (width + overhead);
  for (let width = 2; width <= most; width++) if (cost(width) <= cost(best)) best = width;
  return best;
}
