/** Kernels give the same results, bit for bit, if invocations and workgroups take their work in another order. */
import assert from "node:assert/strict";
import { key, type Tensor, uniform } from "../../mod.ts";
import { Gpu } from "../../src/device/webgpu/gpu.ts";
import { tileSize, tilings } from "../../src/device/webgpu/kernels/matmul_plan.ts";
import { longOnSoftware, testOnWebGpu } from "../devices.ts";
import { editedAdapter, hasEqualBits, ordersThatDiffer, withDevices } from "./edited_gpu.ts";
import { families } from "./kernel_families.ts";
import { matrix, product } from "./product_on_gpu.ts";
import { randomNumbers } from "./random_views.ts";
import { inOrder, orders, reorder } from "./reorder.ts";

type Family = (x: Tensor, y: Tensor) => Tensor;

const compute = (f: Family) => f(uniform(key(1), [77, 23]), uniform(key(2), [23, 77]));

testOnWebGpu("every kernel gives the same bits in every order of work", longOnSoftware, async () => {
  const compiled = new Set<string>();
  const edit = (code: string) => {
    compiled.add(code);
    return code;
  };
  await withDevices({ edit }, async (devices) => {
    for (const [family, f] of Object.entries(families)) {
      assert.deepEqual(await ordersThatDiffer(devices, () => compute(f)), [], family);
    }
  });
  const folder = new URL("../../kernels/", import.meta.url);
  for (const { name } of Deno.readDirSync(folder)) {
    if (name === "loop.wgsl") continue;
    const [title] = Deno.readTextFileSync(new URL(name, folder)).split("\n");
    assert.ok([...compiled].some((code) => code.includes(title)), `no family uses kernels/${name}`);
  }
});

for (const tiling of tilings) {
  const { rows, columns } = tileSize(tiling);
  testOnWebGpu(
    `tiles of ${rows} x ${columns} give the same bits in every order of work`,
    longOnSoftware,
    async () => {
      const random = randomNumbers(23);
      const [a, b] = [matrix(random, rows + 3, 45, "rows"), matrix(random, 45, columns + 5, "columns")];
      const products = await Promise.all([undefined, ...orders].map(async (order) => {
        const gpu = await Gpu.open(await editedAdapter({ edit: (code) => inOrder(code, order) }));
        try {
          return await product(gpu, a, b, { tiling, segments: 3, terms: 4 });
        } finally {
          gpu.destroy();
        }
      }));
      for (const found of products) assert.ok(hasEqualBits(found, products[0]));
    },
  );
}

/** Removes the barrier with a number from the kernels that contain a text. */
const withoutBarrier = (kernel: string, number: number) => (code: string) => {
  if (!code.includes(kernel)) return code;
  let count = 0;
  const edited = code.replaceAll("workgroupBarrier();", (text) => count++ === number ? "" : text);
  assert.ok(count > number, `${kernel} has ${count} barriers`);
  return edited;
};

const planted: readonly [
  name: string,
  kernel: string,
  barrier: number,
  f: (x: Tensor, y: Tensor) => Tensor,
][] = [
  ["of a reduction", "fn combine", 1, families["sum of all"]],
  ["of a matrix product", "a_tile", 0, families["matmul"]],
  ["of a linear recurrence", "fn carried", 2, families["cumulative sum over rows"]],
];
for (const [name, kernel, barrier, f] of planted) {
  testOnWebGpu(`another order of work reveals a missing barrier ${name}`, async () => {
    const differing = (edit?: (code: string) => string) =>
      withDevices({ edit }, (devices) => ordersThatDiffer(devices, () => compute(f)));
    assert.deepEqual(await differing(), []);
    assert.deepEqual(await differing(withoutBarrier(kernel, barrier)), orders);
  });
}

Deno.test("reorder rejects shaders that it cannot rewrite", () => {
  const [order] = orders;
  assert.throws(() => reorder("fn main() {}", order), /no entry point/);
  const subgroups = "@compute @workgroup_size(64) fn main(@builtin(subgroup_size) size: u32) {}";
  assert.throws(() => reorder(subgroups, order), /no rule for the builtin subgroup_size/);
});
