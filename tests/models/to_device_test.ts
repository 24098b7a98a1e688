import assert from "node:assert/strict";
import { init, key, Linear, normal, toDevice, treeLeaves } from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu, testOnCpu, testOnDevices } from "../devices.ts";
import { modelCases } from "./model_cases.ts";

for (const [name, make] of Object.entries(modelCases)) {
  testOnCpu(`${name} gives the same loss on another device after toDevice`, async () => {
    const { parameters, loss } = make();
    const run = () => loss(normal(key(2), [4, 6, 2]), key(3)).item();
    const expected = await run();
    const other = await init({ device: "cpu", threads: 1 });
    try {
      await toDevice(parameters, other);
      assert.ok(treeLeaves(parameters).every((x) => x.device === other));
      assert.equal(await run(), expected);
    } finally {
      setCurrentDevice(cpu);
      other.destroy();
    }
  });
}

testOnDevices("toDevice moves parameters from the CPU to a device and back", async (device) => {
  setCurrentDevice(cpu);
  const layer = Linear({ inputs: 3, outputs: 2, key: key(0) });
  const before = await Promise.all(treeLeaves(layer.parameters).map((x) => x.data()));
  await toDevice(layer.parameters, device);
  assert.ok(treeLeaves(layer.parameters).every((x) => x.device === device));
  await toDevice(layer.parameters, cpu);
  assert.deepEqual(await Promise.all(treeLeaves(layer.parameters).map((x) => x.data())), before);
});

Deno.test("toDevice names a device that is not one, and parameters without tensors", async () => {
  const layer = Linear({ inputs: 3, outputs: 2, key: key(0) });
  await assert.rejects(
    toDevice(layer.parameters, "cpu" as never),
    /^TypeError: toDevice: the device is "cpu"/,
  );
  await assert.rejects(
    toDevice(layer as never, cpu),
    /^TypeError: toDevice: no tensors .* model\.parameters/,
  );
});
