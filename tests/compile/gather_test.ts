/** Positions that a body computes from its state. */
import assert from "node:assert/strict";
import { type DType, explain, key, normal, scan, type Tensor, tensor, zeros } from "../../mod.ts";
import { testOnDevices } from "../devices.ts";

async function assertSame(found: Tensor, expected: Tensor, tolerance: number): Promise<void> {
  const values = await expected.data();
  (await found.data()).forEach((value, i) => {
    const isSame = Number.isNaN(values[i]) ? Number.isNaN(value) : Math.abs(value - values[i]) <= tolerance;
    assert.ok(isSame, `element ${i}: ${value}, expected ${values[i]}`);
  });
}

for (const dtype of ["float32", "float64"] as DType[]) {
  for (const batch of [1, 3, 8, 13]) {
    testOnDevices(
      `a loop gathers table rows at positions computed from its state, ${dtype}, ${batch} samples`,
      async ({ info }) => {
        if (info.kind === "webgpu" && dtype === "float64") return;
        const table = normal(key(1), [7, 3], { dtype });
        const first = normal(key(2), [batch, 3], { dtype });
        const offsets = tensor(Int32Array.from({ length: batch }, (_, i) => i % 2), {
          shape: [batch, 1],
          dtype: "int32",
        });
        const body = (y: Tensor, _: Tensor): [Tensor, Tensor] => {
          // Two rows for each sample, one of them now and then outside.
          const at = y.slice(1, 0, 2).mul(3).add(2).floor().cast("int32").add(offsets);
          const rows = table.take(at);
          const known = rows.isNaN().where(0.25, rows);
          return [known.sum(1).mul(0.5).add(y.mul(0.3)), rows];
        };
        const text = explain(() => scan(body, first, zeros([6]))).text;
        assert.match(text, /shared\d+\(7, 3\)\[slot/);
        const plain = scan(body, first, zeros([6]), { compile: false });
        for (const executor of ["fused", "stepped"] as const) {
          const compiled = scan(body, first, zeros([6]), { executor });
          for (const i of [0, 1]) await assertSame(compiled[i], plain[i], dtype === "float32" ? 1e-5 : 1e-12);
        }
        assert.ok([...await plain[1].data()].some(Number.isNaN) || batch === 1);
      },
    );

    testOnDevices(`a loop sums integers exactly, ${dtype}, ${batch} samples`, async ({ info }) => {
      if (info.kind === "webgpu" && dtype === "float64") return;
      const first = normal(key(3), [batch, 5], { dtype });
      const body = (y: Tensor, _: Tensor): [Tensor, Tensor] => {
        const count = y.greater(0).cast("int32").sum(1, { keepDims: true });
        const range = y.mul(10).cast("int32");
        const spread = range.max(1, { keepDims: true }).sub(range.min(1, { keepDims: true }));
        return [y.mul(-0.5), count.mul(100).add(spread).cast(dtype)];
      };
      assert.match(explain(() => scan(body, first, zeros([4]))).text, /sum over/);
      const [compiled, plain] = [true, false].map((compile) => scan(body, first, zeros([4]), { compile })[1]);
      assert.deepEqual(await compiled.data(), await plain.data());
    });
  }
}
