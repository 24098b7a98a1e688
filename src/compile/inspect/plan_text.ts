/** A plan for a GPU as text. */
import type { Machine, MachineRates } from "../../device/machines.ts";
import { estimateLoop, type LatencyTerm, type Limit, secondsOfKernel, secondsOfLoop } from "./estimate.ts";
import type { Commands, Plan, PlannedLoop } from "./planned_gpu.ts";

const limitNames: Readonly<Record<Limit, string>> = {
  latency: "latency of reads and barriers",
  arithmetic: "issue of instructions",
  cache: "weights and spilled values in the last cache",
  rows: "reads and writes of rows in memory",
};

/** Maximum printed terms of a sum. */
const maxTerms = 8;

/** The layout and the estimate of a loop. */
export function describePlannedLoop(loop: PlannedLoop, { name, rates }: Machine): string {
  const { layout, commands, loopDispatches, describe, run: { steps } } = loop;
  const counts = `${describeCommands(commands)}; ${loopDispatches} dispatches of the loop's kernel` +
    (layout ? `, of up to ${layout.workgroups} workgroups` : "");
  if (!rates) return `${counts}\n${describe()}`;
  const estimated = `${name}, estimate: ${milliseconds(secondsOfLoop(loop, rates))}`;
  if (!layout) return `${counts}\n${estimated}, by launches or by operations\n${describe()}`;
  const { step, waves, latency } = estimateLoop({ ...loop, layout }, rates);
  const limits = Object.entries(step).sort(([, a], [, b]) => b - a).map(([limit, seconds]) =>
    `${limitNames[limit as Limit]} ${microseconds(seconds)}`
  );
  return [
    counts,
    `${estimated} = ${steps} steps x ${waves} waves of workgroups x the largest of (${
      limits.join(", ")
    }), plus ` +
    `launches of ${microseconds(rates.launch)} and the products of weight gradients`,
    `latency: ${latencyText(latency, rates)}`,
    describe(),
  ].join("\n");
}

/** The latency of a step as a sum, its largest terms first. Equal terms are printed once. */
export function latencyText(terms: readonly LatencyTerm[], { clock }: MachineRates): string {
  const equal = Map.groupBy(terms, ({ name, times, cycles }) => `${name} ${times} ${cycles}`);
  const sums = [...equal.values()].map((all) => {
    const [{ name, times, cycles }] = all;
    const count = all.length * times;
    return { text: `${name}: ${count.toLocaleString("en")} x ${+cycles.toFixed(1)}`, total: count * cycles };
  }).sort((a, b) => b.total - a.total);
  const total = sums.reduce((sum, { total }) => sum + total, 0);
  const shown = sums.slice(0, maxTerms).map(({ text }) => text);
  const rest = sums.slice(maxTerms).reduce((sum, { total }) => sum + total, 0);
  const others = rest > 0 ? [`others: ${Math.round(rest).toLocaleString("en")}`] : [];
  return `${Math.round(total).toLocaleString("en")} cycles of ${+(1e9 / clock).toFixed(3)} ns = ` +
    [...shown, ...others].join(" + ");
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
