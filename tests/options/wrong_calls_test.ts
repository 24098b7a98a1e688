/** Wrong calls of every tensor method and function: each error must be one of the library's messages. */
import assert from "node:assert/strict";
import * as weft from "../../mod.ts";
import { faultOf, wrongValues } from "./wrong_calls.ts";

const { naturalCubicCoeffs, stack, Tensor, tensor } = weft;
const x = tensor([[1, 2, 3], [4, 5, 6]]);

/**
 * Faults of the errors of a function: without arguments, with each wrong argument, and with each pair of
 * wrong arguments.
 */
async function faultsOf(
  call: (...args: unknown[]) => unknown,
  operation: string | undefined,
  pairs: boolean,
): Promise<string[]> {
  const faults: string[] = [];
  const attempt = async (names: string, ...args: unknown[]) => {
    try {
      await call(...args);
    } catch (error) {
      const fault = faultOf(error, operation);
      if (fault) faults.push(`(${names}): ${fault}`);
    }
  };
  await attempt("");
  for (const [name, value] of wrongValues) {
    await attempt(name, value);
    if (!pairs) continue;
    for (const [second, other] of wrongValues) await attempt(`${name}, ${second}`, value, other);
  }
  return faults;
}

const methods = [...Object.keys(Tensor.prototype), "assign", "to"];
assert.ok(methods.length > 60);
for (const name of methods) {
  Deno.test(`errors of wrong calls of the method ${name} begin with its name`, async () => {
    const method = (...args: unknown[]) => {
      const receiver = tensor([[1, 2, 3], [4, 5, 6]]) as unknown as Record<
        string,
        (...args: unknown[]) => unknown
      >;
      return receiver[name](...args);
    };
    assert.deepEqual(await faultsOf(method, name, true), []);
  });
}

/** Classes, and functions that write or read files, whose messages begin with the path. */
const left = new Set(["init", "load", "loadMetadata", "save"]);
const isClass = (f: unknown) => /^class\b/.test(String(f));

for (const [name, f] of Object.entries(weft)) {
  if (typeof f !== "function" || isClass(f) || left.has(name)) continue;
  Deno.test(`wrong calls of ${name} throw errors of the library`, async () => {
    const call = (...args: unknown[]) => (f as (...args: unknown[]) => unknown)(...args);
    assert.deepEqual(await faultsOf(call, undefined, true), []);
  });
}

const { key, normal, parameter, zeros } = weft;
const int32 = { dtype: "int32" } as const;
const series = normal(key(0), [2, 4, 3]);
const bands = [x, x.add(9), x, x];
const decay = (_t: unknown, y: weft.Tensor) => y.neg();
const spline = weft.CubicSpline(naturalCubicCoeffs(series));
const along = (_t: unknown, z: weft.Tensor) => z.expandDims(-1).mul(tensor([1, 1, 1]));
const crossed = (_t: unknown, y: weft.Tensor) => y.sum().sub(1);
const sgd = () => weft.SGD([parameter(x)], { learningRate: 0.1 });
const network = weft.MLP({ inputs: 3, outputs: 2, width: 4, depth: 1, key: key(0) });
const streamed = () =>
  weft.NeuralCDE({ inputChannels: 3, hiddenChannels: 2, outputChannels: 1, width: 2, depth: 1, key: key(0) })
    .stream();

/**
 * Functions of several arguments, with valid arguments. Each argument in turn is replaced by each wrong
 * value.
 */
const callsOfSeveral: Record<string, readonly [call: (...args: never[]) => unknown, ...valid: unknown[]]> = {
  "Tensor.slice": [(...a) => x.slice(...a as unknown as [0]), 0, 0, 2, 1],
  "Tensor.clip": [(...a) => x.clip(...a as unknown as [0, 1]), 0, 1],
  "Tensor.pad": [(...a) => x.pad(...a as unknown as [never]), [[0, 1], [1, 0]], 2],
  "Tensor.take": [(...a) => x.take(...a as unknown as [never]), zeros([2], int32), 1],
  "Tensor.scatterAdd": [
    (...a) => x.scatterAdd(...a as unknown as [never, never]),
    zeros([1], int32),
    tensor([[1, 1, 1]]),
    0,
  ],
  "Tensor.where": [(...a) => x.greater(2).where(...a as unknown as [0, 1]), x, 1],
  "Tensor.tile": [(...a) => x.tile(...a as unknown as [2]), 2],
  "Tensor.sort": [(...a) => x.sort(...a as unknown as [0]), 0, {}],
  topK: [weft.topK, x, 1, {}],
  oneHot: [weft.oneHot, zeros([2], int32), 3, {}],
  "Tensor.atan2": [(...a) => x.atan2(...a as unknown as [2]), x],
  randint: [weft.randint, key(0), [2], 0, 3],
  jacobian: [(f, x) => weft.jacobian(f)(x), (x: weft.Tensor) => x, tensor([1, 2])],
  Sequential: [weft.Sequential, (x: weft.Tensor) => x],
  parameterCount: [weft.parameterCount, [x]],
  where: [weft.where, x.greater(2), x, 1],
  tridiagonalSolve: [weft.tridiagonalSolve, ...bands],
  linearRecurrence: [weft.linearRecurrence, x, x, {}],
  concatenate: [weft.concatenate, [x, x], 1],
  linspace: [weft.linspace, 0, 1, 3, {}],
  full: [weft.full, [2], 1, {}],
  uniform: [weft.uniform, key(0), [2], {}],
  normal: [normal, key(0), [2], {}],
  bernoulli: [weft.bernoulli, key(0), 0.5, [2]],
  naturalCubicCoeffs: [naturalCubicCoeffs, series, [0, 1, 2, 3]],
  linearCoeffs: [weft.linearCoeffs, series, [0, 1, 2, 3], {}],
  CubicSpline: [weft.CubicSpline, naturalCubicCoeffs(series), [0, 1, 2, 3], {}],
  LinearInterpolation: [weft.LinearInterpolation, series, [0, 1, 2, 3], {}],
  "Path.evaluate": [(t) => spline.evaluate(t), 0.5],
  logsigWindows: [weft.logsigWindows, series, 2, 2, [0, 1, 2, 3]],
  terminalTimes: [weft.terminalTimes, tensor([0, 1, 2, 3]), tensor([1, 2], int32)],
  combineSignatures: [weft.combineSignatures, weft.signature(series, 2), weft.signature(series, 2), 3, 2],
  odeint: [weft.odeint, decay, x, [0, 1], {}],
  solve: [weft.solve, decay, x, [0, 1], {}],
  findOdeintSteps: [weft.findOdeintSteps, decay, x, [0, 1], {}],
  integralController: [weft.integralController, {}],
  constantStepSize: [weft.constantStepSize, 0.1],
  stepTo: [weft.stepTo, [0, 1]],
  odeintEvent: [weft.odeintEvent, decay, x, 0, crossed, {}],
  cdeint: [weft.cdeint, spline, along, normal(key(1), [2, 2]), [0, 3], {}],
  scan: [weft.scan, (a: weft.Tensor, b: weft.Tensor) => [a, b], tensor(0), tensor([1, 2]), {}],
  whileLoop: [weft.whileLoop, (a: weft.Tensor) => a.less(0), (a: weft.Tensor) => a, tensor(0), {
    maxSteps: 1,
  }],
  crossEntropy: [weft.crossEntropy, x, zeros([2], int32), {}],
  binaryCrossEntropy: [weft.binaryCrossEntropy, x, x, {}],
  gaussianNLL: [weft.gaussianNLL, x, x, x],
  clipByGlobalNorm: [weft.clipByGlobalNorm, [x], 1],
  loadParameters: [weft.loadParameters, { w: parameter(x) }, { w: x }],
  Adam: [weft.Adam, [parameter(x)], { learningRate: 0.1 }],
  Optimizer: [
    weft.Optimizer,
    { state: [], update: (parameter: weft.Tensor) => ({ parameter, state: [] }) },
    [parameter(x)],
    { learningRate: 0.1 },
  ],
  "Optimizer.step": [(gradients) => sgd().step(gradients), [x]],
  "Optimizer.load": [(state) => sgd().load(state), sgd().state],
  "MLP layer": [(x) => network(x), x],
  "GRU layer": [(x) => weft.GRU({ inputs: 3, hidden: 2, key: key(0) })(x), series],
  "Dropout layer": [(x, key) => weft.Dropout({ rate: 0.5 })(x, key), x, key(1)],
  "Embedding layer": [(x) => weft.Embedding({ count: 2, features: 2, key: key(0) })(x), zeros([2], int32)],
  "ModelStream.push": [(t, x) => streamed().push(t, x), 0, [1, 2, 3]],
  checkGradients: [
    weft.checkGradients,
    (x: weft.Tensor) => x,
    [tensor([1], { dtype: "float64" })],
    {},
  ],
  einsum: [weft.einsum, "ij,jk->ik", x, x.mT],
  "result of grad": [(x) => weft.grad((x: weft.Tensor) => x.sum())(x), x],
};
for (const [name, [call, ...valid]] of Object.entries(callsOfSeveral)) {
  Deno.test(`each argument of a wrong type of ${name} throws an error of the library`, async () => {
    await call(...valid as never[]);
    const faults: string[] = [];
    for (const place of valid.keys()) {
      for (const [title, value] of wrongValues) {
        try {
          await call(...valid.with(place, value) as never[]);
        } catch (error) {
          const fault = faultOf(error);
          if (fault) faults.push(`argument ${place}, ${title}: ${fault}`);
        }
      }
    }
    assert.deepEqual(faults, []);
  });
}

const wrong: readonly (readonly [call: (a: never) => unknown, message: string])[] = [
  [(x: weft.Tensor) => x.reshape(4 as never), "reshape: expected a shape such as [2, 3], got 4"],
  [
    (x: weft.Tensor) => x.mean({ axis: 0 } as never),
    "mean: the axes are an object, expected a whole number or an array of them, before any options",
  ],
  [
    (x: weft.Tensor) => (stack as (...args: unknown[]) => unknown)(x, x),
    "stack: expected an array of tensors, got a Tensor; call stack([a, b])",
  ],
  [
    (x: weft.Tensor) => (weft.Adam as (p: unknown) => unknown)([x]),
    "Adam: the options are undefined, expected an object with learningRate",
  ],
  [
    (x: weft.Tensor) => (x.select as (axis: number) => unknown)(0),
    "select: the position is undefined, expected a whole number after the axis, as in select(0, 1)",
  ],
  [
    (x: weft.Tensor) => naturalCubicCoeffs(x.reshape([1, 3, 2]), [[0, 1, 2]] as never),
    "naturalCubicCoeffs: t[0] is an array, expected a number; if the function accepts separate times for each series, " +
    "pass a tensor: tensor(t)",
  ],
  [
    (x: weft.Tensor) => x.add([1, 2, 3] as never),
    "add: expected a tensor or a number, got an array; convert an array with tensor(...)",
  ],
];
for (const [call, message] of wrong) {
  Deno.test(`a wrong call throws: ${message}`, () => {
    assert.throws(() => call(x as never), { message });
  });
}

Deno.test("JavaScript operators on tensors throw an error that names the method, printing does not", () => {
  const a = tensor([1, 2]) as unknown as number;
  const operators: Record<string, () => unknown> = {
    "a + 1": () => a + 1,
    "1 + a": () => 1 + a,
    "a + a": () => a + a,
    "a + text": () => a + ("" as unknown as number),
    "-a": () => -a,
    "a * 2": () => a * 2,
    "a ** 2": () => a ** 2,
    "a > 0": () => a > 0,
    "a == 1": () => (a as unknown) == 1,
    "Math.abs(a)": () => Math.abs(a),
  };
  for (const [name, compute] of Object.entries(operators)) {
    assert.throws(
      compute,
      { name: "TypeError", message: /^Tensor: operators do not compute.*x\.add\(1\)/ },
      name,
    );
  }
  const text = tensor([1, 2]).toString();
  assert.match(text, /^Tensor float32 \(2,\) on cpu/);
  assert.equal(`${a}`, text);
  assert.equal(String(a), text);
  assert.equal([a, a].join(), `${text},${text}`);
  assert.equal(Deno.inspect(a), text);
});
