/** Parquet files. */
import { DataError, WeftError } from "../../device/errors.ts";
import { DataFormatError, quoted } from "../format.ts";
import { type Cell, FileDate, type RowSink } from "./options.ts";

/**
 * Reads a Parquet file and passes its rows to a sink, one row group at a time. The file may be compressed by
 * Snappy, gzip, Brotli or Zstandard.
 *
 * @param wanted Whether a column is read.
 * @throws {DataError} If the file is damaged, or a column contains lists or objects.
 */
export async function readParquet(
  path: string,
  sink: RowSink,
  wanted: (name: string) => boolean,
): Promise<void> {
  const { parquetMetadataAsync, parquetRead } = await import("hyparquet");
  const [zlib, fs] = await Promise.all([import("node:zlib"), import("node:fs")]);
  const descriptor = fs.openSync(path, "r");
  using _closing = { [Symbol.dispose]: () => fs.closeSync(descriptor) };
  const { size } = fs.fstatSync(descriptor);
  const file = {
    byteLength: size,
    slice(start: number, end = size): ArrayBuffer {
      const bytes = new Uint8Array(Math.max(0, end - start));
      for (let at = 0; at < bytes.length;) {
        const count = fs.readSync(descriptor, bytes, at, bytes.length - at, start + at);
        if (count === 0) throw new Error("cut short");
        at += count;
      }
      return bytes.buffer;
    },
  };
  const compressors = {
    GZIP: (input: Uint8Array) => new Uint8Array(zlib.gunzipSync(input)),
    BROTLI: (input: Uint8Array) => new Uint8Array(zlib.brotliDecompressSync(input)),
    ZSTD: (input: Uint8Array) => new Uint8Array(zlib.zstdDecompressSync(input)),
  };
  // The parsers of the library have a resolution of milliseconds.
  const parsers = {
    timestampFromMilliseconds: (time: bigint) => new FileDate(Number(time)),
    timestampFromMicroseconds,
    timestampFromNanoseconds: (time: bigint) => timestampFromMicroseconds(time / 1000n),
    dateFromDays: (days: number) => new FileDate(86400_000 * days),
  };
  try {
    const metadata = await parquetMetadataAsync(file);
    const [root, ...schema] = metadata.schema;
    const nested = schema.find(({ num_children, repetition_type }) =>
      num_children || repetition_type === "REPEATED"
    );
    if (nested) {
      throw new DataError(
        "unsupported-format",
        `${path}: the column ${quoted(nested.name)} holds lists or objects`,
        { column: nested.name, fixes: ["flatten it"] },
      );
    }
    const isLocal = schema.map(({ converted_type, logical_type: type }) =>
      converted_type === "DATE" || type?.type === "TIMESTAMP" && !type.isAdjustedToUTC
    );
    const all = schema.slice(0, root.num_children).map(({ name }) => name);
    const columns = all.filter(wanted);
    sink.header(all);
    const places = columns.map((name) => all.indexOf(name));
    const cells: Cell[] = new Array(all.length).fill(undefined);
    let start = 0;
    for (const group of metadata.row_groups) {
      const end = start + Number(group.num_rows);
      const data = columns.map((): ArrayLike<unknown>[] => []);
      await parquetRead({
        ...{ file, metadata, columns, compressors, parsers, rowStart: start, rowEnd: end },
        onChunk: ({ columnName, columnData }) => data[columns.indexOf(columnName)].push(columnData),
      });
      const readers = data.map(valuesOf);
      for (let row = start + 1; row <= end; row++) {
        readers.forEach((next, i) => {
          const cell = cellOf(next(), path, columns[i], row);
          if (cell instanceof FileDate) cell.isLocal = isLocal[places[i]];
          cells[places[i]] = cell;
        });
        sink.row(cells, row);
      }
      start = end;
    }
  } catch (error) {
    if (error instanceof WeftError || !(error instanceof Error)) throw error;
    throw new DataError("damaged-file", `${path}: not read as Parquet (${error.message}); is it complete?`);
  }
}

function timestampFromMicroseconds(time: bigint): FileDate {
  return new FileDate(Number(time / 1000n), Number(time) / 1e6);
}

function cellOf(value: unknown, path: string, name: string, row: number): Cell {
  if (typeof value !== "object" || value === null || value instanceof FileDate) return value as Cell;
  const expected = "a number, a text or a date";
  throw new DataFormatError(
    path,
    row,
    `expected ${expected} in ${quoted(name)}, got ${JSON.stringify(value).slice(0, 40)}`,
    { code: "invalid-cell", unit: "row", column: name, expected },
  );
}

/** Returns a function that gives the values of several arrays one after another. */
function valuesOf(pieces: readonly ArrayLike<unknown>[]): () => unknown {
  let [piece, at] = [0, 0];
  return () => {
    while (at >= pieces[piece].length) [piece, at] = [piece + 1, 0];
    return pieces[piece][at++];
  };
}
