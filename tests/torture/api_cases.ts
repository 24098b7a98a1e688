/** Calls of the library with one invalid argument. Each must throw one of the library's messages. */
import * as weft from "../../mod.ts";
import type { Choices } from "./choices.ts";
import { faultOfMessage } from "./commands.ts";

type Arguments = Readonly<Record<string, unknown>>;

/** A function of the library, valid arguments, and invalid values for some of them. */
interface Subject {
  readonly name: string;
  call(args: Arguments): unknown;
  readonly valid: () => Arguments;
  readonly wrong: Readonly<Record<string, readonly unknown[] | (() => readonly unknown[])>>;
}

const sizes = [-1, 1.5, NaN, Infinity, 2 ** 53, 1e15];
const counts = [...sizes, 0];
const shares = [-0.1, NaN, Infinity];
const positives = [0, -1, NaN, Infinity];
const rates = [-1, NaN, Infinity];
const unknown = ["", "nothing", "constructor", "__proto__"];
const key = weft.key(0);
const random = (...shape: number[]) => weft.normal(key, shape);
const whole = (...shape: number[]) => weft.zeros(shape, { dtype: "int32" });
const pair = (
  name: string,
  call: (x: weft.Tensor, value: never) => unknown,
  wrong: readonly unknown[],
  value: unknown,
): Subject => ({
  name,
  call: ({ x, value }) => call(x as weft.Tensor, value as never),
  valid: () => ({ x: random(2, 3), value }),
  wrong: { value: wrong },
});
const axes = [2, -3, 1.5, NaN, Infinity];
const shapesOfOthers = () => [random(4, 3), random(2, 4), random(3)];

/** A subject whose only argument is an options object. */
function factory(
  name: keyof typeof weft,
  options: Arguments,
  wrong: Readonly<Record<string, readonly unknown[]>>,
  { isRandom = true } = {},
): Subject {
  return {
    name,
    call: (args) => (weft[name] as (options: unknown) => unknown)(args),
    valid: () => ({ ...(isRandom ? { key } : {}), ...options }),
    wrong,
  };
}

const decay: weft.VectorField = (_, y) => y.mul(-1);
const parameters = () => ({ w: weft.parameter(random(2)) });
const heads = { heads: [...counts, 3] };
const fastWeight = { inputChannels: 2, modelDim: 4, heads: 2, outputChannels: 2 };
const fastWeightWrong = {
  inputChannels: counts,
  modelDim: [...counts, 3],
  ...heads,
  outputChannels: counts,
  layers: counts,
  feedForward: counts,
};
const solves = {
  method: unknown,
  stepSize: [...positives, 1e-300],
  adjoint: unknown,
};

/** All functions under test. */
export const subjects: readonly Subject[] = [
  ...(["zeros", "ones"] as const).map((name): Subject => ({
    name,
    call: ({ shape, dtype }) => weft[name](shape as number[], { dtype: dtype as weft.DType }),
    valid: () => ({ shape: [2, 3], dtype: "float32" }),
    wrong: { shape: sizes.map((size) => [size, 2]), dtype: ["float16", ...unknown] },
  })),
  {
    name: "full",
    call: ({ shape, value }) => weft.full(shape as number[], value as number),
    valid: () => ({ shape: [2], value: 1 }),
    wrong: { shape: sizes.map((size) => [size]) },
  },
  { name: "eye", call: ({ n }) => weft.eye(n as number), valid: () => ({ n: 3 }), wrong: { n: sizes } },
  { name: "arange", call: ({ n }) => weft.arange(n as number), valid: () => ({ n: 3 }), wrong: { n: sizes } },
  {
    name: "linspace",
    call: ({ a, b, n }) => weft.linspace(a as number, b as number, n as number),
    valid: () => ({ a: 0, b: 1, n: 4 }),
    wrong: { n: sizes, a: [NaN, Infinity], b: [NaN, -Infinity] },
  },
  {
    name: "tensor",
    call: ({ data, shape }) => weft.tensor(data as number[], { shape: shape as number[] }),
    valid: () => ({ data: [1, 2, 3, 4], shape: [2, 2] }),
    wrong: {
      shape: [...sizes.map((size) => [size]), [3], [2, 3], []],
      data: [[1, 2], [[1], [2, 3]], [[[1, 2]], [3, 4]]],
    },
  },
  {
    name: "key",
    call: ({ seed }) => weft.key(seed as number),
    valid: () => ({ seed: 1 }),
    wrong: { seed: [-1, 1.5, NaN, Infinity] },
  },
  {
    name: "split",
    call: ({ n }) => weft.split(key, n as number),
    valid: () => ({ n: 2 }),
    wrong: { n: sizes },
  },
  {
    name: "foldIn",
    call: ({ n }) => weft.foldIn(key, n as number),
    valid: () => ({ n: 2 }),
    wrong: { n: [-1, 1.5, NaN, Infinity] },
  },
  {
    name: "uniform",
    call: ({ shape, low, high }) =>
      weft.uniform(key, shape as number[], { low: low as number, high: high as number }),
    valid: () => ({ shape: [2], low: 0, high: 1 }),
    wrong: { shape: sizes.map((size) => [size]), low: [2, NaN, -Infinity], high: [-1, NaN, Infinity] },
  },
  {
    name: "normal",
    call: ({ shape, deviation }) =>
      weft.normal(key, shape as number[], { standardDeviation: deviation } as object),
    valid: () => ({ shape: [2], deviation: 1 }),
    wrong: { shape: sizes.map((size) => [size]) },
  },
  {
    name: "bernoulli",
    call: ({ p, shape }) => weft.bernoulli(key, p as number, shape as number[]),
    valid: () => ({ p: 0.5, shape: [2] }),
    wrong: { p: [...shares, 1.1], shape: sizes.map((size) => [size]) },
  },
  {
    name: "permutation",
    call: ({ n }) => weft.permutation(key, n as number),
    valid: () => ({ n: 3 }),
    wrong: { n: sizes },
  },
  pair("sum", (x, axis) => x.sum(axis), axes, 1),
  pair("mean", (x, axis) => x.mean(axis), axes, -1),
  pair("max", (x, axis) => x.max(axis), axes, 0),
  pair("argmax", (x, axis) => x.argmax(axis), axes, 0),
  pair("cumsum", (x, axis) => x.cumsum(axis), axes, 0),
  pair("softmax", (x, axis) => x.softmax(axis), axes, -1),
  pair("expandDims", (x, axis) => x.expandDims(axis), [3, -4, 1.5, NaN], 0),
  pair("reshape", (x, shape) => x.reshape(shape), [[4], [-1, -1], [1.5, 4], [NaN], [-2, 3], []], [3, 2]),
  pair("broadcastTo", (x, shape) => x.broadcastTo(shape), [[3], [2, 4], [2, 3, 1], [-1, 3]], [5, 2, 3]),
  pair("permute", (x, order) => x.permute(order), [[0], [0, 0], [0, 2], [1.5, 0], [0, 1, 2]], [1, 0]),
  pair("at", (x, index) => x.at(1, index), [3, -4, 1.5, NaN, Infinity], 2),
  pair("slice", (x, axis) => x.slice(axis, 0, 1), axes, 1),
  pair("cast", (x, dtype) => x.cast(dtype), unknown, "int32"),
  pair("add", (x, other) => x.add(other), shapesOfOthers().slice(0, 2), 1),
  pair("matmul", (x, other) => x.matmul(other), [random(2, 3), random(4), random(4, 4)], random(3, 2)),
  pair("concatenate", (_, others) => weft.concatenate(others, 0), [[], [random(2, 3), random(2, 4)], [
    random(2, 3),
    random(3),
  ]], [random(1, 3)]),
  pair("stack", (_, others) => weft.stack(others), [[], [random(2, 3), random(2, 4)]], [random(2, 3)]),
  pair("concatenate along an axis", (x, axis) => weft.concatenate([x, x], axis), axes, 1),
  pair(
    "einsum",
    (x, equation) => weft.einsum(equation, x),
    ["", "i->i", "ij->k", "ij", "ij-", "ijk->i", "i j -> 1"].filter((e) => e !== "ij"),
    "ij->ji",
  ),
  pair("naturalCubicCoeffs", (x, t) => weft.naturalCubicCoeffs(x.expandDims(-1), t), [
    [0, 1],
    [0, 2, 1],
    [0, 1, 1],
    [0, NaN, 1],
    [0, 1, Infinity],
    [],
    random(2, 4),
  ], [0, 1, 2]),
  pair("hermiteCubicCoeffs", (x, t) => weft.hermiteCubicCoeffs(x.expandDims(-1), t), [[0, 1], [0, 2, 1], [
    0,
    NaN,
    1,
  ]], [0, 1, 2]),
  pair("linearCoeffs", (x, channel) => weft.linearCoeffs(x, undefined, { rectilinear: channel }), [
    3,
    -4,
    1.5,
    NaN,
  ], 0),
  pair("CubicSpline", (_, coeffs) => weft.CubicSpline(coeffs), [random(4), random(2, 3)], random(2, 4)),
  ...(["evaluate", "derivative"] as const).map((name) =>
    pair(
      `CubicSpline.${name}`,
      (_, t) => weft.CubicSpline(random(2, 4))[name](t),
      [undefined, null, NaN, Infinity, [0, NaN], "1"],
      0.5,
    )
  ),
  pair("jit", (_, f) => weft.jit(f), [3, undefined, null, {}], (x: weft.Tensor) => x.add(1)),
  pair("init", (_, options) => weft.init(options), ["cpu", null, 3, { device: "gpu" }, { threads: 1.5 }], {
    device: "cpu",
  }),
  pair("signature", (x, depth) => weft.signature(x, depth), [...counts.filter((n) => n !== 0), 0], 2),
  pair("logsignature", (x, depth) => weft.logsignature(x, depth), counts, 2),
  pair("logsigWindows", (x, length) => weft.logsigWindows(x, 2, length), positives, 1),
  pair("addTime", (x, t) => weft.addTime(x, t), [[0, 1, 2], [1, 0], [0, NaN]], [0, 1]),
  {
    name: "odeint",
    call: ({ y0, t, ...options }) =>
      weft.odeint(decay, y0 as weft.Tensor, t as number[], options as weft.SolveOptions),
    valid: () => ({ y0: random(2), t: [0, 0.5, 1] }),
    wrong: { t: [[], [0], [0, 0], [0, 1, 0.5], [0, NaN], [0, Infinity]], ...solves },
  },
  {
    name: "odeint dopri5",
    call: ({ y0, ...options }) =>
      weft.odeint(decay, y0 as weft.Tensor, [0, 1], { method: "dopri5", ...options }),
    valid: () => ({ y0: random(2) }),
    wrong: { rtol: positives, atol: positives, maxSteps: [-1, 0, 1.5, NaN, Infinity] },
  },
  {
    name: "cdeint",
    call: ({ x, z0, ...options }) => {
      const X = weft.CubicSpline(x as weft.Tensor);
      return weft.cdeint(X, (_, z) => z.expandDims(-1), z0 as weft.Tensor, [0, 2], options);
    },
    valid: () => ({ x: random(2, 4), z0: random(3) }),
    wrong: { x: [random(2, 8)], ...solves },
  },
  pair("crossEntropy", (_, labels) => weft.crossEntropy(random(2, 3), labels), [
    whole(3),
    random(2),
    whole(2, 1),
  ], whole(2)),
  pair(
    "accuracy",
    (_, labels) => weft.accuracy(random(2, 3), labels),
    [whole(3), random(2), whole(2, 1)],
    whole(2),
  ),
  pair("meanSquaredError", (x, other) => weft.meanSquaredError(x, other), shapesOfOthers(), random(2, 3)),
  pair("Dropout", (_, rate) => weft.Dropout({ rate }), [...shares, 1, 1.5], 0.5),
  pair("clipByGlobalNorm", (x, norm) => weft.clipByGlobalNorm({ x }, norm), [-1, NaN], 1),
  factory("Linear", { inputs: 2, outputs: 3 }, { inputs: counts, outputs: counts, dtype: unknown }),
  factory("MLP", { inputs: 2, outputs: 3, width: 4, depth: 1 }, {
    inputs: counts,
    outputs: counts,
    width: counts,
    depth: sizes,
  }),
  factory("LayerNorm", { features: 3 }, { features: counts, eps: [-1, NaN, Infinity] }, { isRandom: false }),
  factory("Embedding", { count: 3, features: 2 }, { count: counts, features: counts }),
  factory("GRU", { inputs: 2, hidden: 3 }, { inputs: counts, hidden: counts }),
  factory("LSTM", { inputs: 2, hidden: 3 }, { inputs: counts, hidden: counts }),
  factory("NeuralCDE", { inputChannels: 2, hiddenChannels: 3, outputChannels: 2, width: 4, depth: 1 }, {
    inputChannels: counts,
    hiddenChannels: counts,
    outputChannels: counts,
    width: counts,
    depth: sizes,
  }),
  factory("NeuralODE", { features: 2, width: 4, depth: 1 }, {
    features: counts,
    width: counts,
    depth: sizes,
  }),
  factory("LatentODE", { inputChannels: 2, outputChannels: 1, latentChannels: 3, width: 4, depth: 1 }, {
    inputChannels: counts,
    outputChannels: counts,
    latentChannels: counts,
    width: counts,
    depth: sizes,
    noise: rates,
  }),
  factory("FastWeightODE", fastWeight, fastWeightWrong),
  factory("FastWeightCDE", fastWeight, fastWeightWrong),
  factory("FastWeightRDE", { ...fastWeight, depth: 2 }, { ...fastWeightWrong, depth: counts }),
  factory("FastWeightDirectMap", { inputChannels: 2, modelDim: 4, outputChannels: 2, width: 4, depth: 1 }, {
    inputChannels: counts,
    modelDim: counts,
    outputChannels: counts,
    width: counts,
    depth: sizes,
  }),
  factory("DeltaNet", fastWeight, { ...fastWeightWrong, dropout: [...shares, 1] }),
  factory("LinearTransformer", fastWeight, fastWeightWrong),
  factory("RecurrentFWP", fastWeight, fastWeightWrong),
  factory("ODERFWP", { ...fastWeight, width: 4, depth: 1 }, {
    ...fastWeightWrong,
    width: counts,
    depth: sizes,
    stepsPerGap: counts,
  }),
  factory("WARP", { inputChannels: 2, outputChannels: 2, root: { width: 4, depth: 1 } }, {
    inputChannels: counts,
    outputChannels: counts,
    root: counts.map((width) => ({ width, depth: 1 })),
    mode: unknown,
  }),
  factory("Recurrent", { cell: "gru", inputChannels: 2, hiddenChannels: 3, outputChannels: 2 }, {
    cell: unknown,
    inputChannels: counts,
    hiddenChannels: counts,
    outputChannels: counts,
  }),
  factory("IrregularGRU", { inputChannels: 2, hiddenChannels: 3, outputChannels: 2 }, {
    inputChannels: counts,
    hiddenChannels: counts,
    outputChannels: counts,
    between: ["", "linear", "constructor"],
  }),
  ...(["SGD", "Adam", "AdamW", "AdaBelief"] as const).map((name): Subject => ({
    name,
    call: (options) => weft[name](parameters(), options as never),
    valid: () => ({ learningRate: 0.1 }),
    wrong: {
      learningRate: rates,
      weightDecay: rates,
      ...(name === "SGD"
        ? { momentum: rates }
        : { betas: [[1, 0.9], [0.9, -1], [NaN, 0.9]], eps: [-1, NaN] }),
    },
  })),
  {
    name: "cosine",
    call: (options) => weft.cosine(options as never)(0),
    valid: () => ({ steps: 10 }),
    wrong: { steps: [0, -1, NaN], minimum: [-1, NaN] },
  },
  {
    name: "warmup",
    call: (options) => weft.warmup(options as never)(0),
    valid: () => ({ steps: 10 }),
    wrong: { steps: [-1, NaN] },
  },
  {
    name: "reduceOnPlateau",
    call: (options) => weft.reduceOnPlateau(options as never),
    valid: () => ({}),
    wrong: { factor: [-1, NaN], patience: [-1, NaN], mode: unknown },
  },
];

const along = () => weft.LinearInterpolation(weft.logsigWindows(random(2, 7, 2), 2, 2));
const neuralRde = {
  ...{ inputChannels: 2, hiddenChannels: 3, outputChannels: 2 },
  ...{ signatureDepth: 2, width: 4, depth: 1 },
};
const fractions = [1.5, 2.5, 0.1, NaN];

/**
 * Calls with an argument that bounds a loop. A bound that the loop never reaches exactly must not cause an
 * infinite loop.
 */
const endless: readonly Subject[] = [
  factory("FastWeightRDE", { ...fastWeight, depth: 2 }, { inputChannels: fractions, depth: fractions }),
  factory("NeuralRDE", neuralRde, { inputChannels: fractions, signatureDepth: fractions, depth: fractions }),
  {
    name: "logsignatureChannels",
    call: ({ channels, depth }) => weft.logsignatureChannels(channels as number, depth as number),
    valid: () => ({ channels: 2, depth: 2 }),
    wrong: { channels: fractions, depth: [...fractions, Infinity] },
  },
  {
    name: "NeuralRDE's solve",
    call: (solver) =>
      weft.NeuralRDE({
        ...neuralRde,
        key,
        ...solver,
      })(along()),
    valid: () => ({}),
    wrong: { stepsPerPiece: [0, ...fractions, Infinity], stepSize: [0, NaN, 1e-300] },
  },
];

/** Calls a function with an invalid argument, and sometimes with valid arguments, which must succeed. */
export async function apiCase(choices: Choices): Promise<[what: string, fault?: string]> {
  return await callWrongly(subjects, choices);
}

/** Like {@linkcode apiCase}, for arguments that could cause an infinite loop. */
export async function endlessCase(choices: Choices): Promise<[what: string, fault?: string]> {
  return await callWrongly(endless, choices);
}

async function callWrongly(
  subjects: readonly Subject[],
  choices: Choices,
): Promise<[what: string, fault?: string]> {
  const subject = choices.of(subjects);
  if (choices.chance(0.1)) {
    const what = `${subject.name} with valid arguments`;
    return await attempt(subject, subject.valid()).then(() => [what], (error) => [what, `refused: ${error}`]);
  }
  const field = choices.of(Object.keys(subject.wrong));
  const wrong = subject.wrong[field];
  const values = typeof wrong === "function" ? wrong() : wrong;
  const at = choices.below(values.length);
  const what = `${subject.name} with ${field} = ${describe(values[at])}`;
  return await attempt(subject, { ...subject.valid(), [field]: values[at] }).then(
    () => [what, "taken in silence"],
    (error) => [what, error instanceof Error ? faultOfMessage(error.message) : `not an error: ${error}`],
  );
}

/** Calls a function. A resulting tensor is read, because errors may only appear then. */
async function attempt({ call }: Subject, args: Arguments): Promise<void> {
  const result = await call(args);
  if (result instanceof weft.Tensor) await result.data();
}

function describe(value: unknown): string {
  if (value instanceof weft.Tensor) return `${value.dtype} (${value.shape})`;
  return Array.isArray(value)
    ? `[${value.map(describe)}]`
    : typeof value === "object"
    ? JSON.stringify(value)
    : `${value}`;
}
