/** Parquet files. */
import { DataError, WeftError } from "../../device/errors.ts";
import { nodeModuleFor } from "../../files/disk.ts";
import { DataFormatError, quoted } from "../format.ts";
import { unpackBudget } from "../unpack.ts";
import { type Cell, FileDate, type RowSink } from "./options.ts";
import { checkedPages } from "./parquet_pages.ts";

/**
 * Reads a Parquet file and passes its rows to a sink, one row group at a time. The file may be compressed by
 * Snappy, gzip, Brotli or Zstandard.
 *
 * @param wanted Whether a column is read.
 * @param maxUnpacked Limit of the unpacked size in MiB; see {@linkcode unpackBudget}.
 * @throws {DataError} If the file is damaged, unpacks to more than the limit, or a column contains lists or objects.
 */
export async function readParquet(
  path: string,
  sink: RowSink,
  wanted: (name: string) => boolean,
  maxUnpacked?: number,
): Promise<void> {
  const { parquetMetadataAsync, parquetRead, snappyUncompress } = await import("hyparquet");
  const [zlib, fs] = [nodeModuleFor(path, "node:zlib"), nodeModuleFor(path, "node:fs")];
  const descriptor = fs.openSync(path, "r");
  using _closing = { [Symbol.dispose]: () => fs.closeSync(descriptor) };
  const { size } = fs.fstatSync(descriptor);
  const file = {
    byteLength: size,
    slice(start: number, end = size): ArrayBuffer {
      if (!(start >= 0 && end <= size)) throw new Error("cut short");
      const bytes = new Uint8Array(Math.max(0, end - start));
      for (let at = 0; at < bytes.length;) {
        const count = fs.readSync(descriptor, bytes, at, bytes.length - at, start + at);
        if (count === 0) throw new Error("cut short");
        at += count;
      }
      return bytes.buffer;
    },
  };
  type Decompress = (input: Uint8Array, length: number) => Uint8Array;
  const limited = (length: number) => ({ maxOutputLength: Math.max(1, length) });
  const compressors: Readonly<Record<string, Decompress>> = {
    GZIP: (input, length) => new Uint8Array(zlib.gunzipSync(input, limited(length))),
    BROTLI: (input, length) => new Uint8Array(zlib.brotliDecompressSync(input, limited(length))),
    ZSTD: (input, length) => new Uint8Array(zlib.zstdDecompressSync(input, limited(length))),
    SNAPPY(input, length) {
      const page = new Uint8Array(length);
      snappyUncompress(input, page);
      return page;
    },
  };
  const budget = unpackBudget(path, size, maxUnpacked);
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
    const sizes = metadata.row_groups.flatMap((group) =>
      group.columns.map(({ meta_data }) => Number(meta_data?.total_compressed_size))
    );
    if (!(sizes.reduce((sum, one) => sum + one, 0) <= size)) throw new Error("its columns overlap");
    sink.header(all);
    const indices = columns.map((name) => all.indexOf(name));
    const cells: Cell[] = new Array(all.length).fill(undefined);
    let start = 0;
    /** Reads a column of a row group. */
    const readColumn = async (
      name: string,
      group: typeof metadata.row_groups[number],
    ): Promise<ArrayLike<unknown>[]> => {
      const chunk = group.columns.find(({ meta_data }) => meta_data?.path_in_schema.join() === name);
      if (!chunk?.meta_data) throw new Error(`no values of the column ${quoted(name)}`);
      const { codec, type, dictionary_page_offset, data_page_offset, total_compressed_size } =
        chunk.meta_data;
      if (codec !== "UNCOMPRESSED" && !Object.hasOwn(compressors, codec)) {
        throw new DataError("unsupported-format", `${path}: compressed by ${codec}`, {
          fixes: [`compress it by ${Object.keys(compressors).join(", ")}`],
        });
      }
      const start = Number(dictionary_page_offset || data_page_offset);
      const bytes = file.slice(start, start + Number(total_compressed_size));
      const element = schema[all.indexOf(name)];
      const rows = Number(group.num_rows);
      const pages = checkedPages(new Uint8Array(bytes), {
        rows,
        type,
        typeLength: element.type_length,
        isOptional: element.repetition_type !== "REQUIRED",
        decompress: codec === "UNCOMPRESSED" ? undefined : compressors[codec],
      }, budget);
      const data: ArrayLike<unknown>[] = [];
      await parquetRead({
        file: { byteLength: size, slice: () => bytes },
        // A part of the metadata: the library looks through all of them in each call.
        metadata: {
          ...metadata,
          schema: [{ ...root, num_children: 1 }, element],
          row_groups: [{ ...group, columns: [chunk] }],
        },
        columns: [name],
        // The pages are already decompressed.
        compressors: { [codec]: () => pages.shift()! },
        parsers,
        rowStart: 0,
        rowEnd: rows,
        onChunk: ({ columnData }) => data.push(columnData),
      });
      return data;
    };
    for (const group of metadata.row_groups) {
      const end = start + Number(group.num_rows);
      const data: ArrayLike<unknown>[][] = [];
      for (const name of columns) data.push(await readColumn(name, group));
      const readers = data.map(valuesOf);
      for (let row = start + 1; row <= end; row++) {
        readers.forEach((next, i) => {
          const cell = cellOf(next(), path, columns[i], row);
          if (cell instanceof FileDate) cell.isLocal = isLocal[indices[i]];
          // A dictionary holds a text once, however often it occurs.
          if (typeof cell === "string" && cell.length > longText) budget.take(cell.length);
          cells[indices[i]] = cell;
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

/** Number of letters above which every occurrence of a text counts, even if the file has the text once. */
const longText = 1000;

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
