/** Copying parts of matrices to where a tile reads them one after the other. */
import type { FunctionBuilder, ModuleBuilder, Opcode } from "../wasm.ts";
import { tileRows, tileVectors, type Vectors } from "./tile.ts";

/** Bytes of a packed row of the right matrix. */
export const panelBytes = 16 * tileVectors;

/** Copies k rows of at most a panel's width into a panel. Columns beyond the last repeat it. */
export function emitPackPanel(module: ModuleBuilder, { size, lanes, bits }: Vectors): FunctionBuilder {
  const f = module.addFunction("pack panel", ["address", "address", "i32", "address", "address", "i32"]);
  const [to, from, k, rowStride, columnStride, columns] = f.params;
  const width = tileVectors * lanes;
  f.if(() => f.op("address.eq", columnStride, size), () => {
    f.while(() => f.op("i32.gt_s", k, 0), () => {
      for (let i = 0; i < tileVectors; i++) {
        f.store("v128.store", to, () => f.load("v128.load", from, 16 * i), 16 * i);
      }
      f.increment(from, rowStride);
      f.increment(to, panelBytes);
      f.increment(k, -1);
    });
  }, () => {
    const pointers = f.locals("address", width);
    pointers.forEach((pointer, column) => {
      if (column === 0) return f.set(pointer, from);
      const stride = () =>
        f.op("select", columnStride, () => f.address(0), () => f.op("i32.gt_s", columns, column));
      f.set(pointer, () => f.op("address.add", pointers[column - 1], stride));
    });
    const vector = f.local("v128");
    f.while(() => f.op("i32.gt_s", k, 0), () => {
      for (let i = 0; i < tileVectors; i++) {
        f.set(vector, () => f.load(`v128.load${bits}_zero` as Opcode, pointers[i * lanes]));
        for (let lane = 1; lane < lanes; lane++) {
          f.set(
            vector,
            () => f.laneMemory(`v128.load${bits}_lane` as Opcode, lane, pointers[i * lanes + lane], vector),
          );
        }
        f.store("v128.store", to, vector, 16 * i);
      }
      for (const pointer of pointers) f.increment(pointer, rowStride);
      f.increment(to, panelBytes);
      f.increment(k, -1);
    });
  });
  return f;
}

/** Copies k steps of at most six rows of the left matrix, so that the rows lie next to each other. */
export function emitPackRows(module: ModuleBuilder, { size, bits }: Vectors): FunctionBuilder {
  const f = module.addFunction("pack rows", ["address", "address", "i32", "address", "address", "i32"]);
  const [to, from, k, rowStride, depthStride, rows] = f.params;
  const pointers = f.locals("address", tileRows);
  const type = `f${bits}` as "f32" | "f64";
  pointers.forEach((pointer, row) => {
    if (row === 0) return f.set(pointer, from);
    const stride = () => f.op("select", rowStride, () => f.address(0), () => f.op("i32.gt_s", rows, row));
    f.set(pointer, () => f.op("address.add", pointers[row - 1], stride));
  });
  f.while(() => f.op("i32.gt_s", k, 0), () => {
    pointers.forEach((pointer, row) =>
      f.store(`${type}.store`, to, () => f.load(`${type}.load`, pointer), row * size)
    );
    for (const pointer of pointers) f.increment(pointer, depthStride);
    f.increment(to, tileRows * size);
    f.increment(k, -1);
  });
  return f;
}
