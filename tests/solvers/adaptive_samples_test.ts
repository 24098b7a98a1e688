/** Adaptive solves with separate steps for each sample. */
import assert from "node:assert/strict";
import {
  addTime,
  cdeint,
  checkGradients,
  concatenate,
  CubicSpline,
  type DType,
  explain,
  findCdeintSteps,
  findOdeintSteps,
  key,
  linearCoeffs,
  LinearInterpolation,
  type MethodName,
  naturalCubicCoeffs,
  normal,
  odeint,
  ones,
  type Path,
  scalar,
  type SolveStatistics,
  stack,
  type Tensor,
  tensor,
  valueAndGrad,
} from "../../mod.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { adaptiveMethods } from "../../src/solvers/methods.ts";
import { cpu, longOnSoftware, testOnDevices } from "../devices.ts";
import fixture from "../fixtures/odeint.json" with { type: "json" };
import { type Golden, valuesOf } from "../golden.ts";
import { problem } from "./problems.ts";

const nothing = (): SolveStatistics => ({ steps: 0, rejected: 0, evaluations: 0 });
const perSample = { norm: "sample" } as const;

async function assertNear(found: Tensor, expected: Tensor, tolerance: number): Promise<void> {
  assert.deepEqual(found.shape, expected.shape);
  const values = await expected.data();
  (await found.data()).forEach((value, i) =>
    assert.ok(Math.abs(value - values[i]) <= tolerance, `element ${i}: ${value}, expected ${values[i]}`)
  );
}

/** Van der Pol's equation with a different stiffness for each sample, `(batch, 1)`. */
const vanDerPol = (mu: Tensor) => (_t: Tensor, y: Tensor) => {
  const [x, v] = [y.slice(1, 0, 1), y.slice(1, 1, 2)];
  return concatenate([v, x.square().neg().add(1).mul(v).mul(mu).sub(x)], 1);
};
const stiffness = (batch: number, dtype: DType) =>
  tensor(Float64Array.from({ length: batch }, (_, i) => 0.5 + i), { shape: [batch, 1], dtype });

const names = new Map<string, MethodName>(adaptiveMethods.map(({ name }) => [name, name]));
const exact = new Map(["linear", "sine", "vdp"].map((name) => {
  const { f, y0, t } = problem(name, "float64");
  return [name, odeint(f, y0, t, { method: "dopri8", rtol: 1e-11, atol: 1e-12 })];
}));
/** The largest difference, relative to the largest number. */
async function distance(a: ArrayLike<number | null>, b: Tensor): Promise<number> {
  const values = Array.from(await b.data());
  const scale = Math.max(1, ...values.map(Math.abs));
  return Math.max(...values.map((value, i) => Math.abs(value - a[i]!))) / scale;
}
for (const { problem: name, method: given, rtol, atol, y } of fixture.solutions) {
  const method = names.get(given);
  if (!method) continue;
  Deno.test(`${method} with per-sample steps and rtol ${rtol} solves ${name} as accurately as torchdiffeq`, async () => {
    const { f, y0, t } = problem(name, "float64");
    const states = await odeint(f, y0, t, { method, rtol, atol, ...perSample }).data();
    const truth = exact.get(name)!;
    const [error, theirs] = [await distance(states, truth), await distance(valuesOf(y as Golden), truth)];
    assert.ok(error <= 10 * rtol! + 4 * theirs, `${error}, torchdiffeq's ${theirs}`);
  });
}

Deno.test("a batch of one sample takes the same steps with and without per-sample steps, except the last", async () => {
  const { f, y0, t } = problem("vdp", "float64");
  const options = { method: "dopri5", rtol: 1e-6, compile: false } as const;
  const lone = y0.slice(0, 0, 1);
  const [each, all] = [
    await findOdeintSteps(f, lone, t, { ...options, ...perSample }),
    await findOdeintSteps(f, lone, t, options),
  ].map(({ accepted }) => accepted.lists[0]);
  assert.ok(each.starts.length > 20);
  assert.deepEqual(each.starts, all.starts);
  assert.deepEqual(each.ends.slice(0, -1), all.ends.slice(0, -1));
  assert.equal(each.rejected, all.rejected);
  assert.equal(each.ends.at(-1), t.at(-1));
});

testOnDevices("the solution of a sample does not depend on other samples", longOnSoftware, async () => {
  const mu = stiffness(5, "float32");
  const y0 = normal(key(0), [5, 2]);
  const options = { method: "tsit5", ...perSample } as const;
  const steps = await findOdeintSteps(vanDerPol(mu), y0, [0, 3], options);
  const all = await odeint(vanDerPol(mu), y0, [0, 1, 3], { steps }).data();
  for (const i of [0, 4]) {
    const [alone, start] = [mu, y0].map((x) => x.slice(0, i, i + 1));
    const few = await findOdeintSteps(vanDerPol(alone), start, [0, 3], options);
    assert.deepEqual(few.accepted.lists[0].starts, steps.accepted.lists[i].starts);
    const y = await odeint(vanDerPol(alone), start, [0, 1, 3], { steps: few }).data();
    y.forEach((value, j) => assert.equal(value, all[(j >> 1) * 10 + 2 * i + j % 2]));
  }
});

Deno.test("samples that share one loop iteration continue after the first sample is done", async () => {
  const field = vanDerPol(stiffness(5, "float64"));
  // A leading axis before the samples' axis keeps them in one solve.
  const f = (t: Tensor, y: Tensor) => field(t, y).expandDims(0).neg().squeeze(0).neg();
  const y0 = normal(key(0), [5, 2], { dtype: "float64" });
  const [a, b] = [true, false].map((compile) =>
    odeint(f, y0, [0, 3], { method: "tsit5", norm: "sample", compile })
  );
  assert.ok(await a.sub(b).abs().max().item() < 1e-12);
});

Deno.test("the statistics show more steps for stiffer samples", () => {
  const statistics = nothing();
  const mu = stiffness(8, "float64");
  const y0 = tensor([2, 0], { dtype: "float64" }).broadcastTo([8, 2]);
  odeint(vanDerPol(mu), y0, [0, 20], { method: "dopri5", rtol: 1e-6, ...perSample, statistics });
  const { stepsOfSamples: steps, rejectedOfSamples: rejected, evaluations } = statistics;
  assert.equal(steps!.length, 8);
  assert.ok(steps![7] > 1.5 * steps![0], `${steps}`);
  assert.equal(statistics.steps, Math.max(...steps!));
  assert.equal(statistics.rejected, Math.max(...rejected!));
  assert.equal(evaluations, 2 + 6 * Math.max(...steps!.map((count, i) => count + rejected![i])));
});

Deno.test("per-sample steps run in a compiled loop", () => {
  const f = vanDerPol(stiffness(3, "float32"));
  const text = explain(() => odeint(f, ones([3, 2]), [0, 1], { method: "dopri5", ...perSample })).text;
  assert.match(text, /forward loop: \d+ steps of 3 samples/);
});

for (const compile of [true, false]) {
  Deno.test(`the gradient matches the gradient of the per-sample steps${compile ? "" : ", step by step"}`, async () => {
    const dtype = "float64";
    const inputs = {
      y0: normal(key(1), [3, 2], { dtype }),
      mu: stiffness(3, dtype),
      pull: ones([2], { dtype }),
    };
    const f = ({ mu, pull }: typeof inputs) => (t: Tensor, y: Tensor) =>
      vanDerPol(mu)(t, y).sub(y.mul(pull).mul(t.sin()));
    const times = [0, 0.4, 2];
    const steps = await findOdeintSteps(f(inputs), inputs.y0, times, {
      method: "bosh3",
      rtol: 1e-3,
      ...perSample,
    });
    assert.ok(new Set(steps.accepted.lists.map(({ starts }) => starts.length)).size > 1);
    for (const t of [times, [0, 2]]) {
      const solve = (y0: Tensor, mu: Tensor, pull: Tensor) =>
        odeint(f({ y0, mu, pull }), y0, t, { steps, compile }).square().sum();
      await checkGradients(solve, [inputs.y0, inputs.mu, inputs.pull], { tolerance: 1e-7 });
    }
  });
}

Deno.test("the continuous adjoint works with per-sample steps", async () => {
  const mu = stiffness(3, "float64");
  const f = (t: Tensor, y: Tensor) => vanDerPol(mu)(t, y).add(t.reshape([-1, 1]).sin());
  const y0 = normal(key(1), [3, 2], { dtype: "float64" });
  const [found, expected] = (["continuous", "direct"] as const).map((adjoint) => {
    const options = { method: "dopri5", rtol: 1e-9, atol: 1e-10, adjoint, ...perSample } as const;
    const loss = ({ y0 }: { y0: Tensor; mu: Tensor }) => odeint(f, y0, [0, 0.5, 1], options).square().sum();
    return valueAndGrad(loss)({ y0, mu })[1];
  });
  await assertNear(found.y0, expected.y0, 1e-6);
  await assertNear(found.mu, expected.mu, 1e-6);
});

for (const shape of [[3], [3, 2, 2], [1, 4], [9, 1]]) {
  Deno.test(`per-sample steps solve a state of shape (${shape}), forwards and backwards in time`, async () => {
    const y0 = normal(key(2), shape, { dtype: "float64" });
    const f = (t: Tensor, y: Tensor) => y.mul(t.cos());
    for (const t of [[0, 1, 2], [2, 1, 0]]) {
      const y = odeint(f, y0, t, { method: "dopri5", rtol: 1e-8, atol: 1e-9, ...perSample });
      const expected = stack(t.map((time) => y0.mul(Math.exp(Math.sin(time) - Math.sin(t[0])))));
      await assertNear(y, expected, 1e-6);
    }
  });
}

// dy/dt is 1 before t = 1, and -2 afterwards.
const bend = (t: Tensor, y: Tensor) => y.zerosLike().add(t.lessEqual(1).where(t.zerosLike().add(1), -2));

for (const [from, to] of [[0, 3], [3, 0]]) {
  Deno.test(`every sample ends a step at a jump of the vector field, from t = ${from} to ${to}`, async () => {
    const y0 = tensor([[0], [0.5]], { dtype: "float64" });
    const statistics = nothing();
    const options = {
      method: "dopri5",
      rtol: 1e-9,
      atol: 1e-11,
      jumpTimes: [1],
      ...perSample,
      statistics,
    } as const;
    const y = odeint(bend, y0, [from, to], options).select(0, 1);
    await assertNear(y, y0.add(from === 0 ? -3 : 3), 1e-12);
    assert.deepEqual(statistics.rejectedOfSamples, [0, 0]);

    const loss = (y: Tensor) =>
      odeint((t, y) => bend(t, y).mul(y), y, [from, to], options).select(0, 1).sum();
    const [, gradient] = valueAndGrad(loss)(ones([2, 1], { dtype: "float64" }));
    const expected = Math.exp(from === 0 ? -3 : 3);
    for (const value of await gradient.data()) assert.ok(Math.abs(value / expected - 1) < 1e-7, `${value}`);
  });
}

const dtype = "float64";
const observations = addTime(normal(key(3), [3, 8, 2], { dtype }));
const times = Float64Array.of(0, 0.5, 1.5, 2, 3, 3.5, 4, 5);
const ownTimes = tensor([0, 1, 2].flatMap((i) => [...times].map((t) => t + 0.1 * i * t * (5 - t) / 5)), {
  shape: [3, 8],
  dtype,
});
const controls: Record<string, Path> = {
  "a spline": CubicSpline(naturalCubicCoeffs(observations, times), times),
  "straight pieces": LinearInterpolation(linearCoeffs(observations, times), times),
  "a spline that all samples share": CubicSpline(naturalCubicCoeffs(observations.select(0, 1), times), times),
  "a spline with times of each series": CubicSpline(
    naturalCubicCoeffs(observations, ownTimes),
    ownTimes,
  ),
};
const weights = normal(key(4), [4, 12], { dtype }).mul(0.5);
const vectorField = (_t: Tensor, z: Tensor) => z.matmul(weights).tanh().reshape([-1, 4, 3]);
const z0 = normal(key(5), [3, 4], { dtype });
for (const [name, X] of Object.entries(controls)) {
  Deno.test(`samples take separate steps along ${name}`, async () => {
    const solve = (options: object) =>
      cdeint(X, vectorField, z0, [0, 2.2, 5], { method: "dopri5", ...options });
    let found = z0;
    const text = explain(() => found = solve({ rtol: 1e-6, atol: 1e-8, ...perSample })).text;
    assert.match(text, /forward loop: \d+ steps of 3 samples/);
    await assertNear(found, solve({ rtol: 1e-9, atol: 1e-10 }), 1e-3);
    const steps = await findCdeintSteps(X, vectorField, z0, [0, 5], {
      method: "dopri5",
      rtol: 1e-4,
      ...perSample,
    });
    const [fast, slow] = [true, false].map((compile) => solve({ steps, compile }));
    await assertNear(fast, slow, 1e-11);
  });
}

testOnDevices("samples find their pieces of a long control inside the loop", longOnSoftware, async () => {
  const solve = async (dtype: DType) => {
    const x = addTime(normal(key(8), [5, 300, 2], { dtype: "float32" }).cumsum(1).mul(0.1)).cast(dtype);
    const X = CubicSpline(naturalCubicCoeffs(x));
    const w = normal(key(9), [4, 12]).mul(0.2).cast(dtype);
    const f = (_t: Tensor, z: Tensor) => z.matmul(w).tanh().reshape([-1, 4, 3]);
    const z0 = ones([5, 4], { dtype });
    const steps = await findCdeintSteps(X, f, z0, [100, 110], {
      method: "bosh3",
      rtol: 1e-5,
      atol: 1e-7,
      ...perSample,
    });
    return await cdeint(X, f, z0, [100, 103, 110], { steps }).data();
  };
  const found = await solve("float32");
  setCurrentDevice(cpu);
  const expected = await solve("float64");
  found.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 2e-3, `${value}, ${expected[i]}`));
});

Deno.test("per-sample steps along a path give the gradient of its coefficients", async () => {
  const coeffs = naturalCubicCoeffs(observations, times);
  const X = (coeffs: Tensor) => CubicSpline(coeffs, times);
  const steps = await findCdeintSteps(X(coeffs), vectorField, z0, [0, 5], { rtol: 1e-3, ...perSample });
  const solve = (coeffs: Tensor) => cdeint(X(coeffs), vectorField, z0, [0, 5], { steps }).square().sum();
  await checkGradients(solve, [coeffs], { tolerance: 1e-6 });
});

for (const norm of ["batch", "sample"] as const) {
  const solve = async () => {
    const f = vanDerPol(stiffness(4, "float32"));
    const y0 = normal(key(6), [4, 2]);
    const options = { method: "dopri5", rtol: 1e-4, norm } as const;
    const steps = await findOdeintSteps(f, y0, [0, 2], options);
    const [given, found] = [{ steps }, options].map((solveOptions) => {
      const loss = (y: Tensor) => odeint(f, y, [0, 0.7, 2], solveOptions).square().sum();
      return () => valueAndGrad(loss)(y0);
    });
    return { given, found };
  };
  testOnDevices(
    `a solve with precomputed steps gives the same result, norm ${norm}`,
    longOnSoftware,
    async (device) => {
      const { given } = await solve();
      const results = await Promise.all(given().map((x) => x.data()));
      setCurrentDevice(cpu);
      const expected = await Promise.all((await solve()).found().map((x) => x.data()));
      const tolerance = device === cpu ? 0 : 2e-3;
      results.forEach((values, i) =>
        values.forEach((value, j) => {
          const error = Math.abs(value - expected[i][j]);
          assert.ok(error <= tolerance, `${value}, expected ${expected[i][j]}`);
        })
      );
    },
  );
}

for (const norm of ["batch", "sample"] as const) {
  Deno.test(`computing steps leaks no memory, norm ${norm}`, async () => {
    const f = vanDerPol(stiffness(4, "float32"));
    const y0 = normal(key(6), [4, 2]);
    const { memory } = cpu as CpuDevice;
    const find = () => findOdeintSteps(f, y0, [0, 1], { rtol: 1e-3, norm });
    await find();
    const before = memory.usedBytes;
    await find();
    assert.equal(memory.usedBytes, before);
  });
}

const decay = (_t: Tensor, y: Tensor) => y.neg();
const found = await findOdeintSteps(decay, ones([2, 3]), [0, 1], { ...perSample });
const explode = (_t: Tensor, y: Tensor) => y.square();
const wrong: [name: string, call: () => unknown, message: RegExp][] = [
  [
    "another norm",
    () => odeint(decay, ones([2]), [0, 1], { method: "dopri5", norm: "max" as "batch" }),
    /norm "max" is unknown; use "batch", "sample", or a function of the error/,
  ],
  [
    "a state without samples",
    () => odeint(decay, scalar(1), [0, 1], { method: "dopri5", ...perSample }),
    /needs a state with an axis for the samples/,
  ],
  [
    "more steps of a sample than allowed",
    () =>
      odeint(explode, tensor([[-1], [0.99], [0.5]]), [0, 1], {
        method: "bosh3",
        rtol: 1e-6,
        atol: 1e-6,
        maxSteps: 40,
        ...perSample,
      }),
    /40 steps of bosh3 from t = 0 are not enough for 1 of 3 samples to reach t = 1; the farthest from it, sample 1, is at t = 0\.\d+, where it tried a step of [\d.e-]+, after \d+ steps/,
  ],
  [
    "a sample that becomes infinite",
    () => odeint(explode, tensor([[0.5], [2], [0.5]]), [0, 1], { method: "dopri5", ...perSample }),
    /(cannot continue sample 1 at t = 0\.(5|49)|the farthest from it, sample 1, is at t = 0\.(5|49))/,
  ],
  [
    "a sample that is NaN",
    () => odeint(decay, tensor([[0.5], [NaN]]), [0, 1], { method: "dopri5", ...perSample }),
    /cannot continue sample 1 at t = 0/,
  ],
  [
    "steps of another method",
    () => odeint(decay, ones([2, 3]), [0, 1], { method: "bosh3", steps: found }),
    /steps were found for method dopri5, but the method of this solve is bosh3/,
  ],
  [
    "steps of another interval",
    () => odeint(decay, ones([2, 3]), [0, 2], { steps: found }),
    /steps go from t = 0 to 1, expected 0 to 2/,
  ],
  [
    "steps of other samples",
    () => odeint(decay, ones([3, 3]), [0, 1], { steps: found }),
    /steps contains 2 samples, expected 3, the first axis of the state/,
  ],
];
for (const [name, call, message] of wrong) {
  Deno.test(`an adaptive solve rejects ${name}`, () => {
    assert.throws(call, message);
  });
}

Deno.test("findOdeintSteps rejects a fixed-step method", async () => {
  await assert.rejects(findOdeintSteps(decay, ones([2]), [0, 1], { method: "rk4" }), /rk4 has fixed steps/);
});
