/** Matrix products in register tiles. */
import type { FunctionBuilder, Local } from "../../../device/cpu/assembler/wasm.ts";
import { lower as lowerMath } from "../../../device/scalar/float32_math.ts";
import { textOf } from "../../../device/scalar/structure_text.ts";
import { ScalarEmitter } from "../../../device/cpu/assembler/scalar_wasm.ts";
import { emitMultiplyAdd } from "../../../device/cpu/assembler/multiply_add.ts";
import { setSplat } from "../../../device/cpu/assembler/splat.ts";
import type { ContractKernel, Operand, Program } from "../../program/program.ts";
import { loadKey, type Tile } from "./tile.ts";

/** Registers of sums in a tile. The other of the 16 registers hold factors. */
const sumRegisters = 10;

/** Loop order of a matrix product. */
interface Tiling {
  /** Whether the sums of a run of rows are in registers, instead of a run of columns. */
  readonly byRows: boolean;
  /** Rows or columns per run. */
  readonly width: number;
}

/** A shared matrix, packed in the order in which a product reads it: runs, and in each run the summed axis. */
interface PackedMatrix {
  readonly operand: Operand;
  readonly depth: number;
  readonly length: number;
  readonly width: number;
  readonly strides: { readonly depth: number; readonly length: number };
  /** In bytes, from the start of the slots of a task. */
  readonly offset: number;
}

/** Packed matrices, by {@linkcode packedKey}. */
export type PackedMatrices = ReadonlyMap<string, PackedMatrix>;

function tilingOf(tile: Tile, { operands: [a, b], output }: ContractKernel): Tiling {
  const [m, n] = output.shape.slice(-2);
  const byRows = b.slot !== undefined && (a.slot === undefined || m > n);
  const length = byRows ? m : n;
  const most = Math.min(
    length,
    Math.max(1, Math.floor(sumRegisters * tile.module.vectorsPerRegister / tile.vectors)),
  );
  // A width that divides the length leaves no slow remainder. At least 4 sums hide the latency of additions.
  const width =
    [0, 1, 2].map((less) => most - less).find((w) => w >= Math.min(4, most) && length % w === 0) ?? most;
  return { byRows, width };
}

export function packedKey(
  tile: Tile,
  kernel: ContractKernel,
  { shared, offset, shape, strides }: Operand,
): string {
  return `${shared} ${offset} ${shape} ${strides} ${tilingOf(tile, kernel).width}`;
}

/** Lays out packed matrices from byte `start` on. */
export function layOutPackedMatrices(
  tile: Tile,
  program: Program,
  start: number,
): { packs: PackedMatrices; end: number } {
  let end = start;
  const packs = new Map<string, PackedMatrix>();
  for (const kernel of program.kernels) {
    if (kernel.kind !== "contract" || kernel.output.shape.length !== 2) continue;
    const { byRows, width } = tilingOf(tile, kernel);
    const operand = kernel.operands[byRows ? 0 : 1];
    if (operand.shared === undefined || program.inputs[operand.shared].role === "row") continue;
    const [along, across] = byRows ? [0, 1] : [1, 0];
    const key = packedKey(tile, kernel, operand);
    if (packs.has(key)) continue;
    packs.set(key, {
      operand,
      depth: operand.shape[across],
      length: operand.shape[along],
      width,
      strides: { depth: operand.strides[across], length: operand.strides[along] },
      offset: end,
    });
    end += operand.shape[0] * operand.shape[1] * tile.bytes;
  }
  return { packs, end };
}

/** Packs a matrix: (to, from). */
export function packer(tile: Tile, { depth, length, width, strides }: PackedMatrix): FunctionBuilder {
  return tile.function(`pack ${depth} ${length} ${width} ${strides.depth} ${strides.length}`, [
    "address",
    "address",
  ], (f) => {
    const [to, from] = f.params;
    const [load, store] = tile.bytes === 4
      ? ["i32.load", "i32.store"] as const
      : ["i64.load", "i64.store"] as const;
    const run = (count: number) =>
      tile.nest(f, [depth], [
        { local: to, steps: [count * tile.bytes] },
        { local: from, steps: [strides.depth * tile.bytes] },
      ], () => {
        for (let i = 0; i < count; i++) {
          f.store(store, to, () => f.load(load, from, i * strides.length * tile.bytes), i * tile.bytes);
        }
      });
    const runs = Math.floor(length / width);
    tile.nest(f, [runs], [{ local: from, steps: [width * strides.length * tile.bytes] }], () => {
      run(width);
      if (depth * strides.depth !== 0) f.increment(from, -depth * strides.depth * tile.bytes);
    });
    if (length % width > 0) run(length % width);
  });
}

/**
 * A matrix product in register tiles: sums of a run of columns stay in registers during the loop over the summed axis. If the
 * shared matrix is on the left, the sums are those of a run of rows.
 */
export function contractKernel(kernel: ContractKernel, tile: Tile, packs: PackedMatrices): FunctionBuilder {
  const { operands: [a, b, ...others], output, hasBias, epilogue } = kernel;
  const biases = others.slice(0, hasBias ? 1 : 0);
  const sources = others.slice(biases.length);
  const [bias] = biases;
  const rank = output.shape.length;
  const [m, n] = output.shape.slice(-2);
  const depth = a.shape[rank - 1];
  const { byRows, width } = tilingOf(tile, kernel);
  /** The factor whose elements differ along a run, and the factor whose elements are the same. */
  const [tiled, fixed] = byRows ? [a, b] : [b, a];
  const isPacked = packs.has(packedKey(tile, kernel, tiled));
  const strides = isPacked
    ? [a, b].map((side) => side === tiled ? "packed" : side.strides)
    : [a, b].map((side) => side.strides);
  const key = `contract ${output.shape} ${depth} | ${strides.join(" ; ")} ; ${output.strides} | ${
    [a, b, ...biases, ...sources].map(loadKey)
  } | ${bias?.strides} | ${epilogue && textOf(epilogue)} ${
    sources.map(({ strides }) => strides).join(" ; ")
  }`;
  return tile.function(key, [output, a, b, ...biases, ...sources].map(() => "address"), (f) => {
    const [tiledAxis, fixedAxis] = byRows ? [rank - 2, rank - 1] : [rank - 1, rank - 2];
    const [length, others] = byRows ? [m, n] : [n, m];
    const step = (operand: Operand, axis: number) => operand.strides[axis] * tile.unitOf(operand);
    /** Steps in bytes along a run, along the summed axis, and from run to run. */
    const tiledStep = isPacked ? tile.bytes : step(tiled, tiledAxis);
    const tiledDepth = (count: number) => isPacked ? count * tile.bytes : step(tiled, fixedAxis);
    const tiledAlong = isPacked ? width * depth * tile.bytes : width * tiledStep;
    const fixedDepth = step(fixed, tiledAxis);
    const outputStep = step(output, tiledAxis);
    const sums = Array.from({ length: width }, () => f.locals("v128", tile.vectors));
    const factors = f.locals("v128", tile.vectors);
    const [weight, weights] = f.locals("v128", 2);
    const [outputAt, aAt, bAt, ...rest] = f.params;
    const [biasAt] = rest;
    const sourcesAt = rest.slice(biases.length);
    const emitter = epilogue &&
      new ScalarEmitter(tile.module, f, lowerMath(epilogue), new Set());
    /** Pushes the result of one of the sums. */
    const pushResult = (i: number, v: number) => {
      const sum = sums[i][v];
      if (!emitter) return f.get(sum);
      const load = (source: number) =>
        tile.loadVector(f, sources[source], sourcesAt[source], v, i * step(sources[source], tiledAxis));
      emitter.emit({ input: (position) => position === 0 ? f.get(sum) : load(position - 1), index() {} });
    };
    const [tiledAt, fixedAt] = byRows ? [aAt, bAt] : [bAt, aAt];
    const [tiledPointer, fixedPointer] = f.locals("address", 2);

    const run = (count: number) => {
      sums.slice(0, count).forEach(([first, ...others], i) => {
        f.set(first, () => {
          if (bias) tile.loadVector(f, bias, biasAt, 0, i * step(bias, tiledAxis));
          else f.i32x4(0);
        });
        for (const sum of others) f.set(sum, first);
      });
      f.set(tiledPointer, tiledAt);
      f.set(fixedPointer, fixedAt);
      const turns = [8, 5, 4, 3, 2].find((turns) => depth % turns === 0) ?? 1;
      const term = (turn: number) => {
        factors.forEach((vector, v) =>
          f.set(vector, () => tile.loadVector(f, fixed, fixedPointer, v, turn * fixedDepth))
        );
        for (let i = 0; i < count; i++) {
          const offset = i * tiledStep + turn * tiledDepth(count);
          const load = (v: number) => () => tile.loadVector(f, tiled, tiledPointer, v, offset);
          const isShared = tiled.slot === undefined;
          if (isPacked) {
            setSplat(f, tile.bytes, weight, weights, tiledPointer, turn * count + i, turns * count);
          } else if (isShared) f.set(weight, load(0));
          sums[i].forEach((sum, v) =>
            f.set(sum, () => emitMultiplyAdd(f, tile.floats, factors[v], isShared ? weight : load(v), sum))
          );
        }
      };
      if (depth > 0) {
        tile.nest(f, [depth / turns], [
          { local: tiledPointer, steps: [turns * tiledDepth(count)] },
          { local: fixedPointer, steps: [turns * fixedDepth] },
        ], () => {
          for (let turn = 0; turn < turns; turn++) term(turn);
        });
      }
      emitter?.emitConstants();
      for (let i = 0; i < count; i++) {
        f.storeVectors(outputAt, sums[i].map((_, v) => () => pushResult(i, v)), i * outputStep);
      }
    };
    const batch = output.shape.slice(0, -2);
    const runs = Math.floor(length / width);
    const pointer = (local: Local, operand: Operand, other: number, along: number) => ({
      local,
      steps: [...batch.map((_, axis) => step(operand, axis)), other],
      along,
    });
    const pointers = [
      pointer(outputAt, output, step(output, fixedAxis), width * outputStep),
      pointer(tiledAt, tiled, 0, tiledAlong),
      pointer(fixedAt, fixed, step(fixed, fixedAxis), 0),
      ...biases.map((bias) => pointer(biasAt, bias, step(bias, fixedAxis), width * step(bias, tiledAxis))),
      ...sources.map((source, i) =>
        pointer(sourcesAt[i], source, step(source, fixedAxis), width * step(source, tiledAxis))
      ),
    ];
    tile.nest(f, [...batch, others], pointers, () => {
      tile.nest(
        f,
        [runs],
        pointers.map(({ local, along }) => ({ local, steps: [along] })),
        () => run(width),
      );
      if (length % width > 0) run(length % width);
      for (const { local, along } of pointers) if (along !== 0) f.increment(local, -runs * along);
    });
  });
}
