/** Products with few rows or columns, of matrices that both lie along the sum. */
import { addTask } from "../executable.ts";
import { emitMultiplyAdd } from "../multiply_add.ts";
import type { FunctionBuilder, ModuleBuilder, Opcode } from "../wasm.ts";
import { reader } from "./descriptor.ts";
import { setPointers } from "./pointers.ts";
import type { Vectors } from "./tile.ts";
import { emitUnits } from "./units.ts";

/** Rows and columns of a tile: their scalar products fill the registers. */
const [tileRows, tileColumns] = [2, 6];

/**
 * The scalar products of one or two rows with six columns, with the lanes along the sum. Parameters: a, b, c, the number
 * of terms, the strides of a's rows, b's columns and c's rows, and how many columns there are.
 */
function emitTile(module: ModuleBuilder, vectors: Vectors, rows: number): FunctionBuilder {
  const { size, lanes, bits, name } = vectors;
  const f = module.addFunction(
    `dots ${rows}`,
    ["address", "address", "address", "i32", "address", "address", "address", "i32"],
  );
  const [a, b, c, depth, aStride, bStride, cStride, columns] = f.params;
  const lefts = f.locals("address", rows);
  const rights = f.locals("address", tileColumns);
  const sums = Array.from({ length: rows }, () => f.locals("v128", tileColumns));
  const x = f.locals("v128", rows);
  const y = f.local("v128");
  const step = (load: Opcode, offset: number) => {
    x.forEach((vector, row) => f.set(vector, () => f.load(load, lefts[row], offset)));
    rights.forEach((pointer, i) => {
      f.set(y, () => f.load(load, pointer, offset));
      sums.forEach((row, r) => f.set(row[i], () => emitMultiplyAdd(f, name, x[r], y, row[i])));
    });
  };
  const steps = (count: number, elements: number, load: Opcode) =>
    f.while(() => f.op("i32.ge_s", depth, count * elements), () => {
      for (let i = 0; i < count; i++) step(load, i * elements * size);
      for (const pointer of [...lefts, ...rights]) f.increment(pointer, count * elements * size);
      f.increment(depth, -count * elements);
    });
  setPointers(f, lefts, a, aStride);
  setPointers(f, rights, b, bStride, columns);
  steps(4, lanes, "v128.load");
  steps(1, lanes, "v128.load");
  steps(1, 1, `v128.load${bits}_zero`);
  for (const row of sums) {
    row.forEach((sum, i) => {
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
  const { f } = start;
  const read = reader(start);
  const k = read("k");
  const [aRowStride, bColumnStride, cRowStride] = [
    read("aRowStride"),
    read("bColumnStride"),
    read("cRowStride"),
  ];
  const [left, remaining] = f.locals("i32", 2);
  const [row, tile] = f.locals("address", 2);
  emitUnits(start, vectors, read, ({ a, b, c, rows, columns }) => {
    f.set(remaining, columns);
    f.while(() => f.op("i32.gt_s", remaining, 0), () => {
      const args = [row, b, tile, k, aRowStride, bColumnStride, cRowStride, remaining];
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
