/** The kernels of a program as WGSL functions. Each invocation takes every so many-th element, from its lane on. */
import { collapse } from "../../device/collapse.ts";
import { add, max, min, type Scalar } from "../../device/scalar.ts";
import { contiguousStrides, sizeOf } from "../../device/shape.ts";
import { emitScalar, type EmittedScalar } from "../../device/webgpu/scalar_wgsl.ts";
import type { ContractKernel, MapKernel, Operand, ReduceKernel } from "../program.ts";
import {
  coordinatesOf,
  fromWord,
  FunctionText,
  indent,
  loopTurns,
  noTurns,
  toWord,
  type Turns,
} from "./function_text.ts";
import { type Memory, pathOf, type Pointer } from "./memory.ts";
import type { Place, Sharing } from "./plan.ts";

/** Outputs of a matrix product that an invocation computes at once: alone, or beside others, who hide its waiting. */
const widestTile = { alone: 16, sharing: 4 };

/** Turns of a loop over elements that invocations share. */
function turnsFor(elements: number, { lanes }: Sharing, inside?: Turns): Turns {
  return loopTurns(Math.ceil(elements / lanes), inside);
}

/** The loop itself. The first position is a constant where it can be: compilers see that all invocations are alike. */
function eachElement(count: string, { lanes }: Sharing, body: readonly string[]): string[] {
  const first = lanes === 1 ? "0u" : "lane";
  return [`for (var i = ${first}; i < ${count}; i += ${lanes}u) {`, ...body.map(indent), "}"];
}

function expression(root: Scalar, inputs: readonly string[], prefix: string): EmittedScalar {
  return emitScalar(root, { inputs, index: "0u", zero: "params.zero", prefix });
}

/** output[i] = expression(operands[0][i], ...). */
export function mapText({ expression: root, operands, output }: MapKernel, memory: Memory, sharing: Sharing) {
  const f = new FunctionText();
  const size = sizeOf(output.shape);
  const walk = collapse(output.shape, [output, ...operands].map(({ strides }) => strides));
  const count = f.param("count", size);
  const target = memory.pointer(f, "output", output, pathOf(walk, 0), "write own");
  const sources = operands.map((operand, i) =>
    memory.pointer(f, `input${i}`, operand, pathOf(walk, i + 1), "read own")
  );
  const { lines, names } = coordinatesOf(f, walk.shape, "i");
  const inputs = operands.map((_, i) => `x${i}`);
  const value = expression(root, inputs, "v");
  f.push(...eachElement(count, sharing, [
    ...lines,
    ...inputs.map((name, i) => `let ${name} = ${sources[i].read(sources[i].at(names))};`),
    ...value.lines,
    target.write(target.at(names), value.result),
  ]));
  f.turns = turnsFor(size, sharing);
  return f;
}

/** output[i] = combination over axes of expression(operands[0][i, axes], ...). */
export function reduceText(kernel: ReduceKernel, memory: Memory, sharing: Sharing): FunctionText {
  const { reduction, axes, shape, expression: root, operands, output } = kernel;
  const f = new FunctionText();
  const kept = shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  const walkOf = (chosen: readonly number[], views: readonly Operand[]) => {
    const pick = (values: readonly number[]) => chosen.map((axis) => values[axis]);
    return collapse(pick(shape), views.map(({ strides }) => pick(strides)));
  };
  const outer = walkOf(kept, [output, ...operands]);
  const inner = walkOf(axes, operands);
  const terms = axes.reduce((product, axis) => product * shape[axis], 1);
  const count = f.param("count", sizeOf(output.shape));
  const target = memory.pointer(f, "output", output, pathOf(outer, 0), "write own");
  const sources = operands.map((operand, i) => {
    const strides = [...outer.strides[i + 1], ...inner.strides[i]];
    return memory.pointer(
      f,
      `input${i}`,
      operand,
      { shape: [...outer.shape, ...inner.shape], strides },
      "read any",
    );
  });
  const { lines, names } = coordinatesOf(f, outer.shape, "i");
  const lengths = inner.shape.map((length, axis) => f.param(`terms${axis}`, terms === 0 ? 0 : length));
  const inputs = operands.map((_, i) => `x${i}`);
  const value = expression(root, inputs, "v");
  const [total, term] = [0, 1].map((value): Scalar => ({ op: "input", type: output.dtype, args: [], value }));
  const combined = expression({ sum: add, max, min }[reduction](total, term), ["total", value.result], "w");
  const first = { sum: 0, max: -Infinity, min: Infinity }[reduction];
  const start = expression({ op: "constant", type: output.dtype, args: [], value: first }, [], "s");
  const coordinates = [...names, ...inner.shape.map((_, axis) => `j${axis}`)];
  f.push(...eachElement(count, sharing, [
    ...lines,
    `var total = ${start.result};`,
    ...lengths.map((length, axis) => `for (var j${axis} = 0u; j${axis} < ${length}; j${axis}++) {`),
    ...inputs.map((name, i) => `let ${name} = ${sources[i].read(sources[i].at(coordinates))};`),
    ...value.lines,
    ...combined.lines,
    `total = ${combined.result};`,
    ...lengths.map(() => "}"),
    target.write(target.at(names), "total"),
  ]));
  const nested = inner.shape.reduceRight((inside: Turns, length) => loopTurns(length, inside), noTurns);
  f.turns = turnsFor(sizeOf(output.shape), sharing, nested);
  return f;
}

/** output[..., i, j] = sum over k of a[..., i, k] b[..., k, j]: a tile of elements of the last axis at once. */
export function contractText(
  { a, b, output }: ContractKernel,
  memory: Memory,
  sharing: Sharing,
): FunctionText {
  const { lanes } = sharing;
  const f = new FunctionText();
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
  const target = memory.pointer(f, "output", output, pathOf(walk, 0), "write own");
  const left = memory.pointer(f, "a", a, side(1, a.strides[rank - 1]), "read any");
  const right = memory.pointer(f, "b", b, side(2, b.strides[rank - 2]), "read any");
  const terms = f.param("terms", depth);

  /** A tile's sums; `outer` are coordinates on all axes but the last, `column` that of one of its elements. */
  const tile = (
    width: number,
    outer: readonly string[],
    column: (t: number) => string,
    guarded = (_t: number, statement: string) => statement,
  ) => {
    const elements = Array.from({ length: width }, (_, t) => t);
    /** One side of the products, read once where all elements of the tile need the same. */
    const operand = (name: string, pointer: Pointer) => {
      const isSame = pointer.strides[last] === undefined;
      const distinct = isSame ? [0] : elements;
      const step = pointer.strides[last + 1];
      return {
        starts: distinct.map((t) => `var ${name}${t} = ${pointer.at([...outer, column(t)])};`),
        reads: distinct.map((t) => `let ${name}_value${t} = ${pointer.read(`${name}${t}`)};`),
        steps: step ? distinct.map((t) => `${name}${t} += ${step};`) : [],
        value: (t: number) => `${name}_value${isSame ? 0 : t}`,
      };
    };
    const [x, y] = [operand("a", left), operand("b", right)];
    return [
      ...x.starts,
      ...y.starts,
      ...elements.map((t) => `var sum${t} = 0.0;`),
      `for (var k = 0u; k < ${terms}; k++) {`,
      ...[...x.reads, ...y.reads].map(indent),
      ...elements.map((t) => indent(`sum${t} = fma(${x.value(t)}, ${y.value(t)}, sum${t});`)),
      ...[...x.steps, ...y.steps].map(indent),
      "}",
      ...elements.map((t) => guarded(t, target.write(target.at([...outer, column(t)]), `sum${t}`))),
    ];
  };

  if (last > 0 && lanes > 1) {
    // The elements are numbered through, so that no lane is idle.
    const count = f.param("count", sizeOf(output.shape));
    const { lines, names } = coordinatesOf(f, walk.shape, "i");
    const body = tile(1, names.slice(0, -1), () => names[last]);
    f.push(...eachElement(count, sharing, [...lines, ...body]));
    f.turns = turnsFor(sizeOf(output.shape), sharing, loopTurns(depth));
    return f;
  }
  const width = tileWidth(columns, sharing);
  const stride = width * lanes;
  const isExact = columns % stride === 0;
  f.param("columns", columns);
  const outer = walk.shape.slice(0, -1);
  const bounds = outer.map((size, axis) => f.param(`size${axis}`, size));
  const column = (t: number) => `j${t}`;
  const guarded = (t: number, statement: string) =>
    isExact || t === 0 ? statement : `if (j + ${t * lanes}u < columns) { ${statement} }`;
  const body = [
    ...Array.from({ length: width }, (_, t) => {
      const plain = t === 0 ? "j" : `j + ${t * lanes}u`;
      return `let j${t} = ${isExact || t === 0 ? plain : `min(${plain}, columns - 1u)`};`;
    }),
    ...tile(width, outer.map((_, axis) => `o${axis}`), column, guarded),
  ];
  f.push(
    ...bounds.map((bound, axis) => `for (var o${axis} = 0u; o${axis} < ${bound}; o${axis}++) {`),
    `for (var j = ${lanes === 1 ? "0u" : "lane"}; j < columns; j += ${stride}u) {`,
    ...body.map(indent),
    "}",
    ...bounds.map(() => "}"),
  );
  const tiles = loopTurns(Math.ceil(columns / stride), loopTurns(depth));
  f.turns = outer.reduceRight((inside, size) => loopTurns(size, inside), tiles);
  return f;
}

/** Elements of a tile: what leaves the fewest of the tiles' places empty, and then the most. */
function tileWidth(columns: number, { lanes }: Sharing): number {
  const most = Math.max(
    1,
    Math.min(lanes === 1 ? widestTile.alone : widestTile.sharing, Math.floor(columns / lanes)),
  );
  /** Each turn reads the other operand, which costs about as much as this many elements. */
  const overhead = 4;
  let best = 1;
  const cost = (width: number) => Math.ceil(columns / (width * lanes)) * (width + overhead);
  for (let width = 2; width <= most; width++) if (cost(width) <= cost(best)) best = width;
  return best;
}

/** Copies a sample's elements of an array into a slot. */
export function loadText(place: Place, slot: number, memory: Memory, sharing: Sharing): FunctionText {
  const f = new FunctionText();
  const { size, dtype } = place.group.members[place.member];
  const element = memory.member(f, place);
  const path = { shape: [size], strides: [1] };
  const target = memory.pointer(f, "slot", memory.wholeSlot(slot), path, "write own");
  const value = fromWord(place.group.word, dtype, element("i"));
  f.push(...eachElement("size", sharing, [target.write(target.at(["i"]), value)]));
  f.turns = turnsFor(size, sharing);
  return f;
}

/** Copies an operand into a sample's elements of an array. */
export function storeText(place: Place, operand: Operand, memory: Memory, sharing: Sharing): FunctionText {
  const f = new FunctionText();
  const { size, dtype } = place.group.members[place.member];
  const element = memory.member(f, place);
  const walk = collapse(operand.shape, [operand.strides, contiguousStrides(operand.shape)]);
  const source = memory.pointer(f, "slot", operand, pathOf(walk, 0), "read own");
  const { lines, names } = coordinatesOf(f, walk.shape, "i");
  const value = toWord(place.group.word, dtype, source.read(source.at(names)));
  f.push(
    "if (own < valid) {",
    ...eachElement("size", sharing, [...lines, `${element("i")} = ${value};`]).map(indent),
    "}",
  );
  f.turns = turnsFor(size, sharing);
  return f;
}
