/**
 * Models called with wrong arguments: the message names the model, the value found and the expected value.
 */
import assert from "node:assert/strict";
import {
  CubicSpline,
  DeltaNet,
  FastWeightCDE,
  FastWeightODE,
  GRU,
  IrregularGRU,
  key,
  LatentODERNN,
  type LearningRule,
  Linear,
  naturalCubicCoeffs,
  NeuralCDE,
  normal,
  ODERFWP,
  Recurrent,
  S4D,
} from "../../mod.ts";

const x = normal(key(0), [2, 6, 3]);
const X = CubicSpline(naturalCubicCoeffs(x));
const cell = { inputChannels: 3, hiddenChannels: 4, outputChannels: 2, key: key(1) };
const cde = { ...cell, width: 4, depth: 1 };
const fast = { inputChannels: 3, modelDim: 8, heads: 2, feedForward: 8, outputChannels: 2, key: key(1) };

const alongPaths: Record<string, (X: never) => unknown> = {
  NeuralCDE: NeuralCDE(cde),
  FastWeightODE: FastWeightODE(fast),
  FastWeightCDE: FastWeightCDE(fast),
};

for (const [name, model] of Object.entries(alongPaths)) {
  Deno.test(`${name} called with observations throws an error that says how to make a path`, () => {
    const message = new RegExp(
      `${name}: expected a path, got a tensor of shape \\(2, 6, 3\\); .*CubicSpline`,
    );
    assert.throws(() => model(x as never), message);
    assert.throws(() => model(undefined as never), new RegExp(`${name}: expected a path, got undefined`));
  });
}

const ofTensors: Record<string, (x: never) => unknown> = {
  Linear: Linear({ inputs: 3, outputs: 2, key: key(1) }),
  GRU: GRU({ inputs: 3, hidden: 2, key: key(1) }),
  DeltaNet: DeltaNet(fast),
  Recurrent: Recurrent({ inputChannels: 3, hiddenChannels: 4, outputChannels: 2, cell: "gru", key: key(1) }),
};

for (const [name, model] of Object.entries(ofTensors)) {
  Deno.test(`${name} called with an array throws an error that says to pass a tensor`, () => {
    assert.throws(() => model(X as never), new RegExp(`${name}: x must be a tensor, got object`));
    assert.throws(() => model([1, 2, 3] as never), new RegExp(`${name}: x must be a tensor, got an array`));
  });
}

Deno.test("missing gaps are reported by name", () => {
  const model = IrregularGRU(cell) as unknown as (x: unknown) => unknown;
  assert.throws(() => model(x), /IrregularGRU: gaps must be a tensor, got undefined/);
});

Deno.test("models reject a series without rows", () => {
  const model = S4D({ inputChannels: 3, modelDim: 4, outputChannels: 2, key: key(1) });
  assert.throws(() => model(x.slice(1, 0, 0)), /S4D: .* a length of at least 1/);
});

Deno.test("a model rejects the name of a learning rule in place of the rule", () => {
  const rule = "delta" as unknown as LearningRule;
  assert.throws(
    () => FastWeightODE({ ...fast, rule }),
    /FastWeightODE: rule is "delta", expected a function/,
  );
});

Deno.test("models reject unknown option values", () => {
  const word = "last" as never;
  const assertRejected = (model: () => unknown, message: RegExp) => assert.throws(model, message);
  assertRejected(
    () => NeuralCDE(cde)(X, { states: word }),
    /NeuralCDE: states is "last", expected "final" or "all"/,
  );
  assertRejected(() => NeuralCDE({ ...cde, form: word }), /NeuralCDE: form is "last"/);
  assertRejected(
    () => FastWeightCDE({ ...fast, keys: word }),
    /keys is .*"value", "derivative" or "derivative only"/,
  );
  assertRejected(
    () =>
      LatentODERNN({ inputChannels: 3, hiddenChannels: 4, width: 4, depth: 1, key: key(1), update: word }),
    /LatentODERNN: update is "last"/,
  );
  assertRejected(
    () => ODERFWP({ ...fast, width: 4, depth: 1, rule: word }),
    /ODERFWP: rule is "last", expected a function/,
  );
});
