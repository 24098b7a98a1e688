/**
 * Matrix products. A microkernel keeps a tile of six rows by two vectors of the result in registers (twelve sums, two
 * vectors of the right matrix and one broadcast element of the left one fill the fifteen registers there are) and runs
 * along the summed axis. Small products call it on the operands where they lie; large ones first copy the right matrix
 * into panels as wide as a tile, and blocks of the left one into slices of six rows, so that the microkernel reads both
 * in order (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
 *
 * The order of summation depends on the shapes alone, not on the number of threads.
 */
import { collapse } from "../collapse.ts";
import type { BufferView } from "../device.ts";
import { bytesPerElement } from "../dtype.ts";
import { sizeOf } from "../shape.ts";
import { addressOf } from "./address.ts";
import { emitSeek, writeAxes } from "./axes.ts";
import type { Block, Memory } from "./memory.ts";
import type { Pool } from "./pool.ts";
import { newModule, Program } from "./program.ts";
import { type FunctionBuilder, hasRelaxedSimd, type Local, type ModuleBuilder, type Opcode } from "./wasm.ts";

type Float = "float32" | "float64";

/** Rows and vectors of a tile. */
const tileRows = 6;
const tileVectors = 2;
/** Bytes of a packed row of the right matrix. */
const panelBytes = 16 * tileVectors;
/** How much of the summed axis is worked on at a time: a panel of it stays in the first-level cache. */
const blockDepth = 256;
/** Rows of the left matrix that are packed at a time: they stay in the second-level cache. */
const blockRows = 48;
/** The most that the packed right matrix may take; wider ones are done in strips of columns. */
const packedBytes = 2 ** 26;
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
  /** Stride of the rows or of the summed axis of `a`, whichever is not one element. */
  aStride: 6,
  /** Whether that is the rows' stride. */
  aByRows: 7,
  bRowStride: 8,
  bColumnStride: 9,
  cRowStride: 10,
  /** Room for packed matrices, and how much each task has of it. */
  scratch: 11,
  scratchPerTask: 12,
  batches: 13,
  batchesPerTask: 14,
  batchAxes: 15,
  /** Blocked products: tasks that share the rows, rows and columns of a task, and where packed blocks of `a` go. */
  rowTasks: 16,
  rowsPerTask: 17,
  columnsPerTask: 18,
  packedA: 19,
  /** The batch axes. */
  axes: 20,
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
    const [m, n, k] = [output.shape[rank - 2], output.shape[rank - 1], a.shape[rank - 1]];
    const batches = sizeOf(output.shape) / (m * n);
    if (!(m * n * batches > 0)) return;
    const type = output.dtype as Float;
    const size = bytesPerElement(type);

    let aRow = m === 1 ? 1 : a.strides[rank - 2];
    let aDepth = k === 1 ? 1 : a.strides[rank - 1];
    if (aRow !== 1 && aDepth !== 1) {
      a = this.#copy(a);
      [aRow, aDepth] = [k, 1];
    }
    let bRow = k === 1 ? 1 : b.strides[rank - 2];
    let bColumn = n === 1 ? 1 : b.strides[rank - 1];
    if (bRow !== 1 && bColumn !== 1) {
      b = this.#copy(b);
      [bRow, bColumn] = [n, 1];
    }

    const words = this.#memory.i32;
    const at = this.#descriptor >>> 2;
    words[at + word.m] = m;
    words[at + word.n] = n;
    words[at + word.k] = k;
    // Rows that are one element apart are read from one pointer; a single step along the sum makes that the better way.
    const byRows = aDepth === 1 && (aRow !== 1 || m === 1);
    words[at + word.aByRows] = byRows ? 1 : 0;
    words[at + word.aStride] = (byRows ? aRow : aDepth) * size;
    words[at + word.bRowStride] = bRow * size;
    words[at + word.bColumnStride] = bColumn * size;
    words[at + word.cRowStride] = n * size;

    const program = this.#program(type);
    const addresses = [a, b, output].map(addressOf);
    const isLarge = m > 4 * tileRows && k * n * size > 32768;
    if (!isLarge) {
      return this.#runSmall(program, addresses, [a, b, output], batches, m * n * k, bColumn !== 1);
    }
    const walk = collapse(output.shape.slice(0, -2), [a, b, output].map((x) => x.strides.slice(0, -2)));
    for (let batch = 0; batch < batches; batch++) {
      let rest = batch;
      const [first, second, third] = addresses;
      const own = [first, second, third];
      for (let axis = walk.shape.length - 1; axis >= 0; axis--) {
        const position = rest % walk.shape[axis];
        rest = (rest - position) / walk.shape[axis];
        for (let i = 0; i < 3; i++) own[i] += position * walk.strides[i][axis] * size;
      }
      this.#runLarge(program, own, m, n, k, size, bColumn);
    }
  }

  /** Products of matrices as they are; tasks share the batch. */
  #runSmall(
    program: Program,
    [a, b, c]: number[],
    views: readonly BufferView[],
    batches: number,
    products: number,
    packs: boolean,
  ): void {
    const tasks = Math.max(1, Math.min(64, batches, Math.floor(products * batches / productsPerTask)));
    const size = bytesPerElement(views[0].dtype);
    let scratch: Block | undefined;
    let scratchPerTask = 0;
    if (packs) {
      const k = views[1].shape.at(-2)!;
      scratchPerTask = panelBytes * k * Math.ceil(views[1].shape.at(-1)! * size / panelBytes);
      scratch = this.#memory.allocate(tasks * scratchPerTask);
    }
    const words = this.#memory.i32;
    const at = this.#descriptor >>> 2;
    words[at + word.a] = a;
    words[at + word.b] = b;
    words[at + word.c] = c;
    words[at + word.batches] = batches;
    words[at + word.batchesPerTask] = Math.ceil(batches / tasks);
    words[at + word.batchAxes] = 0;
    words[at + word.scratch] = scratch?.address ?? 0;
    words[at + word.scratchPerTask] = scratchPerTask;
    if (batches > 1) {
      const walk = collapse(views[2].shape.slice(0, -2), views.map((x) => x.strides.slice(0, -2)));
      words[at + word.batchAxes] = walk.shape.length;
      writeAxes(words, at + word.axes, walk, [size, size, size]);
    }
    this.#pool.run(program, "small", tasks, this.#descriptor);
    if (scratch) this.#memory.release(scratch);
  }

  /** One product of packed matrices; tasks share the rows and columns of the result. */
  #runLarge(
    program: Program,
    [a, b, c]: number[],
    m: number,
    n: number,
    k: number,
    size: number,
    bColumn: number,
  ): void {
    const panel = panelBytes / size;
    const strip = Math.max(panel, Math.floor(packedBytes / (k * panelBytes)) * panel);
    for (let column = 0; column < n; column += strip) {
      const columns = Math.min(strip, n - column);
      const panels = Math.ceil(columns / panel);
      const tasks = Math.min(64, Math.ceil(m * columns * k / productsPerTask));
      const rowBlocks = Math.ceil(m / blockRows);
      const rowsPerTask = blockRows * Math.ceil(rowBlocks / tasks);
      const rowTasks = Math.ceil(m / rowsPerTask);
      const columnsPerTask = panel * Math.ceil(panels / Math.max(1, Math.floor(tasks / rowTasks)));
      const columnTasks = Math.ceil(columns / columnsPerTask);
      const packedB = this.#memory.allocate(panels * panelBytes * k);
      const packedA = this.#memory.allocate(rowTasks * columnTasks * blockRows * blockDepth * size);
      const words = this.#memory.i32;
      const at = this.#descriptor >>> 2;
      words[at + word.a] = a;
      words[at + word.b] = b + column * bColumn * size;
      words[at + word.c] = c + column * size;
      words[at + word.n] = columns;
      words[at + word.scratch] = packedB.address;
      words[at + word.packedA] = packedA.address;
      words[at + word.rowTasks] = rowTasks;
      words[at + word.rowsPerTask] = rowsPerTask;
      words[at + word.columnsPerTask] = columnsPerTask;
      this.#pool.run(program, "pack", columnTasks, this.#descriptor);
      this.#pool.run(program, "large", rowTasks * columnTasks, this.#descriptor);
      this.#memory.release(packedA);
      this.#memory.release(packedB);
    }
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

/** Calls the tile function for a number of rows from one to six. */
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
  choose(tileRows);
}

function emitModule(type: Float): ModuleBuilder {
  const vectors: Vectors = type === "float32"
    ? { size: 4, lanes: 4, bits: 32, name: "f32x4" }
    : { size: 8, lanes: 2, bits: 64, name: "f64x2" };
  const module = newModule();
  const tiles = (width: number, byRows: boolean) =>
    Array.from({ length: tileRows }, (_, row) => emitTile(module, vectors, row + 1, width, byRows));
  const wide = { byRows: tiles(tileVectors, true), byColumns: tiles(tileVectors, false) };
  const narrow = { byRows: tiles(1, true), byColumns: tiles(1, false) };
  const packPanel = emitPackPanel(module, vectors);
  const packRows = emitPackRows(module, vectors);
  emitSmall(module, vectors, wide, narrow, packPanel);
  emitPack(module, vectors, packPanel);
  emitLarge(module, vectors, wide.byColumns, packRows);
  return module;
}

interface Tiles {
  readonly byRows: readonly FunctionBuilder[];
  readonly byColumns: readonly FunctionBuilder[];
}

function emitReader(f: FunctionBuilder, descriptor: Local): (name: keyof typeof word) => Local {
  return (name) => {
    const local = f.local("i32");
    f.set(local, () => f.load("i32.load", descriptor, 4 * word[name]));
    return local;
  };
}

/** The products of the batch entries of a task, from the matrices as they are. */
function emitSmall(
  module: ModuleBuilder,
  { size, lanes }: Vectors,
  wide: Tiles,
  narrow: Tiles,
  packPanel: FunctionBuilder,
): void {
  const f = module.addFunction("small", ["i32", "i32"]);
  const [task, descriptor] = f.params;
  const read = emitReader(f, descriptor);
  const [m, n, k] = [read("m"), read("n"), read("k")];
  const [aStride, aByRows] = [read("aStride"), read("aByRows")];
  const [bRowStride, bColumnStride, cRowStride] = [
    read("bRowStride"),
    read("bColumnStride"),
    read("cRowStride"),
  ];
  const [batches, batchesPerTask, batchAxes] = [read("batches"), read("batchesPerTask"), read("batchAxes")];
  const [scratch, scratchPerTask] = [read("scratch"), read("scratchPerTask")];
  const [batch, batchEnd, a, b, c] = f.locals("i32", 5);
  const [row, column, columns, aTile, bTile, cTile, aRowStride, bStride, panel] = f.locals("i32", 9);
  const zero = f.local("i32");
  const width = tileVectors * lanes;

  f.set(batch, () => f.op("i32.mul", task, batchesPerTask));
  f.set(batchEnd, () => f.op("i32.add", batch, batchesPerTask));
  f.set(batchEnd, () => f.smaller(batchEnd, batches));
  f.increment(scratch, () => f.op("i32.mul", task, scratchPerTask));
  f.set(aRowStride, () => f.op("select", aStride, size, aByRows));
  f.while(() => f.op("i32.lt_u", batch, batchEnd), () => {
    f.set(a, () => f.load("i32.load", descriptor, 4 * word.a));
    f.set(b, () => f.load("i32.load", descriptor, 4 * word.b));
    f.set(c, () => f.load("i32.load", descriptor, 4 * word.c));
    emitSeek(f, descriptor, 4 * word.axes, batchAxes, batch, [a, b, c]);

    f.set(bStride, bRowStride);
    f.set(bTile, b);
    f.set(panel, width * size);
    f.if(() => f.op("i32.ne", bColumnStride, size), () => {
      // Columns far apart are packed into panels, which the tiles then read instead.
      f.set(column, n);
      f.set(bTile, scratch);
      f.set(bStride, panelBytes);
      f.set(panel, () => f.op("i32.mul", k, panelBytes));
      f.while(() => f.op("i32.gt_s", column, 0), () => {
        f.call(packPanel, bTile, b, k, bRowStride, bColumnStride, column);
        f.increment(bTile, panel);
        f.increment(b, () => f.op("i32.mul", bColumnStride, width));
        f.increment(column, -width);
      });
      f.set(bTile, scratch);
    });
    f.set(b, bTile);

    f.set(row, m);
    f.while(() => f.op("i32.gt_s", row, 0), () => {
      f.set(bTile, b);
      f.set(cTile, c);
      f.set(aTile, a);
      f.set(columns, n);
      f.while(() => f.op("i32.gt_s", columns, 0), () => {
        const args = [aTile, bTile, cTile, k, aStride, bStride, cRowStride, columns, zero];
        const call = (tiles: Tiles) =>
          f.if(
            aByRows,
            () => emitCallTile(f, tiles.byRows, row, args),
            () => emitCallTile(f, tiles.byColumns, row, args),
          );
        f.if(() => f.op("i32.gt_s", columns, lanes), () => call(wide), () => call(narrow));
        f.increment(bTile, panel);
        f.increment(cTile, width * size);
        f.increment(columns, -width);
      });
      f.increment(a, () => f.op("i32.mul", aRowStride, tileRows));
      f.increment(c, () => f.op("i32.mul", cRowStride, tileRows));
      f.increment(row, -tileRows);
    });
    f.increment(batch, 1);
  });
}

/** Packs the columns of a task: blocks along the sum, in each the panels, in each the rows. */
function emitPack(module: ModuleBuilder, { lanes }: Vectors, packPanel: FunctionBuilder): void {
  const f = module.addFunction("pack", ["i32", "i32"]);
  const [task, descriptor] = f.params;
  const read = emitReader(f, descriptor);
  const [n, k, columnsPerTask] = [read("n"), read("k"), read("columnsPerTask")];
  const [rowStride, columnStride, packed] = [read("bRowStride"), read("bColumnStride"), read("scratch")];
  const [b, from, to, depth, column, first, end] = f.locals("i32", 7);
  const width = tileVectors * lanes;
  f.set(b, () => f.load("i32.load", descriptor, 4 * word.b));
  f.set(first, () => f.op("i32.mul", task, columnsPerTask));
  f.set(end, () => f.op("i32.add", first, columnsPerTask));
  f.set(end, () => f.smaller(end, n));
  f.while(k, () => {
    emitMinimum(f, depth, k, blockDepth);
    f.set(column, first);
    f.while(() => f.op("i32.lt_u", column, end), () => {
      // A panel begins at its first column times the bytes of a column.
      f.set(
        to,
        () =>
          f.op(
            "i32.add",
            packed,
            () => f.op("i32.mul", () => f.op("i32.mul", column, depth), panelBytes / width),
          ),
      );
      f.set(from, () => f.op("i32.add", b, () => f.op("i32.mul", column, columnStride)));
      f.call(packPanel, to, from, depth, rowStride, columnStride, () => f.op("i32.sub", n, column));
      f.increment(column, width);
    });
    f.increment(packed, () => f.op("i32.mul", depth, () => emitPanelBytes(f, n, width)));
    f.increment(b, () => f.op("i32.mul", depth, rowStride));
    f.set(k, () => f.op("i32.sub", k, depth));
  });
}

/** Sets a variable to the smaller of another and a constant. */
function emitMinimum(f: FunctionBuilder, to: Local, value: Local, limit: number): void {
  f.set(to, () => f.op("select", value, limit, () => f.op("i32.lt_s", value, limit)));
}

/** Pushes the bytes of one row of all panels. */
function emitPanelBytes(f: FunctionBuilder, n: Local, width: number): void {
  f.op("i32.mul", () => f.op("i32.div_u", () => f.op("i32.add", n, width - 1), width), panelBytes);
}

/** The rows and columns of a task, from the packed right matrix. */
function emitLarge(
  module: ModuleBuilder,
  { size, lanes }: Vectors,
  tiles: readonly FunctionBuilder[],
  packRows: FunctionBuilder,
): void {
  const f = module.addFunction("large", ["i32", "i32"]);
  const [task, descriptor] = f.params;
  const read = emitReader(f, descriptor);
  const [m, n, k, cRowStride] = [read("m"), read("n"), read("k"), read("cRowStride")];
  const [aStride, aByRows, packedB, packedA] = [
    read("aStride"),
    read("aByRows"),
    read("scratch"),
    read("packedA"),
  ];
  const [rowTasks, rowsPerTask, columnsPerTask] = [
    read("rowTasks"),
    read("rowsPerTask"),
    read("columnsPerTask"),
  ];
  const [a, c, aRowStride, aDepthStride, columnTask, row, rowEnd, column, columnEnd] = f.locals("i32", 9);
  const [block, blockEnd, depth, done, from, to, tile, panel, cTile, rest, panelLength] = f.locals("i32", 11);
  const [columns, packedStride, bStride] = f.locals("i32", 3);
  const width = tileVectors * lanes;

  f.set(a, () => f.load("i32.load", descriptor, 4 * word.a));
  f.set(c, () => f.load("i32.load", descriptor, 4 * word.c));
  f.set(aRowStride, () => f.op("select", aStride, size, aByRows));
  f.set(aDepthStride, () => f.op("select", size, aStride, aByRows));
  f.set(packedStride, tileRows * size);
  f.set(bStride, panelBytes);
  f.increment(packedA, () => f.op("i32.mul", task, blockRows * blockDepth * size));
  f.set(columnTask, () => f.op("i32.div_u", task, rowTasks));
  f.set(column, () => f.op("i32.mul", columnTask, columnsPerTask));
  f.set(columnEnd, () => f.op("i32.add", column, columnsPerTask));
  f.set(columnEnd, () => f.smaller(columnEnd, n));
  f.set(row, () => f.op("i32.mul", () => f.op("i32.rem_u", task, rowTasks), rowsPerTask));
  f.set(rowEnd, () => f.op("i32.add", row, rowsPerTask));
  f.set(rowEnd, () => f.smaller(rowEnd, m));

  f.set(block, row);
  f.while(() => f.op("i32.lt_u", block, rowEnd), () => {
    f.set(blockEnd, () => f.op("i32.add", block, blockRows));
    f.set(blockEnd, () => f.smaller(blockEnd, rowEnd));
    f.set(done, 0);
    f.while(() => f.op("i32.lt_u", done, k), () => {
      f.set(depth, () => f.op("i32.sub", k, done));
      emitMinimum(f, depth, depth, blockDepth);
      // The left matrix, in slices of six rows.
      f.set(to, packedA);
      f.set(rest, () => f.op("i32.sub", blockEnd, block));
      f.set(from, () =>
        f.op(
          "i32.add",
          () => f.op("i32.add", a, () => f.op("i32.mul", block, aRowStride)),
          () => f.op("i32.mul", done, aDepthStride),
        ));
      f.while(() => f.op("i32.gt_s", rest, 0), () => {
        f.call(packRows, to, from, depth, aRowStride, aDepthStride, rest);
        f.increment(from, () => f.op("i32.mul", aRowStride, tileRows));
        f.increment(to, () => f.op("i32.mul", depth, tileRows * size));
        f.increment(rest, -tileRows);
      });
      // Every panel of the right one with every slice.
      f.set(panelLength, () => f.op("i32.mul", depth, panelBytes));
      f.set(panel, () =>
        f.op(
          "i32.add",
          () => f.op("i32.add", packedB, () => f.op("i32.mul", done, () => emitPanelBytes(f, n, width))),
          () => f.op("i32.mul", () => f.op("i32.mul", column, depth), panelBytes / width),
        ));
      f.set(columns, () => f.op("i32.sub", columnEnd, column));
      f.set(from, () =>
        f.op(
          "i32.add",
          () => f.op("i32.add", c, () => f.op("i32.mul", block, cRowStride)),
          () => f.op("i32.mul", column, size),
        ));
      f.while(() => f.op("i32.gt_s", columns, 0), () => {
        f.set(cTile, from);
        f.set(tile, packedA);
        f.set(rest, () => f.op("i32.sub", blockEnd, block));
        f.while(() => f.op("i32.gt_s", rest, 0), () => {
          emitCallTile(f, tiles, rest, [
            tile,
            panel,
            cTile,
            depth,
            packedStride,
            bStride,
            cRowStride,
            columns,
            done,
          ]);
          f.increment(tile, () => f.op("i32.mul", depth, tileRows * size));
          f.increment(cTile, () => f.op("i32.mul", cRowStride, tileRows));
          f.increment(rest, -tileRows);
        });
        f.increment(from, width * size);
        f.increment(panel, panelLength);
        f.increment(columns, -width);
      });
      f.set(done, () => f.op("i32.add", done, depth));
    });
    f.set(block, blockEnd);
  });
}
