import assert from "node:assert/strict";
import type { BufferView } from "../../src/device/device.ts";
import { add, identity } from "../../src/device/scalar/scalar.ts";
import { allocateView, uploadView } from "../../src/device/view.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { test } from "./webgpu_tests.ts";

const sum = { name: "add", build: add };

/** `count` elements of a view, beginning at a given element. */
function part(view: BufferView, offset: number, count: number): BufferView {
  return { ...view, shape: [count], offset };
}

const upload = (device: WebGpuDevice, values: number[]) =>
  uploadView(device, values, [values.length], "float32");

test(
  "each turn of a recording is replayed with the addresses of that turn",
  async (device) => {
    const rows = upload(device, [1, 2, 3, 4, 5, 6, 7, 8]);
    const results = upload(device, [0, 0, 0, 0, 0, 0, 0, 0]);
    const total = upload(device, [0, 0]);
    const recording = device.record((turn) => {
      device.map(sum, [total, part(rows, 2 * turn, 2)], total);
      device.map(identity, [total], part(results, 2 * (3 - turn), 2));
    });
    for (let turn = 0; turn < 4; turn++) recording.play(turn);
    recording.free();
    const [found, last] = await device.read([results, total]);
    assert.deepEqual([...found], [16, 20, 9, 12, 4, 6, 1, 2]);
    assert.deepEqual([...last], [16, 20]);
  },
);

test(
  "memory of a recorded turn is not reused until it is freed",
  async (device) => {
    const x = upload(device, [1, 2, 3, 4]);
    // Input and output overlap, so the input is copied first.
    const { used } = device.statistics.bytes;
    const recording = device.record(() => device.map(identity, [part(x, 0, 3)], part(x, 1, 3)));
    assert.ok(device.statistics.bytes.used > used);
    const others = Array.from({ length: 4 }, () => upload(device, [7, 7, 7]));
    recording.play(0);
    const found = await device.read([x, ...others]);
    assert.deepEqual([...found[0]], [1, 1, 2, 3]);
    for (const other of found.slice(1)) assert.deepEqual([...other], [7, 7, 7]);
    const held = device.statistics.bytes.used;
    recording.free();
    assert.ok(device.statistics.bytes.used < held);
  },
);

test("a recording is not dispatched until it is replayed", async (device) => {
  const x = upload(device, [1]);
  device.record(() => device.map(sum, [x, x], x)).free();
  assert.deepEqual([...(await device.read([x]))[0]], [1]);
});

test("recording throws if turns dispatch different kernels", (device) => {
  const [x, y] = [upload(device, [1, 2, 3]), allocateView(device, [3], "float32")];
  const turn = (index: number) => device.map({ name: "turn", build: (a) => add(a, index) }, [x], y);
  assert.throws(() => device.record(turn), /must queue the same kernels/);
});
