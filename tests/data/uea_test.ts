import assert from "node:assert/strict";
import { strToU8, zipSync } from "fflate";
import { readUea } from "../../src/data/uea.ts";

const part = (line: string, channels = 1) =>
  `@problemName Tiny\n@dimensions ${channels}\n@classLabel true a b\n@data\n${line}\n`;

async function withFolder(body: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a zip file and a folder of the same problem give the same series, TRAIN first", () =>
  withFolder(async (folder) => {
    const files = { "Tiny_TEST.ts": part("3,4:b"), "Tiny_TRAIN.ts": part("1,2:a"), "Tiny.txt": "about it" };
    for (const [file, text] of Object.entries(files)) await Deno.writeTextFile(`${folder}/${file}`, text);
    const zipped = zipSync(Object.fromEntries(Object.entries(files).map(([f, text]) => [f, strToU8(text)])));
    await Deno.writeFile(`${folder}/Tiny.zip`, zipped);
    const set = await readUea(folder);
    assert.deepEqual(set.series.map(({ values, label }) => [...values, label]), [[1, 2, 0], [3, 4, 1]]);
    assert.deepEqual(await readUea(`${folder}/Tiny.zip`, "Tiny"), set);
  }));

Deno.test("a path that leads nowhere is named", () =>
  assert.rejects(() => readUea("no/such.zip"), /no\/such\.zip: no such file or folder; expected a zip file/));

Deno.test("an archive of another problem is refused with what it holds", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/Tiny_TRAIN.ts`, part("1:a"));
    await assert.rejects(
      () => readUea(folder, "Letters"),
      /expected a Letters_TRAIN\.ts, found Tiny_TRAIN\.ts/,
    );
    await assert.rejects(() => readUea(folder), /expected a <name>_TEST\.ts/);
  }));

Deno.test("a file that is no zip file is refused", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/notes.zip`, "not a zip file at all, only text");
    await assert.rejects(() => readUea(`${folder}/notes.zip`), /notes\.zip: expected a zip file or a folder/);
  }));

Deno.test("parts that differ in channels are refused", () =>
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/Tiny_TRAIN.ts`, part("1:a"));
    await Deno.writeTextFile(`${folder}/Tiny_TEST.ts`, part("1:2:a", 2));
    await assert.rejects(() => readUea(folder), /Tiny_TEST\.ts, line 1: 2 channels, expected 1/);
  }));
