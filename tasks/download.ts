import { Argument } from "commander";
import { parseLongSeries } from "../src/data/ett.ts";
import { gunzip, parseIdx } from "../src/data/idx.ts";
import { parseUea } from "../src/data/uea.ts";
import { writeAtomically } from "../src/files/disk.ts";
import { callOf, command, main } from "./command.ts";

/** A file of a data set. */
interface SourceFile {
  /** Below {@linkcode folder}. */
  readonly path: string;
  readonly url: string;
  /** Refuses bytes that are cut short or something else than they should be. @param from Where they are, for messages. */
  check(bytes: Uint8Array, from: string): Promise<void> | void;
}

interface Source {
  readonly name: string;
  readonly files: readonly SourceFile[];
}

const folder = "data";

/** A problem of the UEA archive: its name there, and what it must hold, whatever the file's wrapping. */
function uea(problem: string, series: number, channels: number, classes: number): readonly SourceFile[] {
  return [{
    path: `${problem}.zip`,
    url: `https://timeseriesclassification.com/aeon-toolkit/${problem}.zip`,
    async check(bytes, from) {
      const set = await parseUea(bytes, from, problem);
      const found = [set.series.length, set.channels, set.classes.length];
      refuseUnless(
        found.join() === [series, channels, classes].join(),
        from,
        () =>
          `${found[0]} series of ${found[1]} channels in ${found[2]} classes, ` +
          `expected ${series} of ${channels} in ${classes}`,
      );
    },
  }];
}

/** A file of MNIST, from the mirror that torchvision uses. */
function mnist(name: string, ...shape: number[]): SourceFile {
  return {
    path: `mnist/${name}.gz`,
    url: `https://ossci-datasets.s3.amazonaws.com/mnist/${name}.gz`,
    check(bytes, from) {
      const found = parseIdx(gunzip(bytes, from), from).shape;
      refuseUnless(
        found.join() === shape.join(),
        from,
        () => `an array of ${found.join(" by ")}, expected ${shape.join(" by ")}`,
      );
    },
  };
}

/** Two years of hours of a transformer, from the authors of the data set. */
const etth1: SourceFile = {
  path: "ETTh1.csv",
  url: "https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small/ETTh1.csv",
  check(bytes, from) {
    const { times, columns } = parseLongSeries(new TextDecoder().decode(bytes), from);
    refuseUnless(
      times.length === 17_420 && columns.length === 7,
      from,
      () => `${times.length} hours of ${columns.length} channels, expected 17420 of 7`,
    );
  },
};

const sources: readonly Source[] = [
  { name: "character-trajectories", files: uea("CharacterTrajectories", 2858, 3, 20) },
  { name: "japanese-vowels", files: uea("JapaneseVowels", 640, 12, 9) },
  { name: "basic-motions", files: uea("BasicMotions", 80, 6, 4) },
  {
    name: "mnist",
    files: [
      mnist("train-images-idx3-ubyte", 60_000, 28, 28),
      mnist("train-labels-idx1-ubyte", 60_000),
      mnist("t10k-images-idx3-ubyte", 10_000, 28, 28),
      mnist("t10k-labels-idx1-ubyte", 10_000),
    ],
  },
  { name: "etth1", files: [etth1] },
];

/** `deno task download`. */
export async function download(args: string[]): Promise<number> {
  const program = command("download", `Fetches public data sets into ${folder}/, all of them by default.`)
    .addArgument(new Argument("[names...]", "which ones").choices(sources.map(({ name }) => name)))
    .parse(args, { from: "user" });
  const names: string[] = program.processedArgs[0];
  for (const source of sources) {
    if (names.length > 0 && !names.includes(source.name)) continue;
    for (const file of source.files) await downloadFile(file);
  }
  return 0;
}

async function downloadFile({ path: name, url, check }: SourceFile): Promise<void> {
  const path = `${folder}/${name}`;
  if (await Deno.stat(path).then(() => true, () => false)) {
    await check(await Deno.readFile(path), path);
    console.log(`${path} is there already`);
    return;
  }
  console.log(`${url} to ${path}`);
  const bytes = await fetchBytes(url, path);
  await check(bytes, url);
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await writeAtomically(path, [bytes]);
}

async function fetchBytes(url: string, path: string): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`the server answered ${response.status} ${response.statusText}`);
    return await response.bytes();
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    throw new Error(
      `${url} could not be fetched (${reason}); without a network, put the file at ${path} by hand, ` +
        `or name another place with ${callOf("train")} --data`,
    );
  }
}

function refuseUnless(fits: boolean, from: string, difference: () => string): void {
  if (!fits) throw new Error(`${from}: ${difference()}: nothing was written`);
}

if (import.meta.main) await main(download);
