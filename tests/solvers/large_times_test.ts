/** Times far from zero, such as Unix seconds, where float32 only represents every 128th second. */
import assert from "node:assert/strict";
import {
  addTime,
  cdeint,
  CubicSpline,
  DivergenceError,
  FastWeight,
  findCdeintSteps,
  hermiteCubicCoeffs,
  key,
  linearCoeffs,
  LinearInterpolation,
  logsigWindows,
  naturalCubicCoeffs,
  NeuralCDE,
  NeuralODE,
  normal,
  odeint,
  odeintEvent,
  type Path,
  type SolveOptions,
  type Tensor,
  tensor,
  treeLeaves,
  valueAndGrad,
} from "../../mod.ts";
import { cpu, longOnSoftware, testOnDevices } from "../devices.ts";

const origin = 1.7e9;
/** Uneven times in seconds, starting at zero. */
const fromZero = [0, 1, 2.5, 3, 4.25, 5];
const unix = fromZero.map((t) => t + origin);

async function assertSame(found: unknown, expected: unknown, what: string): Promise<void> {
  const [a, b] = [treeLeaves(found as Tensor[]), treeLeaves(expected as Tensor[])];
  assert.equal(a.length, b.length);
  for (const [i, x] of a.entries()) assert.deepEqual([...await x.data()], [...await b[i].data()], what);
}

const solves: SolveOptions[] = [
  { method: "rk4", stepSize: 0.5 },
  { method: "euler" },
  { method: "rk4", grid: [0.25, 3.5] },
  { method: "explicit_adams", stepSize: 0.25 },
  { method: "reversible_rk4", stepSize: 0.5, adjoint: "reversible" },
  { method: "rk4", stepSize: 0.5, adjoint: "continuous" },
  { method: "rk4", stepSize: 0.5, compile: false },
  { method: "dopri5" },
  { method: "dopri5", norm: "sample" },
  { method: "tsit5", jumpTimes: [1.5] },
  { method: "dopri5", norm: "sample", jumpTimes: [1.5] },
  { method: "bosh3", adjoint: "continuous" },
];

/** The options with all times shifted. */
function moved({ grid, jumpTimes, ...options }: SolveOptions, by: number): SolveOptions {
  const move = (times?: ArrayLike<number>) => times && Array.from(times, (t) => t + by);
  return {
    ...options,
    grid: move(grid as ArrayLike<number>),
    jumpTimes: move(jumpTimes as ArrayLike<number>),
  };
}

for (const options of solves) {
  const { method, norm = "batch", adjoint = "direct" } = options;
  const name = `${method}, ${norm}, ${adjoint}${options.jumpTimes ? ", jumps" : ""}${
    options.compile === false ? ", step by step" : ""
  }`;
  testOnDevices(
    `odeint gives the same results at Unix seconds and from zero (${name})`,
    longOnSoftware,
    async (device) => {
      if (device !== cpu && ["dopri5", "tsit5", "bosh3"].includes(method as string)) return;
      const y0 = normal(key(0), [3, 2]);
      const weights = normal(key(1), [2, 2]);
      const solve = (times: number[], options: SolveOptions) =>
        valueAndGrad((w: Tensor) => odeint((_t, y) => y.matmul(w).tanh(), y0, times, options).square().sum())(
          weights,
        );
      await assertSame(solve(unix, moved(options, origin)), solve(fromZero, options), name);
    },
  );
}

const x = normal(key(2), [3, 6, 2]);
const paths: Record<string, (t: number[]) => Path> = {
  natural: (t) => CubicSpline(naturalCubicCoeffs(x, t), t),
  hermite: (t) => CubicSpline(hermiteCubicCoeffs(x, t), t),
  linear: (t) => LinearInterpolation(linearCoeffs(x, t), t),
};

for (const [name, path] of Object.entries(paths)) {
  for (
    const options of [
      { method: "rk4" },
      { method: "rk4", stepsPerPiece: 2 },
      { method: "dopri5" },
      { method: "dopri5", norm: "sample" },
      { method: "rk4", adjoint: "continuous" },
    ] as const
  ) {
    Deno.test(`cdeint gives the same results at Unix seconds and from zero (${name}, ${JSON.stringify(options)})`, async () => {
      const solve = (t: number[]) => {
        const X = path(t);
        const run = (w: Tensor) =>
          cdeint(X, (_t, z) => z.matmul(w).tanh().reshape([3, 2, 2]), x.select(1, 0), X.interval, options)
            .square().sum();
        return valueAndGrad(run)(normal(key(3), [2, 4]));
      };
      await assertSame(solve(unix), solve(fromZero), name);
    });
  }
}

Deno.test("cdeint at Unix seconds accepts precomputed steps", async () => {
  const X = paths.linear(unix);
  const f = (_t: Tensor, z: Tensor) => z.tanh().expandDims(-1).mul(tensor([1, 0.5]));
  const steps = await findCdeintSteps(X, f, x.select(1, 0), X.interval);
  await assertSame(
    [cdeint(X, f, x.select(1, 0), X.interval, { steps })],
    [cdeint(X, f, x.select(1, 0), X.interval, { method: "dopri5", jumpTimes: unix })],
    "states",
  );
});

Deno.test("cdeint solves at Unix seconds along series with separate times", async () => {
  const rows = (by: number) =>
    tensor(fromZero.flatMap((_, i) => [0, 1, 2].map((series) => fromZero[i] * (1 + series / 8) + by)), {
      shape: [6, 3],
      dtype: "float64",
    }).mT;
  const solve = (by: number) => {
    const X = CubicSpline(naturalCubicCoeffs(x, rows(by)), rows(by));
    const f = (_t: Tensor, z: Tensor) => z.tanh().expandDims(-1).mul(tensor([1, 0.5]));
    return [cdeint(X, f, x.select(1, 0), [by, by + 5], { method: "rk4", stepSize: 0.5 })];
  };
  // The gaps of 1.125 * 2.5 seconds differ in the last digits of float64 at 1.7e9.
  const [[far], [near]] = [solve(origin), solve(0)];
  const [a, b] = [await far.data(), await near.data()];
  a.forEach((value, i) => assert.ok(Math.abs(value - b[i]) < 1e-5, `${value}, expected ${b[i]}`));
});

Deno.test("models along a path give the same results at Unix seconds and from zero", async () => {
  const sizes = { inputChannels: 2, outputChannels: 2, key: key(4) };
  const models = [
    NeuralCDE({ ...sizes, hiddenChannels: 4, width: 4, depth: 1 }),
    FastWeight({ ...sizes, modelDim: 4, heads: 2 }),
  ];
  for (const model of models) {
    for (const states of ["final", "all"] as const) {
      const run = (t: number[]) => [model(paths.hermite(t), { states })];
      await assertSame(run(unix), run(fromZero), states);
    }
  }
});

Deno.test("a Neural ODE gives the same results at Unix seconds and from zero", async () => {
  const model = NeuralODE({ features: 2, width: 4, depth: 1, stepSize: 0.25, key: key(5) });
  await assertSame([model(x.select(1, 0), unix)], [model(x.select(1, 0), fromZero)], "states");
});

Deno.test("a stream gives the same predictions at Unix seconds and from zero", async () => {
  const sizes = { inputChannels: 2, outputChannels: 2, key: key(6) };
  const models = [
    NeuralCDE({ ...sizes, hiddenChannels: 4, width: 4, depth: 1 }),
    FastWeight({ ...sizes, modelDim: 4, heads: 2 }),
  ];
  for (const model of models) {
    const run = (times: number[]) => {
      const stream = model.stream();
      return times.map((t, i) => stream.push(t, x.select(1, i)));
    };
    // Near zero the times of all observations count from the first observation. Far from zero, the times of
    // each step count from the start of the step.
    const [far, near] = [run(unix), run(fromZero)];
    for (const [i, prediction] of far.entries()) {
      const expected = await near[i].data();
      (await prediction.data()).forEach((value, j) => assert.ok(Math.abs(value - expected[j]) < 1e-6));
    }
  }
});

Deno.test("windows of log-signatures are the same at Unix seconds and from zero", async () => {
  await assertSame([logsigWindows(x, 2, 2, unix)], [logsigWindows(x, 2, 2, fromZero)], "windows");
});

Deno.test("a path at Unix seconds is exact for plain numbers and rejects float32 tensors of times", async () => {
  const [far, near] = [paths.natural(unix), paths.natural(fromZero)];
  await assertSame([far.evaluate(unix)], [near.evaluate(fromZero)], "values");
  await assertSame([far.derivative(unix[2] + 0.125)], [near.derivative(2.625)], "slope");
  await assertSame(
    [far.since!(origin).derivative(tensor([1.75]))],
    [near.derivative(tensor([1.75]))],
    "since",
  );
  assert.throws(
    () => far.evaluate(tensor([unix[1]])),
    /path's times are 1700000000 to 1700000005, which float32 cannot distinguish.*subtract the first time/,
  );
});

Deno.test("a vector field that reads a time beyond float32 precision is rejected", () => {
  const y0 = tensor([1]);
  for (const options of [{ method: "rk4", stepSize: 0.5 }, { method: "dopri5" }] as const) {
    assert.throws(
      () => odeint((t, y) => t.sin().mul(y), y0, [origin, origin + 5], options),
      /odeint: the vector field uses t, but float32 cannot distinguish the times from 1700000000 to 1700000005: subtract/,
    );
  }
  const X = paths.linear(unix);
  assert.throws(
    () => cdeint(X, (t, z) => z.mul(t.sin()).expandDims(-1).mul(tensor([1, 1])), x.select(1, 0), X.interval),
    /the vector field uses t/,
  );
  // float64 represents them.
  const double = { dtype: "float64" } as const;
  odeint((t, y) => t.sin().mul(y), tensor([1], double), [origin, origin + 5], {
    method: "rk4",
    stepSize: 0.5,
  });
});

Deno.test("a vector field gets the unshifted time if float32 represents it, also for large times", async () => {
  const start = 2 ** 20;
  const y = odeint((t, _y) => t.sub(start), tensor(0), [start, start + 4], { method: "rk4", stepSize: 1 });
  assert.deepEqual([...await y.data()], [0, 8]);
});

Deno.test("addTime rejects times that are equal in float32", () => {
  const message =
    /addTime: the times are 1700000000 to 1700000005, which float32 cannot distinguish.*subtract the first/;
  assert.throws(() => addTime(x, unix), message);
  assert.throws(() => addTime(x.select(0, 0), tensor(unix, { dtype: "float64" })), message);
  const rows = tensor([unix, unix, unix], { dtype: "float64" });
  assert.throws(() => addTime(x, rows), message);
});

Deno.test("an event time that equals the start in float32 is rejected", () => {
  assert.throws(
    () =>
      odeintEvent((_t, y) => y.zerosLike().sub(1), tensor([1]), origin, (_t, y) => y.select(0, 0), {
        rtol: 1e-4,
        atol: 1e-6,
      }),
    /odeintEvent: the start and the event are 1700000000 to 1700000001.*subtract the first/,
  );
});

Deno.test("an event late in float32 has an accurate state", async () => {
  const fall = (_t: Tensor, y: Tensor) => y.zerosLike().sub(1);
  for (const t0 of [1e4, 1e5]) {
    const { y } = odeintEvent(fall, tensor([40]), t0, (_t, y) => y.select(0, 0), { rtol: 1e-4, atol: 1e-6 });
    const height = await y.item();
    assert.ok(Math.abs(height) < 1e-4, `${height} at the event after ${t0}`);
  }
});

Deno.test("errors report the caller's times", () => {
  const grow = (_t: Tensor, y: Tensor) => y.square();
  const y0 = tensor([[1]]);
  const times = [origin, origin + 5];
  assert.throws(
    () => odeint(grow, y0, times, { method: "rk4", stepSize: 0.25, check: true }),
    (error: unknown) => error instanceof DivergenceError && error.time > origin,
  );
  for (const norm of ["batch", "sample"] as const) {
    assert.throws(
      () => odeint(grow, y0, times, { method: "dopri5", maxSteps: 8, norm }),
      /from t = 1700000000 .*t = 1700000005/,
    );
  }
});

/** Times that are equal in float32, so that a solve checks whether its field reads them. */
const farTimes = [1e8, 1e8 + 1];
const farSolves: SolveOptions[] = [
  { method: "rk4" },
  { method: "rk4", compile: false },
  { method: "rk4", adjoint: "continuous" },
  { method: "dopri5" },
  { method: "dopri5", norm: "sample" },
];
for (const options of farSolves) {
  const name = JSON.stringify(options);

  Deno.test(`an error of a vector field at large times reaches the caller: ${name}`, () => {
    const failing = () => {
      throw new Error("as meant");
    };
    const y0 = tensor([[1], [2]]);
    assert.throws(() => odeint(failing, y0, farTimes, options), /^Error: as meant$/);
    // Throw only in the first call: a trace must not hide the error of a field that would succeed the next
    // time.
    let calls = 0;
    const once = (_t: Tensor, y: Tensor) => calls++ === 0 ? failing() : y.neg();
    assert.throws(() => odeint(once, y0, farTimes, options), /^Error: as meant$/);
    const X = LinearInterpolation(linearCoeffs(tensor([[[0], [1]], [[0], [2]]])), farTimes);
    assert.throws(() => cdeint(X, failing, y0, farTimes, options), /^Error: as meant$/);
  });

  Deno.test(`a vector field of the wrong shape is rejected at large times: ${name}`, () => {
    assert.throws(
      () => odeint((_t, y) => y.sum(), tensor([[1], [2]]), farTimes, options),
      /the vector field returned \(\) for a state of \(2, 1\)/,
    );
  });
}

Deno.test("a vector field that reads the shape of per-sample times can be traced", () => {
  const y0 = tensor([[1], [2]]);
  const field = (t: Tensor, y: Tensor) => {
    assert.deepEqual(t.shape, [2, 1]);
    return y.neg();
  };
  odeint(field, y0, farTimes, { method: "dopri5", norm: "sample" });
});

Deno.test("a vector field that reads values counts as time-dependent", () => {
  const reads = (_t: Tensor, y: Tensor) => y.mul(y.view.offset - 1);
  const solve = () => odeint(reads, tensor([1]), farTimes, { method: "rk4", compile: false });
  assert.throws(solve, /the vector field uses t, but float32 cannot distinguish/);
});
