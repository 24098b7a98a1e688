/** Products tile by tile. */
import { addTask } from "../program.ts";
import type { FunctionBuilder, ModuleBuilder } from "../wasm.ts";
import { reader, word } from "./descriptor.ts";
import { emitPackPanel, panelBytes } from "./packing.ts";
import { emitCallTile, emitTile, tileRows, tileVectors, type Vectors } from "./tile.ts";
import { emitUnits } from "./units.ts";

/** Vectors of a tile of one row, and of two: wide, as otherwise each sum would wait for itself. */
const fewRowsVectors = [8, 4] as const;
/** Length of the summed axis that is packed at a time: a panel of it takes a quarter of a first-level cache. */
export const blockDepth = 256;

/** Tile by tile, of matrices where they lie or packed. */
export function emitProducts(module: ModuleBuilder, vectors: Vectors, packRows: FunctionBuilder): void {
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
  const width = tileVectors * lanes;

  const start = addTask(module, "products");
  const { f, task, descriptor } = start;
  const read = reader(f, descriptor);
  const [k, maxDepth, packsA, packsB] = [read("k"), read("depth"), read("packsA"), read("packsB")];
  const [aRowStride, aDepthStride] = [read("aRowStride"), read("aDepthStride")];
  const [bDepthStride, bColumnStride] = [read("bDepthStride"), read("bColumnStride")];
  const cRowStride = read("cRowStride");
  const scratchPerTask = read("scratchPerTask");
  const [byRows, done, depth, left, remaining] = f.locals("i32", 5);
  const [panel, packedA, aStride, bStride, aStep] = f.locals("address", 5);
  const [aBlock, bBlock, bPanel, cPanel, aTile, bTile, cTile, from, to] = f.locals("address", 9);

  f.set(panel, () => f.loadAddress(descriptor, 4 * word.scratch));
  f.increment(panel, () => f.op("address.mul", task, scratchPerTask));
  f.set(
    packedA,
    () => f.op("address.add", panel, () => f.op("address.mul", packsB, panelBytes * blockDepth)),
  );
  // Tiles read the left matrix from one pointer if its rows are one element apart, else from a pointer for each row.
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
  f.set(bStride, () => f.op("select", () => f.address(panelBytes), bDepthStride, packsB));

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
      f.set(remaining, columns);
      f.set(cPanel, c);
      f.set(bPanel, bBlock);
      const args = [aTile, bTile, cTile, depth, aStride, bStride, cRowStride, remaining, done];
      const call = ({ byRows: first, byColumns: second }: ReturnType<typeof ways>) =>
        f.if(byRows, () => emitCallTile(f, first, left, args), () => emitCallTile(f, second, left, args));
      const advance = (width: number) => {
        f.increment(bPanel, () => f.op("address.mul", bColumnStride, width));
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
          f.increment(cTile, () => f.op("address.mul", cRowStride, tileRows));
          f.increment(left, -tileRows);
        });
        advance(width);
      });
      f.increment(done, depth);
      f.increment(aBlock, () => f.op("address.mul", depth, aDepthStride));
      f.increment(bBlock, () => f.op("address.mul", depth, bDepthStride));
      f.branchIf(again, () => f.op("i32.lt_u", done, k));
    });
  });
}
