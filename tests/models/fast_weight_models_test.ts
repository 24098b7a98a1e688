/** Fast weight models along a control, compared with their equations. */
import assert from "node:assert/strict";
import {
  addTime,
  type Adjoint,
  concatenate,
  CubicSpline,
  deltaRule,
  DivergenceError,
  type DType,
  FastWeightCDE,
  FastWeightDirectMap,
  type FastWeightModel,
  type FastWeightModelOptions,
  FastWeightODE,
  FastWeightRDE,
  hebbRule,
  hermiteCubicCoeffs,
  key,
  type LearningRule,
  linearCoeffs,
  LinearInterpolation,
  loadParameters,
  logsigWindows,
  type MethodName,
  normal,
  odeint,
  ojaRule,
  type Path,
  stack,
  type Tensor,
  tensor,
  treeFlatten,
  valueAndGrad,
} from "../../mod.ts";
import { longOnSoftware, testLong, testOnDevices } from "../devices.ts";
import { countLoops } from "../loops.ts";
import { apply, assertSame, network } from "./fast_weight_network.ts";

const f64 = { dtype: "float64" } as const;
const mapSizes = { inputChannels: 3, modelDim: 6, outputChannels: 2, key: key(0), ...f64 } as const;
const sizes = { ...mapSizes, heads: 2 };
const [batch, length, headDim] = [2, 6, 3];
const x = addTime(normal(key(1), [batch, length, 2], f64));
const X = CubicSpline(hermiteCubicCoeffs(x));

const forms: Record<string, (options?: Partial<FastWeightModelOptions>) => FastWeightModel> = {
  FastWeightODE: (options) => FastWeightODE({ ...sizes, rule: deltaRule(), ...options }),
  FastWeightCDE: (options) => FastWeightCDE({ ...sizes, rule: ojaRule(), keys: "value", ...options }),
  "FastWeightCDE from the derivative": (options) =>
    FastWeightCDE({ ...sizes, rule: deltaRule(), ...options }),
  "FastWeightODE of two layers": (options) => FastWeightODE({ ...sizes, layers: 2, ...options }),
  "FastWeightCDE of two layers": (options) =>
    FastWeightCDE({ ...sizes, layers: 2, rule: deltaRule(), ...options }),
  FastWeightDirectMap: (options) => FastWeightDirectMap({ ...mapSizes, width: 5, depth: 1, ...options }),
};

for (const [name, make] of Object.entries(forms)) {
  Deno.test(`${name} reads a control with several batch axes, or none`, async () => {
    const model = make();
    const expected = model(X, { states: "all" });
    const nested = CubicSpline(hermiteCubicCoeffs(x.reshape([batch, 1, ...x.shape.slice(1)])));
    await assertSame(model(nested, { states: "all" }), expected.expandDims(1), 1e-12);
    const lengths = tensor([[length], [3]], { dtype: "int32" });
    const ends = stack([expected.select(0, 0).select(0, length - 1), expected.select(0, 1).select(0, 2)]);
    await assertSame(model(nested, { lengths }), ends.expandDims(1), 1e-12);
    const single = CubicSpline(hermiteCubicCoeffs(x.select(0, 1)));
    await assertSame(model(single), expected.select(0, 1).select(0, length - 1), 1e-12);
  });

  Deno.test(`${name} gives an output at every observation, and the last one is the final output`, async () => {
    const model = make();
    const all = model(X, { states: "all" });
    assert.deepEqual(all.shape, [batch, length, 2]);
    await assertSame(all.select(1, -1), model(X));
    assert.ok(await all.select(1, 2).sub(all.select(1, 3)).abs().min().item() > 1e-6);
  });

  Deno.test(`${name} reads each series of a padded batch at its end`, async () => {
    const model = make();
    const lengths = tensor([4, length], { dtype: "int32" });
    const short = CubicSpline(hermiteCubicCoeffs(x.slice(0, 0, 1).slice(1, 0, 4)));
    const found = model(X, { lengths });
    await assertSame(found.slice(0, 0, 1), model(short));
    await assertSame(found.slice(0, 1), model(X).slice(0, 1));
  });
}

/** The linear maps of a model with any number of layers. */
function mapsOf(model: Parameters<typeof network>[0]) {
  const { linear, norm, has } = network(model);
  const block = (name: string, x: Tensor) => {
    const projected = has(`${name}output`) ? linear(`${name}output`, x) : x;
    const inner = linear(
      `${name}feedForward.layers.0`,
      norm(`${name}feedForward.norm`, projected),
    ).relu();
    return linear(`${name}feedForward.layers.1`, inner).add(projected);
  };
  return { linear, norm, block };
}

const inHeads = (x: Tensor) => x.reshape([batch, 2, x.shape[1] / 2]);

Deno.test("the second layer reads the outputs of the first during the solve, in one compiled loop", async () => {
  const model = FastWeightODE({ ...sizes, layers: 2, rule: hebbRule() });
  const { linear, norm, block } = mapsOf(model);
  const written = (layer: string, features: Tensor) => {
    const emitted = inHeads(linear(`${layer}slow`, features));
    const part = (start: number, end: number) => emitted.slice(-1, start, end);
    const [k, v, beta] = [part(0, headDim), part(headDim, 2 * headDim), part(2 * headDim, 2 * headDim + 1)];
    return beta.sigmoid().mul(v.tanh()).expandDims(-1).mul(k.softmax().expandDims(-2));
  };
  const answer = (layer: string, features: Tensor, w: Tensor) =>
    block(layer, apply(w, inHeads(linear(`${layer}query`, features)).softmax()).flatten(-2));
  const below = (t: Tensor | number) => norm("layers.0.inputNorm", linear("layers.0.input", X.evaluate(t)));
  const above = (t: Tensor | number, w: Tensor) =>
    norm("layers.1.inputNorm", answer("layers.0.", below(t), w));
  const first = written("layers.0.", below(0));
  const start = concatenate([first, first.zerosLike()], 1);
  const end = odeint(
    (t, w) =>
      concatenate([written("layers.0.", below(t)), written("layers.1.", above(t, w.slice(1, 0, 2)))], 1),
    start,
    [0, length - 1],
    { method: "rk4", stepSize: 1, compile: false },
  ).select(0, 1);
  const [w1, w2] = [end.slice(1, 0, 2), end.slice(1, 2)];
  const expected = linear("readout", answer("layers.1.", above(length - 1, w1), w2));
  await assertSame(model(X), expected);
  assert.equal(countLoops(() => model(X), "forward loop: 5 steps"), 1);
});

const lossOf = (x: Tensor, dtype: DType) => {
  // Few stages, because software GPUs take seconds to compile more.
  const model = FastWeightODE({ ...sizes, modelDim: 4, feedForward: 4, dtype, layers: 2, method: "euler" });
  const X = LinearInterpolation(linearCoeffs(x));
  const [loss, gradients] = valueAndGrad(() => model(X).square().sum())(model.parameters);
  return treeFlatten({ loss, gradients });
};
const expected = lossOf(normal(key(1), [batch, length, 3], f64), "float64");
testOnDevices(
  "two layers give the same outputs and gradients in float32 and float64",
  longOnSoftware,
  async () => {
    const found = lossOf(normal(key(1), [batch, length, 3]), "float32");
    for (const [i, [name, values]] of found.entries()) {
      const other = await expected[i][1].data();
      (await values.data()).forEach((value, j) =>
        assert.ok(
          Math.abs(value - other[j]) <= 1e-4 * Math.max(1, Math.abs(other[j])),
          `${name}, element ${j}`,
        )
      );
    }
  },
);

Deno.test("along log-signatures, each window updates W by the rule of its log-signature", async () => {
  const X = LinearInterpolation(logsigWindows(x, 2, 2));
  const model = FastWeightRDE({ ...sizes, depth: 2, rule: hebbRule() });
  const { linear, norm, block } = mapsOf(model);
  const features = (control: Tensor) => norm("layers.0.inputNorm", linear("layers.0.input", control));
  const written = (control: Tensor) => {
    const emitted = inHeads(linear("layers.0.slow", features(control)));
    const [k, v] = [emitted.slice(-1, 0, headDim), emitted.slice(-1, headDim, 2 * headDim)];
    const rate = emitted.slice(-1, 2 * headDim).sigmoid();
    return rate.mul(v.tanh()).expandDims(-1).mul(k.softmax().expandDims(-2));
  };
  const windows = [0.5, 1.5, 2.5].map((t) => X.derivative(t));
  // Three windows of two units. The end of the series cuts the last window short.
  const w = windows.reduce((w, logsig) => w.add(written(logsig)), written(linear("initial", x.select(1, 0))));
  const query = inHeads(linear("layers.0.query", features(windows[2]))).softmax();
  await assertSame(model(X), linear("readout", block("layers.0.", apply(w, query).flatten(-2))));
});

Deno.test("the direct map changes W by a network of W times the control's derivative", async () => {
  const X = LinearInterpolation(linearCoeffs(x));
  const model = FastWeightDirectMap({ ...mapSizes, width: 5, depth: 1, method: "euler" });
  const { linear, block } = mapsOf(model);
  let w = linear("initial", x.select(1, 0));
  for (let i = 1; i < length; i++) {
    const hidden = linear("vectorField.layers.0", w).relu();
    const map = linear("vectorField.layers.1", hidden).tanh().reshape([batch, 18, 3]);
    w = w.add(apply(map, X.derivative(i - 1)));
  }
  const answer = apply(w.reshape([batch, 6, 3]), x.select(1, -1));
  await assertSame(model(X), linear("readout", block("", answer)));
});

testLong("diverging weights of Oja's rule are reported with time, sample, layer and head", () => {
  const X = LinearInterpolation(linearCoeffs(normal(key(2), [batch, 200, 3])));
  const wide = {
    ...sizes,
    modelDim: 32,
    dtype: "float32",
    rule: ojaRule(),
    stepSize: 1,
    check: true,
  } as const;
  for (const layers of [1, 2]) {
    const model = FastWeightODE({ ...wide, layers });
    // A second layer with constant keys and values always stays finite.
    const changed = treeFlatten(model.parameters).map(([name, x]) =>
      [name, name === "layers.1.slow.weight" ? x.zerosLike() : x] as const
    );
    loadParameters(model.parameters, Object.fromEntries(changed));
    model(X);
    // Values close to 1 in absolute value, in the second head of the first layer: W^T v then decays too fast
    // for the step size.
    const name = "layers.0.slow.weight";
    const parameters = Object.fromEntries(treeFlatten(model.parameters));
    const [quiet, loud] = [parameters[name].slice(0, 0, 33), parameters[name].slice(0, 33).mul(30)];
    loadParameters(model.parameters, { ...parameters, [name]: concatenate([quiet, loud]) });
    assert.throws(() => model(X), (error: unknown) => {
      assert.ok(error instanceof DivergenceError);
      assert.deepEqual(error.index.slice(0, layers), layers === 1 ? [1] : [0, 1]);
      assert.equal(error.time, error.step + 1);
      assert.match(
        error.message,
        layers === 1 ? /sample \d, head 1, value/ : /sample \d, layer 0, head 1, value/,
      );
      return true;
    });
  }
});

testOnDevices("a custom learning rule compiles", async () => {
  const fading: LearningRule = ({ keys, values, rate }, w) => {
    const written = values.tanh().expandDims(-1).mul(keys.softmax().expandDims(-2));
    return rate.sigmoid().expandDims(-1).mul(w ? written.sub(w) : written);
  };
  const x = normal(key(1), [batch, length, 3]);
  const X = LinearInterpolation(linearCoeffs(x));
  const [compiled, stepwise] = [true, false].map((compile) =>
    FastWeightODE({ ...sizes, dtype: "float32", rule: fading, compile })
  );
  assert.equal(countLoops(() => compiled(X), "forward loop: 5 steps"), 1);
  assert.equal(countLoops(() => stepwise(X)), 0);
  await assertSame(compiled(X), stepwise(X), 1e-5);
});

Deno.test("dropout is applied only with a key and depends on the key", async () => {
  const model = FastWeightODE({ ...sizes, dropout: 0.5 });
  await assertSame(model(X), model(X));
  const drawn = stack([model(X, { key: key(1) }), model(X, { key: key(2) }), model(X)]);
  const differences = drawn.expandDims(0).sub(drawn.expandDims(1)).abs().sum([2, 3]);
  assert.deepEqual([...await differences.greater(0).cast("int32").data()], [0, 1, 1, 1, 0, 1, 1, 1, 0]);
});

Deno.test("adaptive solves of fast weights keep the tolerances, also with per-sample steps", async () => {
  const make = (solver: Partial<FastWeightModelOptions>) =>
    FastWeightODE({ ...sizes, rule: deltaRule(), ...solver })(X);
  const fine = make({ stepSize: 1 / 64 });
  const tolerances = { method: "dopri5", rtol: 1e-8, atol: 1e-9 } as const;
  await assertSame(make(tolerances), fine, 1e-6);
  await assertSame(make({ ...tolerances, norm: "sample" }), fine, 1e-6);
});

testLong("the continuous and the reversible adjoint in segments give the full gradient", async () => {
  const X = CubicSpline(hermiteCubicCoeffs(addTime(normal(key(3), [32, 6, 2], f64))));
  const gradientOf = (method: MethodName, adjoint: Adjoint) => {
    const model = FastWeightCDE({ ...sizes, rule: deltaRule(), method, adjoint, stepSize: 1 / 128 });
    return treeFlatten(valueAndGrad(() => model(X).square().sum())(model.parameters)[1]);
  };
  for (
    const [method, adjoint, tolerance] of [
      ["rk4", "continuous", 1e-6],
      ["reversible_heun", "reversible", 1e-9],
    ] as const
  ) {
    const [found, exact] = [adjoint, "direct" as const].map((by) => gradientOf(method, by));
    for (const [i, [, gradient]] of found.entries()) {
      await assertSame(gradient, exact[i][1], tolerance);
    }
    assert.ok(countLoops(() => gradientOf(method, adjoint)) > 3);
  }
});

Deno.test("fast weight models reject a control with the wrong number of channels", () => {
  const X: Path = LinearInterpolation(normal(key(0), [2, 5, 4], f64));
  assert.throws(
    () => FastWeightCDE(sizes)(X),
    /FastWeightCDE: the control has values of shape \(2, 4\), expected \(\.\.\., 3\), the inputChannels/,
  );
});
