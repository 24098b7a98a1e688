/** Chains of kernels as WGSL functions. Each invocation takes every so many-th element, from its lane on. */
import { collapse } from "../../device/collapse.ts";
import { add, max, min, type Scalar } from "../../device/scalar.ts";
import { contiguousStrides, sizeOf } from "../../device/shape.ts";
import { emitScalar, type EmittedScalar } from "../../device/webgpu/scalar_wgsl.ts";
import type { ContractKernel, GatherKernel, MapKernel, Operand, ReduceKernel } from "../program.ts";
import {
  type Chain,
  elementsOf,
  type Item,
  lineKey,
  lineOf,
  type Load,
  readsOf,
  type Store,
  writeOf,
} from "./chains.ts";
import {
  addTurns,
  coordinatesOf,
  fromWord,
  FunctionText,
  indent,
  loopTurns,
  noTurns,
  toWord,
  type Turns,
} from "./function_text.ts";
import { type Memory, type Path, pathOf, type Pointer, type Use } from "./memory.ts";
import type { Sharing } from "./plan.ts";

/** Outputs of a matrix product that an invocation computes at once: alone, or beside others, who hide its waiting. */
const widestTile = { alone: 8, aloneOwn: 2, sharing: 4 };

/** What is done with an element that has been computed: its statements, given its row-major position and its value. */
type Finish = (position: string, value: string, suffix?: string) => string[];

/** Emits a chain. */
export function chainText(chain: Chain, memory: Memory, sharing: Sharing): FunctionText {
  const f = new FunctionText();
  const [head] = chain;
  const finish = finishing(f, chain, memory);
  switch (head.kind) {
    case "load":
      loadText(f, head, memory, sharing, finish);
      break;
    case "store":
      storeText(f, head, memory, sharing, finish);
      break;
    case "map":
      mapText(f, head, memory, sharing, finish);
      break;
    case "reduce":
      reduceText(f, head, memory, sharing, finish);
      break;
    case "contract":
      contractText(f, head, memory, sharing, finish);
      break;
    case "gather":
      gatherText(f, head, memory, sharing, finish);
      break;
  }
  return f;
}

/** Where the elements of a chain are while it runs: names of values by what {@linkcode lineKey} says of them. */
type Values = Map<string, string>;

/** Writes the first item's element to memory, where anyone needs it there, and runs the others on it. */
function finishing(f: FunctionText, chain: Chain, memory: Memory): Finish {
  const computed = new Set<string>();
  const steps = chain.map((item, k) => {
    const compute = k === 0 ? undefined : following(f, item, k, computed, memory);
    const target = writeOf(item);
    if (!target) return { compute };
    const key = lineKey(target);
    if (key !== undefined) computed.add(key);
    // An element that does not lie in a line is written by the first item itself.
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

function linePointer(f: FunctionText, name: string, operand: Operand, memory: Memory, use: Use): Pointer {
  const path = { shape: [sizeOf(operand.shape)], strides: [lineOf(operand)!] };
  return memory.pointer(f, name, operand, path, use);
}

/** An item behind a chain's first. */
function following(
  f: FunctionText,
  item: Item,
  k: number,
  computed: ReadonlySet<string>,
  memory: Memory,
): (position: string, values: Values, suffix: string) => EmittedScalar {
  const reads = readsOf(item).map((operand, i) => {
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

/** The statement that stores an element which does not lie in a line with its neighbours. */
function scattered(
  f: FunctionText,
  output: Operand,
  path: Path,
  memory: Memory,
): (coordinates: readonly string[], value: string) => string[] {
  if (lineOf(output) !== undefined) return () => [];
  const target = memory.pointer(f, "output", output, path, "write own");
  return (coordinates, value) => [target.write(target.at(coordinates), value)];
}

/** output[i] = expression(operands[0][i], ...). */
function mapText(f: FunctionText, kernel: MapKernel, memory: Memory, sharing: Sharing, finish: Finish): void {
  const { expression: root, operands, output } = kernel;
  const walk = collapse(output.shape, [output, ...operands].map(({ strides }) => strides));
  const count = f.param("count", sizeOf(output.shape));
  const store = scattered(f, output, pathOf(walk, 0), memory);
  const sources = operands.map((operand, i) =>
    memory.pointer(f, `input${i}`, operand, pathOf(walk, i + 1), "read own")
  );
  const { lines, names } = coordinatesOf(f, walk.shape, "i");
  const inputs = operands.map((_, i) => `x${i}`);
  const value = expression(root, inputs, "v");
  inputs.forEach((name, i) => {
    if (sources[i].isConstant) f.push(`let ${name} = ${sources[i].read(sources[i].at(names))};`);
  });
  f.push(...eachElement(count, sharing, [
    ...lines,
    ...inputs.flatMap((name, i) =>
      sources[i].isConstant ? [] : [`let ${name} = ${sources[i].read(sources[i].at(names))};`]
    ),
    ...value.lines,
    ...store(names, value.result),
    ...finish("i", value.result),
  ]));
  f.turns = turnsFor(sizeOf(output.shape), sharing);
}

/** output[i] = combination over axes of expression(operands[0][i, axes], ...). */
function reduceText(
  f: FunctionText,
  kernel: ReduceKernel,
  memory: Memory,
  sharing: Sharing,
  finish: Finish,
): void {
  const { reduction, axes, shape, expression: root, operands, output } = kernel;
  const kept = shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  const walkOf = (chosen: readonly number[], views: readonly Operand[]) => {
    const pick = (values: readonly number[]) => chosen.map((axis) => values[axis]);
    return collapse(pick(shape), views.map(({ strides }) => pick(strides)));
  };
  const outer = walkOf(kept, [output, ...operands]);
  const inner = walkOf(axes, operands);
  const terms = axes.reduce((product, axis) => product * shape[axis], 1);
  const count = f.param("count", sizeOf(output.shape));
  const store = scattered(f, output, pathOf(outer, 0), memory);
  const sources = operands.map((operand, i) => {
    const strides = [...outer.strides[i + 1], ...inner.strides[i]];
    const path = { shape: [...outer.shape, ...inner.shape], strides };
    return memory.pointer(f, `input${i}`, operand, path, "read any");
  });
  const { lines, names } = coordinatesOf(f, outer.shape, "i");
  const lengths = inner.shape.map((length, axis) => f.param(`terms${axis}`, terms === 0 ? 0 : length));
  const inputs = operands.map((_, i) => `x${i}`);
  const value = expression(root, inputs, "v");
  const [total, term] = [0, 1].map((value): Scalar => ({ op: "input", type: output.dtype, args: [], value }));
  const combined = expression(
    { sum: add, max, min }[reduction](total, term),
    ["total", value.result],
    "w",
  );
  const first = output.dtype === "int32"
    ? { sum: 0, max: -(2 ** 31), min: 2 ** 31 - 1 }[reduction]
    : { sum: 0, max: -Infinity, min: Infinity }[reduction];
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
    ...store(names, "total"),
    ...finish("i", "total"),
  ]));
  const nested = inner.shape.reduceRight((inside: Turns, length) => loopTurns(length, inside), noTurns);
  f.turns = turnsFor(sizeOf(output.shape), sharing, nested);
}

/** output[i, j] = table[indices[i], j]. */
function gatherText(
  f: FunctionText,
  { table, indices, output }: GatherKernel,
  memory: Memory,
  sharing: Sharing,
  finish: Finish,
): void {
  const count = f.param("count", sizeOf(output.shape));
  const rows = f.param("rows", table.shape[0]);
  const { lines, names: [row, column] } = coordinatesOf(f, output.shape, "i");
  const positions = memory.pointer(f, "index", indices, indices, "read any");
  const source = memory.pointer(f, "table", table, table, "read any");
  const nan = expression({ op: "constant", type: output.dtype, args: [], value: NaN }, [], "n");
  f.push(...eachElement(count, sharing, [
    ...lines,
    `let wanted = u32(${positions.read(positions.at([row]))});`,
    `let found = ${source.read(source.at([`min(wanted, ${rows} - 1u)`, column]))};`,
    ...nan.lines,
    `let value = select(${nan.result}, found, wanted < ${rows});`,
    ...finish("i", "value"),
  ]));
  f.turns = turnsFor(sizeOf(output.shape), sharing);
}

/** output[..., i, j] = sum over k of a[..., i, k] b[..., k, j]: a tile of elements of the last axis at once. */
function contractText(
  f: FunctionText,
  { a, b, output }: ContractKernel,
  memory: Memory,
  sharing: Sharing,
  finish: Finish,
): void {
  const { lanes } = sharing;
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
    f.push(...eachElement(count, sharing, [
      ...lines,
      ...sums(1, names),
      ...store(names, "sum0"),
      ...finish("i", "sum0"),
    ]));
    f.turns = turnsFor(sizeOf(output.shape), sharing, loopTurns(depth));
    return;
  }
  const isShared = (a.slot === undefined ? left : right).strides[last] !== undefined &&
    (a.slot === undefined || b.slot === undefined);
  const width = tileWidth(columns, sharing, isShared);
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
  let tail = noTurns;
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
    tail = loopTurns(width);
  }
  f.push(
    ...bounds.map((bound, axis) => `for (var o${axis} = 0u; o${axis} < ${bound}; o${axis}++) {`),
    `for (var j = ${lanes === 1 ? "0u" : "lane"}; j < columns; j += ${stride}u) {`,
    ...body.map(indent),
    "}",
    ...bounds.map(() => "}"),
  );
  const tiles = loopTurns(Math.ceil(columns / stride), addTurns(loopTurns(depth), tail));
  f.turns = outer.reduceRight((inside, size) => loopTurns(size, inside), tiles);
}

/**
 * Elements of a tile: what leaves the fewest of the tiles' places empty, and then the most.
 *
 * @param isShared Whether what differs from element to element is shared by all samples, and so is read once for them all.
 */
function tileWidth(columns: number, { lanes }: Sharing, isShared: boolean): number {
  const widest = lanes > 1 ? widestTile.sharing : isShared ? widestTile.alone : widestTile.aloneOwn;
  const most = Math.max(1, Math.min(widest, Math.floor(columns / lanes)));
  /** Each turn reads the other operand, which costs about as much as this many elements. */
  const overhead = 4;
  let best = 1;
  const cost = (width: number) => Math.ceil(columns / (width * lanes)) * (width + overhead);
  for (let width = 2; width <= most; width++) if (cost(width) <= cost(best)) best = width;
  return best;
}

function loadText(f: FunctionText, load: Load, memory: Memory, sharing: Sharing, finish: Finish): void {
  const { place, output } = load;
  const count = f.param("count", elementsOf(load));
  const element = memory.member(f, "array0", place);
  const value = fromWord(place.group.word, output.dtype, element("i"));
  f.push(...eachElement(count, sharing, [`let x = ${value};`, ...finish("i", "x")]));
  f.turns = turnsFor(elementsOf(load), sharing);
}

function storeText(f: FunctionText, store: Store, memory: Memory, sharing: Sharing, finish: Finish): void {
  const { place, operands: [operand] } = store;
  const count = f.param("count", elementsOf(store));
  const element = memory.member(f, "array0", place);
  const walk = collapse(operand.shape, [operand.strides, contiguousStrides(operand.shape)]);
  const source = memory.pointer(f, "slot", operand, pathOf(walk, 0), "read own");
  const { lines, names } = coordinatesOf(f, walk.shape, "i");
  const value = toWord(place.group.word, operand.dtype, source.read(source.at(names)));
  f.push(
    ...eachElement(count, sharing, [
      ...lines,
      `if (own < valid) { ${element("i")} = ${value}; }`,
      ...finish("i", "0.0"),
    ]),
  );
  f.turns = turnsFor(elementsOf(store), sharing);
}
