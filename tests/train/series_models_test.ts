import assert from "node:assert/strict";
import { key, normal, tensor } from "../../mod.ts";
import { seriesControl, seriesModel, seriesModels } from "../../src/train/experiments/series_models.ts";

const sizes = { inputChannels: 3, outputChannels: 2, hidden: 8, width: 4, depth: 1, key: key(1) };
for (const name of Object.keys(seriesModels)) {
  Deno.test(`the model ${name} reads each series at its own end`, async () => {
    const isWindowed = name.endsWith("-rde");
    const control = seriesControl(name, isWindowed ? { window: 2 } : {});
    const model = seriesModel(name, { ...sizes, method: "midpoint" });
    const x = normal(key(0), [2, 7, 3]);
    const X = control.path(control.coeffs(x));
    const read = async (lengths: number[]) => {
      const ends = tensor(lengths.map(control.gridPoints), { dtype: "int32" });
      const logits = model(X, { lengths: ends });
      assert.deepEqual(logits.shape, [2, 2]);
      return await logits.data();
    };
    const [a, b] = [await read([4, 7]), await read([7, 7])];
    assert.ok(a.every(Number.isFinite));
    assert.notEqual(a[0], b[0], "the first series ends earlier");
    assert.deepEqual(a.slice(2), b.slice(2), "the second one does not");
  });
}

Deno.test("a window is crossed for each so many observations, the last one perhaps shorter", () => {
  const { gridPoints } = seriesControl("delta-rde", { window: 3 });
  assert.deepEqual([1, 2, 4, 5, 7, 8].map(gridPoints), [2, 2, 2, 3, 3, 4]);
});

Deno.test("windows are refused for a model that reads none", () => {
  assert.throws(
    () => seriesControl("delta-cde", { window: 3 }),
    /model "delta-cde" reads no windows: .* are for neural-rde, hebb-rde, oja-rde, delta-rde/,
  );
});

Deno.test("a model that is not there is refused with those that are", () => {
  assert.throws(() => seriesModel("gru-d", sizes), /unknown model "gru-d"; there are neural-cde, gru-ode/);
});
