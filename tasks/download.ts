import { Argument } from "commander";
import { parseUea } from "../src/data/uea.ts";
import { writeAtomically } from "../src/train/files.ts";
import { command, main } from "./command.ts";

interface Source {
  readonly name: string;
  /** The problem's name in the archive, and the file's. */
  readonly problem: string;
  /** What the archive must hold, whatever the file's wrapping. */
  readonly series: number;
  readonly channels: number;
  readonly classes: number;
}

const sources: readonly Source[] = [
  {
    name: "character-trajectories",
    problem: "CharacterTrajectories",
    series: 2858,
    channels: 3,
    classes: 20,
  },
  { name: "japanese-vowels", problem: "JapaneseVowels", series: 640, channels: 12, classes: 9 },
  { name: "basic-motions", problem: "BasicMotions", series: 80, channels: 6, classes: 4 },
];

const folder = "data";
const host = "https://timeseriesclassification.com/aeon-toolkit";

await main(async () => {
  const program = command("download", `Fetches public data sets into ${folder}/, all of them by default.`)
    .addArgument(new Argument("[names...]", "which ones").choices(sources.map(({ name }) => name)))
    .parse(Deno.args, { from: "user" });
  const names: string[] = program.processedArgs[0];
  for (const source of sources) {
    if (names.length === 0 || names.includes(source.name)) await download(source);
  }
  return 0;
});

async function download(source: Source): Promise<void> {
  const path = `${folder}/${source.problem}.zip`;
  if (await Deno.stat(path).then(() => true, () => false)) {
    await check(await Deno.readFile(path), source, path);
    console.log(`${path} is there already`);
    return;
  }
  const url = `${host}/${source.problem}.zip`;
  console.log(`${url} to ${path}`);
  const bytes = await fetchBytes(url, path);
  await check(bytes, source, url);
  await Deno.mkdir(folder, { recursive: true });
  await writeAtomically(path, [bytes]);
}

async function fetchBytes(url: string, path: string): Promise<Uint8Array> {
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`the server answered ${response.status} ${response.statusText}`);
    return await response.bytes();
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    throw new Error(
      `${url} could not be fetched (${reason}); without a network, put the file at ${path} by hand, ` +
        "or name another place with deno task train --data",
    );
  }
}

/** Refuses a file that is cut short or something else than it should be. */
async function check(
  bytes: Uint8Array,
  { problem, series, channels, classes }: Source,
  from: string,
): Promise<void> {
  const set = await parseUea(bytes, from, problem);
  const found = [set.series.length, set.channels, set.classes.length];
  if (found.join() !== [series, channels, classes].join()) {
    throw new Error(
      `${from}: ${found[0]} series of ${found[1]} channels in ${
        found[2]
      } classes, expected ${series} of ${channels} ` +
        `in ${classes}: nothing was written`,
    );
  }
}
