/** Products in loops on GPUs: rows that begin anywhere in a block, columns, reversed vectors and weights with any number of terms. */
import assert from "node:assert/strict";
import { key, normal, scan, splitKey, type Tensor, valueAndGrad } from "../../mod.ts";
import type { Run } from "../../src/compile/executors/run.ts";
import type { WorkgroupShape } from "../../src/compile/executors/wgsl/choose_workgroup.ts";
import type { GpuLayout } from "../../src/compile/executors/wgsl/gpu_layout.ts";
import { packWeights } from "../../src/compile/executors/wgsl/packed_weights.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { longOnSoftware, testOnBoth } from "../devices.ts";
import { asHardware, checkLoops } from "./check_loops.ts";

/** A loop whose products have `size` terms, or fewer. */
function products(batch: number, size: number): () => void {
  const keys = splitKey(key(4), 6);
  const weights = (i: number, shape: readonly number[]) => normal(keys[i], shape, { standardDeviation: 0.2 });
  const parameters = {
    first: normal(keys[0], [batch, size]),
    part: weights(1, [size - 2, 5]),
    up: weights(2, [5, size]),
    reversed: weights(3, [size, size]),
    left: weights(4, [3, size]),
  };
  const { first, part, up, reversed, left } = parameters;
  const rows = normal(keys[5], [2, batch, 6, size]);
  const step = (h: Tensor, matrix: Tensor): [Tensor, Tensor] => {
    const read = matrix.matmul(h.expandDims(2));
    const back = matrix.mT.matmul(read).squeeze(2);
    const narrow = h.slice(1, 1, size - 1).matmul(part);
    const next = back.add(narrow.matmul(up)).add(h.flip(1).matmul(reversed)).tanh();
    return [next, left.matmul(next.expandDims(2)).squeeze(2)];
  };
  return () =>
    void valueAndGrad(() => {
      const [last, outputs] = scan(step, first, rows);
      return last.square().sum().add(outputs.square().mean());
    })(parameters);
}

const cases: readonly (readonly [size: number, batch: number, shape: WorkgroupShape])[] = [
  [21, 2, { samples: 1, lanes: 16 }],
  [21, 5, { samples: 4, lanes: 8 }],
  [8, 3, { samples: 2, lanes: 8 }],
];

for (const [size, batch, shape] of cases) {
  const name = `products of ${size} terms run with ${shape.samples} samples a workgroup`;
  testOnBoth(name, batch > 2 ? longOnSoftware : {}, async (cpu, webgpu) => {
    const blocks = new Set<number>();
    const look = (_: Run, { block }: GpuLayout) => void blocks.add(block);
    const device = webgpu as WebGpuDevice;
    await checkLoops(cpu as CpuDevice, device, products(batch, size), asHardware(device), look, () => shape);
    assert.ok(blocks.has(size), `blocks of ${[...blocks]} words`);
  });
}

Deno.test("weights are packed once for equal products, and not if a sum has fewer than four terms", () => {
  const [weights, narrow, x, rows] = [[8, 5], [3, 8], [2, 8], [2, 2, 3]].map((shape, i) =>
    normal(key(i), shape)
  );
  const cell = (h: Tensor, row: Tensor): [Tensor, Tensor] => {
    const [first, second] = [h.matmul(weights), h.tanh().matmul(weights)];
    return [row.add(first.slice(1, 0, 3)).matmul(narrow), second];
  };
  let found = 0;
  observeLoops((_, { program }) => {
    found++;
    const { matrices, program: { kernels } } = packWeights(program);
    assert.deepEqual(matrices.map(({ view: { shape, strides } }) => [shape, strides]), [[[5, 8], [1, 5]]]);
    const packed = kernels.flatMap((kernel) =>
      kernel.kind === "contract" && "packed" in kernel.operands[1] ? [1] : []
    );
    assert.equal(packed.length, 2);
  }, () => void scan(cell, x, rows));
  assert.equal(found, 1);
});
