/**
 * Memory of a solve with many steps: `deno run --allow-all --v8-flags=--expose-gc tests/solvers/event_memory.ts EVENTS KIND` solves up
 * to an event, and prints the number of attempted steps and the peaks of live memory in bytes: of objects, of typed arrays, and of
 * tensors. KIND is `value` or `gradient`.
 */
import { grad, init, odeintEvent, type SolveStatistics, stack, type Tensor, tensor } from "../../mod.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";

const cpu = await init({ device: "cpu", threads: 1 }) as CpuDevice;
const [maxEvents, kind] = [Number(Deno.args[0]), Deno.args[1]];
const peaks = { objects: 0, arrays: 0, tensors: 0 };
const { allocate } = cpu;
let allocations = 0;
cpu.allocate = (byteLength) => {
  const memory = allocate.call(cpu, byteLength);
  peaks.tensors = Math.max(peaks.tensors, cpu.memory.usedBytes);
  if (++allocations % 2000 === 0) sample();
  return memory;
};

/** Records the memory that remains after a collection of garbage. */
function sample(): void {
  (globalThis as unknown as { gc(): void }).gc();
  const { heapUsed, external } = Deno.memoryUsage();
  peaks.objects = Math.max(peaks.objects, heapUsed);
  peaks.arrays = Math.max(peaks.arrays, external);
}

const oscillate = (_t: Tensor, y: Tensor) => stack([y.select(0, 1), y.select(0, 0).neg()]);
const statistics = {} as SolveStatistics;
const solve = (y0: Tensor) =>
  odeintEvent(oscillate, y0, 0, (_t, y) => y.select(0, 0), {
    direction: "down",
    maxEvents,
    restart: (_t, y) => y.mul(1),
    maxSteps: 1e9,
    rtol: 1e-11,
    atol: 1e-11,
    adjoint: "checkpoint",
    statistics,
  }).t;
const y0 = tensor([1, 0], { dtype: "float64" });
await (kind === "gradient" ? grad(solve)(y0) : solve(y0)).data();
sample();
const { steps, rejected } = statistics as { steps: number; rejected: number };
console.log(JSON.stringify({ steps: steps + rejected, ...peaks }));
Deno.exit();
