/** Profiles of runs. */
import { tableBundle } from "../../../charts/display.ts";
import { displayAs } from "../../../charts/display_symbol.ts";
import { checkFunction } from "../../../tensor/checks.ts";
import type { KernelDevice } from "../../../device/device.ts";
import { currentDevice } from "../../../device/current.ts";
import { asAnyDevice } from "../../../device/device_class.ts";
import { GpuSpans } from "./gpu_spans.ts";
import { HostSpans } from "./host_spans.ts";
import { recordKernelSpans } from "./kernel_spans.ts";
import { secondsOfRun } from "../seconds_of.ts";
import { listenToSpans, type SpanKind, type SpanListener } from "../../../device/profiler.ts";
import type { ProfileSpan, SpanRecorder } from "./span_recorder.ts";

export type { ProfileSpan } from "./span_recorder.ts";

/** All spans of a run with the same kind and name. */
export interface ProfileRow {
  /** Kind of work. The last row is the rest of the run. */
  readonly kind: SpanKind | "rest";
  /** Operations, with shapes. */
  readonly name: string;
  /** Number of spans. */
  readonly times: number;
  /** Seconds, including inner spans. */
  readonly seconds: number;
  /** Seconds without inner spans. The sum over all rows is the time of the run. */
  readonly own: number;
}

/** The result of {@linkcode profile}. */
export interface RunProfile {
  /** Description of the device. */
  readonly device: string;
  /** Clock of the spans: the host's clock, timestamps of the GPU, or none if the adapter has no timestamps. */
  readonly clock: "host" | "gpu timestamps" | "none";
  /** Seconds of the whole run. */
  readonly seconds: number;
  /** Spans, ordered by start. */
  readonly spans: readonly ProfileSpan[];
  /** Spans grouped by kind and name, longest first, followed by the rest of the run. */
  readonly rows: readonly ProfileRow[];
  /** The rows as a text table. */
  table(): string;
  /**
   * The run in the Trace Event Format. Written as JSON, the file opens in about:tracing of Chrome, Perfetto and speedscope.
   */
  trace(): { traceEvents: readonly Record<string, unknown>[]; displayTimeUnit: "ms" };
}

/** Maximum runs and seconds before the measured run. In these runs the engine compiles and optimises. */
const warmUp = { runs: 10, seconds: 0.5 };

/**
 * Measures the time of each compiled loop, batched pass, matrix product, copy and other kernel of a run, such as a training step
 * or a solve. On the CPU, the host's clock measures. On a GPU, its timestamps measure. If the adapter has no timestamps (feature
 * `timestamp-query`), only the time of the whole run is known.
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
 * @param run Runs on the current device: some times to trace and compile, then once to be measured. Functions of `jit` are traced
 * again, so that their spans are measured.
 * @throws {Error} If another profile is running.
 */
export async function profile(run: () => unknown): Promise<RunProfile> {
  checkFunction("profile", "run", run);
  const device = asAnyDevice(currentDevice());
  const recorder = device.kind === "webgpu" ? new GpuSpans(device) : new HostSpans(device);
  return await listenToSpans(recorder, async () => {
    using _names = recordKernelSpans(device);
    for (let i = 0, seconds = 0; i < warmUp.runs && seconds < warmUp.seconds; i++) {
      seconds += await secondsOf(recorder, run);
    }
    await recorder.take();
    const seconds = await secondsOf(recorder, run);
    return summary(device, recorder, seconds, await recorder.take());
  });
}

async function secondsOf(recorder: SpanListener, run: () => unknown): Promise<number> {
  if (!recorder.measuresHost) return await secondsOfRun(recorder.device, run);
  const start = performance.now();
  recorder.begin({ kind: "host", name: "the function itself: code, tensor objects, garbage collection" });
  await run();
  recorder.end();
  return (performance.now() - start) / 1000;
}

function summary(
  device: KernelDevice,
  { clock, rest }: SpanRecorder,
  seconds: number,
  spans: readonly ProfileSpan[],
): RunProfile {
  const rows = rowsOf(spans, seconds, rest);
  const { description } = device.info;
  const title = `${description}, ${clockNames[clock]}`;
  const table = () => tableOf(rows, seconds, title);
  const profile: RunProfile = {
    device: description,
    clock,
    seconds,
    spans,
    rows,
    table,
    trace: () => traceOf(spans, seconds, description),
  };
  return displayAs(profile, () => {
    const [head, ...cells] = cellsOf(rows, seconds);
    // A table of HTML begins with the name of each row.
    const nameFirst = (row: readonly string[]) => [row.at(-1)!, ...row.slice(0, -1)];
    return tableBundle(table(), { title, head: nameFirst(head), rows: cells.map(nameFirst) });
  });
}

const clockNames: Record<RunProfile["clock"], string> = {
  "host": "measured by the host",
  "gpu timestamps": "measured by the GPU's timestamps",
  "none": "this adapter has no timestamps (timestamp-query), so only the total time is known",
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

/** Maximum rows of a table. The other rows are summed to one row. */
const maxRows = 40;

/** Head and rows of a table. The last cell of each row is its name. */
function cellsOf(rows: readonly ProfileRow[], seconds: number): string[][] {
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
  return [
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
}

function tableOf(rows: readonly ProfileRow[], seconds: number, title: string): string {
  const cells = cellsOf(rows, seconds);
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  return [
    title,
    ...cells.map((row) =>
      row.map((cell, i) => i === row.length - 1 ? cell : cell.padStart(widths[i])).join("  ")
    ),
  ].join("\n");
}

/** Complete events ("X") of one thread, in microseconds. Viewers nest them by their times. */
function traceOf(spans: readonly ProfileSpan[], seconds: number, description: string) {
  const event = { ph: "X", pid: 1, tid: 1 };
  const microseconds = (value: number) => Math.round(1e9 * value) / 1000;
  // The clock of the spans starts before the run, so that the last span can end after it.
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
