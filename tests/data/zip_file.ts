import { crc32, deflateRawSync } from "node:zlib";

/** A file for an archive, and the values that its directory entry claims. */
export interface ZippedFile {
  readonly name: string;
  readonly content: string | Uint8Array;
  /** The correct value by default. */
  readonly claimedSize?: number;
  readonly method?: "stored" | "deflated";
  readonly isEncrypted?: boolean;
}

/** A zip archive. */
export function zipFile(files: readonly ZippedFile[]): Uint8Array<ArrayBuffer> {
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
  const end = [...word32(0x06054b50), ...word16(0, 0, files.length, files.length), ...word32(size, offset)];
  const parts = [...chunks, ...directory, Uint8Array.from([...end, ...word16(0)])];
  const archive = new Uint8Array(offset + size + 22);
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
