/**
 * Layouts of all workloads for a GPU that is not there, and estimates of their times. Writes `gpu_layouts.md`, and prints a line
 * of JSON per training step and loop. No GPU is needed, and nothing is computed.
 */
import { tidy } from "../mod.ts";
import { openNullGpu } from "./plans/null_gpu.ts";
import { main, path } from "../src/commands/command.ts";
import { estimateLoop, estimatePlan, latencyText, type Limit, secondsOfLoop } from "./plans/estimate.ts";
import { type Plan, planFor, type PlannedLoop } from "./plans/planned_gpu.ts";
import type { LoopLayout } from "../src/compile/executors/loop_layout.ts";
import { nameOf } from "../src/compile/executors/choose_executor.ts";
import { operationsOfLoop } from "../src/compile/program/cost.ts";
import { setCurrentDevice } from "../src/device/current.ts";
import { defaultLimits, type Machine, machines } from "./plans/machines.ts";
import { markdownTable } from "../tasks/markdown.ts";
import { benchCommand } from "./programs.ts";
import { prepare, workloadNames } from "./workloads.ts";

const { h100 } = machines;
const rates = h100.rates!;

/** Bytes of workgroup memory in KiB, and the machine. The smallest has the least limits that WebGPU allows. */
export const layouts: readonly (readonly [memory: number, machine: Machine])[] = [
  [16, { ...h100, limits: defaultLimits }],
  [32, { ...h100, limits: { ...h100.limits, maxComputeWorkgroupStorageSize: 32 * 1024 } }],
  [48, h100],
];

/** A training step by name. Speech Commands also has the batch size of the paper and exact gradients. */
export const steps: Readonly<Record<string, () => { readonly step: () => unknown }>> = {
  ...Object.fromEntries(workloadNames.map((name) => [name, () => prepare(name)])),
  "ncde-speech-adjoint@1024": () => prepare("ncde-speech-adjoint@1024"),
  "ncde-speech-direct": () => prepare("ncde-speech-adjoint", "direct"),
  "ncde-speech-direct@1024": () => prepare("ncde-speech-adjoint@1024", "direct"),
};

/** All runs of a program in a step. */
export interface LoopRow {
  readonly workload: string;
  readonly memory: number;
  readonly loop: string;
  readonly runs: number;
  readonly steps: number;
  readonly dispatches: number;
  readonly executor: "fused" | "stepped";
  readonly gigaOperations: number;
  readonly milliseconds: number;
  /** The bound of the time of a step. */
  readonly limit?: Limit;
  /** The latency of a step as a sum of cycles. */
  readonly latency?: string;
  readonly samples?: number;
  readonly lanes?: number;
  readonly workgroups?: number;
  readonly lanesBusy?: number;
  readonly workgroupBytes?: number;
  readonly spilledBytes?: number;
  readonly calls?: number;
  readonly barriers?: number;
  readonly samplesPerRead?: number;
  readonly weightBytes?: number;
  readonly spilledTraffic?: number;
  readonly rowBytes?: number;
}

/** A whole step. */
interface StepRow {
  readonly workload: string;
  readonly memory: number;
  readonly dispatches: number;
  readonly passes: number;
  readonly submissions: number;
  readonly loops: number;
  readonly products: number;
  readonly others: number;
  readonly milliseconds: number;
}

type Row = LoopRow | StepRow;

/** The rows of a step and of its loops. */
export function rowsFor(workload: string, memory: number, { commands, loops, kernels }: Plan): Row[] {
  const { loopSeconds, productSeconds, kernelSeconds } = estimatePlan({ commands, loops, kernels }, rates);
  const step: StepRow = {
    workload,
    memory,
    ...commands,
    loops: 1e3 * loopSeconds,
    products: 1e3 * productSeconds,
    others: 1e3 * kernelSeconds,
    milliseconds: 1e3 * (loopSeconds + productSeconds + kernelSeconds),
  };
  const programs = Map.groupBy(loops, ({ run }) => nameOf(run));
  const names = new Map<string, number>();
  return [
    step,
    ...[...programs.values()].map((runs) => {
      const direction = directionOf(runs[0]);
      const count = (names.get(direction) ?? 0) + 1;
      names.set(direction, count);
      return rowFor(workload, memory, count > 1 ? `${direction} ${count}` : direction, runs);
    }),
  ];
}

function directionOf({ run: { program } }: PlannedLoop): string {
  if (program.backward) return "backward";
  return program.sums.length + program.weightGradients.length > 0 ? "adjoint" : "forward";
}

function rowFor(workload: string, memory: number, loop: string, runs: readonly PlannedLoop[]): LoopRow {
  const sum = (value: (run: PlannedLoop) => number) => runs.reduce((total, run) => total + value(run), 0);
  const longest = runs.reduce((longest, run) => run.run.steps > longest.run.steps ? run : longest);
  const { layout } = longest;
  return {
    workload,
    memory,
    loop,
    runs: runs.length,
    steps: sum(({ run }) => run.steps),
    dispatches: sum(({ commands }) => commands.dispatches),
    executor: layout ? "fused" : "stepped",
    gigaOperations: sum(({ run }) => operationsOfLoop(run)) / 1e9,
    milliseconds: 1e3 * sum((run) => secondsOfLoop(run, rates)),
    ...layout && {
      ...estimateOf({ ...longest, layout }),
      samples: layout.samples,
      lanes: layout.lanes,
      workgroups: layout.workgroups,
      lanesBusy: layout.lanesBusy,
      workgroupBytes: layout.workgroupMemory,
      spilledBytes: layout.spilled,
      calls: layout.calls,
      barriers: layout.barriers,
      samplesPerRead: layout.samplesPerRead,
      weightBytes: layout.weightBytes,
      spilledTraffic: layout.spilledBytes,
      rowBytes: layout.rowBytes,
    },
  };
}

function estimateOf(loop: PlannedLoop & { readonly layout: LoopLayout }): Pick<LoopRow, "limit" | "latency"> {
  const { step, latency } = estimateLoop(loop, rates);
  return {
    limit: (Object.keys(step) as Limit[]).reduce((most, limit) => step[limit] > step[most] ? limit : most),
    latency: latencyText(latency, rates),
  };
}

/** Plans a training step for a machine. */
export function planStep(make: () => { readonly step: () => unknown }, machine: Machine): Plan {
  const { device } = openNullGpu(machine);
  setCurrentDevice(device);
  const { step } = make();
  return planFor(machine, device, () =>
    tidy(() => {
      step();
    }));
}

const isLoop = (row: Row): row is LoopRow => "loop" in row;
const isStep = (row: Row): row is StepRow => !isLoop(row);

/** A figure, with the earlier figure before it if both differ. */
function cell(
  value: number | string | undefined,
  before: number | string | undefined,
  hasBefore: boolean,
): string {
  const [now, then] = [value, before].map((figure) =>
    typeof figure === "number" ? formatNumber(figure) : figure ?? "-"
  );
  return !hasBefore || now === then ? now : `${then} -> ${now}`;
}

function formatNumber(value: number): string {
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return value >= 1000 ? Math.round(value).toLocaleString("en") : value.toPrecision(3);
}

type Column<R> = readonly [title: string, value: (row: R) => number | string | undefined];

const percent = (share: number | undefined) =>
  share === undefined ? undefined : `${Math.round(100 * share)} %`;

const loopColumns: readonly Column<LoopRow>[] = [
  ["executor", ({ executor }) => executor],
  ["steps", ({ steps }) => steps],
  ["runs", ({ runs }) => runs],
  ["dispatches", ({ dispatches }) => dispatches],
  ["workgroups", ({ workgroups }) => workgroups],
  ["samples x lanes", ({ samples, lanes }) => samples && `${samples} x ${lanes}`],
  ["lanes busy", ({ lanesBusy }) => percent(lanesBusy)],
  ["workgroup memory", ({ workgroupBytes }) => workgroupBytes],
  ["spilled", ({ spilledBytes }) => spilledBytes],
  ["calls", ({ calls }) => calls],
  ["barriers", ({ barriers }) => barriers],
  ["samples per read", ({ samplesPerRead }) => samplesPerRead],
  ["weights read", ({ weightBytes }) => weightBytes],
  ["spilled read", ({ spilledTraffic }) => spilledTraffic],
  ["rows", ({ rowBytes }) => rowBytes],
  ["GFLOP", ({ gigaOperations }) => gigaOperations],
  ["H100 ms", ({ milliseconds }) => milliseconds],
  ["limited by", ({ limit }) => limit],
];

const stepColumns: readonly Column<StepRow>[] = [
  ["dispatches", ({ dispatches }) => dispatches],
  ["passes", ({ passes }) => passes],
  ["submissions", ({ submissions }) => submissions],
  ["loops ms", ({ loops }) => loops],
  ["products ms", ({ products }) => products],
  ["others ms", ({ others }) => others],
  ["H100 ms", ({ milliseconds }) => milliseconds],
];

/** A table with a row per key. Rows that differ only in the workgroup memory are printed as one row. */
function table<R extends Row>(
  rows: readonly R[],
  before: readonly R[],
  names: readonly Column<Row>[],
  columns: readonly Column<R>[],
): string {
  const keyOf = (row: R) => [...names.map(([, value]) => value(row)), row.memory].join(" ");
  const earlier = new Map(before.map((row) => [keyOf(row), row]));
  const bodies = Map.groupBy(rows, (row) => {
    const then = earlier.get(keyOf(row));
    const cells = columns.map(([, value]) => cell(value(row), then && value(then), then !== undefined));
    return JSON.stringify([names.map(([, value]) => `${value(row)}`), cells]);
  });
  const body = [...bodies].map(([text, rows]) => {
    const [named, cells] = JSON.parse(text) as [string[], string[]];
    return [...named, rows.map(({ memory }) => memory).join(", "), ...cells];
  });
  const titles = [...names.map(([title]) => title), "KiB", ...columns.map(([title]) => title)];
  return markdownTable([titles, ...body], [...names, ""].map((_, i) => i));
}

function page(rows: readonly Row[], before: readonly Row[]): string {
  const workload: Column<Row> = ["workload", (row) => row.workload];
  const loop: Column<Row> = ["loop", (row) => isLoop(row) ? row.loop : ""];
  return [
    "# Layouts on a GPU",
    `Written by \`deno task bench gpu-layouts\` without a GPU: layouts and counts are those of Weft's code for an adapter with 16, ` +
    "32 and 48 KiB of workgroup memory (with 16 KiB: the default limits of WebGPU, 8 storage buffers among them). Times are " +
    "estimates for an NVIDIA H100 from published constants; `bench/plans/estimate.ts` has the formulas. " +
    "Nothing was measured on a GPU." +
    (before.length > 0 ? " `a -> b`: a of `gpu_layouts_before.jsonl`, b now." : ""),
    "## Training steps",
    "A step is a loss and its gradient; of splines the coefficients, of `matmul` one product.",
    table(
      rows.filter(isStep),
      before.filter(isStep),
      [workload],
      stepColumns,
    ),
    "## Loops",
    "`adjoint`: a loop of the continuous adjoint. Steps and GFLOP: of all runs of the loop in a training step. Workgroup memory and " +
    "spilled: bytes of a workgroup. Calls and barriers: of a step. Samples per read: samples that share a read of a weight. " +
    "Weights read: bytes that a workgroup reads in a step. Spilled read and rows: bytes that a sample reads and writes in a step. " +
    "Samples: of fast weights, the heads of each sample. Lanes busy: weighted by operations. `cache`: weights and spilled values. `rows`: rows and spilled values that exceed the cache.",
    table(rows.filter(isLoop), before.filter(isLoop), [workload, loop], loopColumns),
    "## The latency of a step",
    "Sums of iterations x cycles with 48 KiB of workgroup memory. A step takes this time where the table says `latency`.",
    latencyList(rows),
  ].join("\n\n") + "\n";
}

/** The sums of the loops of Speech Commands, the largest model. */
function latencyList(rows: readonly Row[]): string {
  const shown = rows.filter((row) =>
    isLoop(row) && row.memory === 48 && row.workload.startsWith("ncde-speech")
  );
  return (shown as LoopRow[]).map(({ workload, loop, latency }) => `- ${workload}, ${loop}: ${latency}.`)
    .join("\n");
}

/** Reads the lines of JSON that an earlier run printed. */
export async function readRows<T>(file: string): Promise<T[]> {
  const text = await Deno.readTextFile(file);
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

if (import.meta.main) {
  const program = benchCommand("gpu-layouts")
    .option("--before <file>", "printed lines of an earlier run, whose figures the table also lists", path)
    .option("--out <folder>", "folder for gpu_layouts.md", path, "bench/results")
    .argument("[workloads...]", "names of workloads (default: all)");
  await main(async (args) => {
    program.parse(args, { from: "user" });
    const { before, out } = program.opts<{ before?: string; out: string }>();
    const rows: Row[] = [];
    for (const name of program.args.length > 0 ? program.args : Object.keys(steps)) {
      for (const [memory, machine] of layouts) {
        const own = rowsFor(name, memory, planStep(steps[name] ?? (() => prepare(name)), machine));
        for (const row of own) console.log(JSON.stringify(row));
        rows.push(...own);
      }
    }
    await Deno.mkdir(out, { recursive: true });
    await Deno.writeTextFile(`${out}/gpu_layouts.md`, page(rows, before ? await readRows<Row>(before) : []));
    return 0;
  });
}
