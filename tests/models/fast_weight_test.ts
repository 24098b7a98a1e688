import assert from "node:assert/strict";
import {
  type Adjoint,
  CubicSpline,
  deltaRule,
  type DType,
  eye,
  FastWeightCDE,
  FastWeightODE,
  full,
  hebbRule,
  key,
  type LearningRule,
  loadParameters,
  type MethodName,
  naturalCubicCoeffs,
  normal,
  odeint,
  ojaRule,
  type Tensor,
  treeFlatten,
  treeLeaves,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { longOnSoftware, testLong, testOnDevices } from "../devices.ts";
import fixture from "../fixtures/fast_weight.json" with { type: "json" };
import { assertAgree, assertClose, type Golden, read } from "../golden.ts";
import { solved } from "../loops.ts";

type Case = typeof fixture.cases[number];

/** The authors' parameter names, and Weft's. */
const names: Record<string, string> = {
  "update_net.input_proj": "layers.0.input",
  "update_net.input_layer_norm": "layers.0.inputNorm",
  "update_net.kvb_net": "layers.0.slow",
  "update_net.kb_net": "layers.0.slow",
  "update_net.dx_dt_proj": "layers.0.values",
  "update_net.vs_proj": "layers.0.values",
  "query_net": "layers.0.query",
  "out_proj": "layers.0.output",
  "ff_block.layer_norm": "layers.0.feedForward.norm",
  "ff_block.ff_layers.0": "layers.0.feedForward.layers.0",
  "ff_block.ff_layers.3": "layers.0.feedForward.layers.1",
  "linear": "readout",
};

/** A fixture's arrays under Weft's names. The authors' code does not use `initial_network`. */
function renamed(arrays: Record<string, Golden | undefined>): [string, Golden][] {
  return Object.entries(arrays).flatMap(([name, array]): [string, Golden][] => {
    const dot = name.lastIndexOf(".");
    const layer = names[name.slice(0, dot)];
    return layer && array ? [[`${layer}${name.slice(dot)}`, array]] : [];
  });
}

function ruleOf({ rule, postTanh }: Case): LearningRule {
  if (rule.startsWith("hebb")) return hebbRule();
  if (rule.startsWith("oja")) return ojaRule({ normalizeAfter: true });
  return deltaRule({ postTanh });
}

/** The model of a case with its parameters, and its control. */
function problemOf(golden: Case, dtype: DType, compile: boolean) {
  const { problem, form, rule, heads, modelDim, feedForward, method, stepSize, adjoint } = golden;
  const { t, x, params } = fixture.problems[problem];
  const options = {
    inputChannels: x.shape[2],
    outputChannels: golden.output.shape[1],
    rule: ruleOf(golden),
    adjoint: adjoint as Adjoint,
    method: method as MethodName,
    ...{ heads, modelDim, feedForward, stepSize, compile, dtype },
    key: key(0),
  };
  const keys = rule.endsWith("dx_only") ? "derivative only" : rule === "delta" ? "derivative" : "value";
  const model = form === "ode" ? FastWeightODE(options) : FastWeightCDE({ ...options, keys });
  const arrays = renamed(params).map(([name, array]) => [name, read(array, dtype)]);
  loadParameters(model.parameters, Object.fromEntries(arrays));
  return { model, X: CubicSpline(naturalCubicCoeffs(read(x, dtype), t), t) };
}

async function check(golden: Case, dtype: DType, compile: boolean, tolerance: number) {
  const { model, X } = problemOf(golden, dtype, compile);
  await assertClose("output", model(X), golden.output, tolerance);
  const [, gradient] = solved(compile, () => valueAndGrad(() => model(X).square().sum())(model.parameters));
  const found = new Map<string, Tensor>(treeFlatten(gradient));
  for (const [name, array] of renamed(golden.gradParams)) {
    await assertClose(`gradient of ${name}`, found.get(name)!, array, tolerance);
  }
}

for (const golden of fixture.cases) {
  const { form, rule, postTanh, adjoint } = golden;
  // The authors' controlled Hebb rule has no activation of beta and values. These numbers follow the paper's
  // equation 24.
  const source = form === "cde" && rule === "hebb" ? "the paper's formula" : "the authors' code";
  const title = `${source} (${form}, ${rule}${postTanh ? ", post tanh" : ""}, ${adjoint})`;
  Deno.test(`${title} compiled, float64`, () => check(golden, "float64", true, 1e-8));
  // The compiled models above have the same formulas.
  const stepByStep = adjoint === "continuous" || rule !== "delta" ? testLong : Deno.test;
  stepByStep(`${title} step by step, float64`, () => check(golden, "float64", false, 1e-8));
  const options = form === "ode" && rule === "hebb" && adjoint === "direct" ? {} : longOnSoftware;
  testOnDevices(`${title}, float32`, options, () => check(golden, "float32", true, 1e-4));
}

testOnDevices(
  "compiled and step-by-step models agree to 1e-5 in float32, gradients too",
  longOnSoftware,
  async () => {
    const direct = fixture.cases.filter(({ adjoint }) => adjoint === "direct");
    // An ordinary equation and two controlled ones. The tests above compare all with the golden numbers.
    for (const golden of direct.filter((_, i) => i % 3 === 2)) {
      const [compiled, plain] = [true, false].map((compile) => {
        const { model, X } = problemOf(golden, "float32", compile);
        const loss = () => model(X).square().sum();
        return treeLeaves(solved(compile, () => valueAndGrad(loss)(model.parameters)));
      });
      await assertAgree(`${golden.form} ${golden.rule}`, compiled, plain, 1e-5);
    }
  },
);

Deno.test("a model dimension that is not divisible by the number of heads throws", () => {
  const sizes = { inputChannels: 2, modelDim: 10, heads: 4, outputChannels: 1, key: key(0) };
  assert.throws(() => FastWeightODE(sizes), /modelDim 10 is not a multiple of heads 4/);
});

Deno.test("the delta rule overwrites values of orthogonal keys, Hebb's rule does not", async () => {
  const n = 4;
  const f64 = { dtype: "float64" } as const;
  const directions = eye(n, f64);
  // Large enough for softmax and sigmoid to reach their limits: orthogonal keys, and a rate of one.
  const [sharp, open] = [40, 40];
  const write = (values: Tensor, w: Tensor, rule: LearningRule, duration: number) => {
    for (let i = 0; i < n; i++) {
      const signals = {
        keys: directions.select(0, i).mul(sharp).reshape([1, 1, n]),
        values: values.select(0, i).reshape([1, 1, n]),
        rate: full([1, 1, 1], open, f64),
      };
      w = odeint((_t, w) => rule(signals, w), w, [0, duration], { method: "rk4", stepSize: 0.1 }).select(
        0,
        1,
      );
    }
    return w;
  };
  const [first, second] = [key(1), key(2)].map((k) => normal(k, [n, n], f64));
  const readBack = async (w: Tensor, values: Tensor) =>
    await directions.matmul(w.reshape([n, n]).mT).sub(values).abs().max().item();

  const nothing = zeros([1, 1, n, n], f64);
  const byDelta = deltaRule({ boundValues: false });
  const written = write(first, nothing, byDelta, 10);
  assert.ok(await readBack(written, first) < 1e-3);
  assert.ok(await readBack(write(second, written, byDelta, 10), second) < 1e-3);
  // For Hebb's rule, which keeps adding: exactly the time needed to add each value once.
  const byHebb = hebbRule({ boundValues: false });
  const summed = write(first, nothing, byHebb, 1);
  assert.ok(await readBack(summed, first) < 1e-3);
  assert.ok(await readBack(write(second, summed, byHebb, 1), second) > 0.1);
});
