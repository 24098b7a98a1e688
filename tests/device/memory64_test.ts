/**
 * Memory beyond 4 GiB: results must equal those below 4 GiB. The tests touch little of the memory, so they
 * are cheap.
 */
import assert from "node:assert/strict";
import type { Tensor } from "../../mod.ts";
import { addressOf } from "../../src/device/cpu/assembler/address.ts";
import { type CpuDevice, createCpuDevice } from "../../src/device/cpu/device.ts";
import type { Block } from "../../src/device/cpu/runtime/memory.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { BufferView } from "../../src/device/device.ts";
import type { TypedArray } from "../../src/device/dtype.ts";
import * as s from "../../src/device/scalar/scalar.ts";
import { allocateView } from "../../src/device/view.ts";
import { cpu } from "../devices.ts";
import { computations, digest } from "./computations.ts";

const low = createCpuDevice({ threads: 2 });
const ignore = !low.memory.is64;
const high = createCpuDevice({ threads: 2 });
if (low.memory.is64) high.memory.allocate(5 * 2 ** 30);

async function valuesOn(device: CpuDevice, compute: () => Tensor[]): Promise<TypedArray[]> {
  setCurrentDevice(device);
  try {
    const results = compute();
    for (const result of results) {
      assert.equal(addressOf(result.view as BufferView) > 2 ** 32, device === high);
    }
    return await Promise.all(results.map((result) => result.data()));
  } finally {
    setCurrentDevice(cpu);
  }
}

for (const [name, compute] of Object.entries(computations)) {
  for (const dtype of ["float32", "float64"] as const) {
    Deno.test({
      name: `${name} beyond 4 GiB, ${dtype}`,
      ignore,
      sanitizeOps: false,
      sanitizeResources: false,
      async fn() {
        const expected = await valuesOn(low, () => compute(dtype));
        assert.ok(expected.every((values) => values.length > 0 && values.some((value) => value !== 0)));
        assert.deepEqual(await valuesOn(high, () => compute(dtype)), expected);
      },
    });
  }
}

Deno.test({
  name: "one tensor of more than 4 GiB",
  ignore,
  fn() {
    const device = createCpuDevice({ threads: 1 });
    // Three rows of 2.25 GiB. Only the first columns are used.
    const rowLength = 9 * 2 ** 26;
    const shape = [3, 5];
    const rows: BufferView = { ...allocateView(device, [3, rowLength], "float32"), shape };
    const start = (rows.source.memory as Block).address / 4;
    const values = Array.from({ length: 15 }, (_, i) => i + 1);
    const at = (i: number) => start + Math.floor(i / 5) * rowLength + i % 5;
    values.forEach((value, i) => device.memory.f32[at(i)] = value);
    const column = { ...rows, shape: [5, 3], strides: [1, rowLength] };

    const doubled = allocateView(device, shape, "float32");
    const double: s.ScalarFunction = { name: "double", build: (x) => s.mul(x, 2) };
    device.map(double, [rows], doubled);
    assert.deepEqual([...device.readSync(doubled)], values.map((value) => 2 * value));
    device.map(double, [rows], rows);
    assert.deepEqual(values.map((_, i) => device.memory.f32[at(i)]), values.map((value) => 2 * value));

    const sums = allocateView(device, [1, 5], "float32");
    device.reduce("sum", rows, sums);
    assert.deepEqual([...device.readSync(sums)], [36, 42, 48, 54, 60]);

    const product = allocateView(device, [3, 3], "float32");
    device.matmul(rows, column, product);
    assert.throws(() => allocateView(device, [2 ** 31], "float32"), /smaller than 8 GiB; split/);
    assert.deepEqual([...device.readSync(product)], [220, 520, 820, 520, 1320, 2120, 820, 2120, 3420]);
  },
});

Deno.test("a device with 32-bit addresses gives the same results", { ignore }, async () => {
  const narrow = createCpuDevice({ threads: 2, memory: 2 ** 32 });
  assert.equal(narrow.memory.is64, false);
  assert.match(narrow.info.notes!.join(), /32-bit addresses, up to 4\.0 GiB/);
  assert.match(low.info.notes!.join(), /64-bit addresses/);
  try {
    for (const compute of Object.values(computations)) {
      const expected = await valuesOn(low, () => compute("float32"));
      assert.deepEqual(await valuesOn(narrow, () => compute("float32")), expected);
    }
  } finally {
    narrow.destroy();
  }
});

Deno.test("a device can have 64-bit addresses only for more than 4 GiB", { ignore }, () => {
  for (
    const [memory, is64] of [[2 ** 21, false], [2 ** 32, false], [2 ** 32 + 65536, true], [
      2 ** 34,
      true,
    ]] as const
  ) {
    assert.equal(createCpuDevice({ threads: 1, memory }).memory.is64, is64);
  }
});

Deno.test("an engine without 64-bit memories gives the same results", { ignore }, async () => {
  const url = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const code = `
    const { Memory } = WebAssembly;
    WebAssembly.Memory = function (descriptor) {
      if (typeof descriptor.initial === "bigint") throw new TypeError("cannot convert a BigInt to a number");
      return new Memory(descriptor);
    };
    const { init } = await import(${url("../../mod.ts")});
    const { computations, digest } = await import(${url("computations.ts")});
    const { memory } = await init({ device: "cpu", threads: 1, memory: 2 ** 34 });
    const digests = [];
    for (const compute of Object.values(computations)) {
      for (const x of compute("float32")) digests.push(await digest(await x.data()));
    }
    console.log(JSON.stringify({ is64: memory.is64, digests }));
  `;
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    await Deno.writeTextFile(file, code);
    const args = ["run", "--no-check", "--no-prompt", "--allow-read", "--allow-env=DENO_V8_FLAGS", file];
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
    const expected: string[] = [];
    for (const compute of Object.values(computations)) {
      for (const values of await valuesOn(low, () => compute("float32"))) expected.push(await digest(values));
    }
    const decoder = new TextDecoder();
    const found = JSON.parse(decoder.decode(stdout) || JSON.stringify(decoder.decode(stderr)));
    assert.deepEqual(found, { is64: false, digests: expected });
  } finally {
    await Deno.remove(file);
  }
});
