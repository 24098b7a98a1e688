/**
 * Streaming reader for tar archives (POSIX.1-1988, ustar): blocks of 512 bytes, for each file a header and
 * then its content. It reads archives of gigabytes without unpacking them to disk or holding them in memory.
 */

const block = 512;
/** Offsets and lengths of the header fields. */
const fields = { name: [0, 100], size: [124, 12], checksum: [148, 8], type: [156, 1], prefix: [345, 155] };
const types = { file: ["0", "\0"], longName: ["L", "x"] };

/** A file of an archive. */
interface TarEntry {
  /** Name including folders, such as `folder/file.wav`, without a leading `./`. */
  readonly name: string;
  /** Content of the file. */
  readonly bytes: Uint8Array;
}

/**
 * The selected files of an archive, in archive order.
 *
 * @param stream The archive, after decompression.
 * @param path Name of the archive, for messages.
 * @param isWanted Whether to read a file.
 * @throws {Error} If the archive is damaged or cut short.
 */
export async function* tarEntries(
  stream: AsyncIterable<Uint8Array>,
  path: string,
  isWanted: (name: string) => boolean,
): AsyncGenerator<TarEntry> {
  const read = reader(stream, path);
  while (true) {
    const header = await read(block);
    // Zero blocks mark the end of an archive.
    if (header.every((byte) => byte === 0)) return;
    const text = ([start, length]: number[]) =>
      new TextDecoder().decode(header.subarray(start, start + length)).replace(/\0.*$/s, "");
    const [start, length] = fields.checksum;
    const sum = header.reduce((sum, byte, i) => sum + (i >= start && i < start + length ? 32 : byte), 0);
    const [size, type] = [parseInt(text(fields.size), 8), String.fromCharCode(header[fields.type[0]])];
    if (parseInt(text(fields.checksum), 8) !== sum || !(size >= 0)) {
      throw new Error(`${path}: not a tar archive, or damaged: a header does not match its checksum`);
    }
    const prefix = text(fields.prefix);
    const name = `${prefix === "" ? "" : `${prefix}/`}${text(fields.name)}`.replace(/^\.\//, "");
    if (types.longName.includes(type)) {
      throw new Error(`${path}: a file has a name of another format than ustar's: unpack the archive`);
    }
    const bytes = await read(size, !types.file.includes(type) || !isWanted(name));
    await read((block - size % block) % block, true);
    if (bytes.length > 0) yield { name, bytes };
  }
}

/**
 * Returns a function that reads a number of bytes from a stream. If it skips them, it returns an empty array.
 */
function reader(stream: AsyncIterable<Uint8Array>, path: string) {
  const chunks = stream[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();
  return async (length: number, isSkipped = false): Promise<Uint8Array> => {
    const bytes = new Uint8Array(isSkipped ? 0 : length);
    for (let at = 0; at < length;) {
      if (rest.length === 0) {
        const { done, value } = await chunks.next();
        if (done) throw new Error(`${path}: cut short: the archive ends in the middle of a file`);
        rest = value;
      }
      const taken = rest.subarray(0, length - at);
      if (!isSkipped) bytes.set(taken, at);
      at += taken.length;
      rest = rest.subarray(taken.length);
    }
    return bytes;
  };
}
