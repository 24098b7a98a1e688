/** A plan for a GPU as text. */
import type { Machine, MachineRates } from "../../device/machines.ts";
import { estimateLoop, type Limit, secondsOfKernel, secondsOfLoop } from "./estimate.ts";
import type { Commands, Plan, PlannedLoop } from "./planned_gpu.ts";

const limitNames: Readonly<Record<Limit, string>> = {
  latency: "latency of reads and barriers",
  arithmetic: "issue of instructions",
  weights: "reads of weights from the last cache",
  rows: "reads and writes of rows in memory",
};

/** The layout and the estimate of a loop. */
export function describePlannedLoop(loop: PlannedLoop, { name, rates }: Machine): string {
  const { layout, commands, loopDispatches, describe, run: { steps } } = loop;
  const counts = `${describeCommands(commands)}; ${loopDispatches} dispatches of the loop's kernel` +
    (layout ? `, of up to ${layout.workgroups} workgroups` : "");
  if (!rates) return `${counts}\n${describe()}`;
  const estimated = `${name}, estimate: ${milliseconds(secondsOfLoop(loop, rates))}`;
  if (!layout) return `${counts}\n${estimated}, by launches or by operations\n${describe()}`;
  const { step, waves } = estimateLoop({ ...loop, layout }, rates);
  const limits = Object.entries(step).sort(([, a], [, b]) => b - a).map(([limit, seconds]) =>
    `${limitNames[limit as Limit]} ${microseconds(seconds)}`
  );
  return [
    counts,
    `${estimated} = ${steps} steps x ${waves} waves of workgroups x the largest of (${
      limits.join(", ")
    }), plus ` +
    `launches of ${microseconds(rates.launch)} and the products of weight gradients`,
    describe(),
  ].join("\n");
}

/** Commands and estimates of a whole plan. */
export function describePlan({ commands, loops, kernels }: Plan, { name, rates }: Machine): string {
  const ofLoops = loops.reduce((sum, { commands }) => sum + commands.dispatches, 0);
  const counts =
    `on ${name}: ${describeCommands(commands)}; ${ofLoops} dispatches of ${loops.length} loops, ` +
    `${commands.dispatches - ofLoops} of ${kernels.length} kernels outside loops`;
  if (!rates) return counts;
  const { loopSeconds, productSeconds, kernelSeconds } = estimatePlan({ commands, loops, kernels }, rates);
  return [
    counts,
    `estimate: ${milliseconds(loopSeconds + productSeconds + kernelSeconds)} = loops ` +
    `${milliseconds(loopSeconds)} + products ${milliseconds(productSeconds)} + other kernels ` +
    `${milliseconds(kernelSeconds)}; from published constants of the machine, not measured`,
  ].join("\n");
}

/** Seconds of the parts of a plan. */
export function estimatePlan({ loops, kernels }: Plan, rates: MachineRates) {
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const [products, others] = [true, false].map((wanted) =>
    kernels.filter(({ isProduct }) => isProduct === wanted).map((kernel) => secondsOfKernel(kernel, rates))
  );
  return {
    loopSeconds: sum(loops.map((loop) => secondsOfLoop(loop, rates))),
    productSeconds: sum(products),
    kernelSeconds: sum(others),
  };
}

function describeCommands({ dispatches, passes, submissions }: Commands): string {
  return `${dispatches} dispatches in ${passes} passes and ${submissions} submissions`;
}

function milliseconds(seconds: number): string {
  return `${(1e3 * seconds).toPrecision(3)} ms`;
}

function microseconds(seconds: number): string {
  return `${(1e6 * seconds).toPrecision(3)} us`;
}
