/** Writing files so that a reader, or a process that starts after this one was killed, never sees half of one. */
import { parseJson } from "./json.ts";

/** Writes a file under a temporary name, waits until it is on the disk, and gives it its name. */
export async function writeAtomically(path: string, content: string | readonly Uint8Array[]): Promise<void> {
  const chunks = typeof content === "string" ? [new TextEncoder().encode(content)] : content;
  const temporary = `${path}.tmp`;
  try {
    using file = await Deno.open(temporary, { write: true, create: true, truncate: true });
    for (const chunk of chunks) {
      for (let written = 0; written < chunk.length;) written += await file.write(chunk.subarray(written));
    }
    await file.sync();
    await Deno.rename(temporary, path);
  } catch (error) {
    await Deno.remove(temporary).catch(() => {});
    throw notWritten(path, error);
  }
}

/** Adds text to the end of a file. */
export async function appendText(path: string, text: string): Promise<void> {
  await Deno.writeTextFile(path, text, { append: true }).catch((error) => {
    throw notWritten(path, error);
  });
}

/** Message of the operating system, with the path that it leaves out. */
function notWritten(path: string, error: unknown): Error {
  return new Error(`${path}: cannot be written (${error instanceof Error ? error.message : error})`);
}

/** Whether an error says that there is nothing at a path, which may lead through a file. */
function isAbsent(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory;
}

/** Why a file cannot be opened or read, for a message. */
export function whyUnread(error: unknown): string {
  if (isAbsent(error)) return "no such file";
  if (error instanceof Deno.errors.IsADirectory) return "a folder, not a file";
  return `cannot be read (${error instanceof Error ? error.message : error})`;
}

/** Whether there is a file or a folder. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw new Error(`${path}: ${whyUnread(error)}`);
  }
}

/** The text of a file, or nothing where there is none. */
export async function readTextIfPresent(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw new Error(`${path}: ${whyUnread(error)}`);
  }
}

/** The bytes of a file, or nothing where there is none. */
export async function readBytesIfPresent(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw new Error(`${path}: ${whyUnread(error)}`);
  }
}

/** Why a path is no folder, for a message; nothing where it is one. */
export async function whyNoFolder(path: string): Promise<string | undefined> {
  if (!await exists(path)) return "no such folder";
  return (await Deno.stat(path)).isDirectory ? undefined : "a file, not a folder";
}

/**
 * Makes a folder, and those above it, unless it is there.
 *
 * @throws {Error} With the path, if it cannot be made.
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true });
  } catch (error) {
    const isFile = error instanceof Deno.errors.AlreadyExists || error instanceof Deno.errors.NotADirectory;
    const reason = isFile ? "a file has its name, or that of a folder above it" : (error as Error).message;
    throw new Error(`${path}: cannot be made a folder (${reason}); name another place`);
  }
}

/**
 * The values in a file of one JSON text a line; none where there is no file.
 *
 * @throws {Error} With the path, if a line is no JSON.
 */
export async function readJsonLines<T>(path: string): Promise<T[]> {
  const text = await readTextIfPresent(path) ?? "";
  return text.split("\n").filter((line) => line !== "").map((line, i) => {
    const value = parseJson(line);
    if (value === undefined) throw new Error(`${path}, line ${i + 1}: damaged: no JSON; remove the line`);
    return value as T;
  });
}

/** Adds a value to such a file. */
export async function appendJsonLine(path: string, value: unknown): Promise<void> {
  await appendText(path, `${JSON.stringify(value)}\n`);
}
