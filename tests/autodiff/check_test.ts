import assert from "node:assert/strict";
import { checkGradients, stopGradient, type Tensor, tensor } from "../../mod.ts";

const x = tensor([0.5, 0], { dtype: "float64" });

const wrong: Record<string, (x: Tensor) => Tensor> = {
  "that lacks a term": (x) => x.mul(stopGradient(x)),
  "of NaN": (x) => x.square().sqrt(),
};
for (const [name, f] of Object.entries(wrong)) {
  Deno.test(`checkGradients rejects a gradient ${name}, and restores the arguments`, async () => {
    await assert.rejects(checkGradients(f, [x]), /argument 0, element \d: gradient .*, central difference/);
    assert.deepEqual(await x.toArray(), [0.5, 0]);
  });
}
