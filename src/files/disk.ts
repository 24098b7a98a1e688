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

/** Why a file cannot be opened or read, for a message. */
export function whyUnread(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "no such file";
  return `cannot be read (${error instanceof Error ? error.message : error})`;
}

/** Whether there is a file or a folder. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw new Error(`${path}: ${whyUnread(error)}`);
  }
}

/** The text of a file, or nothing where there is none. */
export async function readTextIfPresent(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw new Error(`${path}: ${whyUnread(error)}`);
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
