/** scatterAdd on WebGPU sorts the updates, and has the bits of the CPU, which adds them one after another. */
import assert from "node:assert/strict";
import type { KernelDevice } from "../../src/device/device.ts";
import { uploadView } from "../../src/device/view.ts";
import { testOnBoth } from "../devices.ts";
import { randomNumbers } from "./random_views.ts";

/** Repeated, missing and out-of-range indices; sizes with one and with several digits of the sort. */
const cases = [
  { outer: 1, size: 1, inner: 1, count: 3 },
  { outer: 2, size: 15, inner: 3, count: 200 },
  { outer: 2, size: 16, inner: 1, count: 63 },
  { outer: 1, size: 5000, inner: 2, count: 4099 },
  { outer: 3, size: 70_000, inner: 1, count: 1000 },
];

for (const { outer, size, inner, count } of cases) {
  testOnBoth(`scatterAdd of ${count} updates to ${size} rows is bitwise equal`, async (cpu, webgpu) => {
    const random = randomNumbers(31);
    const floats = (length: number) => Float32Array.from({ length }, () => random() - 0.5);
    const [start, updates] = [floats(outer * size * inner), floats(outer * count * inner)];
    const indices = Int32Array.from(
      { length: count },
      (_, i) => i % 50 === 0 ? size + i : i % 71 === 0 ? -1 : Math.floor(random() ** 3 * size),
    );
    const run = async (device: KernelDevice) => {
      const output = uploadView(device, start, [outer, size, inner], "float32");
      device.scatterAdd(
        uploadView(device, updates, [outer, count, inner], "float32"),
        uploadView(device, indices, [count], "int32"),
        output,
      );
      return (await device.read([output]))[0];
    };
    const expected = await run(cpu);
    assert.notDeepEqual(expected, start);
    assert.deepEqual(await run(webgpu), expected);
  });
}
