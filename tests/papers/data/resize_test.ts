import assert from "node:assert/strict";
import { resizeLanczos } from "../../../tasks/papers/data/resize.ts";

const [rows, columns] = [23, 17];
const pixels = Uint8Array.from({ length: rows * columns * 3 }, (_, i) => {
  const [row, column, channel] = [Math.floor(i / (3 * columns)), Math.floor(i / 3) % columns, i % 3];
  return (37 * row + 59 * column + 83 * channel + row * column * (channel + 1)) % 256;
});

Deno.test("a smaller image has the pixels of Pillow's resize((4, 4), Image.LANCZOS)", () => {
  const { pixels: found, shape } = resizeLanczos({ pixels, shape: [rows, columns, 3] }, 4);
  assert.deepEqual(shape, [4, 4, 3]);
  assert.deepEqual([...found], [
    ...[121, 122, 123, 126, 130, 128, 129, 121, 135, 131, 108, 116, 129, 120, 136, 134, 123, 131, 130, 132],
    ...[127, 126, 126, 134, 118, 122, 126, 123, 121, 123, 128, 129, 131, 121, 127, 147, 128, 134, 124, 126],
    ...[136, 117, 126, 125, 133, 122, 129, 133],
  ]);
});

Deno.test("the first pixels of a larger image are those of Pillow's resize((30, 30), Image.LANCZOS)", () => {
  const { pixels: found } = resizeLanczos({ pixels, shape: [rows, columns, 3] }, 30);
  assert.deepEqual([...found.subarray(0, 24)], [
    ...[0, 76, 148, 11, 92, 204, 51, 131, 245, 90, 198, 140, 118, 188, 20, 139, 70, 39, 194, 0, 100, 255, 32],
    ...[123],
  ]);
});
