/** Decodes the bytes of a text table in blocks of whole lines. */
import { concatenateBytes } from "../../files/memory.ts";
import { DataFormatError, decodeUtf8 } from "../format.ts";
import { maxRowBytes, type OpenFile } from "./bytes.ts";
import type { TableOptions } from "./options.ts";

/** Some lines of a text. */
export interface TextBlock {
  /** Whole lines. Each ends with `"\n"`, except the last line of the file. */
  readonly text: string;
  /** Number of the first line, from 1. */
  readonly line: number;
}

type Encoding = NonNullable<TableOptions["encoding"]>;

/** Recognises the encoding from the first bytes: UTF-16, or else UTF-8. */
export function encodingOf(head: Uint8Array): Encoding {
  const [a, b] = head;
  if (a === 0xff && b === 0xfe) return "utf-16le";
  if (a === 0xfe && b === 0xff) return "utf-16be";
  // In UTF-16, each Latin letter has a zero byte.
  if (head.length > 3 && head[1] === 0 && head[3] === 0 && a !== 0) return "utf-16le";
  if (head.length > 3 && a === 0 && head[2] === 0 && b !== 0) return "utf-16be";
  return "utf-8";
}

/**
 * Reads the lines of a text in blocks. Lines end with LF or CRLF. If neither occurs at the beginning of the
 * file, they end with CR.
 *
 * @param requested Encoding of the text, if it is known.
 * @throws {DataFormatError} If the text does not match its encoding, contains zero bytes, or has a line of
 * more than 16 MiB.
 */
export async function* textBlocks(
  { file, head, chunks }: Pick<OpenFile, "file" | "head" | "chunks">,
  requested?: Encoding,
): AsyncGenerator<TextBlock> {
  const encoding = requested ?? encodingOf(head);
  const unit = encoding.startsWith("utf-16") ? 2 : 1;
  const isOldMac = unit === 1 && !head.includes(10) && head.includes(13) &&
    head.indexOf(13) < head.length - 1;
  const end = isOldMac ? 13 : 10;
  let [line, pending] = [1, 0];
  let tail: Uint8Array[] = [];
  const blockOf = (bytes: Uint8Array): TextBlock => {
    const decoded = decode(bytes, encoding, file, line);
    if (decoded.includes("\0")) {
      const before = decoded.slice(0, decoded.indexOf("\0")).split("\n").length - 1;
      throw new DataFormatError(
        file,
        line + before,
        "a zero byte: the file is binary, or damaged; expected a text table, Parquet or SQLite",
        { code: "damaged-file", expected: "a text table, Parquet or SQLite" },
      );
    }
    const text = isOldMac ? decoded.replaceAll("\r", "\n") : decoded;
    return { text: line === 1 && text.startsWith("\uFEFF") ? text.slice(1) : text, line };
  };
  for await (const chunk of chunks()) {
    const last = unit === 1 ? chunk.lastIndexOf(end) : lastLineEnd(chunk, pending, encoding);
    if (last >= 0) {
      const block = blockOf(concatenated([...tail, chunk.subarray(0, last + 1)]));
      yield block;
      for (let at = block.text.indexOf("\n"); at >= 0; at = block.text.indexOf("\n", at + 1)) line++;
      tail = [];
      pending = 0;
    }
    tail.push(chunk.subarray(last + 1));
    pending += chunk.length - last - 1;
    if (pending > maxRowBytes) {
      throw new DataFormatError(file, line, `a line of more than ${maxRowBytes} bytes: is this a table?`, {
        code: "too-large",
      });
    }
  }
  if (pending > 0) yield blockOf(concatenated(tail));
}

/** Position after the last line end in a chunk of UTF-16; -1 if there is no line end. */
function lastLineEnd(chunk: Uint8Array, before: number, encoding: Encoding): number {
  const [low, high] = encoding === "utf-16le" ? [0, 1] : [1, 0];
  // Characters start at even offsets of the file; `before` bytes precede this chunk.
  const phase = before % 2;
  for (let at = chunk.length - 2; at >= 0; at--) {
    if (at % 2 === phase && chunk[at + low] === 10 && chunk[at + high] === 0) return at + 1;
  }
  return -1;
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0] : concatenateBytes(parts);
}

function decode(bytes: Uint8Array, encoding: Encoding, file: string, line: number): string {
  if (encoding === "utf-8") return decodeUtf8(bytes, file, line);
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new DataFormatError(file, line, `not ${encoding}`, {
      code: "damaged-file",
      option: "encoding",
      expected: encoding,
      fixes: [(write) => `name the encoding with ${write("encoding")}`],
    });
  }
}
