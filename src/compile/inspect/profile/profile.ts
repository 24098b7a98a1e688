/** Measured times of the parts of a run. */
import { checkFunction } from "../../../tensor/checks.ts";
import type { Device } from "../../../device/device.ts";
import { currentDevice } from "../../../device/current.ts";
import { WebGpuDevice } from "../../../device/webgpu/device.ts";
import { GpuSpans } from "./gpu_spans.ts";
import { HostSpans } from "./host_spans.ts";
import { nameOperations } from "./operations.ts";
import { listenToSpans, type SpanKind, type SpanListener } from "../../../device/profiler.ts";

/** A part of a run. */
export interface ProfileSpan {
  /**
   * Kind of work: a compiled loop, a computation for all its steps at once, a matrix product, a copy, any other kernel, or what
   * the host does between kernels.
   */
  readonly kind: SpanKind;
  /** Operations and their shapes. */
  readonly name: string;
  /** Seconds from the start of the run. */
  readonly start: number;
  /** Seconds that it takes, with those inside it. */
  readonly seconds: number;
  /** Seconds that it takes without those inside it. */
  readonly own: number;
}

/** Parts of a run that do the same. */
export interface ProfileRow {
  /** Kind of work; the last row is the rest of the run. */
  readonly kind: SpanKind | "rest";
  /** Operations, with shapes. */
  readonly name: string;
  /** Number of runs. */
  readonly times: number;
  /** Seconds of all of them, with what is inside them. */
  readonly seconds: number;
  /** Seconds without what is inside them: these add up to the run's. */
  readonly own: number;
}

/** The times of a run and its parts: see {@linkcode profile}. */
export interface RunProfile {
  /** Device that it ran on. */
  readonly device: string;
  /** Who measured: the host, around kernels that it runs, or the GPU by timestamps. */
  readonly clock: "host" | "gpu timestamps" | "none";
  /** Seconds of the whole run. */
  readonly seconds: number;
  /** Parts in the order in which they begin. */
  readonly spans: readonly ProfileSpan[];
  /** Parts that do the same together, those that take longest first, and the rest of the run. */
  readonly rows: readonly ProfileRow[];
  /** The rows as a table to be read. */
  table(): string;
  /**
   * The run in the Trace Event Format, to be written to a file as JSON: Chrome's about:tracing, Perfetto and speedscope open it.
   */
  trace(): { traceEvents: readonly Record<string, unknown>[]; displayTimeUnit: "ms" };
}

/** Measures spans on a device while it runs. */
export interface SpanRecorder {
  readonly clock: RunProfile["clock"];
  /** Name of the time that no span takes. */
  readonly rest: string;
  /** The spans so far, when all kernels are done. */
  take(): Promise<readonly ProfileSpan[]>;
}

/** Runs before the one that is measured, in which the engine compiles what is called often: so many, or for so long. */
const warmUp = { runs: 10, seconds: 0.5 };

/**
 * Measures what each compiled loop, batched pass, matrix product, copy and other kernel of a run takes: of a training step, of a
 * solve. On the CPU device kernels run at once, and the host's clock tells; on a GPU its own timestamps do, where the adapter has
 * them (the feature `timestamp-query`), else only the whole run is known.
 *
 * @example
 * ```ts
 * import { key, normal, profile } from "@weft/weft";
 *
 * const x = normal(key(0), [256, 256]);
 * const found = await profile(() => x.matmul(x).tanh().sum());
 * console.log(found.table());
 * const json = JSON.stringify(found.trace()); // Deno.writeTextFile("profile.json", json), then open it in speedscope
 * ```
 *
 * @param run Is run on the current device, some times to trace and compile, and once to be measured. Functions of `jit` are traced
 * anew, so that what they replay is measured too.
 * @throws {Error} If another profile is being made.
 */
export async function profile(run: () => unknown): Promise<RunProfile> {
  checkFunction("profile", "run", run);
  const device = currentDevice();
  const recorder = device instanceof WebGpuDevice ? new GpuSpans(device) : new HostSpans(device);
  return await listenToSpans(recorder, async () => {
    using _names = nameOperations(device);
    for (let i = 0, seconds = 0; i < warmUp.runs && seconds < warmUp.seconds; i++) {
      seconds += await secondsOf(recorder, run);
    }
    await recorder.take();
    const seconds = await secondsOf(recorder, run);
    return summary(device, recorder, seconds, await recorder.take());
  });
}

async function secondsOf(recorder: SpanListener, run: () => unknown): Promise<number> {
  const start = performance.now();
  if (recorder.measuresHost) {
    recorder.begin({ kind: "host", name: "the function: its own code, tensors, garbage" });
  }
  await run();
  if (recorder.measuresHost) recorder.end();
  await recorder.device.synchronize();
  return (performance.now() - start) / 1000;
}

function summary(
  device: Device,
  { clock, rest }: SpanRecorder,
  seconds: number,
  spans: readonly ProfileSpan[],
): RunProfile {
  const rows = rowsOf(spans, seconds, rest);
  const { description } = device.info;
  return {
    device: description,
    clock,
    seconds,
    spans,
    rows,
    table: () => tableOf(rows, seconds, `${description}, ${clockNames[clock]}`),
    trace: () => traceOf(spans, seconds, description),
  };
}

const clockNames: Record<RunProfile["clock"], string> = {
  "host": "measured by the host",
  "gpu timestamps": "measured by the GPU's timestamps",
  "none": "this adapter has no timestamps (timestamp-query), so only the whole is known",
};

function rowsOf(spans: readonly ProfileSpan[], seconds: number, rest: string): ProfileRow[] {
  const rows = new Map<string, { -readonly [K in keyof ProfileRow]: ProfileRow[K] }>();
  for (const { kind, name, seconds, own } of spans) {
    const key = `${kind} ${name}`;
    const row = rows.get(key) ?? { kind, name, times: 0, seconds: 0, own: 0 };
    rows.set(key, row);
    row.times++;
    row.seconds += seconds;
    row.own += own;
  }
  const left = seconds - spans.reduce((sum, { own }) => sum + own, 0);
  return [
    ...[...rows.values()].sort((a, b) => b.own - a.own),
    { kind: "rest", name: rest, times: 1, seconds: left, own: left },
  ];
}

/** Rows of a table at most: others are added up. */
const maxRows = 40;

function tableOf(rows: readonly ProfileRow[], seconds: number, title: string): string {
  const [rest, others] = [rows.at(-1)!, rows.slice(0, -1)];
  const left = others.slice(maxRows);
  const sum = (pick: (row: ProfileRow) => number) => left.reduce((total, row) => total + pick(row), 0);
  const shown = [
    ...others.slice(0, maxRows),
    ...left.length > 0
      ? [{
        kind: "kernel",
        name: `${left.length} others`,
        times: sum((row) => row.times),
        seconds: sum((row) => row.own),
        own: sum((row) => row.own),
      }]
      : [],
    rest,
  ];
  const milliseconds = (value: number) => (1000 * value).toFixed(3);
  const cells = [
    ["own ms", "share", "with inner", "times", "what"],
    ...shown.map(({ kind, name, times, seconds: all, own }) => [
      milliseconds(own),
      `${(100 * own / seconds).toFixed(1)} %`,
      milliseconds(all),
      `${times}`,
      kind === "rest" ? name : `${kind}: ${name}`,
    ]),
    [milliseconds(seconds), "100.0 %", milliseconds(seconds), "1", "all"],
  ];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  return [
    title,
    ...cells.map((row) =>
      row.map((cell, i) => i === row.length - 1 ? cell : cell.padStart(widths[i])).join("  ")
    ),
  ].join("\n");
}

/** Complete events ("X") of one thread, in microseconds, which viewers put inside one another. */
function traceOf(spans: readonly ProfileSpan[], seconds: number, description: string) {
  const event = { ph: "X", pid: 1, tid: 1 };
  const microseconds = (value: number) => Math.round(1e9 * value) / 1000;
  // Spans count from a moment before the run, so that the last may end a little after it.
  const end = spans.reduce((last, { start, seconds }) => Math.max(last, start + seconds), seconds);
  return {
    traceEvents: [
      { ph: "M", pid: 1, tid: 1, name: "process_name", args: { name: "Weft" } },
      { ph: "M", pid: 1, tid: 1, name: "thread_name", args: { name: description } },
      { ...event, name: "run", cat: "run", ts: 0, dur: microseconds(end) },
      ...spans.map(({ kind, name, start, seconds }) => ({
        ...event,
        name: `${kind}: ${name}`,
        cat: kind,
        ts: microseconds(start),
        dur: microseconds(seconds),
      })),
    ],
    displayTimeUnit: "ms" as const,
  };
}
