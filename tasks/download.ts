/** Downloads public data sets. */
import { dirname, join } from "node:path";
import { callOf, command, main, nameArgument } from "../src/commands/command.ts";
import { exists, makeFolder } from "../src/files/disk.ts";
import { dataSets, type SourceFile } from "./papers/data_sets.ts";
import { digestOf, fetchFile, type FetchOptions } from "./papers/fetch_file.ts";
import { transferDisplay } from "../src/commands/progress.ts";

const folder = "data";

/** `deno task download`. */
export async function download(args: string[]): Promise<number> {
  const program = command(
    "download",
    `Downloads public data sets into ${folder}/. Without a name, lists them. Interrupted downloads can be resumed.`,
  )
    .addArgument(
      nameArgument("[names...]", "data sets to download", [...dataSets.map(({ name }) => name), "all"]),
    )
    .parse(args, { from: "user" });
  const chosen: string[] = program.processedArgs[0];
  if (chosen.length === 0) {
    for (const { name, amount, files } of dataSets) {
      console.log(`${name.padEnd(24)}${amount.padEnd(20)}${new URL(files[0].url).host}`);
    }
    return 0;
  }
  for (const { name, files } of dataSets) {
    if (!chosen.includes(name) && !chosen.includes("all")) continue;
    for (const file of files) await fetchChecked(file, folder);
  }
  return 0;
}

/**
 * Downloads a file unless it exists, and verifies its content.
 *
 * @throws {Error} If the download fails or the content is wrong. A file with wrong content is removed.
 */
export async function fetchChecked(file: SourceFile, folder: string, options?: FetchOptions): Promise<void> {
  const path = join(folder, file.path);
  if (await exists(path)) {
    await check(file, path);
    console.log(`${path} exists already`);
    return;
  }
  console.log(`${file.url} to ${path}`);
  await makeFolder(dirname(path));
  const part = `${path}.part`;
  const display = transferDisplay();
  try {
    await fetchFile(file.url, part, { onProgress: display.onProgress, ...options });
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    throw new Error(
      `${file.url} cannot be downloaded (${reason}); run the command again to resume the download, copy the file to ${path}, or ` +
        `give another path to ${callOf("train")} with --data`,
    );
  } finally {
    display.end();
  }
  try {
    await check(file, part);
  } catch (error) {
    await Deno.remove(part);
    throw new Error(`${file.url}: ${(error as Error).message}: the file was removed`);
  }
  await Deno.rename(part, path);
}

/** @throws {Error} If the content of a file is not as expected. */
async function check({ size, digest, content }: SourceFile, path: string): Promise<void> {
  const { size: found } = await Deno.stat(path);
  if (size !== undefined && found !== size) throw new Error(`${path}: ${found} bytes, expected ${size}`);
  if (digest) {
    const { algorithm, hex } = digest;
    const actual = await digestOf(path, algorithm);
    if (actual !== hex) {
      throw new Error(`${path}: its ${algorithm.toUpperCase()} is ${actual}, expected ${hex}`);
    }
  }
  if (content) {
    const held = await content.find(await Deno.readFile(path), path);
    if (held !== content.expected) throw new Error(`${path}: ${held}, expected ${content.expected}`);
  }
}

if (import.meta.main) await main(download);
