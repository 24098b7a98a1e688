/** Products with few rows or columns, if both matrices are contiguous along the sum. */
import { addTask } from "../runtime/executable.ts";
import { emitMultiplyAdd } from "../assembler/multiply_add.ts";
import type { Registers } from "../runtime/wasm_memory.ts";
import type { FunctionBuilder, Local, ModuleBuilder, Opcode } from "../assembler/wasm.ts";
import { reader, word } from "./descriptor.ts";
import { setPointers } from "./pointers.ts";
import type { Vectors } from "./tile.ts";
import { emitUnits } from "./units.ts";

/** Rows and columns of a tile. Their sums fill the registers. */
const [tileRows, tileColumns] = [2, 6];
/** Bytes of a sum, and of the sums of a tile, per task. */
const sumBytes = ({ vectorsPerRegister }: Registers) => 16 * vectorsPerRegister;
export const dotBytes = (registers: Registers): number => tileRows * tileColumns * sumBytes(registers);

/**
 * Scalar products of one or two rows with six columns, with lanes along the sum. Parameters: a, b, c, the
 * number of terms, the strides of a's rows, b's columns and c's rows, the number of columns, and an address
 * for the sums.
 */
function emitTile(module: ModuleBuilder, vectors: Vectors, rows: number): FunctionBuilder {
  const { size, lanes, bits, name } = vectors;
  const { vectorsPerRegister } = module;
  const f = module.addFunction(
    `dots ${rows}`,
    ["address", "address", "address", "i32", "address", "address", "address", "i32", "address"],
  );
  const [a, b, c, depth, aStride, bStride, cStride, columns, place] = f.params;
  const lefts = f.locals("address", rows);
  const rights = f.locals("address", tileColumns);
  const register = () => f.locals("v128", vectorsPerRegister);
  const sums = Array.from({ length: rows }, () => Array.from({ length: tileColumns }, register));
  const x = Array.from({ length: rows }, register);
  const y = register();
  const step = (load: Opcode, width: number, offset: number) => {
    const loadTo = (to: readonly Local[], pointer: Local) => {
      for (let v = 0; v < width; v++) f.set(to[v], () => f.load(load, pointer, offset + 16 * v));
    };
    x.forEach((to, row) => loadTo(to, lefts[row]));
    rights.forEach((pointer, column) => {
      loadTo(y, pointer);
      sums.forEach((row, r) => {
        for (let v = 0; v < width; v++) {
          const sum = row[column][v];
          f.set(sum, () => emitMultiplyAdd(f, name, x[r][v], y[v], sum));
        }
      });
    });
  };
  const steps = (count: number, width: number, elements: number, load: Opcode) =>
    f.while(() => f.op("i32.ge_s", depth, count * elements), () => {
      for (let i = 0; i < count; i++) step(load, width, i * elements * size);
      for (const pointer of [...lefts, ...rights]) f.increment(pointer, count * elements * size);
      f.increment(depth, -count * elements);
    });
  setPointers(f, lefts, a, aStride);
  setPointers(f, rights, b, bStride, columns);
  steps(4 / vectorsPerRegister, vectorsPerRegister, vectorsPerRegister * lanes, "v128.load");
  if (vectorsPerRegister > 1) {
    // V8 combines adjacent stores. Single vectors follow.
    const all = sums.flat();
    all.forEach((vectors, i) => f.storeVectors(place, vectors, i * sumBytes(module)));
    all.forEach(([sum], i) => {
      const part = (v: number) => () => f.load("v128.load", place, i * sumBytes(module) + 16 * v);
      f.set(sum, () => f.op(`${name}.add`, part(0), part(1)));
    });
  }
  steps(1, 1, lanes, "v128.load");
  steps(1, 1, 1, `v128.load${bits}_zero`);
  for (const row of sums) {
    row.forEach(([sum], i) => {
      const store = () => {
        f.set(sum, () => f.op(`${name}.add`, sum, () => f.shuffle64([1, 1], sum, sum)));
        if (lanes === 4) {
          f.set(sum, () => f.op(`${name}.add`, sum, () => f.shuffle32([1, 1, 1, 1], sum, sum)));
        }
        f.laneMemory(`v128.store${bits}_lane`, 0, c, sum, i * size);
      };
      if (i === 0) store();
      else f.if(() => f.op("i32.gt_s", columns, i), store);
    });
    f.increment(c, cStride);
  }
  return f;
}

/** Two rows and six columns at a time. */
export function emitDots(module: ModuleBuilder, vectors: Vectors): void {
  const { size } = vectors;
  const [one, two] = [1, tileRows].map((rows) => emitTile(module, vectors, rows));
  const start = addTask(module, "dots");
  const { f, task } = start;
  const read = reader(start);
  const k = read("k");
  const [aRowStride, bColumnStride, cRowStride] = [
    read("aRowStride"),
    read("bColumnStride"),
    read("cRowStride"),
  ];
  const place = start.address(word.scratch);
  const [left, remaining] = f.locals("i32", 2);
  const [row, tile] = f.locals("address", 2);
  f.increment(place, () => f.op("address.mul", task, dotBytes(module)));
  emitUnits(start, vectors, read, ({ a, b, c, rows, columns }) => {
    f.set(remaining, columns);
    f.while(() => f.op("i32.gt_s", remaining, 0), () => {
      const args = [row, b, tile, k, aRowStride, bColumnStride, cRowStride, remaining, place];
      f.set(left, rows);
      f.set(row, a);
      f.set(tile, c);
      f.while(() => f.op("i32.gt_s", left, 0), () => {
        f.if(
          () => f.op("i32.ge_s", left, tileRows),
          () => f.call(two, ...args),
          () => f.call(one, ...args),
        );
        f.increment(row, () => f.op("address.mul", aRowStride, tileRows));
        f.increment(tile, () => f.op("address.mul", cRowStride, tileRows));
        f.increment(left, -tileRows);
      });
      f.increment(b, () => f.op("address.mul", bColumnStride, tileColumns));
      f.increment(c, tileColumns * size);
      f.increment(remaining, -tileColumns);
    });
  });
}
