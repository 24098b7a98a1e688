import assert from "node:assert/strict";
import { crc32 as nodeCrc32, deflateRawSync } from "node:zlib";
import { zipEntries, zipOf } from "../../src/data/zip.ts";
import { webZlib } from "../../src/data/zlib.ts";
import { zipFile } from "./zip_file.ts";
import { testLong } from "../devices.ts";

const files = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ name: `${i}`, content: `${i}`, method: "stored" as const }));

/** The number of entries, and the name and the content of the last one. */
async function readLast(archive: Uint8Array): Promise<[count: number, name: string, content: string]> {
  const entries = zipEntries(archive, "x.zip");
  const { name, read } = entries.at(-1)!;
  return [entries.length, name, new TextDecoder().decode(await read())];
}

testLong("an archive of more than 65,535 files is read without a Zip64 record", async () => {
  const count = 2 ** 16 + 3;
  assert.deepEqual(await readLast(zipFile(files(count))), [count, `${count - 1}`, `${count - 1}`]);
});

Deno.test("the directory is found by a Zip64 record", async () => {
  assert.deepEqual(await readLast(zipFile(files(3), "zip64")), [3, "2", "2"]);
});

Deno.test("a Zip64 archive with a damaged position of its record is rejected", () => {
  const archive = zipFile([{ name: "a", content: "b" }], "zip64");
  archive[archive.length - 22 - 12] ^= 1;
  assert.throws(() => zipEntries(archive, "a.zip"), /a\.zip: damaged: no Zip64 record at byte \d+/);
});

Deno.test("an archive with fewer entries than its directory claims is rejected", () => {
  const archive = zipFile([{ name: "a", content: "b" }]);
  archive[archive.length - 22 + 10] = 2;
  assert.throws(() => zipEntries(archive, "a.zip"), /a\.zip: damaged: no entry 2 of 2 at byte \d+/);
});

Deno.test("an archive that is written is read with the same names and contents", async () => {
  const files = {
    "run/a.json": new TextEncoder().encode("{}"),
    "run/ä": Uint8Array.of(0, 255),
    empty: new Uint8Array(),
  };
  const entries = zipEntries(zipOf(files), "written.zip");
  assert.deepEqual(
    Object.fromEntries(await Promise.all(entries.map(async ({ name, read }) => [name, await read()]))),
    files,
  );
});

Deno.test("Node's zlib and the browser's functions agree on checksums and deflated bytes", async () => {
  const content = Uint8Array.from({ length: 3000 }, (_, i) => i * i);
  const { crc32, inflateRaw } = webZlib;
  assert.equal(crc32(content), nodeCrc32(content));
  const deflated = new Uint8Array(deflateRawSync(content));
  assert.deepEqual(await inflateRaw(deflated, 3000), content);
  await assert.rejects(inflateRaw(deflated, 2999), /more than 2999 bytes/);
});
