/**
 * Products of completely packed matrices. A tile reads adjacent elements, and memory is read in long runs:
 * for each block of terms, the left matrix is packed in groups of a tile's rows, and the right matrix in
 * panels.
 */
import { addTask } from "../runtime/executable.ts";
import type { ModuleBuilder } from "../assembler/wasm.ts";
import { reader } from "./descriptor.ts";
import { emitPackLeft, emitPackPanels } from "./packing.ts";
import { emitCallTile, emitGroupTile, groupRows, tileVectors, type Vectors } from "./tile.ts";
import { emitUnits } from "./units.ts";

/**
 * The task that packs a matrix from `a` to `c`: rows of a left matrix ("a"), or columns of a right matrix
 * ("b"), given as rows of the transposed matrix. Blocks of terms are `bDepthStride` apart, panels
 * `bColumnStride`.
 */
export function emitPacking(module: ModuleBuilder, vectors: Vectors, side: "a" | "b"): void {
  const pack = side === "a" ? emitPackLeft(module, vectors) : emitPackPanels(module, vectors);
  const start = addTask(module, `pack ${side}`);
  const { f } = start;
  const read = reader(start);
  const [k, maxDepth] = [read("k"), read("depth")];
  const [aRowStride, aDepthStride] = [read("aRowStride"), read("aDepthStride")];
  const [blockStride, spacing] = [read("bDepthStride"), read("bColumnStride")];
  const strides = side === "a" ? [aRowStride, aDepthStride] : [aDepthStride, aRowStride];
  const [done, depth] = f.locals("i32", 2);
  emitUnits(start, vectors, read, ({ a, c, rows }) => {
    f.set(done, 0);
    f.loop((again) => {
      f.set(depth, () => f.op("i32.sub", k, done));
      f.set(depth, () => f.smaller(depth, maxDepth));
      f.call(pack, c, a, depth, ...strides, rows, spacing);
      f.increment(a, () => f.op("address.mul", depth, aDepthStride));
      f.increment(c, blockStride);
      f.increment(done, depth);
      f.branchIf(again, () => f.op("i32.lt_u", done, k));
    });
  });
}

/**
 * The product of packed matrices. The strides are those within a block; `aDepthStride` and `bDepthStride` are
 * the distances between blocks. The rows of a unit are multiplied by `panels` panels at a time.
 */
export function emitPackedProduct(module: ModuleBuilder, vectors: Vectors): void {
  const { size, lanes } = vectors;
  const width = tileVectors(module) * lanes;
  const tiles = Array.from({ length: groupRows }, (_, i) => emitGroupTile(module, vectors, i + 1));
  const start = addTask(module, "packed");
  const { f } = start;
  const read = reader(start);
  const [k, maxDepth, panels] = [read("k"), read("depth"), read("panels")];
  const [aRowStride, aBlock] = [read("aRowStride"), read("aDepthStride")];
  const [bBlock, bColumnStride] = [read("bDepthStride"), read("bColumnStride")];
  const cRowStride = read("cRowStride");
  const [done, depth, remaining, chunk, left, rest] = f.locals("i32", 6);
  const [bStep, bChunk, cChunk, aTile, bTile, cTile, cRow] = f.locals("address", 7);
  f.set(bStep, () => f.op("address.mul", bColumnStride, width));
  f.set(panels, () => f.op("i32.mul", panels, width));
  emitUnits(start, vectors, read, ({ a, b, c, rows, columns }) => {
    f.set(done, 0);
    f.loop((again) => {
      f.set(depth, () => f.op("i32.sub", k, done));
      f.set(depth, () => f.smaller(depth, maxDepth));
      f.set(remaining, columns);
      f.set(bChunk, b);
      f.set(cChunk, c);
      f.while(() => f.op("i32.gt_s", remaining, 0), () => {
        f.set(chunk, () => f.smaller(remaining, panels));
        f.set(left, rows);
        f.set(aTile, a);
        f.set(cRow, cChunk);
        f.while(() => f.op("i32.gt_s", left, 0), () => {
          f.set(rest, chunk);
          f.set(bTile, bChunk);
          f.set(cTile, cRow);
          f.while(() => f.op("i32.gt_s", rest, 0), () => {
            emitCallTile(f, tiles, left, [aTile, bTile, cTile, depth, cRowStride, rest, done]);
            f.increment(bTile, bStep);
            f.increment(cTile, width * size);
            f.increment(rest, -width);
          });
          f.increment(aTile, () => f.op("address.mul", aRowStride, groupRows));
          f.increment(cRow, () => f.op("address.mul", cRowStride, groupRows));
          f.increment(left, -groupRows);
        });
        f.increment(bChunk, () => f.op("address.mul", bColumnStride, chunk));
        f.increment(cChunk, () => f.op("address.mul", chunk, size));
        f.increment(remaining, () => f.op("i32.sub", 0, chunk));
      });
      f.increment(a, aBlock);
      f.increment(b, bBlock);
      f.increment(done, depth);
      f.branchIf(again, () => f.op("i32.lt_u", done, k));
    });
  });
}
