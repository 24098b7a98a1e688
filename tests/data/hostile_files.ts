/** Small files that claim, or unpack to, far more than their size. */
import { deltas, encodings, parquetFile, plainTexts, run } from "./parquet_file.ts";
import { zipFile } from "./zip_file.ts";

/** A file, and the error of reading it. */
export interface HostileFile {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly error: RegExp;
}

const tooLarge = /unpack to more than \d+ MiB; if you trust the file, set .*maxUnpacked/;
const damaged = /not read as Parquet .*; is it complete\?$/;

const time = (rows: number, bytes = new Uint8Array(4 * Math.min(rows, 3))) => ({
  name: "time",
  type: 1,
  pages: [{ kind: "data", values: rows, encoding: encodings.plain, bytes }],
} as const);
const dictionary = (...texts: string[]) => ({
  kind: "dictionary",
  values: texts.length,
  encoding: encodings.plain,
  bytes: plainTexts(...texts),
} as const);
const indices = (values: number, bytes: Uint8Array) => ({
  kind: "data",
  values,
  encoding: encodings.runDictionary,
  bytes,
} as const);
const zeros = (count: number) => new Uint8Array(count);

/** Parquet files. */
export const hostileParquet: readonly HostileFile[] = [
  {
    name: "a run of a billion values on a page of three",
    bytes: parquetFile([time(3), {
      name: "x",
      type: 6,
      pages: [dictionary("a", "b"), indices(3, run(1, 2 ** 30))],
    }], 3),
    error: damaged,
  },
  {
    name: "the same run on a page of the second version",
    bytes: parquetFile([time(3), {
      name: "x",
      type: 6,
      pages: [dictionary("a", "b"), { ...indices(3, run(1, 2 ** 30)), kind: "dataV2" }],
    }], 3),
    error: damaged,
  },
  {
    name: "a billion rows of one run",
    bytes: parquetFile(
      [{ name: "x", type: 6, pages: [dictionary("a", "b"), indices(2 ** 30, run(1, 2 ** 30))] }, {
        name: "time",
        type: 1,
        pages: [indices(2 ** 30, Uint8Array.of(0))],
      }],
      2 ** 30,
    ),
    error: tooLarge,
  },
  {
    name: "a page with more values than rows",
    bytes: parquetFile([time(3), { ...time(2 ** 22), name: "x" }], 3),
    error: damaged,
  },
  {
    name: "a page that claims a gigabyte",
    bytes: parquetFile([{
      ...time(3),
      isPacked: true,
      pages: [{ ...time(3).pages[0], claimedSize: 2 ** 30 }],
    }, { ...time(3), name: "x" }], 3),
    error: tooLarge,
  },
  {
    name: "a page that is longer than it claims",
    bytes: parquetFile([{
      ...time(3),
      isPacked: true,
      pages: [{ ...time(3, zeros(2 ** 27)).pages[0], claimedSize: 12 }],
    }, { ...time(3), name: "x" }], 3),
    error: damaged,
  },
  {
    name: "millions of empty texts",
    bytes: parquetFile([{
      name: "x",
      type: 6,
      isPacked: true,
      pages: [{ kind: "data", values: 2 ** 22, encoding: encodings.plain, bytes: zeros(2 ** 24) }],
    }, { ...time(2 ** 22, zeros(2 ** 24)), isPacked: true }], 2 ** 22),
    error: tooLarge,
  },
  {
    name: "row groups that share their pages",
    bytes: parquetFile(
      [{ name: "time", type: 1, pages: [{ ...time(2 ** 18).pages[0], bytes: zeros(2 ** 20) }] }, {
        name: "x",
        type: 6,
        pages: [dictionary("a", "b"), indices(2 ** 18, run(1, 2 ** 18))],
      }],
      2 ** 18,
      500,
    ),
    error: damaged,
  },
  {
    name: "texts that repeat a long prefix",
    bytes: parquetFile([{
      name: "x",
      type: 6,
      pages: [{
        kind: "data",
        values: 2 ** 12,
        encoding: encodings.deltaTexts,
        bytes: Uint8Array.from([...deltas(2 ** 20, 2 ** 12), ...deltas(0, 2 ** 12), ...zeros(2 ** 10)]),
      }],
    }, time(2 ** 12, zeros(2 ** 14))], 2 ** 12),
    error: tooLarge,
  },
  {
    name: "a long text that occurs in each row",
    bytes: parquetFile([time(2 ** 16, zeros(2 ** 18)), {
      name: "x",
      type: 6,
      pages: [dictionary(" ".repeat(2 ** 14) + "a", "b"), indices(2 ** 16, run(0, 2 ** 16))],
    }], 2 ** 16),
    error: tooLarge,
  },
  {
    name: "a column that claims a terabyte",
    bytes: parquetFile([time(3), { ...time(3), name: "x", claimedSize: 2 ** 40 }], 3),
    error: damaged,
  },
];

/** Zip archives of a problem in the `.ts` format. */
export const hostileZip: readonly HostileFile[] = [
  {
    name: "two files that claim 800 MiB",
    bytes: zipFile(["TRAIN", "TEST"].map((part) => ({
      name: `Bomb_${part}.ts`,
      content: "@data\n",
      claimedSize: 800 * 2 ** 20,
    }))),
    error: tooLarge,
  },
  {
    name: "files that are longer than they claim",
    bytes: zipFile(["TRAIN", "TEST"].map((part) => ({
      name: `Bomb_${part}.ts`,
      content: zeros(2 ** 26),
      claimedSize: 100,
    }))),
    error: /damaged: cannot be unpacked to 100 bytes/,
  },
];
