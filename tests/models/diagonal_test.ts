import assert from "node:assert/strict";
import {
  checkGradients,
  concatenate,
  type DType,
  key,
  linearRecurrence,
  loadParameters,
  LRU,
  Mamba,
  normal,
  S4D,
  S5,
  S6,
  StateSpaceForecaster,
  type Tensor,
  tensor,
  treeFlatten,
} from "../../mod.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { runInChunks } from "../../src/models/diagonal/chunks.ts";
import { legSEigenvectors, legSFrequencies } from "../../src/models/diagonal/hippo.ts";
import { testOnCpu, testOnDevices } from "../devices.ts";
import { rowByRow } from "./row_by_row.ts";

const makers = { S4D, LRU, S5, S6, Mamba };
const sizes = { inputChannels: 2, modelDim: 4, outputChannels: 3, layers: 2, stateSize: 6, key: key(1) };

/** Numbers between -1/2 and 1/2 that depend on a seed. */
function waves(seed: number, shape: readonly number[], dtype: DType): Tensor {
  const size = shape.reduce((product, length) => product * length, 1);
  const values = Float64Array.from({ length: size }, (_, i) => Math.sin(0.7 * i + seed) / 2);
  return tensor(values, { shape, dtype });
}

/**
 * Reference values in float64, where parameter k consists of waves with seed k: S4D by its convolution kernel
 * and Fourier transforms (NumPy), LRU and S5 by `jax.lax.associative_scan` of complex numbers, S6 by
 * loops over numbers, Mamba by a loop and PyTorch's `conv1d`.
 */
const golden = {
  S4D: [0.31572891746, 0.106400206858, -0.0262168226311, 0.803193033087, -0.274332653632, 0.203789075704],
  LRU: [-0.590796291355, -0.285839260007, -0.561378133581, -0.485332969396, -0.549451991532, -0.170077845687],
  S5: [-1.05752104608, 0.128539108757, -0.875526491937, -0.787436253134, -0.314001545162, -0.311667903328],
  S6: [-0.167734770214, 0.602302555398, -0.477253678124, 0.714718489169, -0.183697949047, 0.121467532621],
  Mamba: [-0.402612858904, -0.417061568612, 0.472666169426, -0.159976816426, -0.565641478536, 0.510020747958],
};

for (const [name, make] of Object.entries(makers)) {
  const values = async (dtype: DType) => {
    const model = make({ ...sizes, dtype });
    const filled = treeFlatten(model.parameters).map(([name, x], k) => [name, waves(k, x.shape, dtype)]);
    loadParameters(model.parameters, Object.fromEntries(filled));
    return await model(waves(100, [2, 5, 2], dtype).mul(2)).data();
  };
  const assertGolden = (found: ArrayLike<number>, tolerance: number) =>
    golden[name as keyof typeof golden].forEach((value, i) =>
      assert.ok(Math.abs(found[i] - value) < tolerance, `${i}: ${found[i]}, expected ${value}`)
    );

  testOnCpu(`${name} agrees with the reference implementation in float64`, async () => {
    assertGolden(await values("float64"), 1e-11);
  });

  testOnDevices(`${name} agrees with the reference implementation in float32`, async () => {
    assertGolden(await values("float32"), 1e-5);
  });

  testOnCpu(`the gradients of ${name} agree with central differences`, async () => {
    const model = make({ ...sizes, layers: 1, stateSize: 2, pooling: "mean", dtype: "float64" });
    const x = normal(key(2), [2, 4, 2], { dtype: "float64" });
    const lengths = tensor([4, 3], { dtype: "int32" });
    await checkGradients((x, _) => model(x, { lengths }), [x, model.parameters], { elements: 3 });
  });

  for (const pooling of ["last", "mean"] as const) {
    testOnCpu(
      `${name} gives the same outputs row by row and for the whole series, pooling: ${pooling}`,
      async () => {
        const model = make({ ...sizes, pooling, dtype: "float64" });
        const x = normal(key(2), [3, 7, 2], { dtype: "float64" });
        const whole = model(x, { states: "all" });
        assert.ok(await whole.sub(rowByRow(model, x)).abs().max().item() < 1e-12);
        assert.ok(await whole.select(1, 6).sub(model(x)).abs().max().item() < 1e-12);
      },
    );
  }
}

testOnCpu("the chunked scan agrees with the recurrence, gradients included", async () => {
  const values = (seed: number, shape: number[]) => normal(key(seed), shape, { dtype: "float64" });
  const systems = {
    a: values(1, [3, 2, 4]).tanh().mul(0.7),
    b: values(2, [3, 2, 4]),
    c: values(3, [3, 2, 4]),
  };
  const u = values(4, [2, 7, 3]);
  const { a, b, c } = systems;
  const x = linearRecurrence(a, u.expandDims(-1).expandDims(-1).mul(b), { axis: 1, complex: true });
  const expected = x.mul(c).sum(-1).mul(tensor([1, -1], { dtype: "float64" })).sum(-1);
  for (const chunk of [1, 2, 3, 7, 64]) {
    const found = runInChunks(systems, u, chunk);
    assert.ok(await found.sub(expected).abs().max().item() < 1e-12, `chunks of ${chunk}`);
  }
  await checkGradients((systems, u) => runInChunks(systems, u, 3), [systems, u], { elements: 6 });
});

Deno.test("the HiPPO-LegS frequencies are NumPy's eigenvalues, with eigenvectors", () => {
  const size = 6;
  const frequencies = legSFrequencies(size);
  [0.4714773374793836, 2.4682410513445574, 10.951506527994258].forEach((value, k) =>
    assert.ok(Math.abs(frequencies[k] - value) < 1e-13 * value, `${frequencies[k]}, expected ${value}`)
  );
  const s = (n: number, k: number) => n === k ? 0 : Math.sign(k - n) * Math.sqrt((n + 0.5) * (k + 0.5));
  legSEigenvectors(size).forEach(({ real, imaginary }, j) => {
    assert.ok(Math.abs(Math.hypot(...real, ...imaginary) - 1) < 1e-14);
    for (let n = 0; n < size; n++) {
      const row = (v: Float64Array) => v.reduce((sum, value, k) => sum + s(n, k) * value, 0);
      assert.ok(Math.abs(row(real) + frequencies[j] * imaginary[n]) < 1e-13);
      assert.ok(Math.abs(row(imaginary) - frequencies[j] * real[n]) < 1e-13);
    }
  });
});

testOnCpu("S4D is initialized with the diagonals of its paper", async () => {
  const start = async (initialization: "legs" | "linear" | "inverse") => {
    const { layers: [layer] } = S4D({ ...sizes, initialization }).parameters;
    const { A_imag, log_A_real } = (layer as unknown as { system: Record<string, Tensor> }).system;
    assert.ok((await log_A_real.exp().data()).every((value) => Math.abs(value - 0.5) < 1e-6));
    return [...await A_imag.select(0, 1).data()].map((value) => Math.round(value * 1e4) / 1e4);
  };
  assert.deepEqual(await start("legs"), [0.4715, 2.4682, 10.9515]);
  assert.deepEqual(await start("linear"), [0, 3.1416, 6.2832]);
  assert.deepEqual(await start("inverse"), [9.5493, 1.9099, 0.382]);
});

Deno.test("diagonal models reject invalid sizes", () => {
  assert.throws(() => S4D({ ...sizes, stateSize: 5 }), /S4D: stateSize is 5, expected an even number/);
  assert.throws(
    () => S5({ ...sizes, blocks: 2 }),
    /S5: blocks is 2, expected a divisor of stateSize 6 with blocks of an even size/,
  );
  assert.throws(() => LRU({ ...sizes, radius: [0.9, 1.1] }), /LRU: radius is 0.9 to 1.1/);
  assert.throws(() => Mamba({ ...sizes, layers: 0 }), /Mamba: layers is 0/);
  assert.throws(
    () => Mamba({ ...sizes, stepSizes: [0, 1] }),
    /Mamba: stepSizes are 0 and 1, expected 0 < least <= largest/,
  );
});

for (const cell of ["s4d", "lru", "s5", "mamba"] as const) {
  testOnCpu(
    `after the context a ${cell} forecaster reads its predictions, in a compiled loop`,
    async () => {
      const model = StateSpaceForecaster({
        cell,
        channels: 2,
        modelDim: 4,
        stateSize: 4,
        key: key(1),
        dtype: "float64",
      });
      const x = normal(key(2), [3, 6, 2], { dtype: "float64" });
      const loops: unknown[] = [];
      let free!: Tensor;
      observeLoops((loop) => loops.push(loop), () => {
        free = model(x, { context: 3 });
      });
      assert.equal(loops.length, 1);
      // With its predictions given as observations, all at once, the model predicts the same values.
      const observed = concatenate([x.slice(1, 0, 3), free.slice(1, 2, 5)], 1);
      assert.ok(await model(observed, { context: 6 }).sub(free).abs().max().item() < 1e-12);
    },
  );
}
