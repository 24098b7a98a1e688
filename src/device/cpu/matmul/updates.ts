/**
 * Products of few rows with a large right matrix whose rows are contiguous. Each of its rows is read once, in
 * order.
 */
import { addTask } from "../runtime/executable.ts";
import { emitMultiplyAdd } from "../assembler/multiply_add.ts";
import type { FunctionBuilder, Local, ModuleBuilder, Opcode } from "../assembler/wasm.ts";
import type { Registers } from "../runtime/wasm_memory.ts";
import { reader, word } from "./descriptor.ts";
import { emitPackRows } from "./packing.ts";
import { tileRows, tileVectors, type Vectors } from "./tile.ts";
import { emitUnits } from "./units.ts";

/** Rows of the right matrix, with the width of a tile, that are kept in registers at a time. */
const depthAtOnce = 5;

/** Rows of the result that are updated at a time. */
const rowsAtOnce = 5;

/** Bytes of a row of the left matrix for the terms of one step. */
const weightBytes = (size: number): number => tileRows * size;
/** Bytes of a row of a strip. */
const stripBytes = (registers: Registers) => 16 * tileVectors(registers);
/** Maximum number of narrower strips at the end: of one vector, and of one element. */
const narrowStrips = (registers: Registers) => tileVectors(registers) - 1 + 3;

/**
 * Bytes per task, in complete cache lines: elements of the left matrix for some terms, and the sums of all
 * strips.
 */
export function updateBytes(registers: Registers, size: number, rows: number, columns: number): number {
  const bytes = stripBytes(registers);
  const strips = Math.ceil(columns * size / bytes) + narrowStrips(registers);
  return 64 * Math.ceil(rows * (weightBytes(size) + strips * bytes) / 64);
}

/** Strips with the width of a tile, of one vector, and of one element, until no columns remain. */
function emitStrips(
  tileWidth: number,
  f: FunctionBuilder,
  { lanes, bits }: Vectors,
  columns: Local,
  strip: (width: number, elements: number, load: Opcode) => void,
): void {
  for (const [width, elements] of [[tileWidth, tileWidth * lanes], [1, lanes], [1, 1]]) {
    const load = elements > 1 ? "v128.load" : `v128.load${bits}_zero` as Opcode;
    f.while(() => f.op("i32.ge_s", columns, elements), () => {
      strip(width, elements, load);
      f.increment(columns, -elements);
    });
  }
}

/** Copies the sums of strips to the rows of the result. */
function emitUnpack(module: ModuleBuilder, vectors: Vectors): FunctionBuilder {
  const { size, bits } = vectors;
  const f = module.addFunction("unpack sums", ["address", "address", "address", "i32", "i32"]);
  const [from, c, cStride, rows, columns] = f.params;
  const [vector] = f.locals("v128", 1);
  const left = f.local("i32");
  const cAt = f.local("address");
  emitStrips(tileVectors(module), f, vectors, columns, (width, elements, load) => {
    f.set(cAt, c);
    f.set(left, rows);
    f.doWhile(() => {
      for (let v = 0; v < width; v++) {
        f.set(vector, () => f.load(load, from, 16 * v));
        if (elements > 1) f.store("v128.store", cAt, vector, 16 * v);
        else f.laneMemory(`v128.store${bits}_lane` as Opcode, 0, cAt, vector);
      }
      f.increment(from, stripBytes(module));
      f.increment(cAt, cStride);
      f.increment(left, -1);
    }, left);
    f.increment(c, elements * size);
  });
  return f;
}

/**
 * Adds the contribution of one or five rows of the right matrix to sums. The sums of a strip are adjacent,
 * because the rows of the result are far apart. Parameters: a, whose rows are six elements apart, b, the
 * sums, the stride of b's rows, the number of rows of the result, and the number of columns.
 *
 * @param adds Whether to add or to overwrite.
 */
function emitUpdate(module: ModuleBuilder, vectors: Vectors, depth: number, adds: boolean): FunctionBuilder {
  const { size, lanes, bits, name } = vectors;
  const f = module.addFunction(
    `update ${depth}${adds ? "" : " first"}`,
    ["address", "address", "address", "address", "i32", "i32"],
  );
  const [a, b, c, bStride, rows, columns] = f.params;
  const right = Array.from({ length: depth }, () => f.locals("v128", tileVectors(module)));
  const sums = f.locals("v128", tileVectors(module));
  const [weights, weight] = f.locals("v128", 2);
  const left = f.local("i32");
  const [aAt, bAt] = f.locals("address", 2);
  emitStrips(tileVectors(module), f, vectors, columns, (width, elements, load) => {
    f.set(bAt, b);
    right.forEach((row, i) => {
      if (i > 0) f.increment(bAt, bStride);
      for (let v = 0; v < width; v++) f.set(row[v], () => f.load(load, bAt, 16 * v));
    });
    f.set(aAt, a);
    f.set(left, rows);
    const addToRow = (position: number) => {
      const [aOffset, cOffset] = [position * weightBytes(size), position * stripBytes(module)];
      for (let v = 0; v < width; v++) {
        f.set(sums[v], () => adds ? f.load("v128.load", c, cOffset + 16 * v) : f.i32x4(0));
      }
      right.forEach((row, i) => {
        const lane = i % lanes;
        if (i - lane + lanes > depth) {
          f.set(weight, () => f.load(`v128.load${bits}_splat` as Opcode, aAt, aOffset + i * size));
        } else {
          // A load with an address check takes longer than a shuffle.
          if (lane === 0) f.set(weights, () => f.load("v128.load", aAt, aOffset + i * size));
          f.set(
            weight,
            () =>
              lanes === 4
                ? f.shuffle32([lane, lane, lane, lane], weights, weights)
                : f.shuffle64([lane, lane], weights, weights),
          );
        }
        for (let v = 0; v < width; v++) {
          f.set(sums[v], () => emitMultiplyAdd(f, name, weight, row[v], sums[v]));
        }
      });
      for (let v = 0; v < width; v++) f.store("v128.store", c, sums[v], cOffset + 16 * v);
    };
    const addToRows = (count: number) => {
      for (let position = 0; position < count; position++) addToRow(position);
      f.increment(aAt, count * weightBytes(size));
      f.increment(c, count * stripBytes(module));
      f.increment(left, -count);
    };
    f.while(() => f.op("i32.ge_s", left, rowsAtOnce), () => addToRows(rowsAtOnce));
    f.while(left, () => addToRows(1));
    f.increment(b, elements * size);
  });
  return f;
}

/** Multiplies five rows of the right matrix at a time by all rows of the left matrix. */
export function emitUpdates(module: ModuleBuilder, vectors: Vectors): void {
  const packRows = emitPackRows(module, vectors, tileRows);
  const { size } = vectors;
  const [many, one] = [depthAtOnce, 1].map((depth) =>
    [false, true].map((adds) => emitUpdate(module, vectors, depth, adds))
  );
  const unpack = emitUnpack(module, vectors);
  const start = addTask(module, "updates");
  const { f, task } = start;
  const read = reader(start);
  const k = read("k");
  const [aRowStride, aDepthStride] = [read("aRowStride"), read("aDepthStride")];
  const [bDepthStride, cRowStride] = [read("bDepthStride"), read("cRowStride")];
  const [done, depth] = f.locals("i32", 2);
  const [weights, sums] = f.locals("address", 2);
  const [packed, scratchPerTask] = [start.address(word.scratch), read("scratchPerTask")];
  f.increment(packed, () => f.op("address.mul", task, scratchPerTask));
  emitUnits(start, vectors, read, ({ a, b, c, rows, columns }) => {
    f.set(sums, () => f.op("address.add", packed, () => f.op("address.mul", rows, weightBytes(size))));
    const update = ([first, next]: FunctionBuilder[]) => {
      const args = [weights, b, sums, bDepthStride, rows, columns];
      f.if(done, () => f.call(next, ...args), () => f.call(first, ...args));
      f.increment(b, bDepthStride);
      f.increment(done, 1);
    };
    f.set(done, 0);
    f.while(() => f.op("i32.lt_u", done, k), () => {
      f.set(depth, () => f.op("i32.sub", k, done));
      f.set(depth, () => f.op("select", depth, depthAtOnce, () => f.op("i32.lt_s", depth, depthAtOnce)));
      f.call(packRows, packed, a, rows, aDepthStride, aRowStride, depth);
      f.set(weights, packed);
      f.if(() => f.op("i32.eq", depth, depthAtOnce), () => {
        update(many);
        f.increment(b, () => f.op("address.mul", bDepthStride, depthAtOnce - 1));
        f.increment(done, depthAtOnce - 1);
      }, () => {
        f.while(depth, () => {
          update(one);
          f.increment(weights, size);
          f.increment(depth, -1);
        });
      });
      f.increment(a, () => f.op("address.mul", aDepthStride, depthAtOnce));
    });
    f.call(unpack, sums, c, cRowStride, rows, columns);
  });
}
