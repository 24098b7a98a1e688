/** Products with few rows, of matrices that both lie along the sum. */
import { addTask } from "../program.ts";
import type { ModuleBuilder, Opcode } from "../wasm.ts";
import { reader } from "./descriptor.ts";
import { emitMultiplyAdd, tileRows, type Vectors } from "./tile.ts";
import { emitUnits } from "./units.ts";

/** Row by row, six columns at a time, with the lanes along the sum. */
export function emitDots(module: ModuleBuilder, vectors: Vectors): void {
  const { size, lanes, bits, name } = vectors;
  const start = addTask(module, "dots");
  const { f, descriptor } = start;
  const read = reader(f, descriptor);
  const [k, aRowStride, bColumnStride, cRowStride] = [
    read("k"),
    read("aRowStride"),
    read("bColumnStride"),
    read("cRowStride"),
  ];
  const [left, remaining, depth] = f.locals("i32", 3);
  const [aRow, cRow, cTile, row, column] = f.locals("address", 5);
  const pointers = f.locals("address", tileRows);
  const sums = f.locals("v128", tileRows);
  const [x, y] = f.locals("v128", 2);
  const steps = (elements: number, load: Opcode) => {
    f.set(x, () => f.load(load, row));
    sums.forEach((sum, i) => {
      f.set(y, () => f.load(load, pointers[i]));
      f.set(sum, () => emitMultiplyAdd(f, vectors, x, y, sum));
    });
    for (const pointer of [row, ...pointers]) f.increment(pointer, elements * size);
    f.increment(depth, -elements);
  };
  emitUnits(start, vectors, read, ({ a, b, c, rows, columns }) => {
    f.set(left, rows);
    f.set(aRow, a);
    f.set(cRow, c);
    f.while(left, () => {
      f.set(remaining, columns);
      f.set(column, b);
      f.set(cTile, cRow);
      f.while(() => f.op("i32.gt_s", remaining, 0), () => {
        f.set(row, aRow);
        f.set(depth, k);
        pointers.forEach((pointer, i) => {
          if (i === 0) return f.set(pointer, column);
          // Columns beyond the last repeat it.
          const stride = () =>
            f.op("select", bColumnStride, () => f.address(0), () => f.op("i32.gt_s", remaining, i));
          f.set(pointer, () => f.op("address.add", pointers[i - 1], stride));
        });
        for (const sum of sums) f.set(sum, () => f.i32x4(0));
        f.while(() => f.op("i32.ge_s", depth, lanes), () => steps(lanes, "v128.load"));
        f.while(() => f.op("i32.gt_s", depth, 0), () => steps(1, `v128.load${bits}_zero`));
        sums.forEach((sum, i) => {
          const store = () => {
            if (lanes === 4) {
              f.set(sum, () => f.op(`${name}.add`, sum, () => f.shuffle64([1, 1], sum, sum)));
              f.set(sum, () => f.op(`${name}.add`, sum, () => f.shuffle32([1, 1, 1, 1], sum, sum)));
            } else f.set(sum, () => f.op(`${name}.add`, sum, () => f.shuffle64([1, 1], sum, sum)));
            f.laneMemory(`v128.store${bits}_lane`, 0, cTile, sum, i * size);
          };
          if (i === 0) store();
          else f.if(() => f.op("i32.gt_s", remaining, i), store);
        });
        f.increment(cTile, tileRows * size);
        f.increment(column, () => f.op("address.mul", bColumnStride, tileRows));
        f.increment(remaining, -tileRows);
      });
      f.increment(aRow, aRowStride);
      f.increment(cRow, cRowStride);
      f.increment(left, -1);
    });
  });
}
