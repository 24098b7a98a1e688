/** Tests specific to the WebGPU device: batches, memory, kernels, and both ways to distribute work. */
import assert from "node:assert/strict";
import { key, normal, type Tensor, tensor, tidy, uniform, valueAndGrad, zeros } from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { BufferView } from "../../src/device/device.ts";
import { instantiate, type ScalarFunction } from "../../src/device/scalar/scalar.ts";
import * as s from "../../src/device/scalar/scalar.ts";
import { allocateView, uploadView } from "../../src/device/view.ts";
import { memoryOf } from "../../src/device/webgpu/device.ts";
import { BufferPool, sizeClass } from "../../src/device/webgpu/buffer_pool.ts";
import type { GpuLimits } from "../../src/device/webgpu/gpu.ts";
import { emitScalar } from "../../src/device/webgpu/kernels/scalar_wgsl.ts";
import { cpu } from "../devices.ts";
import { families } from "./kernel_families.ts";
import { copyOne, fresh, test, viewOf } from "./webgpu_tests.ts";

test("operations are batched into few submissions, and reads of one turn share one", async (device) => {
  const before = device.statistics.batches;
  let x = zeros([8]).add(0);
  for (let i = 0; i < 1000; i++) x = x.add(1);
  const [a, b] = await Promise.all([x.data(), x.mul(2).data()]);
  assert.equal(a[7], 1000);
  assert.equal(b[7], 2000);
  assert.ok(device.statistics.batches - before <= 5, `${device.statistics.batches - before} batches`);
});

test("a number operand is a kernel parameter: new values need no new kernel", async (device) => {
  const x = tensor([1, 2]);
  await x.mul(0.5).add(1).data();
  const { kernels } = device.statistics;
  for (const rate of [0.1, 0.2, Infinity]) {
    assert.deepEqual(
      [...await x.mul(rate).add(rate).data()],
      [1, 2].map((v) => Math.fround(v * Math.fround(rate)) + rate).map(Math.fround),
    );
  }
  assert.equal(device.statistics.kernels, kernels);
});

test("a kernel depends on the number of axes, not on their lengths", async (device) => {
  const run = (rows: number, columns: number) =>
    uniform(key(0), [rows, columns]).mT.add(uniform(key(1), [columns, rows])).sum(0).data();
  // The same number of lanes computes each sum of either tensor.
  await run(9, 6);
  const { kernels } = device.statistics;
  await run(15, 31);
  assert.equal(device.statistics.kernels, kernels);
});

test("training uses no more memory in the last step than in the second", async (device) => {
  const keys = [0, 1, 2, 3].map(key);
  const parameters = {
    hidden: normal(keys[0], [2, 16]),
    bias: zeros([16]).add(0),
    readout: normal(keys[1], [16, 1]).mul(0.25),
  };
  const x = normal(keys[2], [64, 2]);
  const target = x.select(1, 0).mul(x.select(1, 1)).tanh().expandDims(1);
  const step = valueAndGrad((p: typeof parameters) =>
    x.matmul(p.hidden).add(p.bias).tanh().matmul(p.readout).sub(target).square().mean()
  );
  const losses: number[] = [];
  const bytes: number[] = [];
  for (let i = 0; i < 45; i++) {
    const loss = tidy(() => {
      const [value, gradients] = step(parameters);
      for (const name of ["hidden", "bias", "readout"] as const) {
        parameters[name].assign(parameters[name].sub(gradients[name].mul(0.1)));
      }
      return value;
    });
    if (i % 15 === 1 || i === 44) {
      losses.push(await loss.item());
      bytes.push(device.statistics.bytes.total);
    }
  }
  assert.ok(losses.at(-1)! < losses[0] / 2, `losses ${losses}`);
  // Loss tensors that were read are left to the garbage collector: at most one size class each.
  assert.ok(bytes.at(-1)! - bytes[0] < 4096 + 45 * 256, `bytes ${bytes}`);
}, fresh());

test("freed buffers of changing sizes are returned to the GPU", async (device) => {
  const x = tensor([1]);
  for (let i = 0; i < 60; i++) {
    const size = (8 + i) * 2 ** 20;
    device.release(device.allocate(size));
    x.assign(x.add(1));
    await device.synchronize();
  }
  // All of these buffers together would take two gigabytes.
  const { total } = device.statistics.bytes;
  assert.ok(total < 400 * 2 ** 20, `${total} bytes`);
}, fresh());

Deno.test("size classes waste less than 20 % of memory", () => {
  for (let size = 257; size < 1e6; size = Math.ceil(size * 1.03)) {
    const rounded = sizeClass(size, 2 ** 30);
    assert.ok(rounded >= size && rounded <= size * 1.25, `${rounded} for ${size}`);
  }
  assert.equal(sizeClass(1000, 1000), 1000);
});

Deno.test("a buffer whose allocation on the GPU may have failed is not reused", () => {
  const destroyed: number[] = [];
  const device = {
    limits: { maxBufferSize: 2 ** 30, maxStorageBufferBindingSize: 2 ** 30 },
    createBuffer: ({ size }: GPUBufferDescriptor) => ({ destroy: () => destroyed.push(size) }),
  };
  const pool = new BufferPool(device as unknown as GPUDevice);
  const [used, idle, sound] = [pool.allocate(1024), pool.allocate(1024), pool.allocate(2048)];
  assert.deepEqual(pool.takeCreated(), [used, idle, sound]);
  pool.release(idle);
  pool.release(sound);
  used.suspect = idle.suspect = true;
  assert.equal(pool.allocate(2048), sound);
  const fresh = pool.allocate(1024);
  assert.ok(fresh !== idle && fresh !== used);
  pool.release(used);
  pool.trim();
  assert.deepEqual(destroyed, [1024, 1024]);
  assert.deepEqual(pool.bytes, { used: 3072, total: 3072 });
});

for (const [name, size] of [["small", 64], ["large", 16_384]] as const) {
  test(`a ${name} upload waits for queued kernels that read the memory`, async (device) => {
    const outputs: Tensor[] = [];
    const input = allocateView(device, [size], "float32");
    for (let i = 0; i < 5; i++) {
      device.write(input.source, new Float32Array(size).fill(i));
      const output = zeros([size]).add(0);
      device.map(s.identity, [input], viewOf(output));
      outputs.push(output);
    }
    const values = await Promise.all(outputs.map((output) => output.data()));
    assert.deepEqual(values.map((list) => list[size - 1]), [0, 1, 2, 3, 4]);
  });
}

test("freed memory is reused at once without affecting queued kernels that read it", async () => {
  let sum = zeros([1000]).add(0);
  for (let i = 1; i <= 20; i++) {
    const previous = sum;
    sum = tidy(() => previous.add(tensor(new Float32Array(1000).fill(i)).add(1).sub(1)));
  }
  assert.equal((await sum.data())[999], 210);
});

test("a read returns the values at the time of the call", async () => {
  const x = tensor([1, 2, 3]);
  const before = x.data();
  x.assign(x.add(10));
  assert.deepEqual([...await before], [1, 2, 3]);
  assert.deepEqual([...await x.data()], [11, 12, 13]);
});

test("a tensor can be assigned an overlapping view of itself", async () => {
  const x = tensor([[1, 2], [3, 4]]);
  x.assign(x.mT);
  assert.deepEqual([...await x.data()], [1, 3, 2, 4]);
  x.assign(x.flip(0));
  assert.deepEqual([...await x.data()], [2, 4, 1, 3]);
});

test("kernels may write to the memory of an input", async (device) => {
  const whole = uploadView(device, [1, 2, 3, 4, 5, 6], [6], "float32");
  const part = (offset: number, shape: number[], strides: number[]): BufferView => ({
    ...whole,
    offset,
    shape,
    strides,
  });
  device.reduce("sum", part(0, [2, 3], [3, 1]), part(0, [1, 3], [3, 1]));
  device.cumulativeSum(part(0, [3], [1]), 0, part(3, [3], [1]));
  device.matmul(part(0, [1, 3], [3, 1]), part(3, [3, 1], [1, 1]), part(0, [1, 1], [1, 1]));
  const [words] = await device.read([whole]);
  // After the sum: 5 7 9 4 5 6; after the cumulative sum: 5 7 9 5 12 21.
  assert.deepEqual([...words], [25 + 84 + 189, 7, 9, 5, 12, 21]);
});

test("kernels read only the elements of an offset view", async (device) => {
  const whole = uploadView(device, [1, 2, 3, 4, 5, 6], [6], "int32");
  const empty = { ...whole, shape: [0, 3], strides: [3, 1] };
  const [middle, nothing, last] = await device.read([
    { ...whole, offset: 2, shape: [3] },
    empty,
    { ...whole, offset: 5, shape: [], strides: [] },
  ]);
  assert.deepEqual([...middle], [3, 4, 5]);
  assert.equal(nothing.length, 0);
  assert.deepEqual([...last], [6]);
});

const limitsOfDispatches: Record<string, GpuLimits> = {
  "any number of workgroups": {},
  "3 workgroups": { maxWorkgroups: 3 },
  "one workgroup per submission": { budget: 1 },
  "3 workgroups, one per submission": { maxWorkgroups: 3, budget: 1 },
};

for (const [name, limits] of Object.entries(limitsOfDispatches)) {
  test(
    `every family of kernels agrees with the CPU, ${name}`,
    async (device) => {
      const [x, y] = [uniform(key(1), [77, 23]), uniform(key(2), [23, 77])];
      const [xValues, yValues] = await Promise.all([x.data(), y.data()]);
      for (const [family, f] of Object.entries(families)) {
        setCurrentDevice(cpu);
        const expected = await f(tensor(xValues, { shape: x.shape }), tensor(yValues, { shape: y.shape }))
          .data();
        setCurrentDevice(device);
        const found = await f(x, y).data();
        assert.equal(found.length, expected.length, family);
        const wrong = found.findIndex((value, i) =>
          !(Object.is(value, expected[i]) ||
            Math.abs(value - expected[i]) <= 1e-5 * Math.max(1, Math.abs(expected[i])))
        );
        assert.equal(
          wrong,
          -1,
          `${family}: element ${wrong} is ${found[wrong]}, expected ${expected[wrong]}`,
        );
      }
    },
    fresh(limits),
  );
}

test("a product is added to a matrix, with a short and with a long sum", async (device) => {
  for (const terms of [5, 5000]) {
    const [a, b] = [normal(key(1), [7, terms]), normal(key(2), [terms, 9])];
    const sum = normal(key(3), [7, 9]);
    const expected = await sum.add(a.matmul(b)).data();
    device.addMatmul(viewOf(a), viewOf(b), viewOf(sum));
    const found = await sum.data();
    const error = Math.max(...[...expected].map((value, i) => Math.abs(Number(found[i]) - Number(value))));
    assert.ok(error <= 1e-6 * Math.sqrt(terms), `${terms} terms: ${error}`);
  }
});

test("a custom kernel runs in order with other kernels", async (device) => {
  const x = tensor([1]).add(1);
  device.dispatch({
    key: copyOne,
    source: () => ({ name: "own", code: copyOne, access: "w" }),
    buffers: [memoryOf(viewOf(x).source)],
    words: new Uint32Array([7]),
    workgroups: 1,
    operations: 1,
    shapes: [x.shape],
  });
  assert.deepEqual([...await x.add(1).data()], [8]);
});

Deno.test("WGSL of scalar expressions avoids implementation-defined results", () => {
  const emit = (fn: ScalarFunction) =>
    emitScalar(instantiate(fn, ["float32"]), { inputs: ["x"], index: "i", zero: "zero", prefix: "t" });
  const infinite = emit({ name: "infinite", build: (x) => s.add(x, Infinity) });
  assert.deepEqual(infinite, { lines: ["let t0 = x + bitcast<f32>(0x7f800000u | zero);"], result: "t0" });
  const folded = emit({ name: "folded", build: (x) => s.mul(s.mul(s.constant(3e38, "float32"), 10), x) });
  assert.deepEqual(folded.lines, [
    `let t0 = f32(${Math.fround(3e38)});`,
    "let t1 = t0 * f32(10.0);",
    "let t2 = t1 * x;",
  ]);
  const transcendental = emit({ name: "exp", build: s.exp });
  assert.ok(transcendental.lines.every((line) => !/\bexp\(/.test(line)));
  const passed = emit({ name: "identity", build: (x) => x });
  assert.deepEqual(passed, { lines: [], result: "x" });
});
