import assert from "node:assert/strict";
import { key, normal, odeint, ones } from "../../mod.ts";
import { openNullGpu } from "../../bench/plans/null_gpu.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { defaultLimits, type Machine, machines } from "../../bench/plans/machines.ts";
import { cpu } from "../devices.ts";

/** Keys of the shaders of a solve on a new device with the limits of a machine. */
function shadersOf(machine: Machine): string[] {
  const { device } = openNullGpu(machine);
  const keys: string[] = [];
  const { dispatch } = device;
  device.dispatch = (kernel) => {
    keys.push(kernel.key);
    dispatch.call(device, kernel);
  };
  setCurrentDevice(device);
  try {
    const weight = normal(key(0), [8, 8]);
    odeint((_t, y) => y.matmul(weight).tanh(), ones([4, 8]), [0, 1], { method: "rk4", stepSize: 0.5 });
  } finally {
    setCurrentDevice(cpu);
    device.destroy();
  }
  return keys.filter((key) => key.startsWith("loop"));
}

Deno.test("a later device of the process uses the shaders of an earlier one with the same limits", () => {
  const { h100 } = machines;
  const first = shadersOf(h100);
  assert.ok(first.length > 0);
  assert.deepEqual(shadersOf(h100), first);
  assert.notDeepEqual(shadersOf({ ...h100, limits: defaultLimits }), first);
});
