import type { SeriesSet } from "./series.ts";
import { DataFormatError } from "./format.ts";
import { parseTs } from "./ts_format.ts";

/** A text file of an archive. */
interface Member {
  readonly file: string;
  readonly text: string;
}

/**
 * Reads a problem of the UEA and UCR archives and merges its TRAIN and TEST parts, as papers do that split it anew.
 *
 * @param path A zip file or a folder with `<name>_TRAIN.ts` and `<name>_TEST.ts`.
 * @param name The problem expected, when several would do.
 * @throws {DataFormatError} If a file is malformed, with its line.
 * @throws {Error} If there is no such path, or the two files are not in it.
 */
export async function readUea(path: string, name?: string): Promise<SeriesSet> {
  return mergeParts(await readMembers(path), path, name);
}

/**
 * As {@linkcode readUea}, from the bytes of a zip file.
 *
 * @param file Its name, for messages.
 */
export async function parseUea(bytes: Uint8Array, file: string, name?: string): Promise<SeriesSet> {
  return mergeParts(await unzip(bytes, file), file, name);
}

function mergeParts(members: readonly Member[], path: string, name?: string): SeriesSet {
  const part = (suffix: string) => {
    const fitting = members.filter(({ file }) => file.endsWith(`${name ?? ""}_${suffix}.ts`));
    if (fitting.length === 1) return fitting[0];
    const found = members.map(({ file }) => file).join(", ") || "no .ts files";
    throw new Error(
      `${path}: expected ${fitting.length > 1 ? "one" : "a"} ${
        name ?? "<name>"
      }_${suffix}.ts, found ${found}`,
    );
  };
  const [train, test] = [part("TRAIN"), part("TEST")].map(({ file, text }) => ({
    file,
    set: parseTs(text, `${path}/${file}`),
  }));
  const differs = train.set.channels !== test.set.channels
    ? `${test.set.channels} channels, expected ${train.set.channels}`
    : train.set.classes.join() !== test.set.classes.join()
    ? `classes ${test.set.classes.join(", ")}, expected ${train.set.classes.join(", ")}`
    : undefined;
  if (differs) throw new DataFormatError(`${path}/${test.file}`, 1, `${differs} as in ${train.file}`);
  return { ...train.set, series: [...train.set.series, ...test.set.series] };
}

async function readMembers(path: string): Promise<Member[]> {
  let info: Deno.FileInfo;
  try {
    info = await Deno.stat(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new Error(
      `${path}: no such file or folder; expected a zip file or a folder of an archive's problem`,
    );
  }
  if (info.isDirectory) {
    const files = (await Array.fromAsync(Deno.readDir(path)))
      .filter((entry) => entry.isFile && entry.name.endsWith(".ts")).map((entry) => entry.name).sort();
    return Promise.all(
      files.map(async (file) => ({ file, text: await Deno.readTextFile(`${path}/${file}`) })),
    );
  }
  return unzip(await Deno.readFile(path), path);
}

async function unzip(bytes: Uint8Array, path: string): Promise<Member[]> {
  const { unzipSync } = await import("fflate");
  try {
    const files = unzipSync(bytes, { filter: ({ name }) => name.endsWith(".ts") });
    return Object.entries(files).map(([file, content]) => ({
      file,
      text: new TextDecoder().decode(content),
    }));
  } catch (error) {
    throw new Error(
      `${path}: expected a zip file or a folder, got ${bytes.length} bytes that cannot be unzipped ` +
        `(${error instanceof Error ? error.message : error})`,
    );
  }
}
