/**
 * Every model of irregular series: its output depends on static features as well as on the first observation.
 */
import assert from "node:assert/strict";
import {
  addTime,
  CubicSpline,
  DirectNeuralODE,
  GRUODE,
  IrregularGRU,
  key,
  LatentODE,
  LatentODERFWP,
  LatentODERNN,
  LinearInterpolation,
  LogNCDE,
  logsigWindows,
  naturalCubicCoeffs,
  NeuralCDE,
  NeuralRDE,
  normal,
  ODERFWP,
  Recurrent,
  type Tensor,
  tensor,
} from "../../mod.ts";

const staticFeatures = { channels: 3, width: 4 };
const layers = { width: 4, depth: 1 };
const cell = { inputChannels: 3, hiddenChannels: 4, outputChannels: 2 };
const sizes = { ...cell, ...layers };
const fastWeights = { inputChannels: 3, modelDim: 4, heads: 2, ...layers };
const made = { staticFeatures, key: key(0) };
const gaps = tensor([0, 0.1, 0.7, 0.2, 1]);
const spline = (x: Tensor) => CubicSpline(naturalCubicCoeffs(x));

/** Maps a series `(2, 5, 3)` and features `(2, 3)` to an output, by model name. */
const models: Record<string, (x: Tensor, staticFeatures?: Tensor) => Tensor> = {
  NeuralCDE: (x, staticFeatures) => NeuralCDE({ ...sizes, ...made })(spline(x), { staticFeatures }),
  NeuralRDE: (x, staticFeatures) => {
    const X = LinearInterpolation(logsigWindows(x, 2, 2));
    return NeuralRDE({ ...sizes, ...made, signatureDepth: 2 })(X, { staticFeatures });
  },
  DirectNeuralODE: (x, staticFeatures) =>
    DirectNeuralODE({ ...sizes, ...made })(spline(x), { staticFeatures }),
  LogNCDE: (x, staticFeatures) => {
    const X = LinearInterpolation(logsigWindows(x, 2, 2));
    return LogNCDE({ ...sizes, ...made, signatureDepth: 2 })(X, { staticFeatures });
  },
  GRUODE: (x, staticFeatures) => GRUODE({ ...cell, ...made })(spline(x), { staticFeatures }),
  IrregularGRU: (x, staticFeatures) => IrregularGRU({ ...cell, ...made })(x, { gaps, staticFeatures }),
  "Recurrent gru": (x, staticFeatures) => Recurrent({ ...cell, cell: "gru", ...made })(x, { staticFeatures }),
  "Recurrent lstm": (x, staticFeatures) =>
    Recurrent({ ...cell, cell: "lstm", ...made })(x, { staticFeatures }),
  LatentODE: (x, staticFeatures) => {
    const X = spline(addTime(x));
    const model = LatentODE({
      ...{ ...layers, ...made, inputChannels: 4, outputChannels: 2, latentChannels: 2, stepSize: 1 },
    });
    return model(X, X.times, { staticFeatures });
  },
  LatentODERNN: (x, staticFeatures) =>
    LatentODERNN({ ...layers, ...made, inputChannels: 3, hiddenChannels: 4 })(x, { gaps, staticFeatures }),
  LatentODERFWP: (x, staticFeatures) =>
    LatentODERFWP({ ...fastWeights, ...made })(x, { gaps, staticFeatures }),
  ODERFWP: (x, staticFeatures) =>
    ODERFWP({ ...fastWeights, ...made, outputChannels: 2 })(x, { gaps, staticFeatures }),
};

const x = normal(key(1), [2, 5, 3]);
const features = normal(key(2), [2, 3]);
for (const [name, output] of Object.entries(models)) {
  Deno.test(`the output of a ${name} depends on static features and on the series`, async () => {
    const expected = output(x, features);
    const changed = [output(x, features.add(1)), output(x.add(1), features)];
    for (const other of changed) assert.ok(await expected.sub(other).abs().max().item() > 1e-6);
    assert.throws(() => output(x), /staticFeatures is missing; expected shape \(\.\.\., 3\)/);
    assert.throws(
      () => output(x, features.slice(1, 1)),
      /staticFeatures of shape \(2, 2\), expected \(2, 3\)/,
    );
  });
}

Deno.test("a model without static features rejects them", () => {
  const model = IrregularGRU({ ...cell, key: key(0) });
  assert.throws(
    () => model(x, { gaps, staticFeatures: features }),
    /the call has staticFeatures, but the model was created without them/,
  );
});
