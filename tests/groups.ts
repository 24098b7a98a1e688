/**
 * Groups of test files. A group is a module that imports its test files. They share one start of the library,
 * its compiled kernels and the engine's optimized code: the tests take half of the processor time.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { sources } from "./import_graph.ts";

/** Fewest and most test files in a group of all tests. */
const [fewest, most] = [10, 36];

/** Files with minutes of tests. Each is a group, before all others. */
const longest = ["tests/pages_test.ts"];

const isFile = (path: string) => path.endsWith(".ts");

/** Whether an argument of `deno test` is a file or a folder, rather than an option or its value. */
export function isTestPath(argument: string, i: number, all: readonly string[]): boolean {
  if (argument.startsWith("-") || all[i - 1] === "--filter") return false;
  return isFile(argument) || argument.startsWith("tests");
}

/** Numbers of files of the groups, the largest first: small groups at the end keep all cores busy. */
function sizesOf(files: number, jobs: number): number[] {
  const sizes: number[] = [];
  for (let left = files; left > 0; left -= sizes.at(-1)!) {
    const size = Math.max(Math.ceil(left / (2 * jobs)), Math.min(fewest, Math.ceil(files / jobs)));
    sizes.push(Math.min(left, size, most));
  }
  return sizes;
}

/**
 * Writes the groups of the test files in files and folders to a folder. Returns their paths. A file joins the
 * emptiest group, so that files that begin first still begin first, and slow neighbours are in different
 * groups.
 *
 * @param jobs Number of groups that run in parallel.
 */
export async function groupsOf(paths: readonly string[], folder: string, jobs: number): Promise<string[]> {
  const inFolders = await sources(paths.filter((path) => !isFile(path)));
  const files = [...paths.filter(isFile), ...[...inFolders.keys()].sort()]
    .filter((path) => path.endsWith("_test.ts"));
  const others = files.filter((path) => !longest.includes(path));
  const filling = sizesOf(others.length, jobs).map((size) => ({ size, files: [] as string[] }));
  for (const path of others) {
    filling.reduce((a, b) => b.files.length / b.size < a.files.length / a.size ? b : a).files.push(path);
  }
  const groups = [
    ...files.filter((path) => longest.includes(path)).map((path) => [path]),
    ...filling.map(({ files }) => files),
  ];
  return await Promise.all(groups.map(async (files, group) => {
    const imports = files.map((path) => `import "${pathToFileURL(resolve(path))}";\n`);
    const path = `${folder}/group_${group + 1}_test.ts`;
    await Deno.writeTextFile(path, imports.join(""));
    return path;
  }));
}
