/** The options of fast weights for the authors' code, compared with results of that code. */
import assert from "node:assert/strict";
import {
  concatenate,
  CubicSpline,
  deltaRule,
  type DType,
  FastWeight,
  FastWeightCDE,
  FastWeightDirectMap,
  type FastWeightModel,
  FastWeightODE,
  FastWeightRDE,
  hebbRule,
  key,
  type Layer,
  LinearInterpolation,
  loadParameters,
  logsigWindows,
  naturalCubicCoeffs,
  NeuralRDE,
  normal,
  ojaRule,
  type Path,
  type Signals,
  type StaticFeaturesCallOptions,
  type Tensor,
  tensor,
  treeFlatten,
  valueAndGrad,
} from "../../mod.ts";
import { longOnSoftware, testOnDevices } from "../devices.ts";
import fixture from "../fixtures/fast_weight_options.json" with { type: "json" };
import { assertClose, type Golden, read } from "../golden.ts";
import { apply, assertSame, network } from "./fast_weight_network.ts";

type Arrays = Record<string, Golden | undefined>;
type Model = Layer<[X: Path, call?: StaticFeaturesCallOptions]>;

/** The authors' parameter names, and Weft's. The first match applies. */
const names: readonly [RegExp, string][] = [
  [/^linear1$/, "staticFeatures.layers.0"],
  [/^kvl_linear$/, "staticFeatures.layers.1"],
  [/^(model\.)?update_net\.input_proj$/, "layers.0.input"],
  [/^(model\.)?update_net\.input_layer_norm$/, "layers.0.inputNorm"],
  [/^(model\.)?update_net\.(kvb_net|kb_net)$/, "layers.0.slow"],
  [/^(model\.)?update_net\.(dx_dt_proj|vs_proj)$/, "layers.0.values"],
  [/^update_net\.v_layer_norm$/, "layers.0.valuesNorm"],
  [/^update_net\.v_net$/, "layers.0.valuesLinear"],
  [/^update_net\.big_net_layers\.(\d)$/, "vectorField.layers.$1"],
  [/^update_net2\.input_layer_norm$/, "layers.1.inputNorm"],
  [/^update_net2\.kvb_net$/, "layers.1.slow"],
  [/^mid_query_net$/, "layers.0.query"],
  [/^mid_ff_block\.layer_norm$/, "layers.0.feedForward.norm"],
  [/^mid_ff_block\.ff_layers\.0$/, "layers.0.feedForward.layers.0"],
  [/^mid_ff_block\.ff_layers\.3$/, "layers.0.feedForward.layers.1"],
  [/^(model\.)?query_net$/, "layers.LAST.query"],
  [/^(model\.)?out_proj$/, "layers.LAST.output"],
  [/^(model\.)?ff_block\.layer_norm$/, "layers.LAST.feedForward.norm"],
  [/^(model\.)?ff_block\.ff_layers\.0$/, "layers.LAST.feedForward.layers.0"],
  [/^(model\.)?ff_block\.ff_layers\.3$/, "layers.LAST.feedForward.layers.1"],
  [/^(model\.)?(final_)?linear$/, "readout"],
  [/^initial_(network|linear)$/, "initial"],
  [/^func\.net\.0$/, "vectorField.hidden.layers.0"],
];

function renamed(arrays: Arrays, rename: (name: string) => string): [string, Golden][] {
  return Object.entries(arrays).flatMap(([name, array]): [string, Golden][] => {
    const dot = name.lastIndexOf(".");
    const layer = name.slice(0, dot);
    const [pattern, ours] = names.find(([pattern]) => pattern.test(layer)) ?? [layer, layer];
    return array ? [[rename(layer.replace(pattern, ours)) + name.slice(dot), array]] : [];
  });
}

interface Posed {
  model: Model;
  X: Path;
  call?: StaticFeaturesCallOptions;
  params: [string, Golden][];
  gradients: [string, Golden][];
  output: Golden;
}

const sizes = { modelDim: 6, heads: 2, feedForward: 4, outputChannels: 2, key: key(0) } as const;
const rules = {
  "hebb raw": hebbRule({ boundRate: false, boundValues: false }),
  "delta": deltaRule(),
  "oja": ojaRule({ normalizeAfter: true }),
};

function poseAlongControl(golden: typeof fixture.cases[number], dtype: DType): Posed {
  const { rule, keys, normalizeValues, x } = golden;
  const options = { inputChannels: 3, outputChannels: 2, feedForward: 4, stepSize: 0.5, dtype, key: key(0) };
  const model: FastWeightModel = rule === "direct map"
    ? FastWeightDirectMap({ ...options, modelDim: 6, width: 4, depth: 1 })
    : FastWeightCDE({
      ...{ ...options, ...sizes, normalizeValues },
      rule: rules[rule as keyof typeof rules],
      keys: keys as "value",
      staticFeatures: golden.static ? { channels: 5, width: 5 } : undefined,
    });
  const rename = (name: string) =>
    rule === "direct map" ? name.replace("layers.LAST.", "") : name.replace("LAST", "0");
  return {
    model,
    X: CubicSpline(naturalCubicCoeffs(read(x, dtype))),
    call: golden.static && { staticFeatures: read(golden.static, dtype) },
    params: renamed(golden.params, rename),
    gradients: renamed(golden.gradParams, rename),
    output: golden.output,
  };
}

function poseAlongWindows(golden: typeof fixture.rde[number], dtype: DType): Posed {
  const { form, rule, layers, first, logsig } = golden;
  const options = { inputChannels: 3, depth: 2, dtype };
  const model: Model = form === "neural"
    ? NeuralRDE({
      ...{ inputChannels: 3, signatureDepth: 2, hiddenChannels: 4, outputChannels: 2, width: 5, dtype },
      ...{ depth: layers, key: key(0) },
    })
    : FastWeightRDE({
      ...{ ...sizes, ...options, layers },
      form: form as "ode" | "cde",
      rule: rule === "oja" ? rules.oja : deltaRule({ postTanh: true }),
      normalizeValues: form === "cde",
      controlsFrom: "slopes",
    });
  const rename = (name: string) =>
    name
      .replace(`func.net.${2 * layers}`, "vectorField.output")
      .replace("func.net.2", "vectorField.hidden.layers.1")
      .replace("LAST", String(layers - 1));
  const start = read(first, dtype).expandDims(1);
  const increments = read(logsig, dtype);
  const X = LinearInterpolation(
    concatenate([start.pad([[0, 0], [0, 0], [0, 3]]), increments], 1).cumsum(1),
  );
  return {
    model,
    X,
    params: renamed(golden.params, rename),
    gradients: renamed(golden.gradParams, rename),
    output: golden.output,
  };
}

async function check({ model, X, call, params, gradients, output }: Posed, dtype: DType, tolerance: number) {
  const parameters = new Map<string, Tensor>(treeFlatten(model.parameters));
  const values = Object.fromEntries(params.map(([name, array]) => [name, read(array, dtype)]));
  loadParameters(model.parameters, values);
  assert.equal(parameters.size, params.length);
  await assertClose("output", model(X, call), output, tolerance);
  const [, gradient] = valueAndGrad(() => model(X, call).square().sum())(model.parameters);
  const found = new Map<string, Tensor>(treeFlatten(gradient));
  for (const [name, array] of gradients) {
    await assertClose(`gradient of ${name}`, found.get(name)!, array, tolerance);
  }
}

const cases = [
  ...fixture.cases.map((golden) => [golden.name, (dtype: DType) => poseAlongControl(golden, dtype)] as const),
  ...fixture.rde.map((golden) =>
    [`along windows, ${golden.name}`, (dtype: DType) => poseAlongWindows(golden, dtype)] as const
  ),
];
for (const [name, makeProblem] of cases) {
  Deno.test(`${name}: agrees with the authors' code, float64`, () =>
    check(makeProblem("float64"), "float64", 1e-9));
  testOnDevices(
    `${name}: agrees with the authors' code, float32`,
    longOnSoftware,
    () => check(makeProblem("float32"), "float32", 1e-4),
  );
}

Deno.test("Hebb's rule with values from x and keys from x' computes queries from x' without a transpose (equations 36, 37)", () => {
  const golden = fixture.cases.find(({ keys, rule }) => keys === "derivative" && rule === "hebb raw")!;
  const { model, X } = poseAlongControl(golden, "float64");
  const transposed = FastWeightCDE({
    ...{ ...sizes, inputChannels: 3, stepSize: 0.5, dtype: "float64", keys: "derivative" },
    rule: rules["hebb raw"],
    transposeQuery: true,
  });
  loadParameters(transposed.parameters, Object.fromEntries(treeFlatten(model.parameters)));
  return model(X).sub(transposed(X)).abs().max().item().then((difference) => assert.ok(difference > 1e-6));
});

Deno.test("a layer norm of values requires a separate value projection", () => {
  const options = { ...sizes, inputChannels: 3, normalizeValues: true };
  assert.throws(
    () => FastWeight(options),
    /FastWeight: normalizeValues needs a separate projection of the values/,
  );
});

Deno.test("models reject unexpected, missing and wrongly shaped static features", () => {
  const { model, X, call } = poseAlongControl(fixture.cases.at(-1)!, "float64");
  const plain = FastWeightODE({ ...sizes, inputChannels: 3, dtype: "float64" });
  assert.throws(
    () => plain(X, call),
    /FastWeightODE: the call has staticFeatures, but the model was created without them/,
  );
  assert.throws(() => model(X), /FastWeightCDE: staticFeatures is missing; expected shape \(\.\.\., 5\)/);
  const short = call!.staticFeatures!.slice(-1, 0, 4);
  assert.throws(
    () => model(X, { staticFeatures: short }),
    /staticFeatures of shape \(2, 4\), expected \(2, 5\)/,
  );
});

Deno.test("the query of a FastWeightRDE can be computed from the first observation", async () => {
  const f64 = { dtype: "float64" } as const;
  const x = normal(key(4), [2, 7, 2], f64);
  const X = LinearInterpolation(logsigWindows(x, 2, 2));
  const noUpdate = (_: Signals, w?: Tensor) => w!.zerosLike();
  const sizes = { inputChannels: 2, modelDim: 4, heads: 2, outputChannels: 3, depth: 2, key: key(5), ...f64 };
  const model = FastWeightRDE({ ...sizes, rule: noUpdate, queryFrom: "initial" });
  const { linear, norm } = network(model);
  const w = normal(key(6), [2, 2, 2, 2], f64);
  const embedded = linear("initial", x.select(1, 0));
  const features = norm("layers.0.inputNorm", linear("layers.0.input", embedded));
  const q = linear("layers.0.query", features).reshape([2, 2, 2]).softmax();
  const projected = linear("layers.0.output", apply(w, q).flatten(-2));
  const inner = linear("layers.0.feedForward.layers.0", norm("layers.0.feedForward.norm", projected)).relu();
  const expected = linear("readout", linear("layers.0.feedForward.layers.1", inner).add(projected));
  await assertSame(model(X, { initial: w }), expected);
  const all = model(X, { initial: w, states: "all" });
  assert.deepEqual(all.shape, [2, 4, 3]);
  for (const position of [0, 3]) await assertSame(all.select(1, position), expected);
  const lengths = tensor([2, 4], { dtype: "int32" });
  await assertSame(model(X, { initial: w, lengths }), expected);
});
