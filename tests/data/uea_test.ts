import assert from "node:assert/strict";
import { parseUea, readUea } from "../../src/data/uea.ts";
import { withFolder } from "../tasks/command_line.ts";
import { zipFile } from "./zip_file.ts";

const part = (line: string, channels = 1) =>
  `@problemName Tiny\n@dimensions ${channels}\n@classLabel true a b\n@data\n${line}\n`;

Deno.test(
  "a zip file and a folder of the same problem give the same series, TRAIN first",
  withFolder(async (folder) => {
    const files = { "Tiny_TEST.ts": part("3,4:b"), "Tiny_TRAIN.ts": part("1,2:a"), "Tiny.txt": "about it" };
    for (const [file, text] of Object.entries(files)) await Deno.writeTextFile(`${folder}/${file}`, text);
    const zipped = zipFile(Object.entries(files).map(([name, content]) => ({ name, content })));
    await Deno.writeFile(`${folder}/Tiny.zip`, zipped);
    const set = await readUea(folder);
    assert.deepEqual(set.series.map(({ values, label }) => [...values, label]), [[1, 2, 0], [3, 4, 1]]);
    assert.deepEqual(await readUea(`${folder}/Tiny.zip`, "Tiny"), set);
  }),
);

Deno.test("the error of a missing path names the path", () =>
  assert.rejects(() => readUea("no/such.zip"), /no\/such\.zip: no such file or folder; expected a zip file/));

Deno.test(
  "an archive of another problem is rejected with its contents",
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/Tiny_TRAIN.ts`, part("1:a"));
    await assert.rejects(
      () => readUea(folder, "Letters"),
      /expected a Letters_TRAIN\.ts, found Tiny_TRAIN\.ts/,
    );
    await assert.rejects(() => readUea(folder), /expected a <name>_TEST\.ts/);
  }),
);

Deno.test(
  "a file that is not a zip file is rejected",
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/notes.zip`, "not a zip file at all, only text");
    await assert.rejects(() => readUea(`${folder}/notes.zip`), /notes\.zip: not a zip file: no directory/);
  }),
);

Deno.test(
  "parts with different channels are rejected",
  withFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/Tiny_TRAIN.ts`, part("1:a"));
    await Deno.writeTextFile(`${folder}/Tiny_TEST.ts`, part("1:2:a", 2));
    await assert.rejects(() => readUea(folder), /Tiny_TEST\.ts, line 1: 2 channels, expected 1/);
  }),
);

const tiny = [
  { name: "Tiny_TRAIN.ts", content: part("1,2:a") },
  { name: "Tiny_TEST.ts", content: part("3,4:b") },
] as const;

Deno.test("an archive with a flipped bit is rejected or gives the same series", async () => {
  for (const method of ["stored", "deflated"] as const) {
    const bytes = zipFile(tiny.map((file) => ({ ...file, method })));
    const whole = await parseUea(bytes, "x.zip");
    let refused = 0;
    for (let at = 0; at < bytes.length; at++) {
      const altered = bytes.slice();
      altered[at] ^= 1 << at % 8;
      const set = await parseUea(altered, "x.zip").catch((error) => {
        assert.match(error.message, /^x\.zip[:/].+/);
        refused++;
      });
      if (set) assert.deepEqual(set, whole, `${method}, byte ${at}`);
    }
    assert(refused > 100, `${refused} refused`);
  }
});

Deno.test(
  "files that macOS adds to an archive or a folder are ignored",
  withFolder(async (folder) => {
    const added = tiny.flatMap(({ name }) => [{ name: `__MACOSX/._${name}`, content: "\0\x05\x16\x07" }]);
    const zipped = await parseUea(zipFile([...tiny, ...added]), "x.zip");
    assert.equal(zipped.series.length, 2);
    for (const { name, content } of tiny) await Deno.writeTextFile(`${folder}/${name}`, content);
    await Deno.writeTextFile(`${folder}/._Tiny_TRAIN.ts`, "\0\x05\x16\x07");
    assert.equal((await readUea(folder)).series.length, 2);
  }),
);

const [train, test] = tiny;
const zeros = new Uint8Array(2 ** 26);
const bombs: [name: string, archive: Uint8Array, message: RegExp][] = [
  [
    "that states a content of gigabytes",
    zipFile([{ ...train, content: zeros, claimedSize: 3e9 }, test]),
    /Tiny_TRAIN\.ts: 3000000000 bytes, expected 2147483647 at most/,
  ],
  [
    "that contains more bytes than it states",
    zipFile([{ ...train, content: zeros, claimedSize: 100 }, test]),
    /Tiny_TRAIN\.ts: damaged: cannot be unpacked to 100 bytes/,
  ],
  [
    "that contains fewer bytes than it states",
    zipFile([{ ...train, claimedSize: 100 }, test]),
    /Tiny_TRAIN\.ts: damaged: \d+ bytes, expected 100/,
  ],
  [
    "that is encrypted",
    zipFile([{ ...train, isEncrypted: true }, test]),
    /Tiny_TRAIN\.ts: encrypted; unpack/,
  ],
];

for (const [name, archive, message] of bombs) {
  Deno.test(`an archive ${name} is rejected at once`, async () => {
    const before = performance.now();
    await assert.rejects(() => parseUea(archive, "x.zip"), message);
    const seconds = (performance.now() - before) / 1000;
    assert(seconds < 1, `${seconds} s`);
  });
}
