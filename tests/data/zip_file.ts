import { crc32, deflateRawSync } from "node:zlib";

/** A file for {@linkcode zipFile}. */
export interface ZippedFile {
  readonly name: string;
  readonly content: string | Uint8Array;
  /** Decompressed size in the headers of the file; by default the true size. */
  readonly claimedSize?: number;
  readonly method?: "stored" | "deflated";
  /** Whether the headers mark the content as encrypted. The content itself stays as it is. */
  readonly isEncrypted?: boolean;
}

/**
 * Makes a zip archive.
 *
 * @param form `"zip64"`: the number of files and the position of the directory are in a Zip64 record of 64-bit
 * numbers. `"zip"`: they are in the record at the end, which has only 16 bits for the number of files.
 */
export function zipFile(
  files: readonly ZippedFile[],
  form: "zip" | "zip64" = "zip",
): Uint8Array<ArrayBuffer> {
  const chunks: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { name, content, claimedSize, method = "deflated", isEncrypted = false } of files) {
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    const packed = method === "stored" ? bytes : new Uint8Array(deflateRawSync(bytes));
    const nameBytes = new TextEncoder().encode(name);
    const common = [
      ...word16(20, isEncrypted ? 1 : 0, method === "stored" ? 0 : 8, 0, 0),
      ...word32(crc32(bytes), packed.length, claimedSize ?? bytes.length),
      ...word16(nameBytes.length, 0),
    ];
    const header = Uint8Array.from([...word32(0x04034b50), ...common, ...nameBytes]);
    directory.push(Uint8Array.from([
      ...word32(0x02014b50),
      ...word16(20),
      ...common,
      ...word16(0, 0, 0),
      ...word32(0, offset),
      ...nameBytes,
    ]));
    chunks.push(header, packed);
    offset += header.length + packed.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const counts = word16(0, 0, files.length, files.length);
  const end = [...word32(0x06054b50), ...counts, ...word32(size, offset), ...word16(0)];
  const end64 = [
    ...[...word32(0x06064b50, 44, 0), ...word16(45, 45), ...word32(0, 0)],
    ...word32(files.length, 0, files.length, 0, size, 0, offset, 0),
    ...word32(0x07064b50, 0, offset + size, 0, 1),
    ...[...word32(0x06054b50), ...word16(0, 0, 0xffff, 0xffff), ...word32(0xffffffff, 0xffffffff)],
    ...word16(0),
  ];
  const parts = [...chunks, ...directory, Uint8Array.from(form === "zip64" ? end64 : end)];
  const archive = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    archive.set(part, at);
    at += part.length;
  }
  return archive;
}

const word16 = (...values: number[]) => values.flatMap((value) => [value & 0xff, value >> 8 & 0xff]);
const word32 = (...values: number[]) =>
  values.flatMap((value) => [0, 8, 16, 24].map((shift) => Math.floor(value / 2 ** shift) & 0xff));
