import assert from "node:assert/strict";
import {
  type Adjoint,
  checkGradients,
  key,
  LinearInterpolation,
  logsigWindows,
  NeuralRDE,
  normal,
  type Tensor,
  tensor,
} from "../../mod.ts";
import { rdeint } from "../../src/solvers/rdeint.ts";
import { assertClose, makeWaves, wave } from "../golden.ts";
import { countLoops } from "../loops.ts";

const float64 = { dtype: "float64" } as const;
const sizes = { inputChannels: 2, hiddenChannels: 3, outputChannels: 2, width: 4, key: key(0), ...float64 };
const X = LinearInterpolation(logsigWindows(normal(key(1), [2, 7, 2], float64), 2, 2));
const largest = async (x: Tensor) => await x.abs().max().item();

for (const options of [{ depth: 0 }, { depth: 2 }, { depth: 1, finalActivation: "tanh" as const }]) {
  Deno.test(`the gradients of a neural RDE of ${JSON.stringify(options)} agree with central differences`, async () => {
    const model = NeuralRDE({ ...sizes, ...options, signatureDepth: 2 });
    await checkGradients((_) => model(X, { states: "all" }), [model.parameters], { elements: 4 });
  });
}

Deno.test("a neural RDE agrees with PyTorch", async () => {
  const sizes = { inputChannels: 3, hiddenChannels: 4, outputChannels: 2, width: 5, key: key(0), ...float64 };
  const model = makeWaves(NeuralRDE({ ...sizes, depth: 2, signatureDepth: 2 }));
  const X = LinearInterpolation(logsigWindows(wave(20, [2, 7, 3]), 2, 3));
  const data = [0.041816453775, -0.878312021029, 0.021608010023, -0.845566185061];
  await assertClose("output", model(X), { shape: [2, 2], data }, 1e-11);
});

Deno.test("the gradients of a neural RDE of static features agree with central differences", async () => {
  const model = NeuralRDE({
    ...sizes,
    depth: 1,
    signatureDepth: 2,
    staticFeatures: { channels: 3, width: 4 },
  });
  const staticFeatures = normal(key(2), [2, 3], float64);
  await checkGradients((_) => model(X, { staticFeatures }), [model.parameters], { elements: 4 });
});

Deno.test("the final tanh bounds the vector field", async () => {
  const large = LinearInterpolation(logsigWindows(normal(key(1), [2, 7, 2], float64).mul(100), 2, 2));
  const [plain, bounded] = (["identity", "tanh"] as const).map((finalActivation) =>
    NeuralRDE({ ...sizes, depth: 1, signatureDepth: 2, finalActivation })
  );
  assert.ok(await largest(plain(large).sub(bounded(large))) > 1e-3);
});

// The state counts the windows it reads. A stage that read another window would give a wrong count.
const count = (slope: Tensor, y: Tensor) => slope.add(y.mul(0));
const jumps = LinearInterpolation(tensor([[[0], [1], [101], [100]]], float64));

for (const method of ["euler", "rk4", "heun2", "rk4_classic", "dopri5", "reversible_heun"] as const) {
  Deno.test(`all stages of a ${method} step read the window of the step`, async () => {
    const y = rdeint(jumps, (slope, y) => slope.sub(y), tensor([[0]], float64), jumps.times, {
      ...(method === "dopri5" ? { method, rtol: 1e-10, atol: 1e-12 } : { method }),
      stepSize: method === "euler" ? 1 / 256 : 1 / 64,
    });
    let exact = 0;
    const found = await y.data();
    for (const [i, slope] of [1, 100, -1].entries()) {
      exact = slope + (exact - slope) * Math.exp(-1);
      const tolerances: Record<string, number> = { euler: 0.2, heun2: 1e-2, reversible_heun: 1e-2 };
      const tolerance = tolerances[method] ?? 1e-5;
      assert.ok(Math.abs(found[i + 1] - exact) < tolerance, `${found[i + 1]}, expected ${exact}`);
    }
  });
}

Deno.test("all windows are solved in a compiled loop, for any number of steps", async () => {
  const y0 = tensor([[0]], float64);
  const solve = () => rdeint(jumps, count, y0, [0, 3], { stepSize: 0.25 });
  assert.equal(countLoops(solve, "forward loop: 3 steps"), 1);
  assert.ok(Math.abs(await solve().select(0, 1).item() - 100) < 1e-12);
});

for (const adjoint of ["direct", "checkpoint", "continuous", "reversible"] as const) {
  Deno.test(`the gradient of windows by the ${adjoint} adjoint agrees with central differences`, async () => {
    const method = adjoint === "reversible" ? "reversible_rk4" : "rk4";
    const options = { method, adjoint: adjoint as Adjoint, stepSize: 1 / 32 } as const;
    const f = (slope: Tensor, y: Tensor) => y.tanh().mul(slope.mul(0.01));
    await checkGradients((y0) => rdeint(jumps, f, y0, [0, 3], options), [tensor([[0.7]], float64)], {
      tolerance: 1e-5,
    });
  });
}

Deno.test("rdeint rejects invalid numbers of steps and step sizes", () => {
  const y0 = tensor([[0]], float64);
  for (const stepsPerPiece of [0, 0.5, NaN, Infinity]) {
    const message = new RegExp(
      `rdeint: stepsPerPiece is ${stepsPerPiece}, expected a whole number of at least 1`,
    );
    assert.throws(() => rdeint(jumps, count, y0, [0, 3], { stepsPerPiece }), message);
  }
  for (const stepSize of [0, -1, NaN, Infinity]) {
    const message = new RegExp(`rdeint: stepSize is ${stepSize}, expected a positive, finite number`);
    assert.throws(() => rdeint(jumps, count, y0, [0, 3], { stepSize }), message);
  }
  const both = { stepSize: 1, stepsPerPiece: 2 };
  assert.throws(
    () => rdeint(jumps, count, y0, [0, 3], both),
    /rdeint: stepsPerPiece and stepSize both determine/,
  );
  assert.throws(
    () => rdeint(jumps, count, y0, [0, 3], { stepSize: 1e-12 }),
    /rdeint: .* makes .* steps .* at most/,
  );
});

Deno.test("rdeint rejects an output time inside a window", () => {
  assert.throws(
    () => rdeint(jumps, count, tensor([[0]], float64), [0, 1.5]),
    /rdeint: t = 1.5 is not a grid point of the path/,
  );
});
