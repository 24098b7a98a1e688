/** Small files that claim far more than their size, or unpack to far more. */
import process from "node:process";
import { readTable } from "../../src/data/table/read_table.ts";
import { parseUea } from "../../src/data/uea.ts";
import { WeftError } from "../../src/device/errors.ts";
import { decodeSafetensors } from "../../src/files/safetensors.ts";
import { type Column, encodings, type Page, parquetFile, plainTexts, run } from "../data/parquet_file.ts";
import { zipFile } from "../data/zip_file.ts";
import { damageBytes } from "./bytes.ts";
import type { Choices } from "./choices.ts";
import type { World } from "./world.ts";

/** Largest growth of the memory of the process in a case, in bytes. */
const maxGrowth = 2 ** 30;

/** A count that a file claims: the correct one, or one that is far too large or too small. */
function claim(correct: number, choices: Choices): number {
  if (choices.chance(0.6)) return correct;
  return choices.of([0, 1, correct + 1, 2 ** 8, 2 ** 16, 2 ** 22, 2 ** 27, 2 ** 30 - 1]);
}

function bombTable(choices: Choices): Uint8Array<ArrayBuffer> {
  const rows = 2 + choices.below(40);
  const column = (name: string, type: number, ...pages: Page[]): Column => ({
    name,
    type,
    pages: pages.map((page) => ({
      ...page,
      values: claim(page.values, choices),
      ...choices.chance(0.8) ? {} : { claimedSize: claim(page.bytes.length, choices) },
      ...choices.chance(0.9) ? {} : { encoding: choices.below(10) },
      ...choices.chance(0.9) || page.kind === "dictionary" ? {} : { kind: "dataV2" as const },
    })),
    isPacked: choices.chance(0.5),
    ...choices.chance(0.9) ? {} : { claimedSize: claim(100, choices) },
  });
  const times = new Uint8Array(Int32Array.from({ length: rows }, (_, i) => i).buffer);
  const texts = plainTexts("a", choices.chance(0.8) ? "b" : "b".repeat(2 ** 16));
  return parquetFile(
    [
      column("time", 1, { kind: "data", values: rows, encoding: encodings.plain, bytes: times }),
      column("x", 6, { kind: "dictionary", values: 2, encoding: encodings.plain, bytes: texts }, {
        kind: "data",
        values: rows,
        encoding: encodings.runDictionary,
        bytes: run(1, claim(rows, choices)),
      }),
    ],
    claim(rows, choices),
    choices.chance(0.8) ? 1 : 1 + choices.below(100),
  );
}

function bombArchive(choices: Choices): Uint8Array<ArrayBuffer> {
  const content = `@problemName a\n@timeStamps false\n@classLabel true a\n@data\n${"1,2:a\n".repeat(4)}`;
  return zipFile(["TRAIN", "TEST"].map((part) => ({
    name: `A_${part}.ts`,
    content: choices.chance(0.7) ? content : new Uint8Array(2 ** 23).fill(choices.of([0, 10, 44])),
    ...choices.chance(0.5) ? {} : { claimedSize: claim(content.length, choices) },
  })));
}

function bombTensors(choices: Choices): Uint8Array<ArrayBuffer> {
  const size = 4 * (1 + choices.below(2 ** 18));
  const count = 1 + choices.below(3000);
  const header = Object.fromEntries(Array.from({ length: count }, (_, i) => {
    const begin = choices.chance(0.9) ? 0 : claim(0, choices);
    const end = choices.chance(0.9) ? size : claim(size, choices);
    return [`${i}`, { dtype: "F32", shape: [(end - begin) / 4], data_offsets: [begin, end] }];
  }));
  const text = new TextEncoder().encode(JSON.stringify(header));
  const bytes = new Uint8Array(8 + text.length + size);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(text.length), true);
  bytes.set(text, 8);
  return bytes;
}

/** Reads a bomb. Each must be read, or be rejected with one line, in bounded memory. */
export async function bombCase(
  _world: World,
  choices: Choices,
  scratch: string,
): Promise<[what: string, fault?: string]> {
  const kind = choices.of(["table", "table", "archive", "tensors"] as const);
  const whole = { table: bombTable, archive: bombArchive, tensors: bombTensors }[kind](choices);
  const { what, bytes } = choices.chance(0.8)
    ? { what: "with wrong claims", bytes: whole }
    : damageBytes(whole, choices);
  const path = `${scratch}/bomb`;
  await Deno.writeFile(path, bytes);
  const before = process.resourceUsage().maxRSS;
  const read = {
    table: () => readTable(path),
    archive: () => parseUea(bytes, path),
    tensors: () => decodeSafetensors(bytes, path),
  }[kind];
  const error = await read().then(() => undefined, (error: unknown) => error);
  const growth = 1024 * (process.resourceUsage().maxRSS - before);
  const description = `${kind} of ${bytes.length} bytes ${what}`;
  if (growth > maxGrowth) return [description, `the memory grew by ${Math.round(growth / 2 ** 20)} MiB`];
  const isClean = error === undefined || error instanceof WeftError ||
    error instanceof Error && error.constructor === Error;
  return [description, isClean ? undefined : `not a clean error: ${(error as Error).stack}`];
}
