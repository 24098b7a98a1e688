/**
 * Weight gradients: sums of outer products over the samples of a tile and the stages of a step. The operands of all stages are
 * copied into panels. At the end of the step, one product of the panels is added to the gradient, so that the gradient is read
 * and written once per step instead of once per stage. Panels are in the order in which the product reads them: blocks of
 * elements, with one row per sample and stage.
 */
import { emitMultiplyAdd } from "../../../device/cpu/assembler/multiply_add.ts";
import { setSplat } from "../../../device/cpu/assembler/splat.ts";
import type { FunctionBuilder, Local } from "../../../device/cpu/assembler/wasm.ts";
import type { AccumulateKernel, Program } from "../../program/program.ts";
import type { Tile } from "./tile.ts";
import { transposed } from "./transfers.ts";

/** Maximum rows of a panel. Kernels with more rows multiply one row of their operands at a time. */
const maxRows = 64;

/** Layout of a weight gradient and its panels. */
export interface WeightGradient {
  readonly rows: number;
  readonly columns: number;
  /** Elements from row to row: columns, padded to whole vectors. */
  readonly stride: number;
  /** Rows of each block of a panel. */
  readonly depth: number;
  /** Elements of a row of each panel's blocks: the rows and columns of a tile of the product. */
  readonly width: { readonly a: number; readonly b: number };
  /** In elements, from the start of a task's gradients. */
  readonly offset: number;
  /** In bytes, from the start of a task's memory. */
  readonly panels: { readonly a: number; readonly b: number };
}

/** Lays out weight gradients, and their panels from byte `start` on. */
export function layOutWeightGradients(tile: Tile, { kernels, weightGradients }: Program, start: number): {
  weightGradients: WeightGradient[];
  /** Total elements of the gradients. */
  size: number;
  /** In bytes. */
  end: number;
} {
  let [size, end] = [0, start];
  const laidOut = weightGradients.map((_, gradient): WeightGradient => {
    const ofGradient = kernels.filter((kernel): kernel is AccumulateKernel =>
      kernel.kind === "accumulate" && kernel.gradient === gradient
    );
    const [rows, columns] = ofGradient[0].operands.map(({ shape }) => shape[1]);
    const depth = Math.min(
      maxRows,
      ofGradient.reduce((sum, { operands: [a] }) => sum + a.shape[0], 0) * tile.samples,
    );
    // Products are faster with pairs of vectors, unless much of a row would be padding.
    const filled = columns > 4 * tile.lanes ? 2 * tile.lanes : tile.lanes;
    const stride = Math.ceil(columns / filled) * filled;
    // Eight registers of sums hide the latency of additions and leave registers for the factors.
    const isEven = stride % (2 * tile.lanes) === 0;
    const width = { a: isEven ? 4 * tile.module.vectorsPerRegister : 8, b: (isEven ? 2 : 1) * tile.lanes };
    const bytes = depth * tile.bytes;
    const panels = { a: end, b: end + bytes * Math.ceil(rows / width.a) * width.a };
    end = panels.b + bytes * stride;
    const result = { rows, columns, stride, depth, width, offset: size, panels };
    size += rows * stride;
    return result;
  });
  return { weightGradients: laidOut, size, end };
}

/** Addresses in a kernel's code. */
interface AccumulateAddresses {
  /** Push the addresses of the gradient and its panels. */
  readonly gradient: () => void;
  readonly panelA: () => void;
  readonly panelB: () => void;
  /** Push the addresses of the operands. */
  readonly a: () => void;
  readonly b: () => void;
}

/**
 * Emits a kernel.
 *
 * @param filled Rows of the panels that are filled before the kernel.
 * @param left Number of later kernels of the gradient in the step.
 * @returns Rows of the panels that are filled after the kernel.
 */
export function emitAccumulate(
  tile: Tile,
  f: FunctionBuilder,
  { operands: [a, b] }: AccumulateKernel,
  gradient: WeightGradient,
  addresses: AccumulateAddresses,
  filled: number,
  left: number,
): number {
  const inner = a.shape[0];
  const multiply = (depth: number) =>
    f.call(productOfPanels(tile, gradient, depth), addresses.gradient, addresses.panelA, addresses.panelB);
  /** Copies row number `filled / samples` of both operands. */
  const copy = (at: readonly [a: () => void, b: () => void], filled: number) => {
    const to = [addresses.panelA, addresses.panelB];
    const widths = [gradient.width.a, gradient.width.b];
    [a, b].forEach((operand, i) =>
      f.call(
        panelWriter(tile, operand.shape[1], operand.strides[1], widths[i], gradient.depth),
        () => f.op("address.add", to[i], filled * widths[i] * tile.bytes),
        at[i],
      )
    );
  };
  const rows = inner * tile.samples;
  if (rows > maxRows) {
    if (filled > 0) multiply(filled);
    const pointers = [a, b].map((operand, i) => {
      const local = f.local("address");
      f.set(local, i === 0 ? addresses.a : addresses.b);
      return { local, steps: [operand.strides[0] * tile.unit] };
    });
    tile.nest(f, [inner], pointers, () => {
      copy([() => f.get(pointers[0].local), () => f.get(pointers[1].local)], 0);
      multiply(tile.samples);
    });
    return 0;
  }
  if (filled + rows > maxRows) {
    multiply(filled);
    filled = 0;
  }
  for (let row = 0; row < inner; row++) {
    const at = (i: number) => () => {
      f.push(i === 0 ? addresses.a : addresses.b);
      const { strides } = i === 0 ? a : b;
      if (row > 0) f.op("address.add", row * strides[0] * tile.unit);
    };
    copy([at(0), at(1)], filled);
    filled += tile.samples;
  }
  if (left > 0 || filled === 0) return filled;
  multiply(filled);
  return 0;
}

/** Copies the elements of an operand into the blocks of a panel, one row per sample: (panel, operand). */
function panelWriter(
  tile: Tile,
  size: number,
  stride: number,
  width: number,
  depth: number,
): FunctionBuilder {
  const key = `panel ${size} ${stride} ${width} ${depth}`;
  return tile.function(key, ["address", "address"], (f) => {
    const [to, from] = f.params;
    const { lanes, bytes } = tile;
    const rowBytes = width * bytes;
    const step = stride * tile.unit;
    const load = (element: number, v: number) => () => f.load("v128.load", from, element * step + 16 * v);
    const vectors = f.locals("v128", lanes);
    /** Copies `lanes` elements. */
    const copyGroup = () => {
      for (let v = 0; v < tile.vectors; v++) {
        vectors.forEach((vector, element) => f.set(vector, load(element, v)));
        transposed(f, vectors).forEach((push, lane) =>
          f.store("v128.store", to, push, (v * lanes + lane) * rowBytes)
        );
      }
    };
    const groups = Math.floor(size / lanes);
    const groupsOfBlock = width / lanes;
    const along = lanes * step;
    const copyGroups = (shape: number[]) =>
      tile.nest(f, shape, [
        { local: to, steps: [depth * rowBytes, 16].slice(-shape.length) },
        { local: from, steps: [groupsOfBlock * along, along].slice(-shape.length) },
      ], copyGroup);
    const blocks = Math.floor(groups / groupsOfBlock);
    if (blocks > 0) copyGroups([blocks, groupsOfBlock]);
    if (groups % groupsOfBlock > 0) copyGroups([groups % groupsOfBlock]);
    const store = bytes === 4 ? "v128.store32_lane" : "v128.store64_lane";
    for (let element = 0; element < size % lanes; element++) {
      for (let sample = 0; sample < tile.samples; sample++) {
        const [v, lane] = [Math.floor(sample / lanes), sample % lanes];
        f.laneMemory(store, lane, to, load(element, v), sample * rowBytes + element * bytes);
      }
    }
  });
}

/** gradient[i, j] += sum over k of a[k, i] b[k, j], in register tiles: (gradient, a, b). */
function productOfPanels(
  tile: Tile,
  { rows, stride, width, ...gradient }: WeightGradient,
  depth: number,
): FunctionBuilder {
  return tile.function(
    `product of panels ${rows} ${stride} ${gradient.depth} ${depth}`,
    ["address", "address", "address"],
    (f) => {
      const [totalAt, aAt, bAt] = f.params;
      const rowBytes = stride * tile.bytes;
      const [aBytes, bBytes] = [width.a, width.b].map((elements) => elements * tile.bytes);
      const tileVectors = width.b / tile.lanes;
      const sums = Array.from({ length: width.a }, () => f.locals("v128", tileVectors));
      const factors = f.locals("v128", tileVectors);
      const [weight, weights] = f.locals("v128", 2);
      const [row, column, aBlock, bBlock, target, a, b] = f.locals("address", 7);
      const turns = depth % 4 === 0 ? 4 : 2;

      const block = (count: number) => {
        const each = (act: (sum: Local, offset: number) => void) =>
          sums.slice(0, count).forEach((vectors, i) =>
            vectors.forEach((sum, v) => act(sum, i * rowBytes + 16 * v))
          );
        f.set(target, () => f.op("address.add", row, column));
        f.set(a, aBlock);
        f.set(b, bBlock);
        each((sum, offset) => f.set(sum, () => f.load("v128.load", target, offset)));
        tile.nest(f, [depth / turns], [
          { local: a, steps: [turns * aBytes] },
          { local: b, steps: [turns * bBytes] },
        ], () => {
          for (let turn = 0; turn < turns; turn++) {
            factors.forEach((vector, v) =>
              f.set(vector, () => f.load("v128.load", b, turn * bBytes + 16 * v))
            );
            for (let i = 0; i < count; i++) {
              setSplat(f, tile.bytes, weight, weights, a, turn * width.a + i, turns * width.a);
              sums[i].forEach((sum, v) =>
                f.set(sum, () => emitMultiplyAdd(f, tile.floats, weight, factors[v], sum))
              );
            }
          }
        });
        each((sum, offset) => f.store("v128.store", target, sum, offset));
      };
      const overColumns = (body: () => void) => {
        f.set(column, 0);
        f.set(bBlock, bAt);
        tile.nest(f, [stride / width.b], [
          { local: column, steps: [bBytes] },
          { local: bBlock, steps: [gradient.depth * bBytes] },
        ], body);
      };
      const overRows = (body: (count: number) => void) => {
        f.set(row, totalAt);
        f.set(aBlock, aAt);
        const pointers = [
          { local: row, steps: [width.a * rowBytes] },
          { local: aBlock, steps: [gradient.depth * aBytes] },
        ];
        const blocks = Math.floor(rows / width.a);
        if (blocks > 0) tile.nest(f, [blocks], pointers, () => body(width.a));
        if (rows % width.a > 0) body(rows % width.a);
      };
      // The shorter panel is in the inner loop, so that it stays in the first-level cache.
      if (rows <= stride) overColumns(() => overRows(block));
      else overRows((count) => overColumns(() => block(count)));
    },
  );
}
