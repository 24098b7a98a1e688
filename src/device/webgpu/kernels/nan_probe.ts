/**
 * A check that kernels preserve NaN, which is a missing observation. WGSL and Vulkan allow drivers to assume that no value is
 * NaN, and Metal compiles with fast math by default.
 */
import type { Scalar, ScalarFunction } from "../../scalar/scalar.ts";
import * as s from "../../scalar/scalar.ts";
import { type DescribedAdapter, failureHint } from "../adapter.ts";
import type { Gpu, MemoryView } from "../gpu.ts";
import { type Binding, type KernelSource, kernelSource } from "../kernel.ts";
import { emitScalar } from "./scalar_wgsl.ts";

/** An operation on x, which is NaN, and y, which is 1. */
interface Check {
  /** The operation, for messages. */
  readonly operation: string;
  readonly build: (x: Scalar, y: Scalar) => Scalar;
  readonly expected: number | boolean;
}

const nan = (): Scalar => s.constant(NaN, "float32");
const computed = (x: Scalar, y: Scalar): Scalar => s.add(s.mul(x, y), y);

const checks: readonly Check[] = [
  { operation: "load", build: (x) => x, expected: NaN },
  { operation: "fill", build: nan, expected: NaN },
  { operation: "arithmetic", build: computed, expected: NaN },
  { operation: "select", build: (x, y) => s.select(s.lt(y, 2), x, y), expected: NaN },
  { operation: "maximum", build: (x, y) => s.max(x, y), expected: NaN },
  { operation: "maximum", build: (x, y) => s.max(y, x), expected: NaN },
  { operation: "minimum", build: (x) => s.min(x, 0), expected: NaN },
  { operation: "isNaN", build: s.isNaN, expected: true },
  { operation: "isNaN", build: (x, y) => s.isNaN(computed(x, y)), expected: true },
  { operation: "isNaN", build: (_, y) => s.isNaN(s.select(s.lt(y, 2), nan(), y)), expected: true },
  { operation: "isNaN", build: (_, y) => s.isNaN(y), expected: false },
  { operation: "comparison", build: (x, y) => s.lt(x, y), expected: false },
  { operation: "comparison", build: (x, y) => s.lt(y, x), expected: false },
  { operation: "comparison", build: (x, y) => s.not(s.le(x, y)), expected: true },
  { operation: "comparison", build: (x) => s.eq(x, x), expected: false },
  { operation: "comparison", build: (x) => s.not(s.eq(x, 1)), expected: true },
];

const bindings: readonly Binding[] = [
  { name: "input", type: "f32", access: "read" },
  { name: "output", type: "f32", access: "read_write" },
];

/** A kernel that computes all checks. */
function probeKernel(): KernelSource {
  const lines = checks.flatMap(({ operation, build }, i) => {
    const fn: ScalarFunction = { name: operation, build };
    const root = s.instantiate(fn, ["float32", "float32"]);
    const { lines, result } = emitScalar(root, {
      inputs: ["x", "y"],
      index: "0u",
      zero: "params.zero",
      prefix: `v${i}_`,
    });
    const stored = root.type === "bool" ? `select(0.0, 1.0, ${result})` : result;
    return [...lines, `output[${i}] = ${stored};`];
  });
  return kernelSource("NaN probe", bindings, ["zero"], [
    "@compute @workgroup_size(1)",
    "fn main() {",
    ...["let x = input[0];", "let y = input[1];", ...lines].map((line) => `  ${line}`),
    "}",
  ]);
}

/**
 * Runs the checks, in the batch of the next read.
 *
 * @returns The operations that lose NaN. Empty if all preserve it.
 */
export async function probeNaN(gpu: Gpu): Promise<string[]> {
  const input = gpu.temporary([2], "float32");
  const output = gpu.temporary([checks.length], "float32");
  gpu.commands.write(input.memory, new Uint8Array(new Float32Array([NaN, 1]).buffer));
  gpu.run({
    key: "NaN probe",
    source: probeKernel,
    buffers: [input.memory, output.memory],
    words: [0],
    workgroups: 1,
    operations: checks.length,
    shapes: [output.shape],
  });
  const products = read(gpu, output);
  for (const { memory } of [input, output]) gpu.pool.release(memory);
  return lostOperations(await products);
}

async function read(gpu: Gpu, { memory, shape }: MemoryView): Promise<Float32Array> {
  const [bytes] = await gpu.commands.read([{ memory, offset: 0, size: 4 * shape[0] }]);
  return new Float32Array(bytes);
}

function lostOperations(values: Float32Array): string[] {
  const lost = checks.filter(({ expected }, i) => !Object.is(values[i], Number(expected)));
  return [...new Set(lost.map(({ operation }) => operation))];
}

/** Descriptions of adapters that preserve NaN. */
const passed = new Set<string>();

/**
 * Checks an adapter once per process. Nothing waits for the result until the first read.
 *
 * @returns Rejects if the adapter loses NaN. An error of the GPU does not count: every read reports it.
 */
export function checkNaN(gpu: Gpu): Promise<void> {
  const { adapter } = gpu;
  if (passed.has(adapter.description)) return Promise.resolve();
  const check = probeNaN(gpu).catch(() => undefined).then((lost) => {
    if (lost && lost.length > 0) throw new Error(lostMessage(adapter, lost));
    if (lost) passed.add(adapter.description);
  });
  check.catch(() => {
    // Each read throws it.
  });
  return check;
}

function lostMessage({ description, implementation }: DescribedAdapter, lost: readonly string[]): string {
  return `${description} loses NaN, which is a missing observation, in: ${
    lost.join(", ")
  }. Its driver assumes that no ` +
    `value is NaN. Update the driver of the GPU. ${failureHint(implementation)}`;
}
