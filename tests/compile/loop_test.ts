/** Loops that are traced once and run again and again. */
import assert from "node:assert/strict";
import { type DType, key, normal, ones, type Tensor, tensor, zeros } from "../../mod.ts";
import { Loop } from "../../src/compile/loop.ts";
import { testOnDevices } from "../devices.ts";

type State = {
  readonly y: Tensor;
  readonly done: Tensor;
};

for (const dtype of ["float32", "float64"] as DType[]) {
  for (const batch of [1, 5, 19]) {
    testOnDevices(`samples stop one by one, ${dtype}, ${batch} samples`, async ({ info }) => {
      if (info.kind === "webgpu" && dtype === "float64") return;
      const limit = tensor(Float64Array.from({ length: batch }, (_, i) => 2 + i % 7), {
        shape: [batch, 1],
        dtype,
      });
      // Each sample counts up to its own limit, two elements at a time.
      const body = ({ y, done }: State) => {
        const goesOn = done.equal(0);
        const next = goesOn.where(y.add(1), y);
        const carry = { y: next, done: next.slice(1, 0, 1).greaterEqual(limit).cast(dtype) };
        return { carry, outputs: { y: next } };
      };
      const start = { y: zeros([batch, 2], { dtype }), done: zeros([batch, 1], { dtype }) };
      for (const compile of [true, false]) {
        const loop = new Loop(body, start, {}, { settled: ({ done }) => done, compile });
        const { carry: early, outputs: first } = loop.run(start, {}, 3);
        const { carry: late } = loop.run(early, {}, 40);
        const limits = await limit.data();
        (await late.y.data()).forEach((value, i) => assert.equal(value, limits[i >> 1]));
        assert.deepEqual(first.y.shape, [3, batch, 2]);
        (await first.y.data()).forEach((value, i) => {
          const [step, sample] = [Math.floor(i / (2 * batch)), (i >> 1) % batch];
          if (step < limits[sample]) assert.equal(value, step + 1);
        });
      }
    });
  }
}

Deno.test("a body that cannot be compiled is repeated step by step", async () => {
  const body = ({ y, done }: State) => ({ carry: { y: y.cumsum(1), done }, outputs: y.sum(1) });
  const start = { y: ones([3, 4]), done: zeros([3, 1]) };
  const { carry: last, outputs: sums } = new Loop(body, start, {}).run(start, {}, 2);
  assert.deepEqual([...await last.y.data()].slice(0, 4), [1, 3, 6, 10]);
  assert.deepEqual(await sums.data(), Float32Array.of(4, 4, 4, 10, 10, 10));
});

Deno.test("what a repeated body closes over counts", async () => {
  const weights = normal(key(0), [4, 4]).mul(0.3);
  const start = { y: normal(key(1), [6, 4]), done: zeros([6, 1]) };
  const body = ({ y, done }: State) => ({ carry: { y: y.matmul(weights).tanh(), done }, outputs: y });
  const [compiled, plain] = await Promise.all(
    [true, false].map((compile) => new Loop(body, start, {}, { compile }).run(start, {}, 5).carry.y.data()),
  );
  compiled.forEach((value, i) => assert.ok(Math.abs(value - plain[i]) < 1e-6));
});
