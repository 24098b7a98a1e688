/** Every primitive compared with naive loops, on every device and for every memory layout of its operands. */
import assert from "node:assert/strict";
import { grad, key, linearRecurrence, normal, ones, type Tensor, tensor, uniform, zeros } from "../../mod.ts";
import { cpu, testOnBoth, testOnDevices } from "../devices.ts";
import { type Case, cases, modules, type Operand } from "./primitive_cases.ts";
import { assertClose, assertTensor, fromTensor, laidOut, layouts, type Nd, repeatFirstAxis } from "./nd.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { Primitive } from "../../src/tensor/primitive.ts";

Deno.test("the table of cases contains exactly the exported primitives", () => {
  const exported = Object.entries(modules).flatMap(([module, exports]) =>
    Object.entries(exports).filter(([name, value]) => isPrimitive(value) || name === "cast").map(([name]) =>
      `${module}.${name}`
    )
  );
  assert.deepEqual(Object.keys(cases).sort(), exported.sort());
  for (const [name, list] of Object.entries(cases)) assert.ok(list.length > 0, name);
});

function isPrimitive(value: unknown): value is Primitive<unknown> {
  return typeof value === "object" && value !== null && "infer" in value && "run" in value;
}

/** Tolerances: 1e-5 of each value, and zero for integers and bool. */
async function assertCase({ name, run, expected }: Case, tensors: Tensor[], arrays: Nd[], where: string) {
  const found = run(...tensors);
  const tolerance = found.dtype === "float32" ? 1e-5 : found.dtype === "float64" ? 1e-12 : 0;
  await assertTensor(found, expected(...arrays), tolerance, `${name} ${where}`);
}

for (const [primitive, list] of Object.entries(cases)) {
  testOnDevices(`${primitive} agrees with naive loops for every memory layout`, async () => {
    for (const example of list) {
      for (const layout of layouts) {
        const operands: readonly Operand[] = layout === "repeated"
          ? example.operands.map(({ array, dtype }) => ({ array: repeatFirstAxis(array), dtype }))
          : example.operands;
        const tensors = operands.map(({ array, dtype }) => laidOut(array, layout, dtype));
        await assertCase(example, tensors, operands.map(({ array }) => array), layout);
      }
    }
  });
}

Deno.test("primitives keep float64 on the CPU", async () => {
  setCurrentDevice(cpu);
  for (const list of Object.values(cases)) {
    for (const example of list) {
      if (example.operands.some(({ dtype }) => dtype === "float32")) continue;
      if (example.name.startsWith("cast")) continue;
      const tensors = example.operands.map(({ array, dtype }) =>
        laidOut(array, "permuted", dtype ?? "float64")
      );
      await assertCase(example, tensors, example.operands.map(({ array }) => array), "float64");
    }
  }
});

/**
 * Values whose sums and products stay exact or well-conditioned, in arrays that need more than one dispatch.
 */
const large = 65535 * 64 + 17;

testOnDevices("elementwise operations accept more elements than one dispatch handles", async () => {
  const x = tensor(Float32Array.from({ length: large }, (_, i) => i % 1000));
  const y = await x.mul(2).add(x).data();
  assert.equal(y.length, large);
  const wrong = y.findIndex((value, i) => value !== 3 * (i % 1000));
  assert.equal(wrong, -1, `element ${wrong} is ${y[wrong]}`);
});

testOnDevices("a broadcast view may have more elements than one dispatch handles", async () => {
  const rows = 5001, columns = 1003;
  const x = tensor(Float32Array.from({ length: rows }, (_, i) => i)).expandDims(1);
  const y = await x.add(tensor(Float32Array.from({ length: columns }, (_, i) => i))).data();
  const wrong = y.findIndex((value, i) => value !== Math.floor(i / columns) + i % columns);
  assert.equal(wrong, -1, `element ${wrong} is ${y[wrong]}`);
});

testOnDevices("reductions accept more elements than one dispatch handles, along any axes", async () => {
  const [rows, columns] = [4099, 1031];
  const x = tensor(Int32Array.from({ length: rows * columns }, (_, i) => i % 7), { dtype: "int32" })
    .reshape([rows, columns]);
  const expected = { all: 0, rows: new Array(rows).fill(0), columns: new Array(columns).fill(0) };
  for (let i = 0; i < rows * columns; i++) {
    expected.all += i % 7;
    expected.rows[Math.floor(i / columns)] += i % 7;
    expected.columns[i % columns] += i % 7;
  }
  assert.equal(await x.sum().item(), expected.all);
  assert.deepEqual([...await x.sum(1).data()], expected.rows);
  assert.deepEqual([...await x.sum(0).data()], expected.columns);
  const long = tensor(Float32Array.from({ length: large }, (_, i) => i === large - 3 ? 9 : -i % 5));
  assert.equal(await long.max().item(), 9);
  assert.equal(await long.argmax(0).item(), large - 3);
});

testOnDevices("a float32 sum of many elements is accurate to 1e-6", async () => {
  const values = Float32Array.from({ length: 1_000_003 }, (_, i) => 0.1 + (i % 13) / 100);
  let exact = 0;
  for (const value of values) exact += value;
  const sum = await tensor(values).sum().item();
  assert.ok(Math.abs(sum / exact - 1) < 1e-6, `${sum}, expected ${exact}`);
});

testOnDevices("reductions, gather and matmul accept more rows than one dispatch has workgroups", async () => {
  const rows = 70_001;
  const x = tensor(Float32Array.from({ length: rows * 3 }, (_, i) => i % 11), { shape: [rows, 3] });
  const row = (i: number) => (3 * i) % 11 + (3 * i + 1) % 11 + (3 * i + 2) % 11;
  const sums = await x.sum(1).data();
  const products = await x.matmul(ones([3, 1])).data();
  const batched = await x.reshape([rows, 1, 3]).matmul(ones([rows, 3, 1])).data();
  const running = await x.cumsum(1).select(1, 2).data();
  const gathered = await x.take(tensor([2, 1, 0], { dtype: "int32" }), 1).sum(1).data();
  for (const found of [sums, products, batched, running, gathered]) {
    const wrong = found.findIndex((value, i) => value !== row(i));
    assert.equal(wrong, -1, `row ${wrong} is ${found[wrong]}`);
  }
});

testOnDevices("every operation accepts tensors without elements", async () => {
  const x = zeros([0, 3]);
  const made = tensor([], { shape: [0, 3] });
  for (const empty of [x, made]) {
    await assertTensor(empty.add(1).tanh(), { shape: [0, 3], values: [] });
    await assertTensor(empty.sum(), { shape: [], values: [0] });
    await assertTensor(empty.sum(0), { shape: [3], values: [0, 0, 0] });
    await assertTensor(empty.sum(1), { shape: [0], values: [] });
    await assertTensor(empty.max(1), { shape: [0], values: [] });
    await assertTensor(empty.argmax(1), { shape: [0], values: [] });
    await assertTensor(empty.cumsum(0), { shape: [0, 3], values: [] });
    await assertTensor(empty.cumsum(1), { shape: [0, 3], values: [] });
    for (const axis of [0, 1]) {
      const [gradient] = grad((x: Tensor[]) => linearRecurrence(x[0], x[1], { axis }).sum())([empty, empty]);
      await assertTensor(gradient, { shape: [0, 3], values: [] });
    }
    await assertTensor(empty.matmul(ones([3, 2])), { shape: [0, 2], values: [] });
    await assertTensor(empty.mT.matmul(empty), { shape: [3, 3], values: new Array(9).fill(0) });
    await assertTensor(empty.pad([[1, 1], [0, 0]]), { shape: [2, 3], values: new Array(6).fill(0) });
    await assertTensor(empty.take(tensor([2, 0], { dtype: "int32" }), 1), { shape: [0, 2], values: [] });
    await assertTensor(ones([2, 3]).take(tensor([], { dtype: "int32" })), { shape: [0, 3], values: [] });
    await assertTensor(empty.add(ones([1, 3])), { shape: [0, 3], values: [] });
    await assertTensor(empty.reshape([3, 0]), { shape: [3, 0], values: [] });
    await assertTensor(empty.flip(0).slice(1, 1), { shape: [0, 2], values: [] });
  }
  assert.throws(() => x.max(0), /max: an axis of length zero/);
});

testOnDevices("every operation accepts scalars and single elements", async () => {
  for (const shape of [[], [1], [1, 1]]) {
    const x = tensor([3], { shape });
    await assertTensor(x.mul(x).sub(1), { shape, values: [8] });
    await assertTensor(x.sum(), { shape: [], values: [3] });
    await assertTensor(x.max(), { shape: [], values: [3] });
    await assertTensor(x.logsumexp(), { shape: [], values: [3] });
    await assertTensor(x.mean(), { shape: [], values: [3] });
    await assertTensor(x.reshape([1, 1, 1]), { shape: [1, 1, 1], values: [3] });
  }
  await assertTensor(tensor([3]).cumsum(), { shape: [1], values: [3] });
  await assertTensor(tensor([3]).argmax(), { shape: [], values: [0] });
  assert.equal(await tensor(5).item(), 5);
});

testOnBoth(
  "a chain of operations on random inputs of odd sizes agrees between devices",
  async (cpu, webgpu) => {
    for (const [m, n] of [[1, 1], [3, 257], [129, 31], [1023, 5]]) {
      const results: Nd[] = [];
      for (const device of [cpu, webgpu]) {
        setCurrentDevice(device);
        const x = uniform(key(m), [m, n], { low: -3, high: 3 });
        const w = normal(key(n), [n, 7], { standardDeviation: 0.3 });
        const y = x.matmul(w).tanh().softmax(1).mul(x.sum(1, { keepDims: true }).sigmoid()).cumsum(0);
        results.push(await fromTensor(y));
      }
      assertClose(results[1], results[0], 1e-5, `${m} x ${n}`);
    }
  },
);
