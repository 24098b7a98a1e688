import assert from "node:assert/strict";
import {
  addTime,
  type CausalPath,
  CubicSpline,
  deltaRule,
  DirectNeuralODE,
  type DType,
  FastWeightCDE,
  FastWeightDirectMap,
  FastWeightODE,
  forwardFill,
  GRUODE,
  hermiteCubicCoeffs,
  key,
  linearCoeffs,
  LinearInterpolation,
  type ModelStream,
  type ModelStreamState,
  NeuralCDE,
  type NeuralCDEOptions,
  normal,
  ojaRule,
  type Path,
  type ReadoutOptions,
  seriesStreams,
  type SeriesStreamState,
  type Tensor,
  tensor,
  tidy,
} from "../../mod.ts";
import { cpu, testLong, testOnCpu, testOnDevices } from "../devices.ts";

const length = 12;
const times = Array.from({ length }, (_, i) => i + 0.3 * Math.sin(2 * i) + (i > 6 ? 5 : 0));
const makeModel = (options: Partial<NeuralCDEOptions> = {}) =>
  NeuralCDE({
    inputChannels: 3,
    hiddenChannels: 8,
    outputChannels: 2,
    width: 16,
    depth: 2,
    stepsPerPiece: 2,
    key: key(1),
    ...options,
  });

type Model =
  & Pick<ReturnType<typeof makeModel>, "stream" | "streamed">
  & ((X: Path, options: ReadoutOptions) => Tensor);

const vectorSizes = { inputChannels: 3, hiddenChannels: 8, outputChannels: 2, stepsPerPiece: 2, key: key(1) };
const mapSizes = { inputChannels: 3, modelDim: 8, outputChannels: 2, stepsPerPiece: 2, key: key(1) };
const sizes = { ...mapSizes, heads: 2 };
/** Models, and whether their prediction at the first observation equals the prediction of the whole series. */
const models: Record<string, { model: (options?: { dtype: DType }) => Model; fromFirst: boolean }> = {
  NeuralCDE: { model: makeModel, fromFirst: true },
  GRUODE: {
    model: (options) => GRUODE({ ...vectorSizes, ...options }),
    fromFirst: true,
  },
  DirectNeuralODE: {
    model: (options) => DirectNeuralODE({ ...vectorSizes, width: 8, depth: 1, ...options }),
    fromFirst: true,
  },
  FastWeightODE: {
    model: (options) => FastWeightODE({ ...sizes, rule: deltaRule(), ...options }),
    fromFirst: true,
  },
  FastWeightCDE: {
    model: (options) => FastWeightCDE({ ...sizes, rule: deltaRule(), ...options }),
    fromFirst: false,
  },
  "FastWeightCDE of two layers": {
    model: (options) => FastWeightCDE({ ...sizes, layers: 2, rule: ojaRule(), keys: "value", ...options }),
    fromFirst: false,
  },
  FastWeightDirectMap: {
    model: (options) => FastWeightDirectMap({ ...mapSizes, width: 8, depth: 1, ...options }),
    fromFirst: true,
  },
};

/** Two series with missing values; time is channel 0. */
async function observations(change = 0, dtype: DType = "float32"): Promise<Tensor> {
  const values = Float64Array.from(await normal(key(0), [2, length, 2]).data());
  for (const at of [5, 6, 7, 20, 30, 47]) values[at] = NaN;
  for (let at = 1; at < change; at++) values[values.length - at] += 1;
  return addTime(tensor(values, { shape: [2, length, 2], dtype }), times);
}

/** Predictions of the whole series, `(2, length, 2)`. */
function whole(model: Model, x: Tensor, path: CausalPath): Tensor {
  if (path === "hermite") {
    return model(CubicSpline(hermiteCubicCoeffs(forwardFill(x), times), times), { states: "all" });
  }
  const X = LinearInterpolation(linearCoeffs(x, undefined, { rectilinear: 0 }));
  return model(X, { states: "all" }).slice(1, 0, undefined, 2);
}

async function pushAll(stream: ModelStream, x: Tensor, from = 0, to = length): Promise<number[][]> {
  const predictions = [];
  for (let i = from; i < to; i++) predictions.push([...await stream.push(times[i], x.select(1, i)).data()]);
  return predictions;
}

for (const path of ["hermite", "rectilinear"] as CausalPath[]) {
  for (const [name, { model: make, fromFirst }] of Object.entries(models)) {
    const [test, dtype, tolerance] = name === "NeuralCDE"
      ? [testOnDevices, "float32", 1e-6] as const
      : [testOnCpu, "float64", 1e-12] as const;
    test(`a stream of ${name} gives the predictions of the whole series along a ${path} path`, async () => {
      const model = make({ dtype });
      const x = await observations(0, dtype);
      const found = await pushAll(model.stream({ path }), x);
      const expected = await whole(model, x, path).data();
      found.forEach((prediction, i) =>
        prediction.forEach((value, j) => {
          const other = expected[(j >> 1) * length * 2 + i * 2 + (j & 1)];
          const difference = Math.abs(value - other) / Math.max(1, Math.abs(other));
          if (i > 0 || fromFirst) assert.ok(difference <= tolerance, `${i}: ${value}, ${other}`);
          assert.ok(Number.isFinite(value));
        })
      );
    });
  }

  Deno.test(`along a ${path} path, later observations do not change earlier predictions, bit for bit`, async () => {
    const model = makeModel();
    const [a, b] = await Promise.all([observations(), observations(5)]);
    const [x, y] = await Promise.all([a, b].map((series) => whole(model, series, path).data()));
    const perSeries = length * 2;
    const earlier = (values: ArrayLike<number>) => Array.from(values).slice(perSeries, 2 * perSeries - 6);
    assert.deepEqual(earlier(x), earlier(y));
    assert.notDeepEqual([...x], [...y]);
  });

  testLong(`a stream along a ${path} path continues from a saved state`, async () => {
    for (const model of [models.NeuralCDE.model(), models["FastWeightCDE of two layers"].model()]) {
      const x = await observations();
      const uninterrupted = await pushAll(model.stream({ path }), x);
      for (const pause of [1, 2, 7]) {
        const before = model.stream({ path });
        await pushAll(before, x, 0, pause);
        const state = JSON.parse(JSON.stringify(await before.save())) as ModelStreamState;
        assert.deepEqual(await pushAll(model.stream({ state }), x, pause), uninterrupted.slice(pause));
      }
    }
  });
}

for (const [name, { model: make }] of Object.entries(models)) {
  testOnCpu(
    `a batched stream of ${name} gives the predictions of separate streams for series of any length`,
    async () => {
      const model = make();
      const batched = seriesStreams(model);
      const row = (i: number, t: number) => [t, Math.sin(i + t), Math.cos(i * t)];
      // Batches have 16 series, of those with equally many observations, at most two.
      const streams = Array.from({ length: name === "NeuralCDE" ? 24 : 6 }, () => model.stream());
      const known: (SeriesStreamState | undefined)[] = streams.map(() => undefined);
      for (let t = 0; t < 5; t++) {
        const active = [...streams.keys()].filter((i) => t >= i % 4);
        const expected = await Promise.all(
          active.map(async (i) => [...await streams[i].push(t, row(i, t)).data()]),
        );
        const found = await batched.push(active.map((i) => row(i, t)), active.map((i) => known[i]));
        active.forEach((i, place) => {
          found[place].outputs.forEach((value, j) =>
            assert.ok(Math.abs(value - expected[place][j]) < 1e-5, `series ${i}, time ${t}`)
          );
          known[i] = found[place].state;
        });
      }
    },
  );
}

Deno.test("a single series can be streamed without a batch axis", async () => {
  const model = makeModel();
  const x = await observations();
  const both = await pushAll(model.stream(), x);
  const one = model.stream();
  for (let i = 0; i < length; i++) {
    const row = [...await x.select(0, 0).select(0, i).data()];
    const prediction = one.push(times[i], row);
    assert.deepEqual(prediction.shape, [2]);
    (await prediction.data()).forEach((value, j) => assert.ok(Math.abs(value - both[i][j]) < 1e-6));
  }
  assert.equal(one.time, times[length - 1]);
});

testLong("the memory of a stream does not grow with observations", async () => {
  const model = makeModel({ stepsPerPiece: 1 });
  const stream = model.stream();
  const run = (from: number, to: number) => {
    for (let i = from; i < to; i++) tidy(() => void stream.push(i, [i, Math.sin(i), Math.cos(i)]));
  };
  run(0, 100);
  const saved = JSON.stringify(await stream.save()).length;
  const { allocate, release } = cpu;
  let allocated = 0;
  cpu.allocate = (bytes) => (allocated += bytes, allocate.call(cpu, bytes));
  cpu.release = (memory, bytes) => (allocated -= bytes, release.call(cpu, memory, bytes));
  try {
    run(100, 800);
  } finally {
    Object.assign(cpu, { allocate, release });
  }
  assert.ok(allocated <= 0, `${allocated} bytes more`);
  assert.ok(JSON.stringify(await stream.save()).length < 1.5 * saved);
});

for (const path of ["hermite", "rectilinear"] as const) {
  Deno.test(`a rejected observation does not change a stream along a ${path} path`, async () => {
    const model = makeModel();
    const good = (t: number) => [t, Math.sin(t), t === 3 ? NaN : Math.cos(t)];
    const [clean, stream] = [model.stream({ path }), model.stream({ path })];
    for (let t = 0; t < 6; t++) {
      const bad: Record<string, [t: number, x: Parameters<typeof stream.push>[1]]> = {
        "a time that is NaN": [NaN, good(t)],
        "an infinite time": [Infinity, good(t)],
        "a negatively infinite time": [-Infinity, good(t)],
        "an infinite value": [t, [t, -Infinity, 0]],
        "a value beyond float32": [t, [t, 1e39, 0]],
        "an infinite tensor": [t, tensor([t, Infinity, 0])],
        "too few channels": [t, [t, 0]],
        "too many channels": [t, [t, 0, 0, 0]],
        "too many axes": [t, [[good(t)]]],
        "no channel": [t, 3],
        "another type": [t, tensor(good(t), { dtype: "float64" })],
        "ragged rows": [t, [[1, 2], [3]]],
        ...(t === 0 ? { "no first value": [t, [t, NaN, 0]] } : {
          "an earlier time": [t - 1.5, good(t)],
          "the same time": [t - 1, good(t)],
          "another batch": [t, [good(t), good(t)]],
          ...(path === "hermite" ? { "a time beyond float32": [1e39, good(t)] } : {}),
        }),
      };
      for (const [what, [time, x]] of Object.entries(bad)) assert.throws(() => stream.push(time, x), what);
      const [expected, found] = await Promise.all([clean, stream].map((one) => one.push(t, good(t)).data()));
      assert.deepEqual(found, expected, `observation ${t}`);
      assert.deepEqual(await stream.save(), await clean.save());
    }
  });
}

const wrong: [name: string, call: () => unknown, message: RegExp][] = [
  [
    "a path that looks ahead",
    () => makeModel().stream({ path: "natural_cubic" as CausalPath }),
    /NeuralCDE.stream: path is "natural_cubic", expected a path that depends only on past.*"hermite" or "rectilinear"/,
  ],
  [
    "an adaptive method",
    () => makeModel({ method: "dopri5" }).stream(),
    /dopri5 carries more than the state.*euler, midpoint/,
  ],
  [
    "a channel index out of range",
    () => makeModel().stream({ timeChannel: 3 }),
    /timeChannel is 3, expected.*0 to 2/,
  ],
  [
    "an observation of other channels",
    () => makeModel().stream().push(0, [1, 2]),
    /\(2,\), expected float32 \(3,\)/,
  ],
  ["a time that is NaN", () => makeModel().stream().push(NaN, [1, 2, 3]), /t is NaN, expected a time/],
  [
    "a first observation with missing values",
    () => makeModel().stream().push(0, [1, NaN, 3]),
    /the first observation has missing values/,
  ],
  [
    "two equal times",
    () => {
      const stream = makeModel().stream();
      stream.push(1, [1, 2, 3]);
      stream.push(1, [1, 2, 3]);
    },
    /t is 1, expected a time later than 1/,
  ],
  [
    "another batch",
    () => {
      const stream = makeModel().stream();
      stream.push(1, [1, 2, 3]);
      stream.push(2, [[1, 2, 3], [4, 5, 6]]);
    },
    /x has shape \(2, 3\), but before \(3,\)/,
  ],
];
for (const [name, call, message] of wrong) {
  Deno.test(`a stream rejects ${name}`, () => {
    assert.throws(call, message);
  });
}
