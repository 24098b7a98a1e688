/** Reductions by subgroups, on adapters that have them. */
import assert from "node:assert/strict";
import { key, normal, type Tensor, tensor } from "../../mod.ts";
import { openGpu } from "../../src/compile/executors/wgsl/open_gpu.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { findAdapter } from "../../src/device/webgpu/adapter.ts";
import { cpu } from "../devices.ts";
import { editedAdapter, hasEqualBits } from "./edited_gpu.ts";
import { shared } from "./webgpu_tests.ts";

const adapter = shared && await findAdapter(shared.implementation);
const hasSubgroups = adapter?.gpu.features.has("subgroups" as GPUFeatureName) ?? false;

/** Sums, extremes and their places along each axis, of lengths beside the sizes of subgroups and workgroups. */
async function reductions() {
  const results: Tensor[] = [];
  for (const length of [5, 64, 65, 5000]) {
    const values = Float32Array.from(await normal(key(length), [3 * length]).data(), (x) => x);
    values[length + 1] = NaN;
    const x = tensor(values, { shape: [3, length] });
    results.push(
      x.sum(),
      x.sum(1),
      x.max(1),
      x.min(0),
      x.argmax(1),
      x.argmin(1),
      x.softmax(1),
      x.transpose(0, 1).sum(0),
    );
  }
  return await Promise.all(results.map((x) => x.data()));
}

/** Reductions on a separate GPU device, and the number of the shaders with subgroups. */
async function reduceOn({ subgroups = true, edit = (code: string) => code }) {
  let shaders = 0;
  const count = (code: string) => {
    const edited = edit(code);
    if (edited.includes("subgroupShuffleDown")) shaders++;
    return edited;
  };
  const device = await openGpu({ adapter: await editedAdapter({ edit: count }), subgroups });
  try {
    setCurrentDevice(device);
    return { results: await reductions(), shaders };
  } finally {
    setCurrentDevice(cpu);
    device.destroy();
  }
}

const options = { ignore: !hasSubgroups, sanitizeOps: false, sanitizeResources: false };

Deno.test("a GPU reduces with subgroups to the same bits as with shared memory", options, async () => {
  const [shuffled, stored] = [await reduceOn({}), await reduceOn({ subgroups: false })];
  assert.ok(shuffled.shaders > 0);
  assert.equal(stored.shaders, 0);
  shuffled.results.forEach((values, i) => assert.ok(hasEqualBits(values, stored.results[i]), `result ${i}`));
});

Deno.test(
  "a GPU that numbers a subgroup's invocations in another order uses shared memory",
  options,
  async () => {
    const edit = (code: string) => code.replace("] = place;", "] = size - 1u - place;");
    assert.equal((await reduceOn({ edit })).shaders, 0);
  },
);
