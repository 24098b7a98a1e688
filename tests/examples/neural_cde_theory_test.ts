/** Statements that the examples make about Neural CDEs. */
import assert from "node:assert/strict";
import { asControlled, solveAsControlled } from "../../examples/ode_in_a_cde.ts";
import { exponentialWeights, SignatureCDE } from "../../examples/signature_cde.ts";
import {
  addTime,
  cdeint,
  concatenate,
  CubicSpline,
  key,
  LinearInterpolation,
  loadParameters,
  naturalCubicCoeffs,
  NeuralCDE,
  normal,
  odeint,
  signature,
  signatureChannels,
  type Tensor,
  tensor,
  treeFlatten,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import fixture from "../fixtures/neural_cde.json" with { type: "json" };
import { assertClose, type Golden, read } from "../golden.ts";

const f64 = { dtype: "float64" } as const;
const largest = async (x: Tensor) => await x.abs().max().item();

Deno.test("the terminal state of a linear Neural CDE is the signature of its control (definition B.4)", async () => {
  const [channels, depth] = [3, 3];
  const words = 1 + signatureChannels(channels, depth);
  const weights = Array.from(
    { length: words },
    (_, i) => Array.from({ length: words }, (_, j) => Number(i === j)),
  );
  const x = normal(key(1), [2, 5, channels], f64).mul(0.5);
  const found = SignatureCDE({ channels, depth, weights })(LinearInterpolation(x));
  const exact = concatenate([zeros([2, 1], f64).add(1), signature(x, depth)], -1);
  assert.ok(await largest(found.sub(exact)) < 1e-8);
});

Deno.test("a linear map of the terminal state approximates a nonlinear function of the path (theorem B.7)", async () => {
  const x = normal(key(1), [16, 6, 2], f64).mul(0.3).cumsum(1);
  const exact = x.select(1, -1).sub(x.select(1, 0)).select(-1, 0).exp();
  const errors: number[] = [];
  for (const depth of [1, 2, 3, 4]) {
    const weights = [exponentialWeights(2, depth)];
    const model = SignatureCDE({ channels: 2, depth, weights });
    errors.push(await largest(model(LinearInterpolation(x)).select(-1, 0).sub(exact)));
  }
  errors.slice(1).forEach((error, i) => assert.ok(error < 0.6 * errors[i], errors.join(" ")));
});

Deno.test("an area that depends on the order of events is a linear map of the terminal state", async () => {
  // Levy's area: half the difference of words 12 and 21.
  const weights = [[0, 0, 0, 0, 0.5, -0.5, 0]];
  const model = SignatureCDE({ channels: 2, depth: 2, weights });
  const square = [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]];
  const X = LinearInterpolation(tensor([square, square.toReversed()], f64));
  assert.ok(await largest(model(X).select(-1, 0).sub(tensor([1, -1], f64))) < 1e-8);
});

const control = CubicSpline(naturalCubicCoeffs(addTime(normal(key(2), [2, 6, 2], f64))));
const nonlinear = (y: Tensor, x: Tensor) => x.slice(-1, 1).square().sin().sub(y);

Deno.test("a nonlinear function of the control can be written as a controlled equation (theorem C.1)", async () => {
  const y0 = normal(key(3), [2, 2], f64);
  const difference = async (stepSize: number) => {
    const direct = odeint((t, y) => nonlinear(y, control.evaluate(t)), y0, [0, 5], {
      method: "rk4",
      stepSize,
    }).select(0, 1);
    const z = solveAsControlled(control, nonlinear, y0, [0, 5], { method: "rk4", stepSize }).select(-2, 1);
    assert.ok(await largest(z.slice(-1, 0, 3).sub(control.evaluate(5))) < 1e-10);
    return await largest(z.slice(-1, 3).sub(direct));
  };
  const [coarse, fine] = [await difference(0.1), await difference(0.025)];
  assert.ok(fine < 1e-4 && fine < coarse / 16, `${coarse}, ${fine}`);
});

Deno.test("a controlled equation can output its control, an ODE that reads only the value of the control cannot", async () => {
  const constant = (_t: Tensor, z: Tensor) =>
    concatenate([z.zerosLike(), z.zerosLike().add(1)], -1).expandDims(-2);
  const X = LinearInterpolation(tensor([[[0, 0], [1, 1], [2, 0]], [[0, 0], [1, 1], [2, 2]]], f64));
  const z = cdeint(X, constant, zeros([2, 1], f64), [0, 1, 2], { method: "dopri5" });
  assert.ok(await largest(z.flatten().sub(tensor([0, 1, 0, 0, 1, 2], f64))) < 1e-8);
  // Up to t = 1 both paths and X(1) are equal, so h(y, X) would give the same slope for both.
});

type Arrays = Record<string, Golden | undefined>;
const [gruOde, neuralCde] = ["gru_ode", "neural_cde"].map((name) =>
  fixture.cases.find(({ model }) => model === name)!
);
const pathOf = ({ x, t }: typeof gruOde) =>
  CubicSpline(naturalCubicCoeffs(read(x, "float64"), t.data), t.data);
const lengthsOf = ({ final_index }: typeof gruOde) =>
  tensor(final_index.data.map((last) => last + 1), { dtype: "int32" });

Deno.test("the GRU-ODE agrees with the authors' code, outputs and gradients", async () => {
  const X = pathOf(gruOde);
  const arrays = Object.entries(gruOde.params as Arrays).map(([name, array]) =>
    [name, read(array!, "float64")] as const
  );
  const parameters = Object.fromEntries(arrays);
  const { W_r, W_z, W_h, linear } = {
    W_r: "func.model.W_r.weight",
    W_z: "func.model.W_z.weight",
    W_h: "func.model.W_h.weight",
    linear: "linear.weight",
  };
  const map = (name: string, y: Tensor) =>
    y.matmul(parameters[`func.model.${name}.weight`].mT).add(parameters[`func.model.${name}.bias`]);
  const [channels, hidden] = [parameters[W_r].shape[1], parameters[W_r].shape[0]];
  const field = (state: Tensor, x: Tensor) => {
    const y = state.minimum(1).maximum(-1);
    const r = x.matmul(parameters[W_r].mT).add(map("U_r", y)).sigmoid();
    const u = x.matmul(parameters[W_z].mT).add(map("U_z", y)).sigmoid();
    const g = x.matmul(parameters[W_h].mT).add(map("U_h", r.mul(y))).tanh();
    return u.neg().add(1).mul(g.sub(y));
  };
  const output = () => {
    // The authors start with zeros: X(t) - X(t0) replaces X.
    const z0 = zeros([3, channels + hidden], f64);
    const z = cdeint(X, asControlled(field, channels), z0, X.times, { method: "rk4" });
    const ends = gruOde.final_index.data.map((last, i) => z.select(0, i).select(0, last).expandDims(0));
    return concatenate(ends).matmul(parameters[linear].mT).add(parameters["linear.bias"]);
  };
  await assertClose("output", output(), gruOde.output, 1e-9);
  const [, gradients] = valueAndGrad((_: typeof parameters) => output().square().sum())(parameters);
  for (const [name, array] of Object.entries(gruOde.grad_params as Arrays)) {
    if (array) await assertClose(`gradient of ${name}`, gradients[name], array, 1e-9);
  }
});

Deno.test("the Neural CDE agrees with the authors' code, outputs and gradients", async () => {
  const names: Record<string, string> = {
    "func.linear_in": "vectorField.layers.0",
    "func.linears.0": "vectorField.layers.1",
    "func.linear_out": "vectorField.layers.2",
    "initial_network": "initial",
    "linear": "readout",
  };
  const renamed = (arrays: Arrays) =>
    Object.entries(arrays).flatMap(([name, array]) => {
      const dot = name.lastIndexOf(".");
      return array ? [[names[name.slice(0, dot)] + name.slice(dot), array] as const] : [];
    });
  const params = renamed(neuralCde.params as Arrays);
  const shapes = Object.fromEntries(params.map(([name, { shape }]) => [name, shape]));
  const model = NeuralCDE({
    inputChannels: neuralCde.x.shape[2],
    hiddenChannels: shapes["initial.bias"][0],
    outputChannels: shapes["readout.bias"][0],
    width: shapes["vectorField.layers.0.bias"][0],
    depth: 2,
    key: key(0),
    ...f64,
  });
  loadParameters(
    model.parameters,
    Object.fromEntries(params.map(([name, array]) => [name, read(array, "float64")])),
  );
  const [X, lengths] = [pathOf(neuralCde), lengthsOf(neuralCde)];
  await assertClose("output", model(X, { lengths }), neuralCde.output, 1e-9);
  const [, gradients] = valueAndGrad(() => model(X, { lengths }).square().sum())(model.parameters);
  const found = new Map<string, Tensor>(treeFlatten(gradients));
  for (const [name, array] of renamed(neuralCde.grad_params as Arrays)) {
    await assertClose(`gradient of ${name}`, found.get(name)!, array, 1e-9);
  }
});
