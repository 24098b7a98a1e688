/** The CPU device's memory and its allocator. */
import assert from "node:assert/strict";
import process from "node:process";
import { jit, ones, type Tensor } from "../../mod.ts";
import { allocateView } from "../../src/device/view.ts";
import { createCpuDevice } from "../../src/device/cpu/device.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { platform } from "../../src/platform/current.ts";
import { testLong } from "../devices.ts";
import { type Block, Memory } from "../../src/device/cpu/runtime/memory.ts";
import * as s from "../../src/device/scalar/scalar.ts";
import { below, randomNumbers, valuesOf, wordsOf } from "./random_views.ts";

testLong("allocations are aligned, do not overlap and are joined again when freed", () => {
  const random = randomNumbers(16);
  const memory = new Memory(2 ** 28);
  const live: { block: Block; bytes: number; mark: number }[] = [];
  let mark = 0;
  for (let step = 0; step < 20_000; step++) {
    if (random() < 0.52 && live.length < 500) {
      const bytes = Math.floor(2 ** (random() * 17));
      const block = memory.allocate(bytes);
      assert.equal(block.address % 64, 0);
      mark = mark % 255 + 1;
      memory.u8.fill(mark, block.address, block.address + bytes);
      live.push({ block, bytes, mark });
    } else if (live.length > 0) {
      const [{ block, bytes, mark }] = live.splice(below(random, live.length), 1);
      const content = memory.u8.subarray(block.address, block.address + bytes);
      assert.ok(content[0] === mark || bytes === 0);
      assert.equal(content[bytes - 1] ?? mark, mark);
      assert.ok(content.every((byte) => byte === mark));
      memory.release(block);
    }
  }
  for (const { block } of live) memory.release(block);
  assert.equal(memory.usedBytes, 0);
  const total = memory.totalBytes;
  memory.release(memory.allocate(total - 1024));
  assert.equal(memory.totalBytes, total, "free memory was not joined");
});

Deno.test("memory does not grow over steps of alternating sizes", () => {
  const memory = new Memory(2 ** 28);
  const random = randomNumbers(17);
  const kept: Block[] = [];
  let early = 0;
  for (let step = 0; step < 100_000; step++) {
    kept.push(memory.allocate(64 + below(random, 1000) * (step % 2 ? 4 : 100)));
    if (kept.length > 40) memory.release(kept.splice(below(random, kept.length), 1)[0]);
    if (step === 5000) early = memory.totalBytes;
  }
  assert.ok(memory.totalBytes <= 1.25 * early, `${early} bytes at first, ${memory.totalBytes} in the end`);
});

Deno.test("the error of a full device says which limit is reached and how to fix it", () => {
  const addressable = new Memory().is64 ? 2 ** 34 : 2 ** 32;
  const { total } = Deno.systemMemoryInfo();
  const [bytes, limit] = addressable <= total
    ? [addressable, "the limit of WebAssembly"]
    : [total, "the memory of the machine"];
  const gibibytes = (bytes / 2 ** 30).toFixed(1).replace(".", "\\.");
  for (const gigabytes of [64, 128, 512]) {
    assert.throws(
      () => new Memory().allocate(gigabytes * 2 ** 30),
      new RegExp(
        `${gigabytes}\\.0 GiB requested, .* maximum is ${gibibytes} GiB, ${limit}.* batch smaller, .*"checkpoint"`,
      ),
    );
  }
});

Deno.test("the error of full memory states the requested bytes and the bytes in use", () => {
  const memory = new Memory(2 ** 20);
  memory.allocate(600_000);
  assert.throws(
    () => memory.allocate(500_000),
    /out of memory: 488\.3 KiB requested, 585\.9 KiB in use/,
  );
  const rest = memory.allocate(300_000);
  memory.release(rest);
  assert.throws(() => memory.release(rest), /released twice/);
});

Deno.test("the memory of a container limits the memory of the machine", () => {
  const { total } = Deno.systemMemoryInfo();
  const own = process.constrainedMemory;
  try {
    for (const [limit, expected] of [[total / 2, total / 2], [0, total], [2 ** 63, total]]) {
      process.constrainedMemory = () => limit;
      assert.equal(platform.machineMemory(), expected);
    }
  } finally {
    process.constrainedMemory = own;
  }
});

Deno.test("memory keeps its contents when it grows", () => {
  const device = createCpuDevice({ threads: 1 });
  const first = allocateView(device, [1000], "float32");
  wordsOf(first, device).fill(3);
  const before = device.memory.totalBytes;
  const second = allocateView(device, [before / 4], "float32");
  assert.ok(device.memory.totalBytes > before);
  device.map(s.identity, [{ ...second, source: 2, strides: [0] }], second);
  assert.ok(valuesOf(first, device).every((value) => value === 3));
  assert.ok(valuesOf(second, device).every((value) => value === 2));
});

Deno.test("operands of a kernel can get memory that is not shared when the kernel is queued", async () => {
  const abilities = platform as { startThread?: unknown };
  const { startThread } = abilities;
  abilities.startThread = undefined;
  const device = createCpuDevice({ threads: 1 });
  abilities.startThread = startThread;
  assert.ok(!device.memory.isShared);
  setCurrentDevice(device);
  // The result of a fused kernel gets memory at the kernel, and the memory grows for it.
  const f = jit((x: Tensor) => x.add(1).mul(2));
  for (const length of [2 ** 18, 2 ** 19, 2 ** 20]) {
    const found = await f(ones([length])).data();
    assert.ok(found.every((value) => value === 4), `${length} numbers`);
  }
});
