/** Matrix products on WebGPU, for each division among workgroups. */
import assert from "node:assert/strict";
import { key, uniform } from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { sizeOf } from "../../src/device/shape.ts";
import { findAdapter } from "../../src/device/webgpu/adapter.ts";
import { Gpu, type GpuLimits } from "../../src/device/webgpu/gpu.ts";
import {
  type Plan,
  planProduct,
  planWith,
  tileCount,
  tileSize,
  tilings,
} from "../../src/device/webgpu/kernels/matmul_plan.ts";
import { repeatLines } from "../../src/device/webgpu/kernels/repeat_lines.ts";
import { cpu, longOnSoftware, testOnBoth } from "../devices.ts";
import { assertProduct } from "./assert_product.ts";
import { matrix, product } from "./product_on_gpu.ts";
import { below, pick, randomNumbers, randomView } from "./random_views.ts";
import { shared, viewOf } from "./webgpu_tests.ts";

/** A GPU adds up to 8,192 terms in sequence, so errors of equal terms add up. */
const tolerance = 1e-5;

const openGpu = async (limits?: GpuLimits) =>
  await Gpu.open((await findAdapter(shared!.implementation))!, limits);

function planText({ tiling, segments, terms }: Plan): string {
  const { rows, columns } = tileSize(tiling);
  return `, tiles of ${rows} x ${columns}, segments: ${segments}, terms at once: ${terms}`;
}

function testOnGpu(
  name: string,
  options: { ignoreOnSoftware?: boolean },
  body: (gpu: Gpu) => Promise<void>,
  limits?: GpuLimits,
): void {
  testOnBoth(name, options, async () => {
    const gpu = await openGpu(limits);
    try {
      await body(gpu);
    } finally {
      gpu.destroy();
    }
  });
}

testOnGpu(
  "products of random shapes, as planned for hardware and for software",
  longOnSoftware,
  async (gpu) => {
    const random = randomNumbers(21);
    const lengths = [1, 2, 3, 5, 8, 13, 31, 32, 33, 64, 65, 100, 130, 200];
    for (let trial = 0; trial < 100; trial++) {
      const batch = Array.from({ length: below(random, 3) }, () => 1 + below(random, 3));
      const [m, n, k] = [pick(random, lengths), pick(random, lengths), pick(random, [...lengths, 300, 700])];
      const a = randomView(random, [...batch, m, k], "float32", false);
      const b = randomView(random, [...batch, k, n], "float32", false);
      const shape = { batch: sizeOf(batch), m, n, k };
      for (const isSoftware of [false, true]) {
        const plan = planProduct(shape, isSoftware);
        assertProduct(a, b, await product(gpu, a, b, plan), tolerance, planText(plan));
      }
    }
  },
);

for (const tiling of tilings) {
  const { rows, columns } = tileSize(tiling);
  testOnGpu(
    `tiles of ${rows} x ${columns}, for shapes that they do not divide, in several dispatches`,
    {},
    async (gpu) => {
      const random = randomNumbers(22);
      const [m, n] = [rows + 3, columns + 5];
      for (const [left, right] of [["rows", "columns"], ["columns", "rows"]]) {
        for (const [k, segments] of [[45, 1], [45, 3], [1, 1], [0, 1]]) {
          const [a, b] = [matrix(random, m, k, left), matrix(random, k, n, right)];
          const plan = { tiling, segments, terms: left === "rows" ? 4 : 1 };
          assertProduct(a, b, await product(gpu, a, b, plan), tolerance, planText(plan));
        }
      }
    },
    { maxWorkgroups: 3 },
  );
}

testOnGpu(
  "a product of 128 x 4,898 and 4,898 x 700 elements, with the plan of hardware for 4,898 columns",
  longOnSoftware,
  async (gpu) => {
    const [m, n, k] = [128, 700, 4898];
    const plan = planProduct({ batch: 1, m, n: k, k }, false);
    setCurrentDevice(cpu);
    const [a, b] = [uniform(key(1), [m, k]), uniform(key(2), [k, n])];
    const expected = await a.matmul(b).data();
    const found = await product(gpu, viewOf(a), viewOf(b), plan);
    const wrong = found.findIndex((value, i) => !(Math.abs(value / expected[i] - 1) <= tolerance));
    assert.equal(wrong, -1, `element ${wrong} is ${found[wrong]}, expected ${expected[wrong]}`);
  },
);

const outputsOf = ({ tiling }: Plan) => Object.values(tileSize(tiling));

Deno.test("a product of few rows or columns is planned with a tile of few rows or columns", () => {
  for (const isSoftware of [false, true]) {
    const [rows, columns] = [[4, 5000], [5000, 4]].map(([m, n]) =>
      planProduct({ batch: 1, m, n, k: 5000 }, isSoftware)
    );
    assert.deepEqual(outputsOf(rows), [8, 128]);
    assert.deepEqual(outputsOf(columns), [128, 8]);
  }
});

Deno.test("the sum of a product of 128 rows is split, so that 65,536 invocations are busy", () => {
  const shape = { batch: 1, m: 128, n: 4898, k: 4898 };
  const plan = planProduct(shape, false);
  assert.deepEqual(outputsOf(plan), [128, 128]);
  assert.ok(tileCount(plan.tiling, shape) * plan.segments * 256 >= 65_536, `segments: ${plan.segments}`);
  assert.equal(planProduct({ ...shape, m: 4898 }, false).segments, 1);
});

Deno.test("a segment has at most 8,192 terms", () => {
  const { segments } = planProduct({ batch: 1, m: 5000, n: 5000, k: 8193 }, false);
  assert.equal(segments, 2);
});

Deno.test("tilings are within the default limits of WebGPU", () => {
  for (const tiling of tilings) {
    const { groupRows, groupColumns, depth } = tiling;
    const { rows, columns } = tileSize(tiling);
    assert.ok(groupRows * groupColumns <= 256);
    for (const isSoftware of [false, true]) {
      const { terms } = planWith(tiling, { batch: 1, m: 1, n: 1, k: 1 }, isSoftware);
      assert.equal(depth % terms, 0);
      // The vectors of the terms of a round have a vector of padding, if their number is even.
      assert.ok(4 * (depth / terms) * (terms | 1) * (rows + columns) <= 16_384);
    }
  }
});

Deno.test("repeated lines follow each other in blocks", () => {
  const text = "start\n a{i}\n b{i}{j}\nmiddle\n c{j}\nend\n";
  assert.equal(
    repeatLines(text, { i: 2, j: 3 }),
    "start\n a0\n b00\n b01\n b02\n a1\n b10\n b11\n b12\nmiddle\n c0\n c1\n c2\nend\n",
  );
});
