/**
 * Checks the pages of a Parquet column before `hyparquet` decodes them, and decompresses them. A few bytes of a page
 * can claim billions of values: as its count, as the length of a run, or as a prefix of the previous text.
 * (https://parquet.apache.org/docs/file-format/)
 */
import type { UnpackBudget } from "../unpack.ts";

/** A column chunk: the pages of a column in a row group. */
export interface ColumnChunk {
  /** Number of rows of the row group. */
  readonly rows: number;
  /** Physical type of the values, such as `"BYTE_ARRAY"`. */
  readonly type: string;
  /** Number of bytes of a value of the type `FIXED_LEN_BYTE_ARRAY`. */
  readonly typeLength?: number;
  /** Whether values may be missing. */
  readonly isOptional: boolean;
  /** Decompresses a page to a number of bytes; undefined if the pages are not compressed. */
  readonly decompress?: (bytes: Uint8Array, length: number) => Uint8Array;
}

const pageTypes = { data: 0, dictionary: 2, dataV2: 3 };
const encodings = { plainDictionary: 2, runs: 3, deltaTexts: 7, runDictionary: 8, byteStreams: 9 };

/** Bytes that a value takes after decoding: an element of an array. */
const valueBytes = 8;
/** Bytes that a text takes while a page is decoded. */
const textBytes = 128;
/** Number of padding values that writers may add to the last run of a page. */
const runPadding = 512;

/**
 * Checks the pages of a column chunk.
 *
 * @param bytes The column chunk.
 * @param budget Counts the bytes of the pages and of their values, before they are allocated.
 * @returns The decompressed pages, if they are compressed.
 * @throws {DataError} If the pages exceed the budget.
 * @throws {Error} If the pages are damaged.
 */
export function checkedPages(bytes: Uint8Array, chunk: ColumnChunk, budget: UnpackBudget): Uint8Array[] {
  const reader = readerOf(bytes);
  const pages: Uint8Array[] = [];
  const unpacked = (packed: Uint8Array, length: number): Uint8Array => {
    if (!chunk.decompress) return packed;
    const page = chunk.decompress(packed, length);
    if (page.length !== length) throw new Error(`a page of ${page.length} bytes, expected ${length}`);
    pages.push(page);
    return page;
  };
  const isText = /BYTE_ARRAY|INT96/.test(chunk.type);
  let rows = 0;
  while (rows < chunk.rows && reader.at < bytes.length - 1) {
    const header = readStruct(reader);
    const [type, size, packedSize] = [1, 2, 3].map((field) => count(header, field));
    const body = bytes.subarray(reader.at, reader.at + packedSize);
    if (body.length < packedSize) throw new Error("a page is cut short");
    reader.at += packedSize;
    const details = header[{ [pageTypes.data]: 5, [pageTypes.dictionary]: 7, [pageTypes.dataV2]: 8 }[type]!];
    if (!isStruct(details)) throw new Error(`a page of the type ${type}`);
    const values = count(details, 1);
    budget.take(size + valueBytes * values);
    const encoding = count(details, type === pageTypes.dataV2 ? 4 : 2);
    const isDictionary = encoding === encodings.plainDictionary || encoding === encodings.runDictionary;
    if (isText && (type === pageTypes.dictionary || !isDictionary)) budget.requireRoom(textBytes * values);
    if (type === pageTypes.dictionary) {
      unpacked(body, size);
      continue;
    }
    if (values > chunk.rows - rows) throw new Error(`${rows + values} values, expected ${chunk.rows}`);
    rows += values;
    if (type === pageTypes.data) {
      const page = readerOf(unpacked(body, size));
      const missing = chunk.isOptional ? missingOf(page, values) : 0;
      checkValues(page, encoding, values - missing, chunk, budget, false);
      continue;
    }
    const [missing, , , levels, repetitions] = [2, 3, 4, 5, 6].map((field) => count(details, field));
    if (missing > values || levels + repetitions > Math.min(body.length, size)) {
      throw new Error("a page with an invalid header");
    }
    if (chunk.isOptional) checkRuns(readerOf(body, repetitions), 1, values);
    else if (levels > 0) throw new Error("levels of a column without missing values");
    const rest = body.subarray(levels + repetitions);
    const isPacked = details[7] !== false;
    const page = isPacked ? unpacked(rest, size - levels - repetitions) : rest;
    checkValues(readerOf(page), encoding, values - missing, chunk, budget, true);
  }
  return pages;
}

/** Checks the values of a page. */
function checkValues(
  page: Reader,
  encoding: number,
  values: number,
  { type, typeLength = 0 }: ColumnChunk,
  budget: UnpackBudget,
  isV2: boolean,
): void {
  if (values === 0) return;
  const hasRuns = [encodings.plainDictionary, encodings.runDictionary, encodings.runs].includes(encoding);
  if (isV2 ? encoding === encodings.runs : hasRuns && type === "BOOLEAN") {
    page.at += 4;
    checkRuns(page, 1, values);
  } else if (hasRuns) {
    const width = page.view.getUint8(page.at++);
    // A page of the first version without a width has no runs.
    if (width > 0 || isV2) checkRuns(page, width, values);
  } else if (encoding === encodings.deltaTexts) {
    budget.take(deltaSum(page, values));
  } else if (encoding === encodings.byteStreams && typeLength * values > page.view.byteLength) {
    throw new Error("a page is cut short");
  }
}

/** Number of missing values of a page of the first version. Moves behind the levels of its values. */
function missingOf(page: Reader, values: number): number {
  const length = page.view.getUint32(page.at, true);
  const start = page.at + 4;
  page.at = start;
  const present = checkRuns(page, 1, values);
  page.at = start + length;
  return values - present;
}

/**
 * Checks that no run is longer than the values of the page.
 *
 * @param width Number of bits of a value.
 * @returns The number of values of 1, if the width is 1.
 */
function checkRuns(page: Reader, width: number, values: number): number {
  let ones = 0;
  for (let seen = 0; seen < values;) {
    const header = readCount(page);
    const left = values - seen;
    const length = header & 1 ? header >> 1 << 3 : header >>> 1;
    if (length < 0 || length > left + runPadding) {
      throw new Error(`a run of ${length} values on a page of ${values}`);
    }
    if (header & 1) {
      if (width === 1) {
        for (let i = 0; i < Math.min(length, left); i++) {
          ones += page.view.getUint8(page.at + (i >> 3)) >> (i & 7) & 1;
        }
      }
      page.at += Math.max(1, length * width / 8);
    } else {
      if (width === 1 && page.view.getUint8(page.at) === 1) ones += Math.min(length, left);
      page.at += width + 7 >> 3;
    }
    seen += length;
  }
  return ones;
}

/** Sum of the positive numbers of a list that is packed as differences of 32-bit integers. */
function deltaSum(page: Reader, values: number): number {
  const [block, perBlock] = [readCount(page), readCount(page)];
  if (block <= 0 || perBlock <= 0) throw new Error("a list of differences without blocks");
  readCount(page);
  let value = readSigned(page);
  let sum = Math.max(0, value);
  const perMiniblock = block / perBlock;
  for (let done = 1; done < values;) {
    const least = readSigned(page);
    const widths = page.at;
    page.at += perBlock;
    for (let i = 0; i < perBlock && done < values; i++) {
      const width = page.view.getUint8(widths + i);
      for (let j = 0; j < perMiniblock && done < values; j++, done++) {
        let rest = 0;
        for (let bit = 0; bit < Math.min(32, width); bit++) {
          const bitIndex = j * width + bit;
          rest |= (page.view.getUint8(page.at + (bitIndex >> 3)) >> (bitIndex & 7) & 1) << bit;
        }
        value = value + least + rest | 0;
        sum += Math.max(0, value);
      }
      page.at += perMiniblock * width / 8;
    }
  }
  return sum;
}

/** A place in some bytes. */
interface Reader {
  readonly view: DataView;
  at: number;
}

function readerOf({ buffer, byteOffset, byteLength }: Uint8Array, at = 0): Reader {
  return { view: new DataView(buffer, byteOffset, byteLength), at };
}

/** A struct of Thrift's compact protocol: its numbers, switches and structs by the number of the field. */
interface Struct {
  readonly [field: number]: number | boolean | Struct | undefined;
}

function isStruct(value: Struct[number]): value is Struct {
  return typeof value === "object";
}

/** A field that is a count. */
function count(struct: Struct, field: number): number {
  const value = struct[field];
  if (typeof value === "number" && value >= 0) return value;
  throw new Error(`a page header with ${value} as its field ${field}`);
}

/** Types of Thrift's compact protocol. */
const thrift = {
  stop: 0,
  true: 1,
  false: 2,
  byte: 3,
  int16: 4,
  int32: 5,
  int64: 6,
  double: 7,
  bytes: 8,
  list: 9,
  struct: 12,
};

/** Deepest struct in a struct; page headers have three levels. */
const maxDepth = 8;

function readStruct(reader: Reader, depth = 0): Struct {
  if (depth > maxDepth) throw new Error("a page header of too many levels");
  const struct: Record<number, Struct[number]> = {};
  for (let field = 0;;) {
    const byte = reader.view.getUint8(reader.at++);
    const type = byte & 15;
    if (type === thrift.stop) return struct;
    field = byte >> 4 ? field + (byte >> 4) : readSigned(reader);
    struct[field] = readValue(reader, type, depth);
  }
}

function readValue(reader: Reader, type: number, depth: number): Struct[number] {
  switch (type) {
    case thrift.true:
      return true;
    case thrift.false:
      return false;
    case thrift.byte:
      reader.at++;
      return undefined;
    case thrift.int16:
    case thrift.int32:
      return readSigned(reader);
    case thrift.int64:
      readCount(reader);
      return undefined;
    case thrift.double:
      reader.at += 8;
      return undefined;
    case thrift.bytes: {
      const length = readCount(reader);
      // Never backwards, which could loop for ever.
      reader.at += Math.max(0, length);
      return undefined;
    }
    case thrift.list: {
      const byte = reader.view.getUint8(reader.at++);
      const length = byte >> 4 === 15 ? readCount(reader) : byte >> 4;
      const element = byte & 15;
      for (let i = 0; i < length; i++) {
        readValue(reader, element === thrift.true || element === thrift.false ? thrift.byte : element, depth);
      }
      return undefined;
    }
    case thrift.struct:
      return readStruct(reader, depth + 1);
    default:
      throw new Error(`a page header with a field of the type ${type}`);
  }
}

/** A variable-length integer of up to 32 bits. */
function readCount(reader: Reader): number {
  let result = 0;
  for (let shift = 0;; shift += 7) {
    const byte = reader.view.getUint8(reader.at++);
    result |= (byte & 0x7f) << shift;
    if (!(byte & 0x80)) return result;
  }
}

/** A variable-length integer whose lowest bit is the sign. */
function readSigned(reader: Reader): number {
  const value = readCount(reader);
  return value >>> 1 ^ -(value & 1);
}
