/**
 * Matrix products. A microkernel keeps a tile of six rows by two vectors of the result in registers (twelve sums, two
 * vectors of the right matrix and one broadcast element of the left one fill the fifteen registers there are) and runs
 * along the summed axis. It reads small matrices where they lie. Of large ones, and of those whose rows are not
 * contiguous, a panel of the right matrix as wide as the tile is copied first, and stays in the first-level cache while
 * every row passes by it (after Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
 * Products with few rows of matrices that both lie along the sum are scalar products instead.
 *
 * The order of summation depends on the shapes and strides alone, not on the number of threads.
 */
import { collapse } from "../collapse.ts";
import type { BufferView } from "../device.ts";
import { bytesPerElement } from "../dtype.ts";
import { sizeOf } from "../shape.ts";
import { addressOf } from "./address.ts";
import { emitSeek, writeAxes } from "./axes.ts";
import type { Memory } from "./memory.ts";
import type { Pool } from "./pool.ts";
import { newModule, Program } from "./program.ts";
import { type FunctionBuilder, hasRelaxedSimd, type Local, type ModuleBuilder, type Opcode } from "./wasm.ts";

type Float = "float32" | "float64";

/** Rows and vectors of a tile. */
const tileRows = 6;
const tileVectors = 2;
/** Vectors of a tile of one row, and of two: wide, as otherwise each sum would wait for itself. */
const fewRowsVectors = [8, 4] as const;
/** Bytes of a packed row of the right matrix. */
const panelBytes = 16 * tileVectors;
/** How much of the summed axis is packed at a time: a panel of it takes a quarter of a first-level cache. */
const blockDepth = 256;
/** Rows that a unit of work has at most when it packs: more would not stay in the second-level cache. */
const blockRows = 192;
/** The most bytes of a right matrix that is read where it lies by more rows than four tiles have. */
const unpackedBytes = 32768;
/** Strides of the summed axis, in bytes, from which rows of the left matrix are worth packing. */
const farApart = 1024;
/** The most rows that are computed as scalar products. */
const mostDotRows = 4;
/** Multiplications worth a task of their own. */
const productsPerTask = 2 ** 20;

/** Words of the descriptor; strides are in bytes. */
const word = {
  a: 0,
  b: 1,
  c: 2,
  m: 3,
  n: 4,
  k: 5,
  aRowStride: 6,
  aDepthStride: 7,
  bDepthStride: 8,
  bColumnStride: 9,
  cRowStride: 10,
  /** Work is cut into units: rows and columns of one batch entry. A task takes several. */
  units: 11,
  unitsPerTask: 12,
  rowUnits: 13,
  rowsPerUnit: 14,
  columnUnits: 15,
  columnsPerUnit: 16,
  /** How much of the summed axis is done at a time. */
  depth: 17,
  packsA: 18,
  packsB: 19,
  scratch: 20,
  scratchPerTask: 21,
  batchAxes: 22,
  axes: 23,
} as const;
const descriptorLength = 4 * (word.axes + 4 * 32);

/** Multiplies matrices. */
export class Multiplier {
  readonly #memory: Memory;
  readonly #pool: Pool;
  readonly #copy: (view: BufferView) => BufferView;
  readonly #descriptor: number;
  readonly #programs = new Map<Float, Program>();

  /** @param copy Makes a view's elements lie row-major without gaps. */
  constructor(memory: Memory, pool: Pool, copy: (view: BufferView) => BufferView) {
    this.#memory = memory;
    this.#pool = pool;
    this.#copy = copy;
    this.#descriptor = memory.allocate(descriptorLength).address;
  }

  #program(type: Float): Program {
    let program = this.#programs.get(type);
    if (!program) this.#programs.set(type, program = new Program(this.#memory, emitModule(type)));
    return program;
  }

  /** (..., m, k) x (..., k, n) into a contiguous (..., m, n). */
  run(a: BufferView, b: BufferView, output: BufferView): void {
    const rank = output.shape.length;
    const k = a.shape[rank - 1];
    let [m, n] = [output.shape[rank - 2], output.shape[rank - 1]];
    const size = bytesPerElement(output.dtype);
    const batches = sizeOf(output.shape) / (m * n);
    if (!(m * n * batches > 0)) return;

    // Strides of axes of length one are ours to choose.
    let aRow = m === 1 ? 1 : a.strides[rank - 2];
    let aDepth = k === 1 ? 1 : a.strides[rank - 1];
    if (aRow !== 1 && aDepth !== 1) {
      a = this.#copy(a);
      [aRow, aDepth] = [k, 1];
    }
    let bDepth = k === 1 ? 1 : b.strides[rank - 2];
    let bColumn = n === 1 ? 1 : b.strides[rank - 1];
    if (bDepth !== 1 && bColumn !== 1) {
      b = this.#copy(b);
      [bDepth, bColumn] = [n, 1];
    }
    if (n === 1) {
      // A matrix times a column is a row times the transposed matrix.
      [a, b, m, n] = [b, a, 1, m];
      [aRow, aDepth, bDepth, bColumn] = [1, bDepth, aDepth, aRow];
    }

    const dots = bColumn !== 1 && aDepth === 1 && m <= mostDotRows;
    const isLarge = k * n * size > unpackedBytes;
    const packsB = !dots && (bColumn !== 1 || isLarge && m > 4 * tileRows);
    const packsA = !dots && aDepth !== 1 && isLarge && aDepth * size >= farApart && m > tileRows && n >= 32;

    let rowsPerUnit = packsB || packsA ? blockRows : Math.max(tileRows, Math.floor(2 ** 17 / (n * k + 1)));
    const rowUnits = Math.ceil(m / rowsPerUnit);
    rowsPerUnit = tileRows * Math.ceil(m / rowUnits / tileRows);
    let columnsPerUnit = n;
    const products = m * n * k * batches;
    if (batches * rowUnits < 8 && products > 2 * productsPerTask) {
      const wanted = Math.ceil(8 / (batches * rowUnits));
      columnsPerUnit = 32 * Math.ceil(n / wanted / 32);
    }
    const columnUnits = Math.ceil(n / columnsPerUnit);
    const units = batches * rowUnits * columnUnits;
    const tasks = Math.max(1, Math.min(64, units, Math.floor(products / productsPerTask)));
    const scratchPerTask = (packsB ? panelBytes * blockDepth : 0) +
      (packsA ? rowsPerUnit * blockDepth * size : 0);
    const scratch = scratchPerTask > 0 ? this.#memory.allocate(scratchPerTask * tasks) : undefined;

    const words = this.#memory.i32;
    const at = this.#descriptor >>> 2;
    words[at + word.a] = addressOf(a);
    words[at + word.b] = addressOf(b);
    words[at + word.c] = addressOf(output);
    words[at + word.m] = m;
    words[at + word.n] = n;
    words[at + word.k] = k;
    words[at + word.aRowStride] = aRow * size;
    words[at + word.aDepthStride] = aDepth * size;
    words[at + word.bDepthStride] = bDepth * size;
    words[at + word.bColumnStride] = bColumn * size;
    words[at + word.cRowStride] = n * size;
    words[at + word.units] = units;
    words[at + word.unitsPerTask] = Math.ceil(units / tasks);
    words[at + word.rowUnits] = rowUnits;
    words[at + word.rowsPerUnit] = rowsPerUnit;
    words[at + word.columnUnits] = columnUnits;
    words[at + word.columnsPerUnit] = columnsPerUnit;
    words[at + word.depth] = packsB || packsA ? blockDepth : k;
    words[at + word.packsA] = packsA ? 1 : 0;
    words[at + word.packsB] = packsB ? 1 : 0;
    words[at + word.scratch] = scratch?.address ?? 0;
    words[at + word.scratchPerTask] = scratchPerTask;
    words[at + word.batchAxes] = 0;
    if (batches > 1) {
      const leading = [a, b, output].map((view) => view.strides.slice(0, rank - 2));
      const walk = collapse(output.shape.slice(0, rank - 2), leading);
      words[at + word.batchAxes] = walk.shape.length;
      writeAxes(words, at + word.axes, walk, [size, size, size]);
    }
    const program = this.#program(output.dtype as Float);
    this.#pool.run(program, dots ? "dots" : "products", tasks, this.#descriptor);
    if (scratch) this.#memory.release(scratch);
  }
}

/** The parts of the code that differ with the type. */
interface Vectors {
  readonly size: 4 | 8;
  readonly lanes: 2 | 4;
  readonly bits: 32 | 64;
  readonly name: "f32x4" | "f64x2";
}

/** Pushes x * y + sum. */
function emitMultiplyAdd(f: FunctionBuilder, { name }: Vectors, x: Local, y: Local, sum: Local): void {
  if (hasRelaxedSimd) f.op(`${name}.relaxed_madd`, x, y, sum);
  else f.op(`${name}.add`, sum, () => f.op(`${name}.mul`, x, y));
}

/**
 * A tile of the result from k steps along the sum. Parameters: a, b, c, k, the stride of a, the stride of b's rows, that
 * of c's rows, how many columns are stored, and whether the result is added to c.
 *
 * @param byRows Whether the elements of `a` along the sum lie next to each other, and rows a stride apart; or the rows
 * lie next to each other.
 */
function emitTile(
  module: ModuleBuilder,
  vectors: Vectors,
  rows: number,
  width: number,
  byRows: boolean,
): FunctionBuilder {
  const { size, lanes, bits, name } = vectors;
  const i32s = Array(9).fill("i32") as "i32"[];
  const f = module.addFunction(`tile ${rows} x ${width}${byRows ? " by rows" : ""}`, i32s);
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
        f.set(sums[row][i], () => emitMultiplyAdd(f, vectors, left, vector, sums[row][i]))
      );
    }
  };
  const unrolled = 4;
  if (byRows) {
    const pointers = f.locals("i32", rows);
    pointers.forEach((pointer, row) =>
      f.set(pointer, row === 0 ? a : () => f.op("i32.add", pointers[row - 1], aStride))
    );
    const steps = (count: number) => {
      for (let i = 0; i < count; i++) step((row) => [pointers[row], i * size]);
      for (const pointer of pointers) f.increment(pointer, count * size);
      f.increment(k, -count);
    };
    f.while(() => f.op("i32.ge_s", k, unrolled), () => steps(unrolled));
    f.while(() => f.op("i32.gt_s", k, 0), () => steps(1));
  } else {
    const steps = (count: number) => {
      for (let i = 0; i < count; i++) {
        step((row) => [a, row * size]);
        f.increment(a, aStride);
      }
      f.increment(k, -count);
    };
    f.while(() => f.op("i32.ge_s", k, unrolled), () => steps(unrolled));
    f.while(() => f.op("i32.gt_s", k, 0), () => steps(1));
  }
  f.if(accumulates, () => {
    f.set(a, c);
    for (const row of sums) {
      row.forEach((sum, i) =>
        f.set(sum, () => f.op(`${name}.add`, () => f.load("v128.load", a, 16 * i), sum))
      );
      f.increment(a, cStride);
    }
  });
  f.if(() => f.op("i32.ge_s", columns, width * lanes), () => {
    for (const row of sums) {
      row.forEach((sum, i) => f.store("v128.store", c, sum, 16 * i));
      f.increment(c, cStride);
    }
  }, () => {
    for (const row of sums) {
      for (let column = 0; column < width * lanes; column++) {
        const store = () =>
          f.laneMemory(
            `v128.store${bits}_lane` as Opcode,
            column % lanes,
            c,
            row[Math.floor(column / lanes)],
            column * size,
          );
        if (column === 0) store();
        else f.if(() => f.op("i32.gt_s", columns, column), store);
      }
      f.increment(c, cStride);
    }
  });
  return f;
}

/** Copies k rows of at most a panel's width into a panel. Columns beyond the last repeat it. */
function emitPackPanel(module: ModuleBuilder, { size, lanes, bits }: Vectors): FunctionBuilder {
  const f = module.addFunction("pack panel", Array(6).fill("i32"));
  const [to, from, k, rowStride, columnStride, columns] = f.params;
  const width = tileVectors * lanes;
  f.if(() => f.op("i32.eq", columnStride, size), () => {
    f.while(() => f.op("i32.gt_s", k, 0), () => {
      for (let i = 0; i < tileVectors; i++) {
        f.store("v128.store", to, () => f.load("v128.load", from, 16 * i), 16 * i);
      }
      f.increment(from, rowStride);
      f.increment(to, panelBytes);
      f.increment(k, -1);
    });
  }, () => {
    const pointers = f.locals("i32", width);
    pointers.forEach((pointer, column) => {
      if (column === 0) return f.set(pointer, from);
      const stride = () => f.op("select", columnStride, 0, () => f.op("i32.gt_s", columns, column));
      f.set(pointer, () => f.op("i32.add", pointers[column - 1], stride));
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
function emitPackRows(module: ModuleBuilder, { size, bits }: Vectors): FunctionBuilder {
  const f = module.addFunction("pack rows", Array(6).fill("i32"));
  const [to, from, k, rowStride, depthStride, rows] = f.params;
  const pointers = f.locals("i32", tileRows);
  const type = `f${bits}` as "f32" | "f64";
  pointers.forEach((pointer, row) => {
    if (row === 0) return f.set(pointer, from);
    const stride = () => f.op("select", rowStride, 0, () => f.op("i32.gt_s", rows, row));
    f.set(pointer, () => f.op("i32.add", pointers[row - 1], stride));
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

/** Calls the tile function for a number of rows, from one to as many as there are functions. */
function emitCallTile(
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

function emitModule(type: Float): ModuleBuilder {
  const vectors: Vectors = type === "float32"
    ? { size: 4, lanes: 4, bits: 32, name: "f32x4" }
    : { size: 8, lanes: 2, bits: 64, name: "f64x2" };
  const module = newModule();
  emitProducts(module, vectors);
  emitDots(module, vectors);
  return module;
}

/** What the two kernels share: the units of a task, each with its rows, columns and addresses. */
function emitUnits(
  f: FunctionBuilder,
  { size }: Vectors,
  read: (name: keyof typeof word) => Local,
  body: (unit: { a: Local; b: Local; c: Local; rows: Local; columns: Local }) => void,
): void {
  const [task, descriptor] = f.params;
  const [m, n, rowUnits, columnUnits] = [read("m"), read("n"), read("rowUnits"), read("columnUnits")];
  const [rowsPerUnit, columnsPerUnit] = [read("rowsPerUnit"), read("columnsPerUnit")];
  const [aRowStride, bColumnStride] = [read("aRowStride"), read("bColumnStride")];
  const [cRowStride, batchAxes] = [read("cRowStride"), read("batchAxes")];
  const unit = read("unitsPerTask");
  const unitEnd = read("units");
  const [last, batch, rest, a, b, c, rows, columns] = f.locals("i32", 8);
  f.set(last, () => f.op("i32.add", () => f.op("i32.mul", task, unit), unit));
  f.set(unitEnd, () => f.smaller(unitEnd, last));
  f.set(unit, () => f.op("i32.mul", task, unit));
  f.while(() => f.op("i32.lt_u", unit, unitEnd), () => {
    f.set(a, () => f.load("i32.load", descriptor, 4 * word.a));
    f.set(b, () => f.load("i32.load", descriptor, 4 * word.b));
    f.set(c, () => f.load("i32.load", descriptor, 4 * word.c));
    f.set(rest, () => f.op("i32.div_u", unit, columnUnits));
    f.set(
      columns,
      () =>
        f.op(
          "i32.mul",
          columnsPerUnit,
          () => f.op("i32.sub", unit, () => f.op("i32.mul", rest, columnUnits)),
        ),
    );
    f.set(batch, () => f.op("i32.div_u", rest, rowUnits));
    f.set(
      rows,
      () => f.op("i32.mul", rowsPerUnit, () => f.op("i32.sub", rest, () => f.op("i32.mul", batch, rowUnits))),
    );
    emitSeek(f, descriptor, 4 * word.axes, batchAxes, batch, [a, b, c]);
    f.increment(a, () => f.op("i32.mul", rows, aRowStride));
    f.increment(b, () => f.op("i32.mul", columns, bColumnStride));
    f.increment(c, () => f.op("i32.mul", rows, cRowStride));
    f.increment(c, () => f.op("i32.mul", columns, size));
    f.set(rows, () => f.op("i32.sub", m, rows));
    f.set(rows, () => f.smaller(rows, rowsPerUnit));
    f.set(columns, () => f.op("i32.sub", n, columns));
    f.set(columns, () => f.smaller(columns, columnsPerUnit));
    body({ a, b, c, rows, columns });
    f.increment(unit, 1);
  });
}

/** Reads words of the descriptor into variables. */
function reader(f: FunctionBuilder, descriptor: Local): (name: keyof typeof word) => Local {
  return (name) => {
    const local = f.local("i32");
    f.set(local, () => f.load("i32.load", descriptor, 4 * word[name]));
    return local;
  };
}

/** Tile by tile, of matrices where they lie or packed. */
function emitProducts(module: ModuleBuilder, vectors: Vectors): void {
  const { size, lanes } = vectors;
  const tiles = (width: number, byRows: boolean, most = tileRows) =>
    Array.from({ length: most }, (_, row) => emitTile(module, vectors, row + 1, width, byRows));
  const ways = (width: number, most?: number) => ({
    byRows: tiles(width, true, most),
    byColumns: tiles(width, false, most),
  });
  const [wide, narrow] = [ways(tileVectors), ways(1)];
  const fewRows = fewRowsVectors.map((width, i) => ({ width: width * lanes, tiles: ways(width, i + 1) }));
  const packPanel = emitPackPanel(module, vectors);
  const packRows = emitPackRows(module, vectors);
  const width = tileVectors * lanes;

  const f = module.addFunction("products", ["i32", "i32"]);
  const [task, descriptor] = f.params;
  const read = reader(f, descriptor);
  const [k, mostDepth, packsA, packsB] = [read("k"), read("depth"), read("packsA"), read("packsB")];
  const [aRowStride, aDepthStride] = [read("aRowStride"), read("aDepthStride")];
  const [bDepthStride, bColumnStride] = [read("bDepthStride"), read("bColumnStride")];
  const cRowStride = read("cRowStride");
  const [panel, scratchPerTask] = [read("scratch"), read("scratchPerTask")];
  const [packedA, byRows, aStride, bStride, done, depth, aBlock, bBlock] = f.locals("i32", 8);
  const [aTile, bTile, cTile, cPanel, from, to, left, remaining, aStep, bPanel] = f.locals("i32", 10);

  f.increment(panel, () => f.op("i32.mul", task, scratchPerTask));
  f.set(packedA, () => f.op("i32.add", panel, () => f.op("i32.mul", packsB, panelBytes * blockDepth)));
  // Tiles read the left matrix from one pointer if its rows are one element apart, else from a pointer for each row.
  f.set(
    byRows,
    () => f.op("i32.and", () => f.op("i32.eqz", packsA), () => f.op("i32.eq", aDepthStride, size)),
  );
  f.set(
    aStride,
    () => f.op("select", tileRows * size, () => f.op("select", aRowStride, aDepthStride, byRows), packsA),
  );
  f.set(bStride, () => f.op("select", panelBytes, bDepthStride, packsB));

  emitUnits(f, vectors, read, ({ a, b, c, rows, columns }) => {
    f.set(done, 0);
    f.set(aBlock, a);
    f.set(bBlock, b);
    f.loop((again) => {
      f.set(depth, () => f.op("i32.sub", k, done));
      f.set(depth, () => f.smaller(depth, mostDepth));
      f.set(from, aBlock);
      f.set(aStep, () => f.op("i32.mul", aRowStride, tileRows));
      f.if(packsA, () => {
        f.set(to, packedA);
        f.set(left, rows);
        f.while(() => f.op("i32.gt_s", left, 0), () => {
          f.call(packRows, to, from, depth, aRowStride, aDepthStride, left);
          f.increment(from, aStep);
          f.increment(to, () => f.op("i32.mul", depth, tileRows * size));
          f.increment(left, -tileRows);
        });
        f.set(from, packedA);
        f.set(aStep, () => f.op("i32.mul", depth, tileRows * size));
      });
      f.set(remaining, columns);
      f.set(cPanel, c);
      f.set(bPanel, bBlock);
      const args = [aTile, bTile, cTile, depth, aStride, bStride, cRowStride, remaining, done];
      const call = ({ byRows: first, byColumns: second }: ReturnType<typeof ways>) =>
        f.if(byRows, () => emitCallTile(f, first, left, args), () => emitCallTile(f, second, left, args));
      const advance = (width: number) => {
        f.increment(bPanel, () => f.op("i32.mul", bColumnStride, width));
        f.increment(cPanel, width * size);
        f.increment(remaining, -width);
      };
      // One or two rows: wide tiles, as long as there are columns for more than a narrower one.
      f.if(() => f.op("i32.and", () => f.op("i32.le_s", rows, 2), () => f.op("i32.eqz", packsB)), () => {
        f.set(left, rows);
        f.set(aTile, from);
        fewRows.forEach(({ width: columnsOfTile, tiles }, i) =>
          f.while(
            () =>
              f.op(
                "i32.and",
                () => f.op("i32.gt_s", remaining, width),
                () => f.op("i32.eq", rows, i + 1),
              ),
            () => {
              f.set(bTile, bPanel);
              f.set(cTile, cPanel);
              call(tiles);
              advance(columnsOfTile);
            },
          )
        );
      });
      f.while(() => f.op("i32.gt_s", remaining, 0), () => {
        f.set(bTile, bPanel);
        f.if(packsB, () => {
          f.set(bTile, panel);
          f.call(packPanel, panel, bPanel, depth, bDepthStride, bColumnStride, remaining);
        });
        f.set(left, rows);
        f.set(aTile, from);
        f.set(cTile, cPanel);
        f.while(() => f.op("i32.gt_s", left, 0), () => {
          f.if(() => f.op("i32.gt_s", remaining, lanes), () => call(wide), () => call(narrow));
          f.increment(aTile, aStep);
          f.increment(cTile, () => f.op("i32.mul", cRowStride, tileRows));
          f.increment(left, -tileRows);
        });
        advance(width);
      });
      f.increment(done, depth);
      f.increment(aBlock, () => f.op("i32.mul", depth, aDepthStride));
      f.increment(bBlock, () => f.op("i32.mul", depth, bDepthStride));
      f.branchIf(again, () => f.op("i32.lt_u", done, k));
    });
  });
}

/** Row by row, six columns at a time, with the lanes along the sum. */
function emitDots(module: ModuleBuilder, vectors: Vectors): void {
  const { size, lanes, bits, name } = vectors;
  const f = module.addFunction("dots", ["i32", "i32"]);
  const [, descriptor] = f.params;
  const read = reader(f, descriptor);
  const [k, aRowStride, bColumnStride, cRowStride] = [
    read("k"),
    read("aRowStride"),
    read("bColumnStride"),
    read("cRowStride"),
  ];
  const [left, remaining, depth, aRow, cRow, cTile, row, column] = f.locals("i32", 8);
  const pointers = f.locals("i32", tileRows);
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
  emitUnits(f, vectors, read, ({ a, b, c, rows, columns }) => {
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
          const stride = () => f.op("select", bColumnStride, 0, () => f.op("i32.gt_s", remaining, i));
          f.set(pointer, () => f.op("i32.add", pointers[i - 1], stride));
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
        f.increment(column, () => f.op("i32.mul", bColumnStride, tileRows));
        f.increment(remaining, -tileRows);
      });
      f.increment(aRow, aRowStride);
      f.increment(cRow, cRowStride);
      f.increment(left, -1);
    });
  });
}
