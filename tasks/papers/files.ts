/** Files that may be missing. */

/** Whether an error means that a path does not exist. A parent of the path may be a file. */
function isAbsent(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
}

/** Result of reading a path; undefined if the path does not exist. */
async function ifPresent<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

/** Whether a path is an existing file or folder. */
export async function exists(path: string): Promise<boolean> {
  return await ifPresent(Deno.stat(path)) !== undefined;
}

/** Bytes of a file; undefined if the file does not exist. */
export async function readBytesIfPresent(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  return await ifPresent(Deno.readFile(path));
}

/** Text of a file; undefined if the file does not exist. */
export async function readTextIfPresent(path: string): Promise<string | undefined> {
  return await ifPresent(Deno.readTextFile(path));
}

/** Values of a file with one JSON text per line. Empty if the file does not exist. */
export async function readJsonLines<T>(path: string): Promise<T[]> {
  const text = await readTextIfPresent(path) ?? "";
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as T);
}

/** Reason why a path is not a folder, for a message; undefined for a folder. */
export async function whyNoFolder(path: string): Promise<string | undefined> {
  const info = await ifPresent(Deno.stat(path));
  return !info ? "no such folder" : info.isDirectory ? undefined : "a file, not a folder";
}

/** Writes a file under a temporary name and renames it, so that no reader sees a partial file. */
export async function writeAtomically(path: string, text: string): Promise<void> {
  await Deno.writeTextFile(`${path}.tmp`, text);
  await Deno.rename(`${path}.tmp`, path);
}
