import assert from "node:assert/strict";
import { CubicSpline, LinearInterpolation, naturalCubicCoeffs, tensor } from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { displayOf } from "../display.ts";

const x = tensor([[[0, 1], [1, 2], [4, 0]], [[0, 1], [1, 2], [4, 0]]]);

/** Number of lines of a chart. */
const countOf = (svg: string) => [...svg.matchAll(/<path class="line" d="M[^"]*L/g)].length;

testOnDevices("a notebook shows the channels of a path as lines", async (device) => {
  const on = await x.select(0, 0).to(device);
  for (const X of [CubicSpline(naturalCubicCoeffs(on)), LinearInterpolation(on, [0, 1, 5])]) {
    const bundle = await displayOf(X);
    assert.deepEqual(Object.keys(bundle), ["text/plain", "image/svg+xml"]);
    assert.equal(bundle["text/plain"], "Path with 2 channels");
    assert.equal(countOf(bundle["image/svg+xml"]), 2);
    assert.match(bundle["image/svg+xml"], />channel 0<.*>channel 1</s);
  }
});

Deno.test("a notebook shows the first series of a path with times of each series", async () => {
  const bundle = await displayOf(LinearInterpolation(x, tensor([[0, 1, 2], [10, 20, 30]])));
  assert.equal(bundle["text/plain"], "Path with 2 channels: series 1 of 2");
  assert.match(bundle["image/svg+xml"], />1.5</);
  assert.doesNotMatch(bundle["image/svg+xml"], />[123]0</);
});
