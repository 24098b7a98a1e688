/**
 * Zip archives in memory (PKWARE's APPNOTE, https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT). The
 * directory at the end of the archive contains the position, length and CRC-32 of each file. The length and
 * the CRC-32 are checked when a file is read.
 */
import { concatenateBytes } from "../files/memory.ts";
import { type UnpackBudget, unpackBudget } from "./unpack.ts";
import { zlib } from "./zlib.ts";

/** A file in a zip archive. */
export interface ZipEntry {
  /** Name including folders, such as `folder/file.txt`. */
  readonly name: string;
  /**
   * Decompresses the content of the file.
   *
   * @throws {DataError} With the code `"too-large"`, if the files read so far unpack to more than the limit of the
   * archive.
   * @throws {Error} If the content is damaged, encrypted or too long, or the compression method is not
   * supported.
   */
  read(): Promise<Uint8Array>;
}

const signatures = {
  file: 0x04034b50,
  entry: 0x02014b50,
  end: 0x06054b50,
  locator64: 0x07064b50,
  end64: 0x06064b50,
};
const lengths = { file: 30, entry: 46, end: 22, locator64: 20, end64: 56, comment: 0xffff };
/** Maximum number of bytes of a decompressed file. */
const maxBytes = 2 ** 31 - 1;
const methods = { stored: 0, deflated: 8 };

/**
 * The files of a zip archive. No file is decompressed yet.
 *
 * @param bytes The archive.
 * @param path Name of the archive, for messages.
 * @param maxUnpacked Limit in MiB of the size that all read files unpack to; by default 100 times the size of the
 * archive, from 128 to 2048.
 * @throws {Error} If the bytes are not a zip archive, or its directory is damaged.
 */
export function zipEntries(bytes: Uint8Array, path: string, maxUnpacked?: number): ZipEntry[] {
  const budget = unpackBudget(path, bytes.length, maxUnpacked);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { count, start, end } = findDirectory(view, path);
  const isEntry = (at: number) => at + lengths.entry <= end && view.getUint32(at, true) === signatures.entry;
  const entries: ZipEntry[] = [];
  // Some programs write the lowest 16 bits of a larger count, so that entries can follow the last one.
  for (let at = start; entries.length % 2 ** 16 !== count % 2 ** 16 || isEntry(at);) {
    if (!isEntry(at)) {
      const entry = `entry ${entries.length + 1} of ${count}`;
      throw new Error(`${path}: damaged: no ${entry} at byte ${at} of its directory`);
    }
    const nameLength = view.getUint16(at + 28, true);
    const name = new TextDecoder().decode(
      bytes.subarray(at + lengths.entry, at + lengths.entry + nameLength),
    );
    const entry = {
      isEncrypted: (view.getUint16(at + 8, true) & 1) === 1,
      method: view.getUint16(at + 10, true),
      checksum: view.getUint32(at + 16, true),
      packed: view.getUint32(at + 20, true),
      size: view.getUint32(at + 24, true),
      start: view.getUint32(at + 42, true),
    };
    at += lengths.entry + nameLength + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    entries.push({ name, read: () => unpack(view, entry, `${path}/${name}`, budget) });
  }
  return entries;
}

/** The directory of an archive. */
interface Directory {
  /** Number of entries, or its lowest 16 bits. */
  readonly count: number;
  /** Offset of the first entry, in bytes. */
  readonly start: number;
  /** Offset of the first byte that no entry may contain. */
  readonly end: number;
}

/** The directory, from the Zip64 record if the archive has one (more than 65,535 files). */
function findDirectory(view: DataView, path: string): Directory {
  const end = findEnd(view);
  if (end < 0) {
    throw new Error(`${path}: not a zip file: no directory at the end of its ${view.byteLength} bytes`);
  }
  const locator = end - lengths.locator64;
  if (locator >= 0 && view.getUint32(locator, true) === signatures.locator64) {
    const end64 = Number(view.getBigUint64(locator + 8, true));
    if (end64 + lengths.end64 > locator || view.getUint32(end64, true) !== signatures.end64) {
      throw new Error(`${path}: damaged: no Zip64 record at byte ${end64}`);
    }
    const [count, start] = [32, 48].map((at) => Number(view.getBigUint64(end64 + at, true)));
    return { count, start, end: end64 };
  }
  return { count: view.getUint16(end + 10, true), start: view.getUint32(end + 16, true), end };
}

function findEnd(view: DataView): number {
  const last = view.byteLength - lengths.end;
  for (let at = last; at >= Math.max(0, last - lengths.comment); at--) {
    const isEnd = view.getUint32(at, true) === signatures.end &&
      view.getUint16(at + 20, true) === last - at;
    if (isEnd) return at;
  }
  return -1;
}

interface Entry {
  readonly isEncrypted: boolean;
  readonly method: number;
  readonly checksum: number;
  /** Compressed size in bytes. */
  readonly packed: number;
  /** Decompressed size in bytes. */
  readonly size: number;
  /** Offset of the file's local header in the archive, in bytes. */
  readonly start: number;
}

async function unpack(
  view: DataView,
  { isEncrypted, method, checksum, packed, size, start }: Entry,
  name: string,
  budget: UnpackBudget,
): Promise<Uint8Array> {
  if (isEncrypted) throw new Error(`${name}: encrypted; unpack the archive and name the folder`);
  if (size > maxBytes) throw new Error(`${name}: ${size} bytes, expected ${maxBytes} at most`);
  if (start + lengths.file > view.byteLength || view.getUint32(start, true) !== signatures.file) {
    throw new Error(`${name}: damaged: no file header at byte ${start}`);
  }
  const from = start + lengths.file + view.getUint16(start + 26, true) + view.getUint16(start + 28, true);
  const content = new Uint8Array(view.buffer, view.byteOffset).subarray(from, from + packed);
  const bytes = method === methods.stored
    ? content
    : method === methods.deflated
    ? await inflate(content, size, name, budget)
    : undefined;
  if (!bytes) {
    throw new Error(
      `${name}: compressed by method ${method}, expected 0 or 8; unpack it and name the folder`,
    );
  }
  if (bytes.length !== size) throw new Error(`${name}: damaged: ${bytes.length} bytes, expected ${size}`);
  if (zlib.crc32(bytes) !== checksum) {
    throw new Error(`${name}: damaged: the content does not match its checksum`);
  }
  return bytes;
}

async function inflate(
  content: Uint8Array,
  size: number,
  name: string,
  budget: UnpackBudget,
): Promise<Uint8Array> {
  // The decompression stops at the size that the directory claims.
  budget.take(size);
  try {
    return await zlib.inflateRaw(content, Math.max(1, size));
  } catch (error) {
    throw new Error(
      `${name}: damaged: cannot be unpacked to ${size} bytes (${
        error instanceof Error ? error.message : error
      })`,
    );
  }
}

/** Version 2.0 of the format, which readers need. */
const version = 20;
/** The first day that the format can write, 1980-01-01: the same files give the same archive. */
const firstDay = 1 << 5 | 1;

/** A zip archive of files, not compressed. @param files Content of each file by its name, folders included. */
export function zipOf(files: Readonly<Record<string, Uint8Array>>): Uint8Array<ArrayBuffer> {
  const [contents, directory]: [Uint8Array[], Uint8Array[]] = [[], []];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const text = new TextEncoder().encode(name);
    const { length } = content;
    const common = [
      // Names are UTF-8.
      ...word16(version, 1 << 11, methods.stored, 0, firstDay),
      ...word32(zlib.crc32(content), length, length),
      ...word16(text.length, 0),
    ];
    const header = Uint8Array.from([...word32(signatures.file), ...common, ...text]);
    directory.push(Uint8Array.from([
      ...word32(signatures.entry),
      ...word16(version),
      ...common,
      ...word16(0, 0, 0),
      ...word32(0, offset),
      ...text,
    ]));
    contents.push(header, content);
    offset += header.length + length;
  }
  const { length } = directory;
  const size = directory.reduce((sum, entry) => sum + entry.length, 0);
  const end = [
    ...word32(signatures.end),
    ...word16(0, 0, length, length),
    ...word32(size, offset),
    ...word16(0),
  ];
  return concatenateBytes([...contents, ...directory, Uint8Array.from(end)]);
}

/** Bytes of 16-bit numbers, the lowest first. */
function word16(...values: number[]): number[] {
  return values.flatMap((value) => [value & 0xff, value >>> 8 & 0xff]);
}

/** Bytes of 32-bit numbers, the lowest first. */
function word32(...values: number[]): number[] {
  return values.flatMap((value) => word16(value & 0xffff, value >>> 16));
}
