import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { readTable } from "../../src/data/table/read_table.ts";
import { parseUea } from "../../src/data/uea.ts";
import { DataError } from "../../src/device/errors.ts";
import { concatenateBytes } from "../../src/files/memory.ts";
import { withFolder } from "../tasks/command_line.ts";
import { type HostileFile, hostileParquet, hostileZip } from "./hostile_files.ts";
import { encodings, parquetFile, plainTexts } from "./parquet_file.ts";
import { zipFile } from "./zip_file.ts";

for (const { name, bytes, error } of hostileParquet) {
  Deno.test(
    `a table is rejected before it is unpacked: ${name}`,
    withFolder(async (folder) => {
      await Deno.writeFile(`${folder}/table`, bytes);
      await assert.rejects(readTable(`${folder}/table`), matches(error));
    }),
  );
}

for (const { name, bytes, error } of hostileZip) {
  Deno.test(`a zip archive is rejected before it is unpacked: ${name}`, async () => {
    await assert.rejects(parseUea(bytes, "bomb.zip"), error);
  });
}

function matches(error: HostileFile["error"]) {
  return (thrown: unknown) => {
    assert(thrown instanceof DataError);
    assert.match(thrown.message, error);
    return true;
  };
}

Deno.test(
  "hostile Parquet files are rejected with less than 300 MiB of memory",
  withFolder(async (folder) => {
    for (const [i, { bytes }] of hostileParquet.entries()) await Deno.writeFile(`${folder}/${i}`, bytes);
    const program = `
      import { readTable } from ${JSON.stringify(import.meta.resolve("../../src/data/table/read_table.ts"))};
      import process from "node:process";
      // A process starts with the peak of the process that started it.
      const before = process.resourceUsage().maxRSS;
      for (let i = 0; i < ${hostileParquet.length}; i++) {
        await readTable(${JSON.stringify(folder)} + "/" + i).then(() => console.log(i, "was read"), () => {});
      }
      console.log((process.resourceUsage().maxRSS - before) / 1024 < 300);
    `;
    const config = new URL("../../deno.json", import.meta.url).pathname;
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-check", "--config", config, "--v8-flags=--max-old-space-size=500", program],
    }).output();
    assert.equal(new TextDecoder().decode(stdout), "true\n");
  }),
);

Deno.test("a limit of the unpacked size that is large enough reads a compressed table", async () => {
  const bytes = gzipSync(`time,x\n${"0,1\n".repeat(2 ** 19)}`);
  const read = (maxUnpacked: number) => readTable({ name: "x.csv.gz", bytes }, { maxUnpacked });
  await assert.rejects(read(1), /x\.csv\.gz: \d+ compressed bytes unpack to more than 1 MiB; if you trust/);
  assert.deepEqual((await read(3)).channels, ["x"]);
});

Deno.test("members of a gzip file count together", async () => {
  const member = gzipSync(`time,x\n${"0,1\n".repeat(2 ** 18)}`);
  const bytes = concatenateBytes([member, member]);
  await assert.rejects(readTable({ name: "x.csv.gz", bytes }, { maxUnpacked: 1.5 }), /more than 1 MiB/);
});

Deno.test("a limit of the unpacked size that is large enough reads an archive", async () => {
  const text = `@problemName a\n@timeStamps false\n@classLabel true a b\n@data\n${
    `${"1,".repeat(2 ** 10)}2:a\n`.repeat(2 ** 9)
  }`;
  const bytes = zipFile(["TRAIN", "TEST"].map((part) => ({ name: `A_${part}.ts`, content: text })));
  await assert.rejects(
    parseUea(bytes, "a.zip", undefined, 1.5),
    /a\.zip: \d+ compressed bytes unpack to more/,
  );
  assert.equal((await parseUea(bytes, "a.zip", undefined, 3)).series.length, 2 ** 10);
});

Deno.test(
  "a limit of the unpacked size that is large enough reads a Parquet file",
  withFolder(async (folder) => {
    const path = `${folder}/x.parquet`;
    const rows = 2 ** 14;
    const data = (bytes: Uint8Array) =>
      [{ kind: "data", values: rows, encoding: encodings.plain, bytes }] as const;
    const columns = [
      { name: "time", type: 1, isPacked: true, pages: data(new Uint8Array(4 * rows)) },
      { name: "x", type: 6, isPacked: true, pages: data(plainTexts(...new Array(rows).fill("a"))) },
    ];
    await Deno.writeFile(path, parquetFile(columns, rows));
    await assert.rejects(readTable(path, { maxUnpacked: 0.25 }), /unpack to more than 0 MiB/);
    assert.deepEqual((await readTable(path, { maxUnpacked: 8 })).channels, ["x=a"]);
  }),
);
