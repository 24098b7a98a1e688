/**
 * Times the papers' workloads on Weft and on other implementations. They take turns step by step, so that
 * changes of the machine's speed affect all of them equally.
 */
import { markdownTable } from "../../tasks/markdown.ts";
import { main, wholeFrom } from "../../src/commands/command.ts";
import { benchCommand } from "../programs.ts";
import { type DeviceOptions, openDevice, secondsOf, secondsOfFirst } from "../timing.ts";
import { prepare, workloadNames } from "../workloads.ts";

/** An implementation that can repeatedly run a workload's step. */
interface Contender {
  readonly name: string;
  /** Seconds of the first step, including compilation. */
  readonly first: number;
  /** Runs a step and returns its seconds. */
  readonly step: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** How to run the scripts of other implementations. */
export interface PeerOptions {
  readonly python: string;
  readonly checkouts?: string;
  /** Number of CPU threads. */
  readonly threads: number;
  /** Set to run the scripts on a GPU. */
  readonly device?: "gpu";
  /** Number of timed steps of each implementation. The implementations take turns. */
  readonly repeats: number;
  /** Scripts of this folder. */
  readonly scripts?: readonly string[];
}

interface Options extends PeerOptions {
  /** Path of Weft's native library. */
  readonly blas?: string;
}

const allScripts = ["pytorch.py", "diffrax.py", "warp_jax.py", "structured_cde.py"];

/**
 * Pause before each turn in milliseconds, so that waiting threads of the previous implementation go to sleep.
 */
const pause = 300;

/** Seconds of a turn of short steps. The first steps after a pause are slower, because threads and caches wake up. */
const turn = 0.05;

/**
 * Steps of each implementation before the timed ones: at most this number, or this time. Engines of JavaScript compile functions that
 * run often, while they run, as JAX compiles a step before it runs.
 */
const warmUp = { steps: 1000, seconds: 5 };

/** Weft on a device. `prepare` returns a step of the workload. */
export async function weft(prepare: () => () => unknown, options: DeviceOptions): Promise<Contender> {
  const device = await openDevice(options);
  const step = prepare();
  const first = await secondsOfFirst(device, step);
  return { name: "Weft", first, step: () => secondsOf(device, step), stop: () => Promise.resolve() };
}

/**
 * Starts a script of another implementation. Returns `undefined` if the script does not know the workload, or
 * cannot run; in the latter case it prints a message.
 */
async function peer(script: string, workload: string, options: PeerOptions): Promise<Contender | undefined> {
  const { python, checkouts, threads, device = "cpu" } = options;
  const child = new Deno.Command(python, {
    args: [
      new URL(script, import.meta.url).pathname,
      workload,
      `--threads=${threads}`,
      `--device=${device}`,
      ...checkouts ? [`--checkouts=${checkouts}`] : [],
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const lines = linesOf(child.stdout);
  const { value: head } = await lines.next();
  if (head === undefined) {
    const reason = (await child.stderr.text()).trim().split("\n").at(-1);
    if (reason) console.error(`${workload}: ${script} is skipped: ${reason}`);
    await child.stdin.close();
    return undefined;
  }
  const input = child.stdin.getWriter();
  const { implementation, first } = JSON.parse(head);
  return {
    name: implementation,
    first,
    step: async () => {
      await input.write(new TextEncoder().encode("\n"));
      return Number((await lines.next()).value);
    },
    stop: async () => {
      await input.close();
      await child.stderr.cancel();
      await child.status;
    },
  };
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string, undefined> {
  let rest = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
}

/** A line of the output: seconds of each implementation's step, in the order of the turns. */
export interface Comparison {
  readonly workload: string;
  readonly threads: number;
  readonly contenders: readonly { name: string; first: number; steps: readonly number[] }[];
}

/** Times Weft and the other implementations in turn. */
export async function compare(
  workload: string,
  startWeft: () => Promise<Contender>,
  options: PeerOptions,
): Promise<Comparison> {
  const peers = [];
  for (const script of options.scripts ?? allScripts) {
    const found = await peer(script, workload, options);
    if (found) peers.push(found);
  }
  const contenders = [await startWeft(), ...peers];
  for (const { step } of contenders) {
    let seconds = 0;
    for (let i = 0; i < warmUp.steps && seconds < warmUp.seconds; i++) seconds += await step();
  }
  const steps: number[][] = contenders.map(() => []);
  for (let round = 0; round < options.repeats; round++) {
    for (const [i, { step }] of contenders.entries()) {
      await new Promise((resolve) => setTimeout(resolve, pause));
      steps[i].push(await timeTurn(step));
    }
  }
  for (const { stop } of contenders) await stop();
  return {
    workload,
    threads: options.threads,
    contenders: contenders.map(({ name, first }, i) => ({ name, first, steps: steps[i] })),
  };
}

/** Seconds of a turn: of a step, or the median of as many steps as fit into the turn. */
async function timeTurn(step: Contender["step"]): Promise<number> {
  const seconds = [];
  for (let sum = 0; sum < turn; sum += seconds.at(-1)!) seconds.push(await step());
  return median(seconds);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * A table in Markdown: medians in seconds, and the median over rounds of the best other implementation's time
 * divided by Weft's.
 */
export function comparisonTable(comparisons: readonly Comparison[]): string {
  const peers = [
    ...new Set(comparisons.flatMap(({ contenders }) => contenders.slice(1).map(({ name }) => name))),
  ];
  const rows = comparisons.map(({ workload, contenders: [weft, ...others] }) => {
    const timeOf = (name: string) => others.find((other) => other.name === name);
    const ratios = others.map(({ steps }) =>
      median(steps.map((seconds, round) => seconds / weft.steps[round]))
    );
    return [
      workload,
      ...peers.map((name) => timeOf(name) ? formatSeconds(median(timeOf(name)!.steps)) : ""),
      formatSeconds(median(weft.steps)),
      ratios.length > 0 ? Math.min(...ratios).toPrecision(3) : "",
      formatSeconds(weft.first),
      ...peers.map((name) => timeOf(name) ? formatSeconds(timeOf(name)!.first) : ""),
    ];
  });
  return markdownTable([[
    "workload",
    ...peers,
    "Weft",
    "times faster",
    "Weft's first step",
    ...peers.map((name) => `${name}'s first step`),
  ], ...rows]);
}

function formatSeconds(seconds: number): string {
  return seconds >= 0.01 ? seconds.toFixed(3) : seconds.toFixed(5);
}

if (import.meta.main) {
  const program = benchCommand("peers")
    .argument("[workloads...]", `some of ${workloadNames.join(", ")}; all by default`)
    .option(
      "--python <path>",
      "Python with the packages that the scripts in bench/peers name",
      "python3",
    )
    .option("--checkouts <folder>", "folder with the checkouts that the scripts name")
    .option("--threads <number>", "threads per implementation", wholeFrom(1), navigator.hardwareConcurrency)
    .option(
      "--blas <library>",
      "native library for large products in Weft: a path, or auto",
    )
    .option("--repeats <number>", "timed steps per implementation", wholeFrom(1), 7);
  await main(async (args) => {
    program.parse(args, { from: "user" });
    const comparisons: Comparison[] = [];
    const options = program.opts<Options>();
    for (const workload of program.args.length > 0 ? program.args : workloadNames) {
      const comparison = await compare(
        workload,
        () => weft(() => prepare(workload).step, { ...options, device: "cpu" }),
        options,
      );
      console.error(JSON.stringify(comparison));
      comparisons.push(comparison);
    }
    console.log(comparisonTable(comparisons));
    return 0;
  });
}
