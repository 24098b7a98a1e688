import * as weft from "../../mod.ts";
import { counts, key, random, shares, sizes, type Subject, unknown } from "./subjects.ts";

const positives = [0, -1, NaN, Infinity];
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

const decay: weft.VectorField = (_, y) => y.mul(-1);
const solves = {
  method: unknown,
  stepSize: [...positives, 1e-300],
  adjoint: unknown,
};

/** Functions of tensors, random numbers, paths, solvers and losses. */
export const functionSubjects: readonly Subject[] = [
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
    name: "splitKey",
    call: ({ n }) => weft.splitKey(key, n as number),
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
    name: "randperm",
    call: ({ n }) => weft.randperm(key, n as number),
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
  pair("select", (x, index) => x.select(1, index), [3, -4, 1.5, NaN, Infinity], 2),
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
];
