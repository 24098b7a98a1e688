/** Loops that are traced once and run again and again. */
import assert from "node:assert/strict";
import { type DType, key, normal, ones, type Tensor, tensor, zeros } from "../../mod.ts";
import { repeat } from "../../src/compile/repeat.ts";
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
      const body = ({ y, done }: State): [State, { y: Tensor }] => {
        const goesOn = done.equal(0);
        const next = goesOn.where(y.add(1), y);
        return [{ y: next, done: next.slice(1, 0, 1).greaterEqual(limit).cast(dtype) }, { y: next }];
      };
      const start = { y: zeros([batch, 2], { dtype }), done: zeros([batch, 1], { dtype }) };
      for (const compile of [true, false]) {
        const run = repeat(body, start, ({ done }) => done, compile);
        const [early, first] = run(start, 3);
        const [late] = run(early, 40);
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
  const body = ({ y, done }: State): [State, Tensor] => [{ y: y.cumsum(1), done }, y.sum(1)];
  const start = { y: ones([3, 4]), done: zeros([3, 1]) };
  const [last, sums] = repeat(body, start, ({ done }) => done)(start, 2);
  assert.deepEqual([...await last.y.data()].slice(0, 4), [1, 3, 6, 10]);
  assert.deepEqual(await sums.data(), Float32Array.of(4, 4, 4, 10, 10, 10));
});

Deno.test("what a repeated body closes over counts", async () => {
  const weights = normal(key(0), [4, 4]).mul(0.3);
  const start = { y: normal(key(1), [6, 4]), done: zeros([6, 1]) };
  const body = ({ y, done }: State): [State, Tensor] => [{ y: y.matmul(weights).tanh(), done }, y];
  const [compiled, plain] = await Promise.all(
    [true, false].map((compile) => repeat(body, start, ({ done }) => done, compile)(start, 5)[0].y.data()),
  );
  compiled.forEach((value, i) => assert.ok(Math.abs(value - plain[i]) < 1e-6));
});
