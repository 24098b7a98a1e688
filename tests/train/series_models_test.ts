import assert from "node:assert/strict";
import { CubicSpline, key, naturalCubicCoeffs, normal, tensor } from "../../mod.ts";
import { seriesModel, seriesModels } from "../../src/train/experiments/series_models.ts";

const sizes = { inputChannels: 3, outputChannels: 2, hidden: 8, width: 4, depth: 1, key: key(1) };
const lengths = tensor([4, 6], { dtype: "int32" });

for (const name of Object.keys(seriesModels)) {
  Deno.test(`the model ${name} reads each series at its own end`, async () => {
    const model = seriesModel(name, { ...sizes, method: "midpoint" });
    const x = normal(key(0), [2, 6, 3]);
    const logits = model(new CubicSpline(naturalCubicCoeffs(x)), { lengths });
    assert.deepEqual(logits.shape, [2, 2]);
    const short = model(new CubicSpline(naturalCubicCoeffs(x)), {
      lengths: tensor([6, 6], { dtype: "int32" }),
    });
    const [a, b] = [await logits.data(), await short.data()];
    assert.ok(a.every(Number.isFinite));
    assert.notEqual(a[0], b[0], "the first series ends earlier");
    assert.deepEqual(a.slice(2), b.slice(2), "the second one does not");
  });
}

Deno.test("a model that is not there is refused with those that are", () => {
  assert.throws(() => seriesModel("gru-d", sizes), /unknown model "gru-d"; there are neural-cde, hebb-ode/);
});
