/** Copies parts of matrices, in the order of a tile's reads. */
import type { FunctionBuilder, ModuleBuilder, Opcode } from "../assembler/wasm.ts";
import type { Registers } from "../runtime/wasm_memory.ts";
import { setPointers } from "./pointers.ts";
import { groupRows, tileVectors, type Vectors } from "./tile.ts";

/** Bytes of a packed row of the right matrix. */
export const panelBytes = (registers: Registers): number => 16 * tileVectors(registers);

/**
 * Padding between panels: distances that are not powers of two, so that rows of several panels are in
 * different sets of a cache.
 */
export const panelPadding = 64;

/** Copies k rows of the right matrix to panels. Columns beyond the last repeat it. */
export function emitPackPanels(module: ModuleBuilder, { size, lanes, bits }: Vectors): FunctionBuilder {
  const f = module.addFunction(
    "pack panels",
    ["address", "address", "i32", "address", "address", "i32", "address"],
  );
  const [to, from, k, rowStride, columnStride, columns, panelStride] = f.params;
  const vectors = tileVectors(module);
  const width = vectors * lanes;
  const [fromAt, toAt] = f.locals("address", 2);
  const left = f.local("i32");
  const forPanels = (body: () => void) => {
    f.set(left, columns);
    f.set(fromAt, from);
    f.set(toAt, to);
    f.doWhile(() => {
      body();
      f.increment(toAt, panelStride);
      f.increment(left, -width);
    }, () => f.op("i32.gt_s", left, 0));
  };
  f.if(() => f.op("address.eq", columnStride, size), () => {
    f.while(() => f.op("i32.gt_s", k, 0), () => {
      forPanels(() => {
        const row = Array.from({ length: vectors }, (_, i) => () => f.load("v128.load", fromAt, 16 * i));
        f.storeVectors(toAt, row);
        f.increment(fromAt, panelBytes(module));
      });
      f.increment(from, rowStride);
      f.increment(to, panelBytes(module));
      f.increment(k, -1);
    });
  }, () => {
    const pointers = f.locals("address", width);
    const vector = f.local("v128");
    const rows = f.local("i32");
    forPanels(() => {
      setPointers(f, pointers, fromAt, columnStride, left);
      f.set(to, toAt);
      f.set(rows, k);
      f.while(() => f.op("i32.gt_s", rows, 0), () => {
        for (let i = 0; i < vectors; i++) {
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
        f.increment(to, panelBytes(module));
        f.increment(rows, -1);
      });
      f.increment(fromAt, () => f.op("address.mul", columnStride, width));
    });
  });
  return f;
}

/** Copies k terms of up to a tile's rows of the left matrix, so that the rows are adjacent. */
export function emitPackRows(
  module: ModuleBuilder,
  { size, bits }: Vectors,
  count: number,
): FunctionBuilder {
  const f = module.addFunction(
    `pack ${count} rows`,
    ["address", "address", "i32", "address", "address", "i32"],
  );
  const [to, from, k, rowStride, depthStride, rows] = f.params;
  const pointers = f.locals("address", count);
  const type = `f${bits}` as "f32" | "f64";
  setPointers(f, pointers, from, rowStride, rows);
  f.while(() => f.op("i32.gt_s", k, 0), () => {
    pointers.forEach((pointer, row) =>
      f.store(`${type}.store`, to, () => f.load(`${type}.load`, pointer), row * size)
    );
    for (const pointer of pointers) f.increment(pointer, depthStride);
    f.increment(to, count * size);
    f.increment(k, -1);
  });
  return f;
}

/** Copies k terms of rows of the left matrix to groups. */
export function emitPackLeft(module: ModuleBuilder, vectors: Vectors): FunctionBuilder {
  const packRows = emitPackRows(module, vectors, groupRows);
  const f = module.addFunction(
    "pack left",
    ["address", "address", "i32", "address", "address", "i32", "address"],
  );
  const [to, from, k, rowStride, depthStride, rows, toStride] = f.params;
  f.while(() => f.op("i32.gt_s", rows, 0), () => {
    f.call(packRows, to, from, k, rowStride, depthStride, rows);
    f.increment(from, () => f.op("address.mul", rowStride, groupRows));
    f.increment(to, () => f.op("address.mul", toStride, groupRows));
    f.increment(rows, -groupRows);
  });
  return f;
}
