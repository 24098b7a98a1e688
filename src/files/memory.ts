/**
 * Folders in memory, for runs of programs without access to a disk. The functions of `disk.ts` read
 * and write files in these folders.
 */

/** A folder in memory. Its files exist until the folder is disposed. */
interface MemoryFolder extends Disposable {
  /** Path of the folder, for the functions of `disk.ts`. */
  readonly path: string;
  /** Content of each file, by its name in the folder. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
}

const folders = new Map<string, Map<string, Uint8Array<ArrayBuffer>>>();
let folderCount = 0;

/**
 * Makes a folder in memory.
 *
 * @param name Name of the folder, for messages about its files.
 * @param content Content of its first files, by name.
 */
export function memoryFolder(
  name: string,
  content: Readonly<Record<string, Uint8Array<ArrayBuffer>>> = {},
): MemoryFolder {
  const path = `memory:${name}-${++folderCount}`;
  const files = new Map(Object.entries(content));
  folders.set(path, files);
  return { path, files, [Symbol.dispose]: () => void folders.delete(path) };
}

/** Whether a path is a folder in memory. */
export function isMemoryFolder(path: string): boolean {
  return folders.has(path);
}

/** A file in a folder in memory, which may not exist yet. */
interface MemoryFile {
  /** Whether the file exists. */
  readonly isPresent: boolean;
  /** Content of the file, a copy; undefined if the file does not exist. */
  read(): Uint8Array<ArrayBuffer> | undefined;
  /** Writes the file, or appends to it. */
  write(chunks: readonly Uint8Array[], options?: { append: boolean }): void;
}

/** The file of a path in a folder in memory; undefined for a path on the disk. */
export function memoryFile(path: string): MemoryFile | undefined {
  const end = path.lastIndexOf("/");
  const files = folders.get(path.slice(0, Math.max(0, end)));
  if (!files) return undefined;
  const name = path.slice(end + 1);
  return {
    isPresent: files.has(name),
    // Return a copy: tensors may become views of the returned bytes, and change them.
    read: () => files.get(name)?.slice(),
    write(chunks, { append } = { append: false }) {
      const all = [...append && files.has(name) ? [files.get(name)!] : [], ...chunks];
      files.set(name, concatenateBytes(all));
    },
  };
}

/** A copy of several arrays of bytes, one after another. */
export function concatenateBytes(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let position = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, position);
    position += chunk.length;
  }
  return bytes;
}
