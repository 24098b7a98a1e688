/** Learning rules with additional signals: golden values by loops over numbers, and gradients. */
import assert from "node:assert/strict";
import {
  checkGradients,
  CubicSpline,
  DeltaNet,
  FastWeightCDE,
  FastWeightODE,
  gatedDeltaRule,
  gatedOjaRule,
  key,
  type LearningRule,
  learningRule,
  naturalCubicCoeffs,
  normal,
  odeint,
  ODERFWP,
  RecurrentFWP,
  splitKey,
  stack,
  type Tensor,
  tensor,
} from "../../mod.ts";
import { SlowNetwork } from "../../src/models/fast_weight/slow_network.ts";
import { testLong, testOnDevices } from "../devices.ts";

const dtype = "float64";
const [steps, rows, columns, bias] = [5, 3, 3, -1.5];
const [keys, values, rates, gates] = splitKey(key(3), 4).map((key, i) =>
  normal(key, [steps, 1, [columns, rows, 1, 1][i]], { dtype })
);

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const softplus = (x: number) => Math.log1p(Math.exp(x));

/** The signals at a step, with their activations, as numbers. */
async function numbersAt(t: number) {
  const [k, v, [rate], [gate]] = await Promise.all(
    [keys, values, rates, gates].map(async (x) => [...await x.select(0, t).data()] as number[]),
  );
  const sum = k.reduce((sum, value) => sum + Math.exp(value), 0);
  return {
    k: k.map((value) => Math.exp(value) / sum),
    v: v.map(Math.tanh),
    beta: sigmoid(rate),
    lambda: softplus(gate + bias),
  };
}

type Matrix = number[][];
type At = Awaited<ReturnType<typeof numbersAt>>;

/** The change of W without decay. */
const changes = {
  delta: (w: Matrix, { k, v, beta }: At): Matrix =>
    v.map((value, i) => {
      const error = value - k.reduce((sum, key, j) => sum + w[i][j] * key, 0);
      return k.map((key) => beta * error * key);
    }),
  oja: (w: Matrix, { k, v, beta }: At): Matrix =>
    v.map((value) =>
      k.map((key, j) => beta * value * (key - v.reduce((sum, other, i) => sum + w[i][j] * other, 0)))
    ),
};

const rules = { delta: gatedDeltaRule, oja: gatedOjaRule };

async function assertMatrix(found: Tensor, expected: Matrix): Promise<void> {
  const error = await found.reshape([rows, columns]).sub(tensor(expected, { dtype })).abs().max().item();
  assert.ok(error < 1e-14, `${error}`);
}

const signalsAt = (t: number) => ({
  keys: keys.select(0, t),
  values: values.select(0, t),
  rate: rates.select(0, t),
  gate: gates.select(0, t),
});

for (const name of ["delta", "oja"] as const) {
  Deno.test(`the discrete gated ${name} rule follows loops over numbers`, async () => {
    const rule = rules[name]({ time: "discrete", gateBias: bias });
    let w = rule(signalsAt(0));
    let expected = changes[name](new Array(rows).fill(new Array(columns).fill(0)), await numbersAt(0));
    for (let t = 1; t < steps; t++) {
      w = w.add(rule(signalsAt(t), w));
      const at = await numbersAt(t);
      const kept = expected.map((row) => row.map((value) => Math.exp(-at.lambda) * value));
      const change = changes[name](kept, at);
      expected = kept.map((row, i) => row.map((value, j) => value + change[i][j]));
    }
    await assertMatrix(w, expected);
  });

  Deno.test(`the continuous gated ${name} rule follows loops over numbers`, async () => {
    const rule = rules[name]({ gateBias: bias });
    const h = 0.5;
    const start = normal(key(4), [1, rows, columns], { dtype });
    const field = (t: Tensor, w: Tensor) => {
      const at = (x: Tensor) => x.take(t.div(h).add(0.1).cast("int32").reshape([1])).squeeze(0);
      const read = { keys: at(keys), values: at(values), rate: at(rates), gate: at(gates) };
      return rule(read, w);
    };
    const found = odeint(field, start, [0, h * steps], { method: "euler", stepSize: h, compile: false });
    const numbers = [...await start.data()] as number[];
    let expected = Array.from({ length: rows }, (_, i) => numbers.slice(i * columns, (i + 1) * columns));
    for (let t = 0; t < steps; t++) {
      const at = await numbersAt(t);
      const change = changes[name](expected, at);
      expected = expected.map((row, i) =>
        row.map((value, j) => value + h * (change[i][j] - at.lambda * value))
      );
    }
    await assertMatrix(found.select(0, 1), expected);
  });
}

Deno.test("a slow network computes further signals after keys, values and rates, for each head", async () => {
  const sizes = { inputs: 2, modelDim: 6, heads: 2, key: key(0), dtype } as const;
  const network = SlowNetwork({ ...sizes, signals: { gate: 1, decay: "values", mix: 2 } });
  const x = normal(key(1), [4, 2], { dtype });
  const { keys, values, rate, ...further } = network.signals(() => x) as unknown as Record<string, Tensor>;
  assert.deepEqual(Object.entries(further).map(([name, { shape }]) => [name, [...shape]]), [
    ["gate", [4, 2, 1]],
    ["decay", [4, 2, 3]],
    ["mix", [4, 2, 2]],
  ]);
  const { slow } = network.parameters as unknown as { slow: { weight: Tensor; bias: Tensor } };
  assert.deepEqual(slow.weight.shape, [2 * 13, 6]);
  // The bias alone, in the order of the parts of a head.
  slow.weight.assign(slow.weight.mul(0));
  slow.bias.assign(tensor(Array.from({ length: 26 }, (_, i) => i), { dtype }));
  const parts = network.signals(() => x) as unknown as Record<string, Tensor>;
  const second = async (name: string) => [...await parts[name].select(0, 0).select(0, 1).data()];
  assert.deepEqual(await Promise.all(["keys", "values", "rate", "gate", "decay", "mix"].map(second)), [
    [13, 14, 15],
    [16, 17, 18],
    [19],
    [20],
    [21, 22, 23],
    [24, 25],
  ]);
  assert.deepEqual([keys, values, rate].map(({ shape }) => shape.at(-1)), [3, 3, 1]);
});

const x = normal(key(5), [2, 4, 2], { dtype });
const X = CubicSpline(naturalCubicCoeffs(x));
const sizes = {
  inputChannels: 2,
  modelDim: 4,
  heads: 2,
  outputChannels: 2,
  feedForward: 3,
  key: key(0),
  dtype,
} as const;
const discrete = gatedDeltaRule({ time: "discrete" });
const models = {
  FastWeightODE: (rule: LearningRule) => {
    const model = FastWeightODE({ ...sizes, rule, layers: 2, method: "euler" });
    return { model, run: () => model(X) };
  },
  FastWeightCDE: (rule: LearningRule) => {
    const model = FastWeightCDE({ ...sizes, rule, method: "euler" });
    return { model, run: () => model(X) };
  },
  DeltaNet: (_: LearningRule) => {
    const model = DeltaNet({ ...sizes, rule: discrete });
    return { model, run: () => model(x) };
  },
  RecurrentFWP: (_: LearningRule) => {
    const model = RecurrentFWP({ ...sizes, rule: gatedOjaRule({ time: "discrete" }) });
    return { model, run: () => model(x) };
  },
  ODERFWP: (_: LearningRule) => {
    const model = ODERFWP({ ...sizes, rule: discrete, width: 3, depth: 1, method: "euler" });
    return { model, run: () => model(x, { gaps: tensor([0, 0.3, 1, 0.5], { dtype }) }) };
  },
};
for (const [name, make] of Object.entries(models)) {
  testLong(`gradients of ${name} with a gated rule agree with central differences`, async () => {
    const { model, run } = make(gatedOjaRule());
    await checkGradients((_) => run(), [model.parameters], { elements: 3 });
  });
}

testOnDevices("a gated rule compiles, and a large decay forgets all but the last observation", async () => {
  const single = normal(key(7), [2, 9, 2]);
  const last = stack(Array.from({ length: 9 }, (_, t) => single.select(1, t === 8 ? 8 : 0)), 1);
  const make = (gateBias: number) =>
    DeltaNet({ ...sizes, dtype: "float32", rule: gatedDeltaRule({ time: "discrete", gateBias }) });
  const difference = async (gateBias: number) => {
    const model = make(gateBias);
    return await model(single).sub(model(last)).abs().max().item();
  };
  assert.ok(await difference(30) < 1e-5);
  assert.ok(await difference(-4) > 1e-3);
});

Deno.test("learningRule rejects names of signals that every rule receives, and wrong sizes", () => {
  const rule: LearningRule = ({ keys }) => keys;
  assert.throws(
    () => learningRule({ rate: 1 }, rule),
    /a signal is named "rate"; every rule receives this signal/,
  );
  assert.throws(() => learningRule({ gate: 0 }, rule), /signals.gate is 0, expected a positive integer/);
  assert.throws(() => learningRule({ gate: "heads" as "keys" }, rule), /signals.gate is heads/);
});
