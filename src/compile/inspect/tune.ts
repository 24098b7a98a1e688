import { checkFunction } from "../../tensor/checks.ts";
import type { AnyDevice } from "../../device/device_class.ts";
import { keepBuffer } from "../../device/memory/buffer_scope.ts";
import { copy } from "../../device/view.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Run, Schedule } from "../executors/run.ts";
import { nameOf, possibleSchedules, runAs, setSchedule } from "../executors/choose_executor.ts";
import { observeLoops } from "../loop/graph_loop.ts";
import { meanSeconds } from "./seconds_of.ts";
import { Uncompilable } from "../trace/uncompilable.ts";

/** Timed runs per schedule, after one run that compiles. The fastest run counts. */
const repeats = 3;

/**
 * Measures all schedules of each compiled loop of a solve, and uses the fastest schedule from then on, for loops with the same
 * body, shapes and batch on this device. A schedule is an executor (fused or stepped) and, on a GPU, the samples per workgroup
 * and invocations per sample. Without tuning, the schedule is chosen from the shapes. Schedules differ in rounding.
 *
 * @example
 * ```ts
 * import { normal, key, odeint, ones, tune } from "@weft/weft";
 *
 * const weight = normal(key(0), [8, 8]);
 * const options = { method: "rk4", stepSize: 0.1 } as const;
 * const solve = () => odeint((_t, y) => y.matmul(weight).tanh(), ones([4, 8]), [0, 1], options);
 * console.log(await tune(solve));
 * ```
 *
 * @param solve Runs once. Wrap it in `valueAndGrad` to tune the loops of its gradient too.
 * @returns The measured times, one line per loop.
 */
export async function tune(solve: () => unknown): Promise<string> {
  checkFunction("tune", "solve", solve);
  const runs = new Map<string, Run>();
  observeLoops((_loop, run) => {
    const name = nameOf(run);
    if (runs.has(name)) return;
    const inputs = run.inputs.map((view) => copy(view.source.device, view));
    for (const { source } of inputs) keepBuffer(source);
    runs.set(name, { ...run, inputs });
  }, () => void solve());
  const lines: string[] = [];
  for (const run of runs.values()) {
    const device = run.inputs[0].source.device as AnyDevice;
    const timed: { schedule: Schedule; seconds: number }[] = [];
    for (const schedule of possibleSchedules(device, run)) {
      const seconds = await timeOf(schedule, device, run);
      if (seconds !== undefined) timed.push({ schedule, seconds });
    }
    for (const { source } of run.inputs) source.free();
    const [fastest] = timed.toSorted((a, b) => a.seconds - b.seconds);
    setSchedule(device, run, fastest.schedule);
    const figures = timed.map(({ schedule, seconds }) =>
      `${nameSchedule(schedule)} ${(1000 * seconds).toFixed(2)} ms`
    );
    lines.push(
      `${run.steps} steps of ${run.batch} samples: ${nameSchedule(fastest.schedule)} of ${
        figures.join(", ")
      }`,
    );
  }
  return lines.join("\n");
}

/** Seconds of a run. Undefined if the schedule cannot run. */
async function timeOf(schedule: Schedule, device: AnyDevice, run: Run): Promise<number | undefined> {
  const once = () => tidy(() => void runAs(schedule, device, run));
  try {
    once();
    let fastest = Infinity;
    for (let i = 0; i < repeats; i++) fastest = Math.min(fastest, await meanSeconds(device, once));
    return fastest;
  } catch (error) {
    if (error instanceof Uncompilable) return undefined;
    throw error;
  }
}

function nameSchedule({ executor, workgroup }: Schedule): string {
  return workgroup ? `${executor} (${workgroup.samples} samples x ${workgroup.lanes} invocations)` : executor;
}
