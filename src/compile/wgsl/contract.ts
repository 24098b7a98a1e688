/** Matrix products as WGSL functions. */
import { collapse } from "../../device/collapse.ts";
import { sizeOf } from "../../device/shape.ts";
import type { ContractKernel, Operand } from "../program.ts";
import { eachElement, type Finish, iterationsFor, scattered } from "./elements.ts";
import { coordinatesOf, type FunctionText, indent, loopIterations } from "./function_text.ts";
import { type Memory, pathOf, type Pointer } from "./memory.ts";
import type { WorkgroupShape } from "./gpu_layout.ts";

/** Outputs of a matrix product that an invocation computes at once: alone, or beside others, who hide its waiting. */
const widestTile = { alone: 8, aloneOwn: 2, workgroup: 4 };

/** output[..., i, j] = sum over k of a[..., i, k] b[..., k, j]: a tile of elements of the last axis at once. */
export function contractText(
  f: FunctionText,
  { a, b, output }: ContractKernel,
  memory: Memory,
  workgroup: WorkgroupShape,
  finish: Finish,
): void {
  const { lanes } = workgroup;
  const rank = output.shape.length;
  const without = ({ strides }: Operand, axis: number) => strides.map((stride, i) => i === axis ? 0 : stride);
  const walk = collapse(output.shape, [output.strides, without(a, rank - 1), without(b, rank - 2)]);
  const last = walk.shape.length - 1;
  const columns = walk.shape[last];
  const depth = a.shape[rank - 1];
  const side = (view: number, stride: number) => ({
    shape: [...walk.shape, depth],
    strides: [...walk.strides[view], stride],
  });
  const store = scattered(f, output, pathOf(walk, 0), memory);
  const left = memory.pointer(f, "a", a, side(1, a.strides[rank - 1]), "read any");
  const right = memory.pointer(f, "b", b, side(2, b.strides[rank - 2]), "read any");
  const terms = f.param("terms", depth);

  /** Statements that leave the sums of a tile, of elements `lanes` apart from the first one on, in sum0, sum1 ... */
  const sums = (width: number, first: readonly string[]) => {
    const elements = Array.from({ length: width }, (_, t) => t);
    /** One side of the products, read once where all elements of the tile need the same. */
    const operand = (name: string, pointer: Pointer) => {
      const hop = pointer.strides[last];
      const step = pointer.strides[last + 1];
      const distinct = hop === undefined ? [0] : elements;
      // Past the last column there is something or other, which nobody uses.
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

  if (last > 0 && lanes > 1) {
    // The elements are numbered through, so that no lane is idle.
    const count = f.param("count", sizeOf(output.shape));
    const { lines, names } = coordinatesOf(f, walk.shape, "i");
    f.push(...eachElement(count, workgroup, [
      ...lines,
      ...sums(1, names),
      ...store(names, "sum0"),
      ...finish("i", "sum0"),
    ]));
    f.iterations = iterationsFor(sizeOf(output.shape), workgroup, loopIterations(depth));
    return;
  }
  const isShared = (a.slot === undefined ? left : right).strides[last] !== undefined &&
    (a.slot === undefined || b.slot === undefined);
  const width = tileWidth(columns, workgroup, isShared);
  const stride = width * lanes;
  f.param("columns", columns);
  const outer = walk.shape.slice(0, -1);
  const bounds = outer.map((size, axis) => f.param(`size${axis}`, size));
  const names = outer.map((_, axis) => `o${axis}`);
  const line = names.reduce(
    (text, name, axis) => axis === 0 ? name : `(${text} * size${axis} + ${name})`,
    "",
  );
  const done = (column: string, sum: string, suffix: string) => [
    ...store([...names, column], sum),
    ...finish(line === "" ? column : `(${line} * columns + ${column})`, sum, suffix),
  ];
  const tile = Array.from({ length: width }, (_, t) => t);
  const body = sums(width, [...names, "j"]);
  let tail = 0;
  if (width === 1) body.push(...done("j", "sum0", ""));
  else if (lanes > 1) {
    for (const t of tile) {
      const statements = [`let j${t} = j + ${t * lanes}u;`, ...done(`j${t}`, `sum${t}`, `_${t}`)];
      const isInside = columns % stride === 0 ? "" : `if (j + ${t * lanes}u < columns) `;
      body.push(`${isInside}{`, ...statements.map(indent), "}");
    }
  } else {
    // In a loop: where one invocation does it all, the code would be long, and slow to compile.
    body.push(
      `var sums = array<f32, ${width}>(${tile.map((t) => `sum${t}`).join(", ")});`,
      `for (var t = 0u; t < min(${width}u, columns - j); t++) {`,
      ...[`let column = j + t;`, "let sum = sums[t];", ...done("column", "sum", "")].map(indent),
      "}",
    );
    tail = loopIterations(width);
  }
  f.push(
    ...bounds.map((bound, axis) => `for (var o${axis} = 0u; o${axis} < ${bound}; o${axis}++) {`),
    `for (var j = ${lanes === 1 ? "0u" : "lane"}; j < columns; j += ${stride}u) {`,
    ...body.map(indent),
    "}",
    ...bounds.map(() => "}"),
  );
  const tiles = loopIterations(Math.ceil(columns / stride), loopIterations(depth) + tail);
  f.iterations = outer.reduceRight((inside, size) => loopIterations(size, inside), tiles);
}

/**
 * Elements of a tile: what leaves the fewest of the tiles' places empty, and then the most.
 *
 * @param isShared Whether what differs from element to element is shared by all samples, and so is read once for them all.
 */
function tileWidth(columns: number, { lanes }: WorkgroupShape, isShared: boolean): number {
  const widest = lanes > 1 ? widestTile.workgroup : isShared ? widestTile.alone : widestTile.aloneOwn;
  const most = Math.max(1, Math.min(widest, Math.floor(columns / lanes)));
  /** Each iteration reads the other operand, which costs about as much as this many elements. */
  const overhead = 4;
  let best = 1;
  const cost = (width: number) => Math.ceil(columns / (width * lanes)) * (width + overhead);
  for (let width = 2; width <= most; width++) if (cost(width) <= cost(best)) best = width;
  return best;
}
