/** Rows of a shared table, at positions that differ from lane to lane. */
import type { FunctionBuilder } from "../../../device/cpu/assembler/wasm.ts";
import type { GatherKernel } from "../../program/program.ts";
import type { Tile } from "./tile.ts";

/** (output, table, indices): each lane reads a different row. */
export function gatherKernel({ operands: [table, indices] }: GatherKernel, tile: Tile): FunctionBuilder {
  const [rows, columns] = table.shape;
  const [rowBytes, columnBytes] = table.strides.map((stride) => stride * tile.bytes);
  const count = indices.shape[0];
  const key = `gather ${count} of ${rows} ${columns} ${table.strides}`;
  return tile.function(key, ["address", "address", "address"], (f) => {
    const [to, from, at] = f.params;
    const [left, column] = f.locals("i32", 2);
    const sources = f.locals("address", tile.samples);
    const masks = f.locals("v128", tile.vectors);
    const vector = f.local("v128");
    f.set(left, count);
    f.doWhile(() => {
      masks.forEach((mask, v) => {
        f.set(vector, () => f.load("v128.load", at, 16 * v));
        // Unsigned comparison, so that negative indices are out of range.
        f.set(mask, () => f.op("i32x4.lt_u", vector, () => f.i32x4(rows)));
        f.set(vector, () => f.op("v128.and", vector, mask));
        for (let lane = 0; lane < tile.lanes; lane++) {
          const row = () => f.lane("i32x4.extract_lane", lane, vector);
          f.set(
            sources[v * tile.lanes + lane],
            () => f.op("address.add", from, () => f.op("address.mul", () => f.distance(row), rowBytes)),
          );
        }
        if (tile.lanes === 2) f.set(mask, () => f.op("i64x2.extend_low_i32x4_s", mask));
      });
      f.set(column, columns);
      f.doWhile(() => {
        masks.forEach((mask, v) => {
          f.set(vector, () => f.i32x4(0));
          for (let lane = 0; lane < tile.lanes; lane++) {
            const load = tile.bytes === 4 ? "v128.load32_lane" : "v128.load64_lane";
            f.set(vector, () => f.laneMemory(load, lane, sources[v * tile.lanes + lane], vector));
          }
          const nan = () => tile.lanes === 4 ? f.f32x4(NaN) : f.f64x2(NaN);
          f.store("v128.store", to, () => f.op("v128.bitselect", vector, nan, mask), 16 * v);
        });
        for (const source of sources) f.increment(source, columnBytes);
        f.increment(to, tile.unit);
      }, () => f.tee(column, () => f.op("i32.sub", column, 1)));
      f.increment(at, tile.unit);
    }, () => f.tee(left, () => f.op("i32.sub", left, 1)));
  });
}
