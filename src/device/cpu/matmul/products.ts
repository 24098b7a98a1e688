/** Products by tiles. */
import { addTask } from "../runtime/executable.ts";
import type { Registers } from "../runtime/wasm_memory.ts";
import type { ModuleBuilder } from "../assembler/wasm.ts";
import { reader, word } from "./descriptor.ts";
import { emitPackPanels, emitPackRows, panelBytes, panelPadding } from "./packing.ts";
import { emitCallTile, emitTile, tileRows, tileVectors, type Vectors } from "./tile.ts";
import { emitUnits } from "./units.ts";

/**
 * Vectors of tiles with one row and with two rows. They are wide, because each sum is a chain of dependent
 * additions.
 */
const fewRowsVectors = (
  { vectorsPerRegister }: Registers,
) => [8 * vectorsPerRegister, 4 * vectorsPerRegister];
/** Terms that are packed at a time: the current panels take half of the first-level cache. */
export const blockDepth = 256;
/** Bytes of a panel. */
export const wholePanelBytes = (registers: Registers): number =>
  panelBytes(registers) * blockDepth + panelPadding;
/** Panels that rows are multiplied by at a time: the tiles write complete cache lines. */
export const panelsAtOnce = ({ vectorsPerRegister }: Registers): number => 2 / vectorsPerRegister;

/** Products by tiles, of matrices in place or packed. */
export function emitProducts(module: ModuleBuilder, vectors: Vectors): void {
  const { size, lanes } = vectors;
  const packRows = emitPackRows(module, vectors, tileRows);
  const packPanels = emitPackPanels(module, vectors);
  const tiles = (width: number, byRows: boolean, most = tileRows) =>
    Array.from({ length: most }, (_, row) => emitTile(module, vectors, row + 1, width, byRows));
  const ways = (width: number, most?: number) => ({
    byRows: tiles(width, true, most),
    byColumns: tiles(width, false, most),
  });
  // From the narrowest to the widest; each is twice as wide as the previous one.
  const widths = Array.from({ length: 1 + Math.log2(tileVectors(module)) }, (_, i) => 2 ** i);
  const byWidth = widths.map((width) => ways(width));
  const fewRows = fewRowsVectors(module).map((width, i) => ({
    width: width * lanes,
    tiles: ways(width, i + 1),
  }));
  const width = tileVectors(module) * lanes;
  const chunkColumns = panelsAtOnce(module) * width;

  const start = addTask(module, "products");
  const { f, task } = start;
  const read = reader(start);
  const [k, maxDepth, packsA, packsB] = [read("k"), read("depth"), read("packsA"), read("panels")];
  const [aRowStride, aDepthStride] = [read("aRowStride"), read("aDepthStride")];
  const [bDepthStride, bColumnStride] = [read("bDepthStride"), read("bColumnStride")];
  const cRowStride = read("cRowStride");
  const scratchPerTask = read("scratchPerTask");
  const [byRows, done, depth, left, remaining, packed, chunk, rest] = f.locals("i32", 8);
  const panels = start.address(word.scratch);
  const [packedA, aStride, bStride, aStep, bStep] = f.locals("address", 5);
  const [aBlock, bBlock, bChunk, cChunk, bPanel, cRow, aTile, bTile, cTile, from, to] = f.locals(
    "address",
    11,
  );

  f.increment(panels, () => f.op("address.mul", task, scratchPerTask));
  f.set(
    packedA,
    () => f.op("address.add", panels, () => f.op("address.mul", packsB, wholePanelBytes(module))),
  );
  // Tiles read the left matrix from one pointer if rows are one element apart, else from a pointer per row.
  f.set(
    byRows,
    () => f.op("i32.and", () => f.op("i32.eqz", packsA), () => f.op("address.eq", aDepthStride, size)),
  );
  f.set(
    aStride,
    () =>
      f.op(
        "select",
        () => f.address(tileRows * size),
        () => f.op("select", aRowStride, aDepthStride, byRows),
        packsA,
      ),
  );
  f.set(bStride, () => f.op("select", () => f.address(panelBytes(module)), bDepthStride, packsB));

  emitUnits(start, vectors, read, ({ a, b, c, rows, columns }) => {
    f.set(done, 0);
    f.set(aBlock, a);
    f.set(bBlock, b);
    f.loop((again) => {
      f.set(depth, () => f.op("i32.sub", k, done));
      f.set(depth, () => f.smaller(depth, maxDepth));
      f.set(from, aBlock);
      f.set(aStep, () => f.op("address.mul", aRowStride, tileRows));
      f.if(packsA, () => {
        f.set(to, packedA);
        f.set(left, rows);
        f.while(() => f.op("i32.gt_s", left, 0), () => {
          f.call(packRows, to, from, depth, aRowStride, aDepthStride, left);
          f.increment(from, aStep);
          f.increment(to, () => f.op("address.mul", depth, tileRows * size));
          f.increment(left, -tileRows);
        });
        f.set(from, packedA);
        f.set(aStep, () => f.op("address.mul", depth, tileRows * size));
      });
      f.set(
        bStep,
        () =>
          f.op(
            "select",
            () => f.op("address.add", () => f.op("address.mul", depth, panelBytes(module)), panelPadding),
            () => f.op("address.mul", bColumnStride, width),
            packsB,
          ),
      );
      f.set(remaining, columns);
      f.set(cChunk, c);
      f.set(bChunk, bBlock);
      const args = [aTile, bTile, cTile, depth, aStride, bStride, cRowStride, rest, done];
      const call = ({ byRows: first, byColumns: second }: ReturnType<typeof ways>) =>
        f.if(byRows, () => emitCallTile(f, first, left, args), () => emitCallTile(f, second, left, args));
      const callNarrowest = (i = 0) => {
        if (i === byWidth.length - 1) return call(byWidth[i]);
        f.if(
          () => f.op("i32.gt_s", rest, widths[i] * lanes),
          () => callNarrowest(i + 1),
          () => call(byWidth[i]),
        );
      };
      // One or two rows: wide tiles, as long as the remaining columns need more than a narrower tile.
      f.if(() => f.op("i32.and", () => f.op("i32.le_s", rows, 2), () => f.op("i32.eqz", packsB)), () => {
        f.set(left, rows);
        f.set(aTile, from);
        f.set(bTile, bChunk);
        f.set(cTile, cChunk);
        f.set(rest, remaining);
        fewRows.forEach(({ width, tiles }, i) =>
          f.while(
            () => f.op("i32.and", () => f.op("i32.gt_s", rest, width), () => f.op("i32.eq", rows, i + 1)),
            () => {
              call(tiles);
              f.increment(bTile, () => f.op("address.mul", bColumnStride, width));
              f.increment(cTile, width * size);
              f.increment(rest, -width);
            },
          )
        );
        f.set(bChunk, bTile);
        f.set(cChunk, cTile);
        f.set(remaining, rest);
      });
      f.while(() => f.op("i32.gt_s", remaining, 0), () => {
        f.set(
          chunk,
          () => f.op("select", remaining, chunkColumns, () => f.op("i32.lt_s", remaining, chunkColumns)),
        );
        f.if(packsB, () => {
          f.if(() => f.op("i32.eqz", packed), () => {
            f.set(packed, () => f.op("i32.mul", packsB, width));
            f.set(packed, () => f.smaller(packed, remaining));
            f.set(bPanel, panels);
            f.call(packPanels, panels, bChunk, depth, bDepthStride, bColumnStride, packed, bStep);
          });
          f.increment(packed, () => f.op("i32.sub", 0, chunk));
        }, () => f.set(bPanel, bChunk));
        f.set(left, rows);
        f.set(aTile, from);
        f.set(cRow, cChunk);
        f.while(() => f.op("i32.gt_s", left, 0), () => {
          f.set(rest, chunk);
          f.set(bTile, bPanel);
          f.set(cTile, cRow);
          f.while(() => f.op("i32.gt_s", rest, 0), () => {
            callNarrowest();
            f.increment(bTile, bStep);
            f.increment(cTile, width * size);
            f.increment(rest, -width);
          });
          f.increment(aTile, aStep);
          f.increment(cRow, () => f.op("address.mul", cRowStride, tileRows));
          f.increment(left, -tileRows);
        });
        f.increment(bPanel, () => f.op("address.mul", bStep, panelsAtOnce(module)));
        f.increment(bChunk, () => f.op("address.mul", bColumnStride, chunk));
        f.increment(cChunk, () => f.op("address.mul", chunk, size));
        f.increment(remaining, () => f.op("i32.sub", 0, chunk));
      });
      f.increment(done, depth);
      f.increment(aBlock, () => f.op("address.mul", depth, aDepthStride));
      f.increment(bBlock, () => f.op("address.mul", depth, bDepthStride));
      f.branchIf(again, () => f.op("i32.lt_u", done, k));
    });
  });
}
