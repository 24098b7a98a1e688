import { diskOf, exists, namesIn, pathKind } from "../files/disk.ts";
import type { SeriesSet } from "./series.ts";
import { WeftError } from "../device/errors.ts";
import { DataFormatError } from "./format.ts";
import { parseTs } from "./ts_format.ts";
import { zipEntries } from "./zip.ts";

/** A text file of an archive. */
interface Member {
  readonly name: string;
  readonly read: () => Promise<Uint8Array>;
}

/**
 * Reads a problem of the UEA and UCR archives: the series of its TRAIN part, then those of its TEST part, which
 * begin at `testFrom`.
 *
 * @param path A zip file or a folder with `<name>_TRAIN.ts` and `<name>_TEST.ts`.
 * @param name Name of the problem, if the path contains several.
 * @param maxUnpacked Largest size in MiB that a zip file may unpack to: 100 times its size, at least 128 MiB and at
 * most 2 GiB.
 * @throws {DataFormatError} If a file is malformed, with its line.
 * @throws {Error} If the path does not exist.
 * @throws {WeftError} If the path does not contain the two files.
 */
export async function readUea(path: string, name?: string, maxUnpacked?: number): Promise<SeriesSet> {
  return await mergeParts(await readMembers(path, maxUnpacked), path, name);
}

/**
 * As {@linkcode readUea}, for the bytes of a zip file.
 *
 * @param bytes Content of the zip file.
 * @param file Name of the file, for messages.
 * @param name Name of the problem, if the zip file contains several.
 * @param maxUnpacked As in {@linkcode readUea}.
 */
export async function parseUea(
  bytes: Uint8Array,
  file: string,
  name?: string,
  maxUnpacked?: number,
): Promise<SeriesSet> {
  return await mergeParts(unzip(bytes, file, maxUnpacked), file, name);
}

async function mergeParts(members: readonly Member[], path: string, name?: string): Promise<SeriesSet> {
  const part = (suffix: string) => {
    const fitting = members.filter((member) => member.name.endsWith(`${name ?? ""}_${suffix}.ts`));
    if (fitting.length === 1) return fitting[0];
    const files = members.map((member) => member.name);
    const actual = files.slice(0, 8).join(", ") + (files.length > 8 ? ", ..." : "") || "no .ts files";
    const expected = `${fitting.length > 1 ? "one" : "a"} ${name ?? "<name>"}_${suffix}.ts`;
    throw new WeftError("unreadable-file", `${path}: expected ${expected}, found ${actual}`, {
      expected,
      fixes: fitting.length > 1
        ? ["keep the files of one problem in a folder"]
        : ["add the file, or name a single .ts file"],
    });
  };
  const parsed = async ({ name: file, read }: Member) => ({
    file,
    set: parseTs(await read(), `${path}/${file}`),
  });
  const [trainFile, testFile] = [part("TRAIN"), part("TEST")];
  // One after the other, so that only one text is in memory.
  const [train, test] = [await parsed(trainFile), await parsed(testFile)];
  const differs = train.set.channels.length !== test.set.channels.length
    ? `${test.set.channels.length} channels, expected ${train.set.channels.length}`
    : train.set.times !== test.set.times
    ? `times as ${test.set.times}s, expected ${train.set.times}s`
    : train.set.targets?.length !== test.set.targets?.length
    ? `${test.set.targets ? "a target" : "classes"}, expected ${train.set.targets ? "a target" : "classes"}`
    : train.set.classes.join() !== test.set.classes.join()
    ? `classes ${test.set.classes.join(", ")}, expected ${train.set.classes.join(", ")}`
    : undefined;
  if (differs) {
    throw new DataFormatError(`${path}/${test.file}`, 1, `${differs} as in ${train.file}`, {
      code: "conflicting-columns",
      fixes: ["take both files from the same archive"],
    });
  }
  const named = (part: string, { series }: SeriesSet) =>
    series.map((one) => ({ ...one, name: `${part} ${one.name}` }));
  return {
    ...train.set,
    series: [...named("TRAIN", train.set), ...named("TEST", test.set)],
    testFrom: train.set.series.length,
  };
}

async function readMembers(path: string, maxUnpacked?: number): Promise<Member[]> {
  if (!await exists(path)) {
    throw new Error(
      `${path}: no such file or folder; expected a zip file or a folder of an archive's problem`,
    );
  }
  const { read } = diskOf(path);
  if (await pathKind(path) === "folder") {
    const names = await namesIn(path);
    return names.filter(isText).map((name) => ({ name, read: () => read(`${path}/${name}`) }));
  }
  return unzip(await read(path), path, maxUnpacked);
}

function unzip(bytes: Uint8Array, path: string, maxUnpacked?: number): Member[] {
  return zipEntries(bytes, path, maxUnpacked).filter(({ name }) => isText(name));
}

/** Whether a file is a `.ts` file. Excludes macOS metadata, files named `._<file>`. */
function isText(name: string): boolean {
  return name.endsWith(".ts") && !/(^|\/)\._[^/]*$/.test(name);
}
