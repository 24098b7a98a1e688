/**
 * Estimates of time on a GPU, from its published constants. Not measured. The formulas:
 *
 * - A unit runs `resident` workgroups at the same time: the least of its workgroups, of its invocations divided by those of a
 *   workgroup, and of its workgroup memory divided by that of a workgroup. More workgroups than all units hold run in waves.
 * - cycles of a step by latency: over all functions, iterations x (latency of the slowest read / reads ahead + latency of an
 *   arithmetic instruction), plus a read per element for the values that follow a sum; plus a read from the unit's cache for the
 *   arguments of each call, plus the barriers.
 * - cycles of a step by issue: over all functions, instructions of an invocation x invocations in whole subgroups x resident
 *   workgroups / lanes of a unit.
 * - seconds of a step: the largest of both, divided by the clock; of the weights that all workgroups read and the spilled values
 *   that they read and write / the bandwidth of the last cache; and of the rows / the bandwidth of the memory. Spilled values that
 *   exceed the last cache are in the memory.
 * - seconds of a loop: steps x waves x seconds of a step, plus a launch per dispatch, plus the operations of the gradients of
 *   the weights at the rate of products.
 * - seconds of another kernel: the largest of its launches, its operations at the arithmetic rate (of products: at their
 *   share of the rate) and its bytes at the bandwidth of the memory.
 */
import type { MachineRates } from "./machines.ts";
import { operationsOfLoop } from "../../src/compile/program/cost.ts";
import type { ChainWork, LoopLayout } from "../../src/compile/executors/loop_layout.ts";
import type { Plan, PlannedKernel, PlannedLoop } from "./planned_gpu.ts";

/** Maximum printed terms of a sum. */
const maxTerms = 8;

/** Workgroup memory that a workgroup takes in addition to its variables, in bytes. */
const workgroupOverhead = 1024;

/** The bound of the time of a step. */
export type Limit = "latency" | "arithmetic" | "cache" | "rows";

/** A part of the latency of a step: the parts with one name take `times` x `cycles`. */
export interface LatencyTerm {
  readonly name: string;
  /** Iterations, calls or barriers. */
  readonly times: number;
  readonly cycles: number;
}

/** Estimate of a fused loop. */
export interface LoopEstimate {
  readonly seconds: number;
  /** Seconds of a step of the workgroups that run at the same time, by each limit. */
  readonly step: Readonly<Record<Limit, number>>;
  readonly waves: number;
  /** The latency of a step in parts. */
  readonly latency: readonly LatencyTerm[];
}

/** Seconds of a fused loop. */
export function estimateLoop(
  { run: { batch, steps }, layout, loopDispatches, commands }: PlannedLoop & { readonly layout: LoopLayout },
  rates: MachineRates,
): LoopEstimate {
  const { samples, lanes, workgroups } = layout;
  const resident = Math.max(
    1,
    Math.min(
      rates.residentWorkgroups,
      Math.floor(rates.residentInvocations / (samples * lanes)),
      Math.floor(rates.workgroupMemory / (layout.workgroupMemory + workgroupOverhead)),
    ),
  );
  const perUnit = Math.min(resident, Math.ceil(workgroups / rates.units));
  const atOnce = Math.min(workgroups, rates.units * perUnit);
  const areCached = layout.weights + perUnit * layout.workgroupMemory <= rates.unitCache;
  const spilled = samples * layout.spilledBytes;
  const isSpilledCached = atOnce * layout.spilled <= rates.cacheSize;
  const { work } = layout;
  const sum = (value: (chain: ChainWork) => number) => work.reduce((total, chain) => total + value(chain), 0);
  const { latency } = rates;
  const latencies: Record<ChainWork["readsFrom"], number> = {
    "workgroup memory": latency.workgroupMemory,
    "weights": areCached ? latency.unitCache : latency.cache,
    "spilled": latency.cache,
    "rows": latency.memory,
  };
  const terms: LatencyTerm[] = [
    { name: "calls", times: layout.calls, cycles: latency.unitCache },
    { name: "barriers", times: layout.barriers, cycles: latency.barrier },
    ...work.map(({ name, iterations, readsFrom, readsAhead }) => ({
      name,
      times: iterations,
      cycles: latencies[readsFrom] / readsAhead + latency.arithmetic,
    })),
    ...work.flatMap(({ name, rounds, epilogueReadsFrom }) =>
      epilogueReadsFrom
        ? [{ name: `after ${name}`, times: rounds, cycles: latencies[epilogueReadsFrom] }]
        : []
    ),
  ];
  const cycles = {
    latency: terms.reduce((total, { times, cycles }) => total + times * cycles, 0),
    arithmetic: perUnit / rates.lanes *
      sum(({ instructions, invocations }) =>
        instructions * rates.subgroup * Math.ceil(samples * invocations / rates.subgroup)
      ),
  };
  const step = {
    latency: cycles.latency / rates.clock,
    arithmetic: cycles.arithmetic / rates.clock,
    cache: atOnce * ((areCached ? 0 : layout.weightBytes) + (isSpilledCached ? spilled : 0)) / rates.cache,
    rows: atOnce * (samples * layout.rowBytes + (isSpilledCached ? 0 : spilled)) / rates.memory,
  };
  const waves = Math.ceil(batch / (workgroups * samples)) * Math.ceil(workgroups / (rates.units * resident));
  const gradients = (layout.operations - sum(({ operations }) => operations)) * batch * steps;
  const seconds = steps * waves * Math.max(...Object.values(step)) + loopDispatches * rates.launch +
    Math.max(
      (commands.dispatches - loopDispatches) * rates.launch,
      gradients / (rates.arithmetic * rates.products),
    );
  return { seconds, step, waves, latency: terms };
}

/** Estimated seconds of a loop. For a stepped loop: the time of its launches or of its arithmetic, whichever is longer. */
export function secondsOfLoop(loop: PlannedLoop, rates: MachineRates): number {
  const { layout, commands, run } = loop;
  if (layout) return estimateLoop({ ...loop, layout }, rates).seconds;
  return Math.max(
    commands.dispatches * rates.launch,
    operationsOfLoop(run) / (rates.arithmetic * rates.products),
  );
}

/** Seconds of a kernel outside loops. */
export function secondsOfKernel(
  { commands, isProduct, operations, bytes }: PlannedKernel,
  { launch, arithmetic, products, memory }: MachineRates,
): number {
  const rate = arithmetic * (isProduct ? products : 1);
  return Math.max(commands.dispatches * launch, operations / rate, bytes / memory);
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
