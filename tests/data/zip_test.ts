import assert from "node:assert/strict";
import { zipEntries } from "../../src/data/zip.ts";
import { zipFile } from "./zip_file.ts";

const files = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ name: `${i}`, content: `${i}`, method: "stored" as const }));

/** The number of entries, and the name and the content of the last one. */
function readLast(archive: Uint8Array): [count: number, name: string, content: string] {
  const entries = zipEntries(archive, "x.zip");
  const { name, read } = entries.at(-1)!;
  return [entries.length, name, new TextDecoder().decode(read())];
}

Deno.test("an archive of more than 65,535 files is read without a Zip64 record", () => {
  const count = 2 ** 16 + 3;
  assert.deepEqual(readLast(zipFile(files(count))), [count, `${count - 1}`, `${count - 1}`]);
});

Deno.test("the directory is found by a Zip64 record", () => {
  assert.deepEqual(readLast(zipFile(files(3), "zip64")), [3, "2", "2"]);
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
