import assert from "node:assert/strict";
import { parseIdx } from "../../../tasks/papers/data/idx.ts";
import { pixelSeries, readDigits } from "../../../tasks/papers/data/mnist.ts";

const header = (
  ...shape: number[]
) => [0, 0, 8, shape.length, ...shape.flatMap((n) => [0, 0, n >> 8, n & 255])];
const images = Uint8Array.of(...header(2, 2, 3), 0, 51, 102, 153, 204, 255, 1, 2, 3, 4, 5, 6);
const labels = Uint8Array.of(...header(2), 7, 3);

async function gzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).bytes();
}

async function folderWith(files: Record<string, Uint8Array>): Promise<string> {
  const folder = await Deno.makeTempDir();
  for (const [name, bytes] of Object.entries(files)) await Deno.writeFile(`${folder}/${name}`, bytes);
  return folder;
}

Deno.test("digits are read from IDX files, compressed or not", async () => {
  const folder = await folderWith({
    "t10k-images-idx3-ubyte.gz": await gzip(images),
    "t10k-labels-idx1-ubyte": labels,
  });
  const digits = await readDigits(folder, "t10k");
  assert.deepEqual(digits?.shape, [2, 2, 3]);
  assert.deepEqual([...digits.labels], [7, 3]);
  assert.deepEqual([...digits.images.subarray(6)], [1, 2, 3, 4, 5, 6]);
  assert.equal(await readDigits(folder, "train"), undefined);
});

Deno.test("damaged IDX files are rejected by name", async () => {
  assert.throws(
    () => parseIdx(images.slice(0, -1), "digits"),
    /digits: an array of 2 by 2 by 3 takes 28 bytes, .* 27/,
  );
  assert.throws(() => parseIdx(Uint8Array.of(1, 2, 3, 4, 5), "digits"), /digits: not an IDX file/);
  const folder = await folderWith({
    "t10k-images-idx3-ubyte.gz": images,
    "t10k-labels-idx1-ubyte": labels,
  });
  await assert.rejects(readDigits(folder, "t10k"), /images-idx3-ubyte.gz: expected a gzip file/);
});

Deno.test("different numbers of images and labels are rejected", async () => {
  const folder = await folderWith({
    "t10k-images-idx3-ubyte": images,
    "t10k-labels-idx1-ubyte": Uint8Array.of(...header(1), 7),
  });
  await assert.rejects(
    readDigits(folder, "t10k"),
    /images of 2 by 2 by 3 and labels of 1, expected one label for each image/,
  );
});

Deno.test("pixels become series in [-1, 1], row by row, with an optional stride", () => {
  const digits = { images: images.subarray(16), shape: [2, 2, 3], labels: labels.subarray(8) } as const;
  const full = pixelSeries(digits);
  assert.deepEqual(full.shape, [2, 6, 1]);
  assert.deepEqual([...full.values.subarray(0, 6)].map((x) => Math.round(1000 * x)), [
    -1000,
    -600,
    -200,
    200,
    600,
    1000,
  ]);
  const half = pixelSeries(digits, 2);
  assert.deepEqual(half.shape, [2, 2, 1]);
  assert.deepEqual([...half.values].map((x) => Math.round(127.5 * (x + 1))), [0, 102, 1, 3]);
});
