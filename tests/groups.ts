/**
 * Groups of test files. A group is a module that imports its test files. They share one start of the library,
 * its compiled kernels and the engine's optimized code: the tests take half of the processor time.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { sources } from "./import_graph.ts";

/** Maximum number of test files in a group. */
const groupSize = 30;

/** Files with minutes of tests. Each is a group, before all others. */
const longest = ["tests/pages_test.ts"];

const isFile = (path: string) => path.endsWith(".ts");

/** Whether an argument of `deno test` is a file or a folder, rather than an option or its value. */
export function isTestPath(argument: string, i: number, all: readonly string[]): boolean {
  if (argument.startsWith("-") || all[i - 1] === "--filter") return false;
  return isFile(argument) || argument.startsWith("tests");
}

/**
 * Writes the groups of the test files in files and folders to a folder. Returns their paths. The groups take
 * the files in turn, so that files that begin first still begin first, and slow neighbours are in different
 * groups.
 *
 * @param jobs Number of groups that run in parallel.
 */
export async function groupsOf(paths: readonly string[], folder: string, jobs: number): Promise<string[]> {
  const inFolders = await sources(paths.filter((path) => !isFile(path)));
  const files = [...paths.filter(isFile), ...[...inFolders.keys()].sort()]
    .filter((path) => path.endsWith("_test.ts"));
  const others = files.filter((path) => !longest.includes(path));
  const count = Math.max(Math.min(jobs, others.length), Math.ceil(others.length / groupSize));
  const groups = [
    ...files.filter((path) => longest.includes(path)).map((path) => [path]),
    ...Array.from({ length: count }, (_, group) => others.filter((_, i) => i % count === group)),
  ];
  return await Promise.all(groups.map(async (files, group) => {
    const imports = files.map((path) => `import "${pathToFileURL(resolve(path))}";\n`);
    const path = `${folder}/group_${group + 1}_test.ts`;
    await Deno.writeTextFile(path, imports.join(""));
    return path;
  }));
}
