/** The microkernel: a tile of the result in registers. */
import { emitMultiplyAdd } from "../assembler/multiply_add.ts";
import { setSplat } from "../assembler/splat.ts";
import type { Registers } from "../runtime/wasm_memory.ts";
import type { FunctionBuilder, Local, ModuleBuilder, Opcode } from "../assembler/wasm.ts";
import { setPointers } from "./pointers.ts";

/** Rows of a tile. */
export const tileRows = 6;
/** Vectors of a tile: they fill two registers. */
export const tileVectors = ({ vectorsPerRegister }: Registers): number => 2 * vectorsPerRegister;
/**
 * Rows of a group of a packed left matrix, and of its tile: the sums, the vectors of the right matrix, a
 * broadcast element of the left matrix and the vector that contains it use fourteen registers.
 */
export const groupRows = 5;

/** Parts of the code that depend on the type. */
export interface Vectors {
  readonly size: 4 | 8;
  readonly lanes: 2 | 4;
  readonly bits: 32 | 64;
  readonly name: "f32x4" | "f64x2";
}

/**
 * Computes a tile of the result from k terms. Parameters: a, b, c, k, the stride of a, the strides of b's
 * rows and c's rows, the number of columns to store, and whether to add to c.
 *
 * @param byRows Whether the elements of `a` are adjacent along the sum and its rows a stride apart. Otherwise
 * the rows are adjacent.
 */
export function emitTile(
  module: ModuleBuilder,
  vectors: Vectors,
  rows: number,
  width: number,
  byRows: boolean,
): FunctionBuilder {
  const { size, bits, name } = vectors;
  const f = module.addFunction(
    `tile ${rows} x ${width}${byRows ? " by rows" : ""}`,
    ["address", "address", "address", "i32", "address", "address", "address", "i32", "i32"],
  );
  const [a, b, c, k, aStride, bStride, cStride, columns, accumulates] = f.params;
  const sums = Array.from({ length: rows }, () => f.locals("v128", width));
  const right = f.locals("v128", width);
  const left = f.local("v128");
  const step = (address: (row: number) => [Local, number]) => {
    right.forEach((vector, i) => f.set(vector, () => f.load("v128.load", b, 16 * i)));
    f.increment(b, bStride);
    for (let row = 0; row < rows; row++) {
      const [pointer, offset] = address(row);
      f.set(left, () => f.load(`v128.load${bits}_splat` as Opcode, pointer, offset));
      right.forEach((vector, i) =>
        f.set(sums[row][i], () => emitMultiplyAdd(f, name, left, vector, sums[row][i]))
      );
    }
  };
  // A pointer per row, because V8 checks addresses with equal offsets only once.
  const pointers = f.locals("address", rows);
  setPointers(f, pointers, a, byRows ? aStride : () => f.address(size));
  const steps = (count: number) => {
    for (let i = 0; i < count; i++) {
      step((row) => [pointers[row], byRows ? i * size : 0]);
      if (!byRows) { for (const pointer of pointers) f.increment(pointer, aStride); }
    }
    if (byRows) { for (const pointer of pointers) f.increment(pointer, count * size); }
    f.increment(k, -count);
  };
  emitSteps(f, k, 4, steps);
  emitResult(f, vectors, sums, { c, cStride, columns, accumulates });
  return f;
}

/**
 * Computes a tile of the result from k terms of packed groups and panels, whose elements are in the order of
 * the reads. Parameters: a, b, c, k, the stride of c's rows, the number of columns to store, and whether to
 * add to c.
 */
export function emitGroupTile(module: ModuleBuilder, vectors: Vectors, rows: number): FunctionBuilder {
  const { size, name } = vectors;
  const f = module.addFunction(
    `tile of ${rows} rows of a group`,
    ["address", "address", "address", "i32", "address", "i32", "i32"],
  );
  const [a, b, c, k, cStride, columns, accumulates] = f.params;
  const width = tileVectors(module);
  const sums = Array.from({ length: rows }, () => f.locals("v128", width));
  const right = f.locals("v128", width);
  const [left, several] = f.locals("v128", 2);
  const steps = (count: number) => {
    for (let i = 0; i < count; i++) {
      right.forEach((vector, v) => f.set(vector, () => f.load("v128.load", b, 16 * (width * i + v))));
      sums.forEach((row, r) => {
        const inOrder = rows === groupRows ? groupRows * count : 0;
        setSplat(f, size, left, several, a, groupRows * i + r, inOrder);
        row.forEach((sum, v) => f.set(sum, () => emitMultiplyAdd(f, name, left, right[v], sum)));
      });
    }
    f.increment(a, count * groupRows * size);
    f.increment(b, count * width * 16);
    f.increment(k, -count);
  };
  emitSteps(f, k, 8, steps);
  emitResult(f, vectors, sums, { c, cStride, columns, accumulates });
  return f;
}

/**
 * Loops over k terms, several at a time and then one by one. `steps` emits the code for a number of terms,
 * and subtracts it from k.
 */
function emitSteps(f: FunctionBuilder, k: Local, together: number, steps: (count: number) => void): void {
  f.while(() => f.op("i32.ge_s", k, together), () => steps(together));
  f.while(() => f.op("i32.gt_s", k, 0), () => steps(1));
}

/** Stores the sums of a tile to a number of columns, or adds them to the result. */
function emitResult(
  f: FunctionBuilder,
  { size, lanes, bits, name }: Vectors,
  sums: readonly (readonly Local[])[],
  { c, cStride, columns, accumulates }: Record<"c" | "cStride" | "columns" | "accumulates", Local>,
): void {
  const width = sums[0].length;
  f.if(accumulates, () => {
    const row = f.local("address");
    f.set(row, c);
    for (const rowSums of sums) {
      rowSums.forEach((sum, i) =>
        f.set(sum, () => f.op(`${name}.add`, () => f.load("v128.load", row, 16 * i), sum))
      );
      f.increment(row, cStride);
    }
  });
  f.if(() => f.op("i32.ge_s", columns, width * lanes), () => {
    for (const rowSums of sums) {
      rowSums.forEach((sum, i) => f.store("v128.store", c, sum, 16 * i));
      f.increment(c, cStride);
    }
  }, () => {
    for (const rowSums of sums) {
      for (let column = 0; column < width * lanes; column++) {
        const store = () =>
          f.laneMemory(
            `v128.store${bits}_lane` as Opcode,
            column % lanes,
            c,
            rowSums[Math.floor(column / lanes)],
            column * size,
          );
        if (column === 0) store();
        else f.if(() => f.op("i32.gt_s", columns, column), store);
      }
      f.increment(c, cStride);
    }
  });
}

/** Calls the function for a number of rows, from one to the number of functions. */
export function emitCallTile(
  f: FunctionBuilder,
  tiles: readonly FunctionBuilder[],
  rows: Local,
  args: readonly Local[],
): void {
  const choose = (count: number) => {
    if (count === 1) return f.call(tiles[0], ...args);
    f.if(
      () => f.op("i32.ge_s", rows, count),
      () => f.call(tiles[count - 1], ...args),
      () => choose(count - 1),
    );
  };
  choose(tiles.length);
}
