import assert from "node:assert/strict";
import {
  checkGradients,
  concatenate,
  type DType,
  IrregularGRU,
  key,
  loadParameters,
  normal,
  Recurrent,
  RecurrentForecaster,
  type Tensor,
  tensor,
  treeFlatten,
  valueAndGrad,
} from "../../mod.ts";
import { longOnSoftware, testOnCpu, testOnDevices } from "../devices.ts";
import fixture from "../fixtures/baselines.json" with { type: "json" };
import { countLoops } from "../loops.ts";
import { assertClose, type Golden, read, valuesOf } from "../golden.ts";

type Case = typeof fixture.cases[number];
type Arrays = Record<string, Golden | undefined>;

/** The authors' parameter names, and Weft's. */
const names: Record<string, string> = {
  "gru_cell": "cell",
  "linear": "readout",
  "decay": "decay",
  "func.sequential.0": "vectorField.layers.0",
  "func.sequential.2": "vectorField.layers.1",
  "func.sequential.4": "vectorField.layers.2",
};

function renamed(arrays: Arrays): [string, Golden][] {
  return Object.entries(arrays).flatMap(([name, array]): [string, Golden][] => {
    const dot = name.lastIndexOf(".");
    return array ? [[`${names[name.slice(0, dot)]}${name.slice(dot)}`, array]] : [];
  });
}

const between = { gru_dt: "nothing", gru_d: "decay", ode_rnn: { width: 6, depth: 2 } } as const;

/**
 * The case's sequences, prepared as in the authors' code. Cumulative counts become differences in place from
 * the front, so each difference subtracts an already computed difference. A series updates its state if one
 * of them exceeds 0.5. The first channel is the time since the previous row. If a series did not update its
 * state, the gap is added to all later rows.
 */
function prepare({ x, t }: Case) {
  const [batch, length, channels] = x.shape;
  const values = valuesOf(x);
  const observed: boolean[][] = [];
  for (let i = 0; i < batch; i++) {
    let skipped = 0;
    observed.push(Array.from({ length }, (_, s) => {
      const at = (i * length + s) * channels;
      for (const c of s > 0 ? [1, 2] : []) values[at + c] -= values[at - channels + c];
      const gap = s > 0 ? t.data[s] - t.data[s - 1] : 0;
      const steps = Math.max(values[at + 1], values[at + 2]) > 0.5;
      values[at] = gap + skipped;
      if (!steps) skipped += gap;
      return steps;
    }));
  }
  const gaps = t.data.map((time, s) => s > 0 ? time - t.data[s - 1] : 0);
  return { values, shape: x.shape, observed, gaps };
}

for (const example of fixture.cases) {
  const run = async (dtype: DType, tolerance: number) => {
    const model = IrregularGRU({
      inputChannels: 5,
      hiddenChannels: 5,
      outputChannels: 2,
      between: between[example.model as keyof typeof between],
      key: key(0),
      dtype,
    });
    const params = renamed(example.params as Arrays);
    loadParameters(
      model.parameters,
      Object.fromEntries(params.map(([name, array]) => [name, read(array, dtype)])),
    );
    const { values, shape, observed, gaps } = prepare(example);
    const x = tensor(values, { shape, dtype });
    const call = {
      gaps: tensor(gaps, { dtype }),
      observed: tensor(observed),
      lengths: tensor(example.final_index.data.map((last) => last + 1), { dtype: "int32" }),
    };
    await assertClose("output", model(x, call), example.output, tolerance);
    const [, gradients] = valueAndGrad(() => model(x, call).square().sum())(model.parameters);
    const found = Object.fromEntries(treeFlatten(gradients));
    for (const [name, array] of renamed(example.grad_params as Arrays)) {
      await assertClose(`gradient of ${name}`, found[name], array, tolerance);
    }
  };
  testOnCpu(
    `${example.model} agrees with the reference in float64, gradients included`,
    () => run("float64", 1e-9),
  );
  testOnDevices(
    `${example.model} agrees with the reference in float32, gradients included`,
    example.model === "gru_d" ? {} : longOnSoftware,
    () => run("float32", 1e-4),
  );
}

const forecaster = (cell: "gru" | "lstm", options: { leastDeviation?: number; time?: boolean } = {}) =>
  RecurrentForecaster({ cell, channels: 2, hiddenChannels: 4, key: key(1), dtype: "float64", ...options });
const values = () => normal(key(2), [3, 6, 2], { dtype: "float64" });

async function distance(a: Tensor, b: Tensor): Promise<number> {
  return await a.sub(b).abs().max().item();
}

for (const cell of ["gru", "lstm"] as const) {
  testOnCpu(`after the context a ${cell} forecaster reads its predictions`, async () => {
    const model = forecaster(cell);
    const x = values();
    const free = model(x, { context: 3 });
    // With its predictions given as observations, the model predicts the same values.
    const observed = concatenate([x.slice(1, 0, 3), free.slice(1, 2, 5)], 1);
    assert.ok(await distance(model(observed, { context: 6 }), free) < 1e-12);
    assert.ok(await distance(model(x, { context: 6 }), free) > 1e-3);
  });

  testOnCpu(
    `forcing a ${cell} forecaster with probability 1 or 0 equals a context of all rows or of one row`,
    async () => {
      const model = forecaster(cell, { time: true });
      const x = values();
      assert.equal(
        await distance(model(x, { context: 1, forcing: 1, key: key(3) }), model(x, { context: 6 })),
        0,
      );
      assert.equal(await distance(model(x, { forcing: 1, key: key(3) }), model(x, { context: 6 })), 0);
      assert.equal(
        await distance(model(x, { context: 1, forcing: 0, key: key(3) }), model(x, { context: 1 })),
        0,
      );
    },
  );

  testOnCpu(`the gradients of a ${cell} forecaster agree with central differences`, async () => {
    const model = forecaster(cell, { leastDeviation: 1e-4, time: true });
    const x = values();
    const call = { context: 2, forcing: 0.4, sample: true, key: key(5) };
    await checkGradients((_) => model(x, call), [model.parameters], { elements: 8 });
    await checkGradients((x: Tensor) => model(x, call), [x]);
  });
}

const rows = () => normal(key(2), [3, 6, 2], { dtype: "float64" });
const irregular = Object.entries(between).map(([name, between]) =>
  [name, () => {
    const options = {
      inputChannels: 2,
      hiddenChannels: 4,
      outputChannels: 2,
      between,
      dtype: "float64",
    } as const;
    return IrregularGRU({ ...options, key: key(1) })(rows(), {
      gaps: tensor([0, 1, 0.5, 2, 1, 1], { dtype: "float64" }),
    });
  }] as const
);
for (const [name, run] of [...irregular, ["gru", () => forecaster("gru")(rows(), {})] as const]) {
  testOnCpu(`a ${name} runs as a compiled loop over its rows`, () => {
    assert.equal(countLoops(run, "forward loop: 6 steps"), 1);
  });
}

testOnCpu("predictions within the context do not depend on later rows", async () => {
  const model = forecaster("gru");
  const x = values();
  const other = concatenate([x.slice(1, 0, 3), x.slice(1, 3).mul(NaN)], 1);
  assert.equal(await distance(model(x, { context: 3 }), model(other, { context: 3 })), 0);
});

testOnCpu("a standard deviation is above its bound, and samples depend on the key", async () => {
  const model = forecaster("gru", { leastDeviation: 0.8 });
  const x = values();
  const y = model(x, { context: 1, sample: true, key: key(6) });
  assert.ok(await y.slice(-1, 2).min().item() >= 0.8);
  assert.equal(await distance(y, model(x, { context: 1, sample: true, key: key(6) })), 0);
  assert.ok(await distance(y, model(x, { context: 1, sample: true, key: key(7) })) > 1e-3);
});

testOnCpu("forcing without a key and sampling without standard deviations throw", () => {
  assert.throws(() => forecaster("gru")(values(), { context: 1, forcing: 0.5 }), /need a key/);
  assert.throws(
    () => forecaster("gru")(values(), { context: 1, sample: true, key: key(0) }),
    /leastDeviation/,
  );
});

testOnCpu("a forecaster rejects a context or a probability out of range", () => {
  const call = { forcing: -0.5, key: key(0) };
  assert.throws(() => forecaster("gru")(values(), call), /forcing is -0.5, expected a probability/);
  for (const context of [0, 7, 2.5]) {
    assert.throws(() => forecaster("gru")(values(), { context }), /context is .* from 1 to the length 6/);
  }
});

testOnDevices("the final state of a padded series is the state at its end", async () => {
  const model = Recurrent({
    cell: "lstm",
    inputChannels: 2,
    hiddenChannels: 4,
    outputChannels: 3,
    key: key(1),
  });
  const x = normal(key(2), [3, 6, 2]);
  const all = model(x, { states: "all" });
  assert.ok(await distance(model(x), all.select(1, 5)) < 1e-6);
  const lengths = tensor([2, 6, 1], { dtype: "int32" });
  const ends = model(x, { lengths });
  for (const [i, length] of [2, 6, 1].entries()) {
    assert.ok(await distance(ends.select(0, i), all.select(0, i).select(0, length - 1)) < 1e-6);
  }
});
