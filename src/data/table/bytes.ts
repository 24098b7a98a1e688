/** Reads the bytes of a table file and recognises its format. */
import { diskOf, whyUnread } from "../../files/disk.ts";
import { DataFormatError } from "../format.ts";
import { gunzipped, unpackBudget } from "../unpack.ts";
import { DataError, type ErrorDetails, WeftError } from "../../device/errors.ts";

/** Maximum number of bytes of a row. Longer rows are rejected. */
export const maxRowBytes = 2 ** 24;

/** Name and limits of a table in memory. */
export interface TableInMemory {
  /** Name of the table, for messages. */
  readonly name: string;
  /** Maximum number of fields of all rows; 134 million by default. */
  readonly maxFields?: number;
  /** Maximum number of series named in a column; unlimited by default. */
  readonly maxSeries?: number;
}

/** A table in memory as bytes, such as the body of a request. */
export interface TableContent extends TableInMemory {
  /** Content: delimited text or JSON lines, optionally compressed by gzip. */
  readonly bytes: Uint8Array;
}

/** Kind of a file. */
type FileKind = "parquet" | "sqlite" | "zip" | "zstd" | "json" | "array" | "text";

/** A file that is open and can be read once. */
export interface OpenFile extends AsyncDisposable {
  /** Name of the file, for messages. */
  readonly file: string;
  /** Format of the content after decompression. */
  readonly kind: FileKind;
  /** Whether the file is compressed by gzip. */
  readonly isCompressed: boolean;
  /** First bytes of the content. */
  readonly head: Uint8Array;
  /** All bytes of the content, decompressed. */
  chunks(): AsyncGenerator<Uint8Array>;
}

const signatures: readonly [text: string, kind: FileKind | "gzip"][] = [
  ["\x1f\x8b", "gzip"],
  ["PAR1", "parquet"],
  ["SQLite format 3\0", "sqlite"],
  ["PK\x03\x04", "zip"],
  ["\x28\xb5\x2f\xfd", "zstd"],
];

function kindOf(head: Uint8Array): FileKind | "gzip" {
  const signature = signatures.find(([text]) =>
    [...text].every((letter, i) => head[i] === letter.charCodeAt(0))
  );
  if (signature) return signature[1];
  const first = /[^\s\uFEFF\uFFFD\0]/u.exec(new TextDecoder().decode(head.subarray(0, 1024)))?.[0];
  return first === "{" ? "json" : first === "[" ? "array" : "text";
}

const expectedTable: Pick<ErrorDetails, "expected" | "fixes"> = {
  expected: "a table",
  fixes: [
    (write) => `expected a table: .csv, .tsv, .jsonl, .parquet, or a SQLite file with ${write("query")}`,
  ],
};

/**
 * Opens a file, or a table in memory in the same way.
 *
 * @param maxUnpacked Limit of the unpacked size in MiB; see {@linkcode unpackBudget}.
 * @throws {Error} If the file cannot be read, or is empty.
 */
export async function openFile(source: string | TableContent, maxUnpacked?: number): Promise<OpenFile> {
  return typeof source === "string"
    ? await recognised(source, partsOf(source), maxUnpacked)
    : await recognised(source.name, once(source.bytes), maxUnpacked);
}

/** Recognises the format of some bytes. */
async function recognised(
  path: string,
  raw: AsyncGenerator<Uint8Array>,
  maxUnpacked?: number,
): Promise<OpenFile> {
  const close = async () => void await raw.return(undefined);
  const closing: AsyncDisposable = { [Symbol.asyncDispose]: close };
  try {
    const head = await first(raw);
    if (head.length === 0) {
      throw new DataFormatError(path, 1, "an empty file", { code: "empty-table", ...expectedTable });
    }
    if (kindOf(head) !== "gzip") {
      const chunks = () => joined(head, raw);
      return {
        file: path,
        kind: kindOf(head) as FileKind,
        isCompressed: false,
        head,
        chunks,
        ...closing,
      };
    }
    const plain = gunzipped(joined(head, raw), path, unpackBudget(path, 0, maxUnpacked));
    const inner = await first(plain);
    if (inner.length === 0) {
      throw new DataFormatError(path, 1, "the gzip file is empty", { code: "empty-table", ...expectedTable });
    }
    const kind = kindOf(inner);
    if (kind === "gzip") {
      throw new DataError("unsupported-format", `${path}: compressed by gzip twice`, {
        fixes: ["unpack it once"],
      });
    }
    return {
      file: path,
      kind,
      isCompressed: true,
      head: inner,
      chunks: () => joined(inner, plain),
      ...closing,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

async function* partsOf(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* diskOf(path).parts(path);
  } catch (error) {
    throw new WeftError("unreadable-file", `${path}: ${whyUnread(error)}`, expectedTable);
  }
}

async function first(chunks: AsyncGenerator<Uint8Array>): Promise<Uint8Array> {
  const { value, done } = await chunks.next();
  return done ? new Uint8Array() : value;
}

async function* joined(head: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield head;
  yield* rest;
}
