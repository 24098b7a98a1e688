/** Products with few rows and a large right matrix whose rows are contiguous: each of its rows is read once, in order. */
import { addTask } from "../executable.ts";
import type { FunctionBuilder, ModuleBuilder, Opcode } from "../wasm.ts";
import { reader, word } from "./descriptor.ts";
import { emitMultiplyAdd, tileRows, tileVectors, type Vectors } from "./tile.ts";
import { emitUnits } from "./units.ts";

/** Steps along the sum that are taken at once: so many rows of the right matrix, two vectors wide, stay in registers. */
const depthAtOnce = 5;

/** Bytes of a row of the left matrix, copied for so many steps. */
export const updateBytes = (size: number): number => tileRows * size;

/**
 * Adds to rows of the result what one or five rows of the right matrix contribute. Parameters: a, whose rows are six
 * elements apart, b, c, the strides of the rows of b and of c, the number of rows of c, and that of columns.
 *
 * @param adds Whether to add, or to write.
 */
function emitUpdate(module: ModuleBuilder, vectors: Vectors, depth: number, adds: boolean): FunctionBuilder {
  const { size, lanes, bits } = vectors;
  const f = module.addFunction(
    `update ${depth}${adds ? "" : " first"}`,
    ["address", "address", "address", "address", "address", "i32", "i32"],
  );
  const [a, b, c, bStride, cStride, rows, columns] = f.params;
  const right = Array.from({ length: depth }, () => f.locals("v128", tileVectors));
  const sums = f.locals("v128", tileVectors);
  const [weights, weight] = f.locals("v128", 2);
  const left = f.local("i32");
  const [aAt, bAt, cAt] = f.locals("address", 3);
  const pass = (width: number, elements: number) => {
    const isVector = elements > 1;
    const load = isVector ? "v128.load" : `v128.load${bits}_zero` as Opcode;
    f.while(() => f.op("i32.ge_s", columns, elements), () => {
      f.set(bAt, b);
      right.forEach((row, i) => {
        if (i > 0) f.increment(bAt, bStride);
        for (let v = 0; v < width; v++) f.set(row[v], () => f.load(load, bAt, 16 * v));
      });
      f.set(aAt, a);
      f.set(cAt, c);
      f.set(left, rows);
      f.doWhile(() => {
        for (let v = 0; v < width; v++) {
          f.set(sums[v], () => adds ? f.load(load, cAt, 16 * v) : f.i32x4(0));
        }
        right.forEach((row, i) => {
          const lane = i % lanes;
          if (i - lane + lanes > depth) {
            f.set(weight, () => f.load(`v128.load${bits}_splat` as Opcode, aAt, i * size));
          } else {
            // A load whose address is checked takes longer than a shuffle.
            if (lane === 0) f.set(weights, () => f.load("v128.load", aAt, i * size));
            f.set(
              weight,
              () =>
                lanes === 4
                  ? f.shuffle32([lane, lane, lane, lane], weights, weights)
                  : f.shuffle64([lane, lane], weights, weights),
            );
          }
          for (let v = 0; v < width; v++) {
            f.set(sums[v], () => emitMultiplyAdd(f, vectors, weight, row[v], sums[v]));
          }
        });
        for (let v = 0; v < width; v++) {
          if (isVector) f.store("v128.store", cAt, sums[v], 16 * v);
          else f.laneMemory(`v128.store${bits}_lane` as Opcode, 0, cAt, sums[v]);
        }
        f.increment(aAt, updateBytes(size));
        f.increment(cAt, cStride);
        f.increment(left, -1);
      }, left);
      f.increment(b, elements * size);
      f.increment(c, elements * size);
      f.increment(columns, -elements);
    });
  };
  pass(tileVectors, tileVectors * lanes);
  pass(1, lanes);
  pass(1, 1);
  return f;
}

/** Five rows of the right matrix at a time are multiplied by all rows of the left one. */
export function emitUpdates(module: ModuleBuilder, vectors: Vectors, packRows: FunctionBuilder): void {
  const { size } = vectors;
  const [many, one] = [depthAtOnce, 1].map((depth) =>
    [false, true].map((adds) => emitUpdate(module, vectors, depth, adds))
  );
  const start = addTask(module, "updates");
  const { f, task, descriptor } = start;
  const read = reader(f, descriptor);
  const k = read("k");
  const [aRowStride, aDepthStride] = [read("aRowStride"), read("aDepthStride")];
  const [bDepthStride, cRowStride] = [read("bDepthStride"), read("cRowStride")];
  const [done, depth] = f.locals("i32", 2);
  const [packed, weights] = f.locals("address", 2);
  const scratchPerTask = read("scratchPerTask");
  f.set(packed, () => f.loadAddress(descriptor, 4 * word.scratch));
  f.increment(packed, () => f.op("address.mul", task, scratchPerTask));
  emitUnits(start, vectors, read, ({ a, b, c, rows, columns }) => {
    const update = ([first, next]: FunctionBuilder[]) => {
      const args = [weights, b, c, bDepthStride, cRowStride, rows, columns];
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
  });
}
