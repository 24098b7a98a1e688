/**
 * Gradients of every fast weight model, compared with central differences, with one and two layers and one
 * and several heads.
 */
import {
  bernoulli,
  checkGradients,
  CubicSpline,
  DeltaNet,
  deltaRule,
  FastWeightCDE,
  FastWeightDirectMap,
  FastWeightODE,
  FastWeightRDE,
  hebbRule,
  IrregularGRU,
  jit,
  key,
  LatentODE,
  LatentODERFWP,
  LatentODERNN,
  LinearInterpolation,
  LinearTransformer,
  logsigWindows,
  naturalCubicCoeffs,
  normal,
  ODERFWP,
  ojaRule,
  type ParameterTree,
  Recurrent,
  RecurrentFWP,
  type Tensor,
  tensor,
} from "../../mod.ts";
import { testLong } from "../devices.ts";

const f64 = { dtype: "float64" } as const;
const x = normal(key(1), [2, 4, 2], f64);
const X = CubicSpline(naturalCubicCoeffs(x));
const gaps = tensor([0, 0.3, 1, 0.5], f64);

interface Sizes {
  layers: number;
  heads: number;
}

const sizesOf = ({ layers, heads }: Sizes) =>
  ({
    inputChannels: 2,
    modelDim: 4,
    outputChannels: 2,
    feedForward: 3,
    key: key(0),
    layers,
    heads,
    ...f64,
  }) as const;

/** Tests of the solvers cover the stages of other methods. */
const cheap = { method: "euler" } as const;

type Model = { parameters: ParameterTree; output: () => Tensor; isAdaptive?: true };

/**
 * Compares gradients with finite differences. `jit` speeds up the evaluations of `output`, unless the number of
 * adaptive steps depends on values.
 */
async function check({ parameters, output, isAdaptive }: Model): Promise<void> {
  const f = (_: ParameterTree) => output();
  await checkGradients(isAdaptive ? f : jit(f), [parameters], { elements: isAdaptive ? 2 : 4 });
}

const ofRule = {
  hebb: hebbRule(),
  oja: ojaRule(),
  "oja, normalized after": ojaRule({ normalizeAfter: true }),
  delta: deltaRule(),
};
const rules = { ...ofRule, "delta, post tanh": deltaRule({ postTanh: true }) };
const lengths = tensor([3, 4], { dtype: "int32" });

const models: Record<string, (sizes: Sizes) => Model> = {};
for (const [name, rule] of Object.entries(rules)) {
  models[`FastWeightODE by ${name}`] = (sizes) => {
    const model = FastWeightODE({ ...sizesOf(sizes), ...cheap, rule });
    return { parameters: model.parameters, output: () => model(X, { states: "all" }) };
  };
  for (const keys of ["value", "derivative", "derivative only"] as const) {
    models[`FastWeightCDE by ${name}, keys ${keys}`] = (sizes) => {
      const model = FastWeightCDE({ ...sizesOf(sizes), ...cheap, rule, keys });
      return { parameters: model.parameters, output: () => model(X, { lengths }) };
    };
  }
}
for (const depth of [1, 2]) {
  for (const form of ["ode", "cde"] as const) {
    models[`FastWeightRDE (${form}) of depth ${depth}`] = (sizes) => {
      const X = LinearInterpolation(logsigWindows(normal(key(2), [2, 7, 2], f64), depth, 3));
      const model = FastWeightRDE({ ...sizesOf(sizes), ...cheap, rule: deltaRule(), depth, form });
      return { parameters: model.parameters, output: () => model(X) };
    };
  }
}
for (const [name, make] of Object.entries({ DeltaNet, LinearTransformer, RecurrentFWP })) {
  models[name] = (sizes) => {
    const model = make(sizesOf(sizes));
    return { parameters: model.parameters, output: () => model(x, { states: "all" }) };
  };
}
models.ODERFWP = (sizes) => {
  const model = ODERFWP({ ...sizesOf(sizes), width: 3, depth: 1, stepsPerGap: 2, ...cheap });
  const observed = bernoulli(key(4), 0.6, [2, 4]);
  return { parameters: model.parameters, output: () => model(x, { gaps, observed, states: "all" }) };
};
models["the bound of LatentODERFWP"] = (sizes) => {
  const { outputChannels: _, ...rest } = sizesOf(sizes);
  const model = LatentODERFWP({ ...rest, width: 3, depth: 1, ...cheap });
  const partial = bernoulli(key(7), 0.5, x.shape).where(x, NaN);
  return { parameters: model.parameters, output: () => model.loss(partial, { gaps, key: key(3) }) };
};

for (const [name, make] of Object.entries(models)) {
  // One layer and one head are a special case of several.
  for (const count of [1, 2]) {
    testLong(
      `the gradients of ${name}, layers and heads ${count}, agree with central differences`,
      async () => {
        await check(make({ layers: count, heads: count }));
      },
    );
  }
}

const staticFeatures = normal(key(8), [2, 3], f64);
const ofPatients = { staticFeatures: { channels: 3, width: 4 } };
const options: Record<string, () => Model> = {
  "Hebb's rule without activations": () => {
    const rule = hebbRule({ boundRate: false, boundValues: false });
    const model = FastWeightCDE({ ...sizesOf({ layers: 1, heads: 2 }), ...cheap, rule });
    return { parameters: model.parameters, output: () => model(X) };
  },
  "a layer norm of values": () => {
    const normalizeValues = true;
    const model = FastWeightCDE({
      ...sizesOf({ layers: 2, heads: 2 }),
      ...cheap,
      rule: deltaRule(),
      normalizeValues,
    });
    return { parameters: model.parameters, output: () => model(X) };
  },
  "a query without a transpose": () => {
    const keys = "value";
    const model = FastWeightCDE({
      ...{ ...sizesOf({ layers: 1, heads: 2 }), ...cheap, rule: ojaRule(), keys, transposeQuery: false },
    });
    return { parameters: model.parameters, output: () => model(X) };
  },
  "controls from slopes": () => {
    const model = FastWeightODE({
      ...sizesOf({ layers: 2, heads: 2 }),
      rule: deltaRule(),
      controlsFrom: "slopes",
    });
    return { parameters: model.parameters, output: () => model(X) };
  },
  "fast weights from static features": () => {
    const model = FastWeightODE({
      ...sizesOf({ layers: 2, heads: 2 }),
      ...cheap,
      rule: deltaRule(),
      ...ofPatients,
    });
    return { parameters: model.parameters, output: () => model(X, { staticFeatures }) };
  },
  "FastWeightDirectMap": () => {
    const { layers: _, heads: __, ...sizes } = sizesOf({ layers: 1, heads: 1 });
    const model = FastWeightDirectMap({ ...sizes, width: 3, depth: 1 });
    return { parameters: model.parameters, output: () => model(X, { states: "all" }) };
  },
  "FastWeightDirectMap from static features": () => {
    const { layers: _, heads: __, ...sizes } = sizesOf({ layers: 1, heads: 1 });
    const model = FastWeightDirectMap({ ...sizes, width: 3, depth: 0, ...ofPatients });
    return { parameters: model.parameters, output: () => model(X, { staticFeatures }) };
  },
  "a FastWeightRDE whose query is of the first observation": () => {
    const X = LinearInterpolation(logsigWindows(normal(key(2), [2, 5, 2], f64), 2, 2));
    const sizes = sizesOf({ layers: 2, heads: 2 });
    const model = FastWeightRDE({ ...sizes, ...cheap, rule: deltaRule(), depth: 2, queryFrom: "initial" });
    return { parameters: model.parameters, output: () => model(X, { states: "all" }) };
  },
  "a FastWeightRDE of static features and normalized values, in two steps a window": () => {
    const X = LinearInterpolation(logsigWindows(normal(key(2), [2, 7, 2], f64), 2, 3));
    const form = { form: "cde", normalizeValues: true, stepSize: 0.5 } as const;
    const model = FastWeightRDE({
      ...{ ...sizesOf({ layers: 1, heads: 2 }), rule: deltaRule(), depth: 2, ...form, ...ofPatients },
    });
    return { parameters: model.parameters, output: () => model(X, { staticFeatures }) };
  },
};
const between = { width: 3, depth: 1 };
/** So that central differences do not change the step sizes. */
const adaptive = { width: 2, depth: 0, method: "dopri5", rtol: 1e-8, atol: 1e-9 } as const;
const partial = bernoulli(key(7), 0.5, x.shape).where(x, NaN);
const observed = bernoulli(key(4), 0.6, [2, 4]);
for (const update of ["after", "before"] as const) {
  options[`an ODE-RFWP of static features, updated ${update},`] = () => {
    const model = ODERFWP({
      ...sizesOf({ layers: 2, heads: 2 }),
      ...cheap,
      ...between,
      update,
      ...ofPatients,
    });
    const call = { gaps, observed, staticFeatures, states: "all" } as const;
    return { parameters: model.parameters, output: () => model(x, call) };
  };
  options[`the bound of a latent ODE-RFWP of static features, updated ${update},`] = () => {
    const encoder = update === "after" ? "gru" : "delta-net";
    const { outputChannels: _, ...rest } = sizesOf({ layers: 1, heads: 2 });
    const model = LatentODERFWP({
      ...rest,
      ...cheap,
      ...between,
      ...ofPatients,
      update,
      encoder,
    });
    const call = { gaps, staticFeatures, key: key(3) };
    return { parameters: model.parameters, output: () => model.loss(partial, call) };
  };
  options[`the bound of a latent ODE-RNN of static features, updated ${update},`] = () => {
    const sizes = { inputChannels: 2, hiddenChannels: 3, ...between, key: key(0), ...f64 };
    const model = LatentODERNN({ ...sizes, ...ofPatients, update });
    const call = { gaps, staticFeatures, key: key(3) };
    return { parameters: model.parameters, output: () => model.loss(partial, call) };
  };
}
for (const [steps, choice] of Object.entries({ "adaptive steps": adaptive, "fixed steps": between })) {
  options[`an ODE-RNN of static features in ${steps}`] = () => {
    const sizes = { inputChannels: 2, hiddenChannels: 3, outputChannels: 2, key: key(0), ...f64 };
    const model = IrregularGRU({ ...sizes, between: choice, ...ofPatients });
    const output = () => model(x, { gaps, observed, staticFeatures });
    return { parameters: model.parameters, output, ...choice === adaptive ? { isAdaptive: true } : {} };
  };
}
options["an ODE-RFWP of static features in adaptive steps"] = () => {
  const model = ODERFWP({ ...sizesOf({ layers: 1, heads: 1 }), ...adaptive, ...ofPatients });
  const call = { gaps: gaps.slice(0, 0, 2), staticFeatures };
  return { parameters: model.parameters, output: () => model(x.slice(1, 0, 2), call), isAdaptive: true };
};
options["an ODE-RFWP whose query is of the observation alone"] = () => {
  const model = ODERFWP({ ...sizesOf({ layers: 2, heads: 2 }), ...cheap, ...between, queryFeedback: false });
  return { parameters: model.parameters, output: () => model(x, { gaps }) };
};
for (const cell of ["gru", "lstm"] as const) {
  options[`a Recurrent (${cell}) of static features`] = () => {
    const sizes = { inputChannels: 2, hiddenChannels: 3, outputChannels: 2, key: key(0), ...f64 };
    const model = Recurrent({ cell, ...sizes, ...ofPatients });
    return { parameters: model.parameters, output: () => model(x, { staticFeatures, states: "all" }) };
  };
}
options["the bound of a latent ODE of static features"] = () => {
  const sizes = { inputChannels: 2, outputChannels: 2, latentChannels: 2, width: 3, depth: 1 };
  const model = LatentODE({ ...sizes, ...ofPatients, stepSize: 1, key: key(0), ...f64 });
  const call = { staticFeatures, key: key(3) };
  return { parameters: model.parameters, output: () => model.loss(X, partial, X.times, call) };
};

for (const [name, make] of Object.entries(options)) {
  testLong(`the gradients of ${name} agree with central differences`, async () => {
    await check(make());
  });
}

testLong("the gradients of initial fast weights agree with central differences", async () => {
  for (const layers of [1, 2]) {
    const model = FastWeightODE({ ...sizesOf({ layers, heads: 2 }), rule: deltaRule() });
    const initial = normal(key(5), [2, ...layers === 1 ? [] : [layers], 2, 2, 2], f64);
    await checkGradients((initial) => model(X, { initial }), [initial], { elements: 2 });
  }
});
