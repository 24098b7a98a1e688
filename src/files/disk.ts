/**
 * Writes files atomically: readers, and processes that start after a kill, never see a partial file. A path
 * may belong to a folder in memory.
 */
import { platform } from "../platform/current.ts";
import type { Disk, NodeModules } from "../platform/platform.ts";
import { parseJson } from "./json.ts";
import { isMemoryFolder, memoryFile } from "./memory.ts";

/** The file system. @throws {Error} If the platform has no files, with the path in the message. */
export function diskOf(path: string): Disk {
  return platform.disk ?? rejectPath(path);
}

/** A module of Node that reads a file. @throws {Error} If the platform has no files, with the path in the message. */
export function nodeModuleFor<Name extends keyof NodeModules>(path: string, name: Name): NodeModules[Name] {
  return platform.moduleOf?.(name) ?? rejectPath(path);
}

function rejectPath(path: string): never {
  throw new Error(`${path}: ${platform.name} has no files; give the bytes of the file instead of a path`);
}

/** An absolute path. */
export function absolutePath(path: string): string {
  return diskOf(path).resolve(path);
}

/** Whether a path is a file or a folder. Undefined if it is neither, or cannot be read. */
export async function pathKind(path: string): Promise<"file" | "folder" | undefined> {
  const kind = await platform.disk?.kindOf(path).catch(() => undefined);
  return kind === "other" ? undefined : kind;
}

/** Names of the files in a folder, or with `"folder"` of its folders. */
export async function namesIn(folder: string, kind: "file" | "folder" = "file"): Promise<string[]> {
  const entries = await diskOf(folder).list(folder);
  return entries.filter((entry) => entry.kind === kind).map(({ name }) => name);
}

/** Removes a file, if it exists. */
export async function removeIfPresent(path: string): Promise<void> {
  if (await exists(path)) await diskOf(path).remove(path);
}

/** Writes a file under a temporary name, flushes it to the disk, and renames it. */
export async function writeAtomically(path: string, content: string | readonly Uint8Array[]): Promise<void> {
  const chunks = typeof content === "string" ? [new TextEncoder().encode(content)] : content;
  const inMemory = memoryFile(path);
  if (inMemory) return inMemory.write(chunks);
  const disk = diskOf(path);
  const temporary = `${path}.tmp`;
  try {
    await disk.write(temporary, chunks);
    await disk.rename(temporary, path);
  } catch (error) {
    await disk.remove(temporary).catch(() => {});
    throw notWritten(path, error);
  }
}

/** Appends text to a file. */
export async function appendText(path: string, text: string): Promise<void> {
  const inMemory = memoryFile(path);
  if (inMemory) return inMemory.write([new TextEncoder().encode(text)], { append: true });
  await diskOf(path).append(path, text).catch((error) => {
    throw notWritten(path, error);
  });
}

/** Error with the path, which the message of the operating system lacks. */
function notWritten(path: string, error: unknown): Error {
  const reason = isAbsent(error)
    ? "its folder does not exist any more"
    : error instanceof Error
    ? error.message
    : `${error}`;
  return new Error(`${path}: cannot be written (${reason})`);
}

/** Whether an error means that a path does not exist. A parent of the path may be a file. */
function isAbsent(error: unknown): boolean {
  return platform.disk?.failureOf(error) === "absent";
}

/** Reason why a file cannot be opened or read, for a message. */
export function whyUnread(error: unknown): string {
  if (isAbsent(error)) return "no such file";
  if (platform.disk?.failureOf(error) === "a folder") return "a folder, not a file";
  return `cannot be read (${error instanceof Error ? error.message : error})`;
}

/** Whether a path is an existing file or folder. */
export async function exists(path: string): Promise<boolean> {
  const inMemory = memoryFile(path);
  if (inMemory) return inMemory.isPresent;
  try {
    await diskOf(path).kindOf(path);
    return true;
  } catch (error) {
    if (isAbsent(error)) return false;
    throw new Error(`${path}: ${whyUnread(error)}`);
  }
}

/** Text of a file; undefined if the file does not exist. */
export async function readTextIfPresent(path: string): Promise<string | undefined> {
  const bytes = await readBytesIfPresent(path);
  return bytes && new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/**
 * Bytes of a file of a run. Opening a pipe would wait for a writer, and a device may have no end.
 *
 * @throws {Error} As the platform does, and if the path is neither a file nor a folder.
 */
export async function readRegularFile(path: string): Promise<Uint8Array<ArrayBuffer>> {
  const disk = diskOf(path);
  if (await disk.kindOf(path) === "other") throw new Error("a pipe or a device, not a file");
  return await disk.read(path);
}

/** Bytes of a file; undefined if the file does not exist. */
export async function readBytesIfPresent(path: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const inMemory = memoryFile(path);
  if (inMemory) return inMemory.read();
  try {
    return await readRegularFile(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw new Error(`${path}: ${whyUnread(error)}`);
  }
}

/** Reason why a path is not a folder, for a message; undefined for a folder. */
export async function whyNoFolder(path: string): Promise<string | undefined> {
  if (isMemoryFolder(path)) return undefined;
  if (!await exists(path)) return "no such folder";
  return await diskOf(path).kindOf(path) === "folder" ? undefined : "a file, not a folder";
}

/**
 * Makes a folder and its parents, if missing.
 *
 * @throws {Error} If the folder cannot be created. The message contains the path.
 */
export async function makeFolder(path: string): Promise<void> {
  const disk = diskOf(path);
  try {
    await disk.makeFolder(path);
  } catch (error) {
    const reason = disk.failureOf(error) ? "the path or a parent of it is a file" : (error as Error).message;
    throw new Error(`${path}: cannot create the folder (${reason}); give another path`);
  }
}

/**
 * Reads a file with one JSON text per line. Returns an empty array if the file does not exist.
 *
 * @throws {Error} If a line is not JSON. The message contains the path.
 */
export async function readJsonLines<T>(path: string): Promise<T[]> {
  const text = await readTextIfPresent(path) ?? "";
  return text.split("\n").filter((line) => line !== "").map((line, i) => {
    const value = parseJson(line);
    if (value === undefined) {
      throw new Error(`${path}, line ${i + 1}: damaged: invalid JSON; remove the line`);
    }
    return value as T;
  });
}

/** Appends a value as a line to a file of JSON lines. */
export async function appendJsonLine(path: string, value: unknown): Promise<void> {
  await appendText(path, `${JSON.stringify(value)}\n`);
}
