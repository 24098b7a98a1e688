/** Writes Parquet files of one or two columns whose sizes and counts may be wrong. */
import { gzipSync } from "node:zlib";
import { concatenateBytes } from "../../src/files/memory.ts";

/** A page of a column, and the sizes that its header claims. */
export interface Page {
  readonly kind: "data" | "dictionary" | "dataV2";
  /** Number of values that the header claims. */
  readonly values: number;
  /** Number of the encoding. */
  readonly encoding: number;
  readonly bytes: Uint8Array;
  /** Size before compression that the header claims; the correct one by default. */
  readonly claimedSize?: number;
}

/** A column without missing values. */
export interface Column {
  readonly name: string;
  /** Number of the physical type: 1 for 32-bit integers, 5 for float64, 6 for texts. */
  readonly type: number;
  readonly pages: readonly Page[];
  readonly isPacked?: boolean;
  /** Number of bytes that the metadata claim; the correct one by default. */
  readonly claimedSize?: number;
}

/** Numbers of encodings. */
export const encodings = { plain: 0, deltaTexts: 7, runDictionary: 8 };

/**
 * A Parquet file.
 *
 * @param rows Number of rows that each row group claims.
 * @param groups Number of row groups. All have the same pages.
 */
export function parquetFile(columns: readonly Column[], rows: number, groups = 1): Uint8Array<ArrayBuffer> {
  const content: Uint8Array[] = [text("PAR1")];
  let at = 4;
  const chunks = columns.map(({ name, type, pages, isPacked, claimedSize }) => {
    const start = at;
    for (const page of pages) {
      const packed = isPacked ? new Uint8Array(gzipSync(page.bytes)) : page.bytes;
      const header = Uint8Array.from(pageHeader(page, packed.length));
      content.push(header, packed);
      at += header.length + packed.length;
    }
    const isDictionary = pages[0].kind === "dictionary";
    const size = claimedSize ?? at - start;
    return struct({
      2: [6, varint(0)],
      3: [
        12,
        struct({
          1: int(type),
          2: list(5, [int(0)[1]]),
          3: list(8, [binary(name)[1]]),
          4: int(isPacked ? 2 : 0),
          5: long(rows),
          6: long(size),
          7: long(size),
          9: long(start),
          ...isDictionary ? { 11: long(start) } : {},
        }),
      ],
    });
  });
  const group = struct({ 1: list(12, chunks), 2: long(at), 3: long(rows) });
  const schema = [
    struct({ 4: binary("schema"), 5: int(columns.length) }),
    ...columns.map(({ name, type }) =>
      struct({ 1: int(type), 3: int(0), 4: binary(name), ...type === 6 ? { 6: int(0) } : {} })
    ),
  ];
  const metadata = struct({
    1: int(1),
    2: list(12, schema),
    3: long(rows * groups),
    4: list(12, Array.from({ length: groups }, () => group)),
  });
  const length = [0, 8, 16, 24].map((shift) => metadata.length >> shift & 0xff);
  return concatenateBytes([...content, Uint8Array.from(metadata), Uint8Array.from(length), text("PAR1")]);
}

function pageHeader({ kind, values, encoding, bytes, claimedSize }: Page, packed: number): number[] {
  const details = {
    data: { 5: struct({ 1: int(values), 2: int(encoding), 3: int(3), 4: int(3) }) },
    dictionary: { 7: struct({ 1: int(values), 2: int(encoding) }) },
    dataV2: {
      8: struct({ 1: int(values), 2: int(0), 3: int(values), 4: int(encoding), 5: int(0), 6: int(0) }),
    },
  }[kind];
  const type = { data: 0, dictionary: 2, dataV2: 3 }[kind];
  const fields = Object.entries(details).map(([field, value]) => [field, [12, value] as const]);
  return struct({
    1: int(type),
    2: int(claimedSize ?? bytes.length),
    3: int(packed),
    ...Object.fromEntries(fields),
  });
}

/** Texts in the plain encoding: the length of each, then its letters. */
export function plainTexts(...texts: string[]): Uint8Array {
  return Uint8Array.from(texts.flatMap((one) => [
    ...[0, 8, 16, 24].map((shift) => one.length >> shift & 0xff),
    ...text(one),
  ]));
}

/** A run of a value below 256 in the run-length encoding of a dictionary. @param width Bits of a value. */
export function run(value: number, length: number, width = 1): Uint8Array {
  return Uint8Array.of(width, ...varint(length * 2), value);
}

/** A list of equal 32-bit numbers, packed as differences. */
export function deltas(value: number, count: number): number[] {
  const blocks = Array.from({ length: Math.ceil((count - 1) / 128) }, () => [0, 0]);
  return [...varint(128), ...varint(1), ...varint(count), ...varint(value * 2), ...blocks.flat()];
}

type Field = readonly [type: number, bytes: readonly number[]];

const text = (value: string) => new TextEncoder().encode(value);
const int = (value: number): Field => [5, varint(value * 2)];
const long = (value: number): Field => [6, varint(value * 2)];
const binary = (value: string): Field => [8, [...varint(text(value).length), ...text(value)]];
const list = (type: number, items: readonly (readonly number[])[]): Field => [
  9,
  [0xf0 | type, ...varint(items.length), ...items.flat()],
];

function struct(fields: { readonly [number: number]: Field | undefined }): number[] {
  const given = Object.entries(fields).flatMap(([number, field]) => field ? [[number, field] as const] : []);
  const parts = given.map(([number, [type, bytes]], i, all) => {
    const delta = Number(number) - (i > 0 ? Number(all[i - 1][0]) : 0);
    return [delta << 4 | type, ...bytes];
  });
  return [...parts.flat(), 0];
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push(value % 128 | 128);
  return [...bytes, value];
}
