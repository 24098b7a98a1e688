/** Times of runtimes side by side, as lines of JSON and as a page. */
import { markdownTable } from "../../tasks/markdown.ts";
import type { Sizes } from "./bundles.ts";

/** Times of one workload or program, measured in turns. */
export interface Measured {
  readonly kind: "plain" | "pairs" | "commits" | "example";
  /** Name of the workload. */
  readonly name: string;
  readonly times: readonly {
    readonly label: string;
    /** Median of the rounds. */
    readonly seconds: number;
    /** Description of the device: its processor, threads and vectors. */
    readonly device?: readonly string[];
  }[];
  readonly sizes?: readonly Sizes[];
  /** A sentence of the person who measured. */
  readonly remark?: string;
}

/** Reads the results of earlier runs. */
export async function readMeasured(folder: string): Promise<Measured[]> {
  const text = await Deno.readTextFile(`${folder}/runtimes.jsonl`).catch(() => "");
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

const reference = "Deno, 64-bit";

/** A column per runtime: seconds of the first, and ratios of the others to it. */
function tableOf(all: readonly Measured[], first = reference): string {
  const others = all[0].times.map(({ label }) => label).filter((label) => label !== first);
  const rows = all.map(({ name, times }) => {
    const secondsOf = (label: string) => times.find((one) => one.label === label)!.seconds;
    return [
      name,
      secondsOf(first).toPrecision(3),
      ...others.map((label) => (secondsOf(label) / secondsOf(first)).toFixed(2)),
    ];
  });
  return markdownTable([["", `${first}, seconds`, ...others], ...rows]);
}

/** Descriptions of the devices of a measurement. */
function devicesOf({ times }: Measured): string {
  return times.map(({ label, device = [] }) => `- ${label}: ${device.join("; ")}`).join("\n");
}

/** The page of all results. */
function pageOf(all: readonly Measured[]): string {
  const of = (kind: Measured["kind"]) => all.filter((one) => one.kind === kind);
  const [plain, pairs, commits, [example]] = [of("plain"), of("pairs"), of("commits"), of("example")];
  const parts = [
    "# Runtimes side by side",
    "Times of a training step, or of a kernel, on the CPU device. `deno task bench runtimes` runs a workload in all runtimes in " +
    "turns, each in its own process, and takes medians. Columns without a unit are ratios to the column in seconds: below 1 is " +
    "faster. A page of Chromium is isolated from other origins and computes on its main thread and on workers. A memory has 32-bit " +
    "or 64-bit addresses, `init({ memory: 2 ** 32 })` or `init({ memory: 2 ** 34 })`; Node 22 has no 64-bit addresses. " +
    "Compare values within a row, because the speed of the machine changes.",
  ];
  parts.push(...new Set(all.flatMap(({ remark }) => remark ?? [])));
  const add = (title: string, text: string, ...more: string[]) => parts.push(`## ${title}`, text, ...more);
  if (example) {
    add(
      "The example of the README",
      "Seconds from the import to the printed accuracy, in a new process.",
      markdownTable([
        ["", "seconds"],
        ...example.times.map(({ label, seconds }) => [label, seconds.toPrecision(3)]),
      ]),
      "Bytes of an application for browsers, bundled by esbuild, minified and gzipped. The code of GPUs is loaded on demand.",
      markdownTable([
        ["", "at the start", "on demand"],
        ...example.sizes!.map((
          { name, start, later },
        ) => [name, start.toLocaleString("en"), later.toLocaleString("en")]),
      ]),
    );
  }
  if (plain.length > 0) add("Workloads", tableOf(plain), "The devices:", devicesOf(plain[0]));
  if (pairs.length > 0) {
    add(
      "Workloads with V8's switches for pairs of vectors",
      "`--experimental-wasm-revectorize --no-wasm-bounds-checks`, see " +
        "[Speed on CPUs](../../docs/guides/cpu_speed.md#vectors-in-pairs-256-bits-on-an-x86-64-cpu).",
      tableOf(pairs),
      "The devices:",
      devicesOf(pairs[0]),
    );
  }
  if (commits.length > 0) {
    add(
      "Before and after",
      "The library before it ran in Node and browsers, and now, in Deno.",
      tableOf(commits, "before"),
    );
  }
  return parts.join("\n\n") + "\n";
}

/** Writes results and their page. The last result of a workload counts. */
export async function writeReport(folder: string, all: readonly Measured[]): Promise<void> {
  const last = [...new Map(all.map((one) => [`${one.kind} ${one.name}`, one])).values()];
  await Deno.writeTextFile(
    `${folder}/runtimes.jsonl`,
    last.map((one) => `${JSON.stringify(one)}\n`).join(""),
  );
  await Deno.writeTextFile(`${folder}/runtimes.md`, pageOf(last));
}
