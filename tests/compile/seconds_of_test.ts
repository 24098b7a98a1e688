/** The time of runs on a device, without the time of waits. */
import assert from "node:assert/strict";
import { normal } from "../../mod.ts";
import { key } from "../../src/tensor/random.ts";
import type { Device } from "../../src/device/device.ts";
import { meanSeconds, secondsOfRun } from "../../src/compile/inspect/seconds_of.ts";
import { test as testOnWebGpu } from "../device/webgpu_tests.ts";
import { withClock } from "../clock.ts";
import { testOnCpu } from "../devices.ts";

/** A GPU without timestamps, whose waits take 10 ms after the GPU is done, and up to 2 ms more. */
function fakeGpu(advance: (milliseconds: number) => void): Device {
  let waits = 0;
  const synchronize = () => Promise.resolve(advance(10 + waits++ % 3));
  return { kind: "webgpu", gpuDevice: { features: new Set() }, synchronize } as unknown as Device;
}

Deno.test("without timestamps, the time of an empty wait is subtracted from the time of many runs", async () => {
  const [seconds, runs] = await withClock(async (advance) => {
    let runs = 0;
    const run = () => (runs++, advance(1));
    return [await meanSeconds(fakeGpu(advance), run), runs];
  });
  assert.ok(runs >= 220, `${runs} runs`);
  assert.ok(Math.abs(seconds - 0.001) < 0.00001, `${seconds} s`);
});

Deno.test("a run that takes longer than many waits is not repeated", async () => {
  const [seconds, runs] = await withClock(async (advance) => {
    let runs = 0;
    return [await meanSeconds(fakeGpu(advance), () => (runs++, advance(1000))), runs];
  });
  assert.equal(runs, 1);
  assert.ok(Math.abs(seconds - 1) < 0.003, `${seconds} s`);
});

Deno.test("the time of a single run does not contain the wait", async () => {
  const seconds = await withClock(async (advance) => await secondsOfRun(fakeGpu(advance), () => advance(30)));
  assert.ok(Math.abs(seconds - 0.03) <= 0.0011, `${seconds} s`);
});

testOnCpu("a run on the CPU takes the time of the host's clock", async (device) => {
  const seconds = await withClock(async (advance) => await meanSeconds(device, () => advance(7)));
  assert.equal(seconds, 0.007);
});

testOnWebGpu("timestamps measure the second of two runs, with the host's work", async (device) => {
  if (!device.gpuDevice.features.has("timestamp-query")) return;
  const x = normal(key(0), [8]);
  let runs = 0;
  const start = performance.now();
  const seconds = await meanSeconds(device, () => {
    const begun = performance.now();
    while (performance.now() - begun < 400 * runs);
    x.add(1);
    runs++;
  });
  assert.equal(runs, 2);
  // Threads of a software GPU can start late: more than 50 ms on busy cores.
  assert.ok(seconds > 0.05, `${seconds} s`);
  assert.ok(seconds < (performance.now() - start) / 1000, `${seconds} s`);
});
