/**
 * Times the workloads of the papers and the example of the README in Deno, Node and Chromium, in turns, so that a change of the
 * machine's speed meets all of them. Results are added to those of earlier runs, and the report is written anew.
 */
import { main, wholeFrom } from "../src/commands/command.ts";
import { quantileOf } from "../src/data/quantile.ts";
import { type Agent, type Runtime, runtimeNames, startAgent } from "./runtimes/agents.ts";
import { bundleAgent, bundleExample, measureSizes } from "./runtimes/bundles.ts";
import { type Measured, readMeasured, writeReport } from "./runtimes/report.ts";
import { benchCommand } from "./programs.ts";
import { workloadNames } from "./workloads.ts";

/** V8's switches for pairs of vectors. */
const pairs = ["--experimental-wasm-revectorize", "--no-wasm-bounds-checks"];

/** A runtime, its bundle, and the maximum size of its memory, which decides the width of addresses. Default: that of Weft. */
interface Contender extends Runtime {
  readonly label: string;
  readonly memory?: number;
  readonly folder: string;
}

/** Widths of the addresses of a runtime. Node 22 has no 64-bit addresses. */
function widthsOf(name: string): { width: string; memory: number }[] {
  return [
    { width: "32-bit", memory: 2 ** 32 },
    ...name === "Node 22" ? [] : [{ width: "64-bit", memory: 2 ** 34 }],
  ];
}

function median(values: readonly number[]): number {
  return quantileOf(values.toSorted((a, b) => a - b), 0.5);
}

interface Options {
  rounds: number;
  seconds: number;
  pairs?: true;
  against?: string;
  example?: true;
  remark?: string;
  out: string;
}

/** Times a workload in all contenders in turns. Each has its own process. */
async function timeInTurns(
  contenders: readonly Contender[],
  workload: string,
  { rounds, seconds }: Options,
): Promise<Measured["times"]> {
  const agents = await Promise.all(contenders.map((one) => startAgent(one, one.folder)));
  const times = contenders.map((): number[] => []);
  const devices: (readonly string[] | undefined)[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const [i, { memory }] of contenders.entries()) {
      const found = await agents[i].ask({ workload, memory, seconds });
      times[i].push(median(found.seconds));
      devices[i] = found.device;
    }
  }
  await Promise.all(agents.map((agent: Agent) => agent.stop()));
  return contenders.map(({ label }, i) => ({ label, seconds: median(times[i]), device: devices[i] }));
}

/** Milliseconds from the start of a process to the example. A browser starts services in the background. */
const settlingTime = 2000;

/** Times the example of the README in new processes in turns. */
async function timeExample(folder: string, { rounds }: Options): Promise<Measured["times"]> {
  const times = runtimeNames.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, name] of runtimeNames.entries()) {
      const agent = await startAgent({ name, flags: [] }, folder);
      await new Promise((resolve) => setTimeout(resolve, settlingTime));
      times[i].push(...(await agent.ask({ program: "/example.js" })).seconds);
      await agent.stop();
    }
  }
  return runtimeNames.map((label, i) => ({ label, seconds: median(times[i]) }));
}

function contendersOf(folder: string, before: string | undefined, isPaired = false): Contender[] {
  if (before !== undefined) {
    const deno = { name: "Deno", flags: [] };
    return [{ ...deno, label: "before", folder: before }, { ...deno, label: "now", folder }];
  }
  const flags = isPaired ? pairs : [];
  return runtimeNames.flatMap((name) =>
    widthsOf(name).map(({ width, memory }) => ({ name, label: `${name}, ${width}`, flags, memory, folder }))
  );
}

const program = benchCommand("runtimes")
  .option("--rounds <number>", "turns of each runtime", wholeFrom(1), 5)
  .option("--seconds <number>", "seconds of a turn, at least one step", Number, 0.1)
  .option("--pairs", "use V8's switches for pairs of vectors")
  .option("--against <folder>", "compare this library with a checkout of another commit, in Deno")
  .option("--example", "time the example of the README, and measure the size of its bundle")
  .option("--remark <text>", "a sentence for the page, such as the state of the machine")
  .option("--out <folder>", "folder of runtimes.jsonl and runtimes.md", "bench/results")
  .argument("[workloads...]", `names from ${workloadNames.join(", ")}, optionally with sizes (default: all)`);

await main(async (args) => {
  program.parse(args, { from: "user" });
  const options = program.opts<Options>();
  await Deno.mkdir(options.out, { recursive: true });
  const folder = await Deno.makeTempDir();
  const root = new URL("..", import.meta.url).pathname;
  await bundleAgent(root, root, folder);
  const measured: Measured[] = [];
  const add = (one: Measured) => {
    measured.push({ ...one, remark: options.remark });
    console.log(
      [one.name, ...one.times.map(({ label, seconds }) => `${label} ${seconds.toPrecision(3)}`)].join("  "),
    );
  };
  if (options.example) {
    await bundleExample(root, folder);
    const sizes = await measureSizes(root);
    add({ kind: "example", name: "README example", times: await timeExample(folder, options), sizes });
  } else {
    const before = options.against === undefined ? undefined : await Deno.makeTempDir();
    if (before !== undefined) await bundleAgent(root, options.against!, before);
    const kind = before !== undefined ? "commits" : options.pairs ? "pairs" : "plain";
    const contenders = contendersOf(folder, before, options.pairs);
    for (const name of program.args.length > 0 ? program.args : workloadNames) {
      add({ kind, name, times: await timeInTurns(contenders, name, options) });
    }
  }
  await writeReport(options.out, [...await readMeasured(options.out), ...measured]);
  return 0;
});
