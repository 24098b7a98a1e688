/** Reads of GPUs whose kernels lose NaN throw. Faults are planted by edits of shaders. */
import assert from "node:assert/strict";
import { tensor } from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu, testOnWebGpu } from "../devices.ts";
import { openEdited } from "./edited_gpu.ts";

type Edit = (code: string) => string;

/** Opens a GPU with edited shaders, adds 1 to NaN, and reads the sum. */
async function addToNaN(edit: Edit): Promise<unknown> {
  // Each adapter is checked once, so every edit needs an adapter of another name.
  const device = await openEdited({ edit, description: `a GPU with edit ${edit}` });
  try {
    setCurrentDevice(device);
    return await tensor([NaN, 1]).add(1).data();
  } finally {
    setCurrentDevice(cpu);
    device.destroy();
  }
}

/** Edits the shader of the check. It must change. */
const inProbe = (edit: Edit): Edit => (code) => {
  if (!code.includes("output[0] = x;")) return code;
  const edited = edit(code);
  assert.notEqual(edited, code);
  return edited;
};

const bitTest = /\(bitcast<u32>\(([^()]+)\) & 0x7fffffffu\) > 0x7f800000u/g;

const faults: Readonly<Record<string, Edit>> = {
  load: (code) => code.replace("let x = input[0];", "let x = max(input[0], 0.0);"),
  fill: (code) => code.replaceAll("bitcast<f32>(0x7fc00000u | params.zero)", "0.0"),
  select: (code) => code.replace(/select\(\w+, x, \w+\)/, "y").replace(/select\(y, x, \w+\)/, "y"),
  maximum: (code) => code.replace(/select\(select\(max\(x, y\).*;/, "max(x, y);"),
  isNaN: (code) => code.replaceAll(bitTest, "(false)"),
  comparison: (code) => code.replace(/\(x == x\).*;/, "x == x || true;"),
};

for (const [operation, edit] of Object.entries(faults)) {
  testOnWebGpu(`reading from a GPU that loses NaN in the operation "${operation}" throws`, async () => {
    await assert.rejects(
      addToNaN(inProbe(edit)),
      (error: Error) =>
        /loses NaN, which is a missing observation, in: /.test(error.message) &&
        error.message.includes(operation) && error.message.includes('init({ device: "cpu" })'),
    );
  });
}

testOnWebGpu("a GPU whose comparisons assume that no value is NaN gives correct results", async () => {
  // Without NaN, these expressions are equal.
  const edit: Edit = (code) =>
    code.replaceAll(/\((\w+) < (\w+)\)/g, "(!($1 >= $2))").replaceAll("(x == x)", "(true)");
  const values = await addToNaN(inProbe(edit));
  assert.deepEqual(values, new Float32Array([NaN, 2]));
});

testOnWebGpu("every read of a GPU that loses NaN throws, and reads of other GPUs do not", async () => {
  const device = await openEdited({ edit: inProbe(faults.load), description: "a GPU that is read twice" });
  setCurrentDevice(device);
  const [first, second] = [tensor([1]).add(1).data(), tensor([2]).add(1).data()];
  await assert.rejects(first, /loses NaN/);
  await assert.rejects(second, /loses NaN/);
  await assert.rejects(device.synchronize(), /loses NaN/);
  device.destroy();
  assert.deepEqual(await addToNaN((code) => code), new Float32Array([NaN, 2]));
});
