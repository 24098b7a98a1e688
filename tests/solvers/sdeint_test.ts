import assert from "node:assert/strict";
import {
  brownianIncrements,
  checkGradients,
  concatenate,
  DivergenceError,
  grad,
  jit,
  type Key,
  key,
  normal,
  odeint,
  ones,
  OptionError,
  sdeint,
  type SdeMethodName,
  type SdeOptions,
  splitKey,
  stack,
  type Tensor,
  tensor,
  vmap,
  zeros,
} from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { longOnSoftware, testOnBoth, testOnCpu, testOnDevices } from "../devices.ts";
import { normalDistance } from "./normal_distance.ts";

const float64 = { dtype: "float64" } as const;

const distance = async (a: Tensor, b: Tensor) => await a.sub(b).abs().max().item();

/** The order of convergence, from mean errors with steps of a sixteenth and a 256th. */
const methods: readonly [name: SdeMethodName, calculus: "Ito" | "Stratonovich", order: number][] = [
  ["euler_maruyama", "Ito", 0.5],
  ["milstein", "Ito", 1],
  ["stratonovich_milstein", "Stratonovich", 1],
  ["euler_heun", "Stratonovich", 1],
  ["heun", "Stratonovich", 1],
  ["reversible_heun", "Stratonovich", 1],
];

for (const [method, calculus, order] of methods) {
  testOnCpu(`${method} has strong order ${order} for geometric Brownian motion`, async () => {
    const [mu, sigma, samples] = [0.8, 0.6, 500];
    const errorOf = async (level: number) => {
      const dw = brownianIncrements(key(5), [0, 1], [samples], { ...float64, refine: level });
      const solved = sdeint(
        (_t, y) => y.mul(mu),
        (_t, y) => y.mul(sigma),
        ones([samples], float64),
        [0, 1],
        dw,
        {
          method,
          stepSize: 2 ** -level,
        },
      );
      const drift = calculus === "Ito" ? mu - sigma ** 2 / 2 : mu;
      return await solved.select(0, 1).sub(dw.sum(0).mul(sigma).add(drift).exp()).abs().mean().item();
    };
    const measured = Math.log2(await errorOf(4) / await errorOf(8)) / 4;
    assert.ok(Math.abs(measured - order) < 0.08, `${measured}`);
  });
}

testOnDevices("an Ornstein-Uhlenbeck process has its mean, variance and covariance", async () => {
  const [theta, sigma, samples] = [1.5, 0.8, 4000];
  const y = sdeint(
    (_t, y) => y.mul(-theta),
    (_t, y) => y.zerosLike().add(sigma),
    ones([samples]).mul(2),
    [0, 0.5, 1],
    key(11),
    { method: "euler_maruyama", stepSize: 1 / 128 },
  );
  const [half, end] = [1, 2].map((i) => y.select(0, i));
  const variance = (t: number) => sigma ** 2 / (2 * theta) * (1 - Math.exp(-2 * theta * t));
  const centred = (x: Tensor) => x.sub(x.mean());
  const found = await stack([half.mean(), end.mean(), half.std().square(), end.std().square()]).data();
  const expected = [2 * Math.exp(-theta / 2), 2 * Math.exp(-theta), variance(0.5), variance(1)];
  expected.forEach((value, i) => assert.ok(Math.abs(found[i] - value) < 0.02, `${i}: ${found[i]}, ${value}`));
  const covariance = await centred(half).mul(centred(end)).mean().item();
  assert.ok(Math.abs(covariance - Math.exp(-theta / 2) * variance(0.5)) < 0.01, `${covariance}`);
});

testOnDevices(
  "Brownian increments are independent normal numbers with the variance of their interval",
  async () => {
    const [times, samples] = [[0, 0.1, 1.3, 1.5], 4000];
    const dw = brownianIncrements(key(2), times, [samples]);
    assert.deepEqual(dw.shape, [3, samples]);
    // The 1 % bound of the test of Kolmogorov and Smirnov.
    const bound = 1.63 / Math.sqrt(samples);
    const scaled = [0, 1, 2].map((i) => dw.select(0, i).div(Math.sqrt(times[i + 1] - times[i])));
    for (const x of scaled) assert.ok(normalDistance(await x.data()) < bound);
    for (const [i, j] of [[0, 1], [0, 2], [1, 2]]) {
      const correlation = await scaled[i].mul(scaled[j]).mean().item();
      assert.ok(Math.abs(correlation) < 3 / Math.sqrt(samples), `${correlation}`);
    }
  },
);

testOnDevices("refined Brownian increments add up, and midpoints have the law of a bridge", async () => {
  const [times, samples] = [[0, 0.5, 2], 4000];
  const coarse = brownianIncrements(key(2), times, [samples]);
  for (const refine of [1, 3]) {
    const fine = brownianIncrements(key(2), times, [samples], { refine });
    assert.ok(await distance(fine.reshape([2, 2 ** refine, samples]).sum(1), coarse) < 1e-5);
  }
  const first = brownianIncrements(key(2), times, [samples], { refine: 1 }).reshape([2, 2, samples]).select(
    1,
    0,
  );
  for (const [i, length] of [0.5, 1.5].entries()) {
    const own = coarse.select(0, i);
    const bridge = first.select(0, i).sub(own.mul(0.5)).div(Math.sqrt(length / 4));
    assert.ok(normalDistance(await bridge.data()) < 1.63 / Math.sqrt(samples));
    assert.ok(Math.abs(await bridge.mul(own).mean().item()) < 0.05, "independent of the interval");
  }
});

/** Drift and diffusion with weights `(2, 2)`, for a state `(batch, 2)`. */
const drift = (w: Tensor) => (t: Tensor, y: Tensor) => y.matmul(w).tanh().add(t);
const diffusion = (w: Tensor, noise: SdeOptions["noise"]) => (t: Tensor, y: Tensor) => {
  if (noise === "general") return stack([y.sin(), y.cos().mul(t), y.matmul(w)], -1).mul(0.3);
  return y.sin().mul(0.4).add(t).mul(w.sum());
};

/** All methods with all noises that they take. */
const choices: readonly SdeOptions[] = methods.flatMap(([method]) =>
  (["diagonal", "scalar", "general"] as const)
    .filter((noise) => noise !== "general" || !method.includes("milstein"))
    .map((noise) => ({ method, noise }))
);

testOnCpu("gradients of each method and noise agree with central differences", async () => {
  const [w, y0] = [normal(key(1), [2, 2], float64).mul(0.5), normal(key(2), [3, 2], float64)];
  for (const options of choices) {
    const solve = (y0: Tensor, w: Tensor) =>
      sdeint(drift(w), diffusion(w, options.noise), y0, [0, 0.35, 1], key(3), { stepSize: 0.2, ...options });
    await checkGradients(solve, [y0, w], { elements: 3 });
  }
});

testOnCpu("the reversible adjoint has the gradient of backpropagation, over 500 steps", async () => {
  const [w, y0] = [normal(key(1), [2, 2], float64).mul(0.5), normal(key(2), [3, 2], float64)];
  for (const noise of ["diagonal", "scalar", "general"] as const) {
    const gradients = (["direct", "checkpoint", "reversible"] as const).map((adjoint) =>
      grad((p: { w: Tensor; y0: Tensor }) =>
        sdeint(drift(p.w), diffusion(p.w, noise), p.y0, [0, 0.3, 1], key(3), {
          method: "reversible_heun",
          stepSize: 1 / 500,
          ...{ noise, adjoint },
        }).square().sum()
      )({ w, y0 })
    );
    for (const found of gradients.slice(1)) {
      assert.ok(await distance(found.w, gradients[0].w) < 1e-9, noise);
      assert.ok(await distance(found.y0, gradients[0].y0) < 1e-9, noise);
    }
  }
});

testOnCpu("the gradient of increments agrees with central differences", async () => {
  const [w, y0] = [normal(key(1), [2, 2], float64).mul(0.5), normal(key(2), [3, 2], float64)];
  const dw = brownianIncrements(key(3), [0, 0.5, 1], [3, 2], float64);
  for (const [method] of methods) {
    const solve = (dw: Tensor) =>
      sdeint(drift(w), diffusion(w, "diagonal"), y0, [0, 1], dw, { method, stepSize: 0.5 });
    await checkGradients(solve, [dw]);
  }
});

testOnDevices("a key gives the same path however the solve runs", longOnSoftware, async () => {
  const [w, y0, t] = [normal(key(1), [2, 2]).mul(0.5), normal(key(2), [3, 2]), [0, 0.5, 1]];
  const shapes = { diagonal: [3, 2], scalar: [3, 1], general: [3, 3] };
  for (const options of choices) {
    const { noise } = options;
    const solve = (key: Key, more: Partial<SdeOptions> = {}) =>
      sdeint(drift(w), diffusion(w, noise), y0, t, key, { ...options, ...more });
    const expected = solve(key(3));
    const runs = {
      "step by step": solve(key(3), { compile: false }),
      checkpoint: solve(key(3), { adjoint: "checkpoint" }),
      jit: jit((key: Key) => solve(key))(key(3)),
      increments: solve(brownianIncrements(key(3), t, shapes[noise!])),
    };
    for (const [how, found] of Object.entries(runs)) {
      assert.ok(await distance(found, expected) < 1e-5, `${options.method}, ${noise}, ${how}`);
    }
    assert.ok(await distance(solve(key(4)), expected) > 0.01, "another key");
  }
});

testOnDevices("vmap over keys solves along a path for each key", longOnSoftware, async () => {
  const [w, y0] = [normal(key(1), [2, 2]).mul(0.5), normal(key(2), [3, 2])];
  const keys = splitKey(key(9), 3);
  for (const { method, noise } of choices.filter(({ method }) => /^milstein|reversible/.test(method))) {
    for (const adjoint of method === "reversible_heun" ? ["direct", "reversible"] as const : [undefined]) {
      const solve = (w: Tensor, key: Key) =>
        sdeint(drift(w), diffusion(w, noise), y0, [0, 1], key, { method, noise, adjoint, stepSize: 0.25 });
      const gradient = (key: Key) => grad((w: Tensor) => solve(w, key).square().sum())(w);
      for (const f of [(key: Key) => solve(w, key), gradient]) {
        const expected = stack(keys.map(f));
        assert.ok(await distance(vmap(f)(keys), expected) < 1e-4, `${method}, ${noise}, ${adjoint}`);
        assert.ok(
          await distance(jit((key: Key) => vmap(f)(splitKey(key, 3)))(key(9)), expected) < 1e-4,
          "jit",
        );
      }
    }
  }
});

testOnBoth("sdeint follows the same path on both devices", longOnSoftware, async (cpu, webgpu) => {
  for (const options of choices.filter(({ method }) => method !== "euler_heun")) {
    const [found, expected] = [webgpu, cpu].map((device) => {
      setCurrentDevice(device);
      const [w, y0] = [normal(key(1), [2, 2]).mul(0.5), normal(key(2), [3, 2])];
      const solve = (w: Tensor) =>
        sdeint(drift(w), diffusion(w, options.noise), y0, [0, 0.5, 1], key(3), { ...options, stepSize: 0.1 });
      return [solve(w), grad((w: Tensor) => solve(w).square().sum())(w)];
    });
    for (const [i, x] of found.entries()) {
      const [a, b] = [await x.data(), await expected[i].data()];
      a.forEach((value, j) => assert.ok(Math.abs(value - b[j]) < 1e-3 * Math.max(1, Math.abs(b[j]))));
    }
  }
});

testOnCpu("without noise, the methods are those of ordinary equations", async () => {
  const y0 = normal(key(2), [3, 2], float64);
  const f = (t: Tensor, y: Tensor) => y.sin().add(t);
  for (
    const [method, deterministic] of [
      ["euler_maruyama", "euler"],
      ["milstein", "euler"],
      ["heun", "heun2"],
      ["reversible_heun", "reversible_heun"],
    ] as const
  ) {
    const found = sdeint(f, (_t, y) => y.mul(0), y0, [0, 0.3, 1], key(0), { method, stepSize: 0.25 });
    const expected = odeint(f, y0, [0, 0.3, 1], { method: deterministic, stepSize: 0.25 });
    assert.ok(await distance(found, expected) < 1e-12, method);
  }
});

testOnCpu(
  "general noise with a diagonal matrix is diagonal noise, and a column is scalar noise",
  async () => {
    const y0 = normal(key(2), [3, 2], float64);
    const f = (_t: Tensor, y: Tensor) => y.neg();
    const g = (_t: Tensor, y: Tensor) => y.cos();
    const eye = tensor([[1, 0], [0, 1]], float64);
    const dw = brownianIncrements(key(3), [0, 0.5, 1], [3, 2], float64);
    const one = dw.slice(-1, 0, 1);
    for (const [method] of methods.filter(([name]) => !name.includes("milstein"))) {
      const solve = (g: (t: Tensor, y: Tensor) => Tensor, noise: SdeOptions["noise"], dw: Tensor) =>
        sdeint(f, g, y0, [0, 1], dw, { method, noise, stepSize: 0.5 });
      const matrix = (t: Tensor, y: Tensor) => g(t, y).expandDims(-1).mul(eye);
      assert.ok(await distance(solve(matrix, "general", dw), solve(g, "diagonal", dw)) < 1e-12, method);
      const column = (t: Tensor, y: Tensor) => g(t, y).expandDims(-1);
      assert.ok(await distance(solve(column, "general", one), solve(g, "scalar", one)) < 1e-12, method);
    }
  },
);

testOnCpu("a state of several tensors is solved as one", async () => {
  const [a, b] = [normal(key(1), [3, 2]), normal(key(2), [3, 1])];
  const joint = sdeint((_t, y) => y.neg(), (_t, y) => y.sin(), concatenate([a, b], -1), [0, 1, 2], key(3), {
    method: "heun",
  });
  const parts = sdeint(
    (_t, { a, b }) => ({ a: a.neg(), b: b.neg() }),
    (_t, { a, b }) => ({ a: a.sin(), b: b.sin() }),
    { a, b },
    [0, 1, 2],
    key(3),
    { method: "heun" },
  );
  assert.ok(await distance(concatenate([parts.a, parts.b], -1), joint) < 1e-6);
});

testOnCpu("steps end at the grid, and far times are counted from the first time", async () => {
  const [f, g, y0] = [(_t: Tensor, y: Tensor) => y.neg(), (_t: Tensor, y: Tensor) => y.mul(0.2), ones([4])];
  const onGrid = (shift: number) =>
    sdeint(f, g, y0, [shift, shift + 1], key(0), {
      method: "milstein",
      grid: [0.25, 0.75].map((time) => time + shift),
    });
  const dw = brownianIncrements(key(0), [0, 0.25, 0.75, 1], [4]);
  assert.ok(
    await distance(onGrid(0), sdeint(f, g, y0, [0, 1], dw, { method: "milstein", grid: [0.25, 0.75] })) <
      1e-6,
  );
  assert.ok(await distance(onGrid(2 ** 30), onGrid(0)) < 1e-6);
  const usesTime = (t: Tensor, y: Tensor) => y.add(t);
  assert.throws(
    () => sdeint(usesTime, g, y0, [1e9, 1e9 + 1], key(0), { method: "milstein", stepSize: 0.1 }),
    /uses t, but float32 cannot distinguish/,
  );
});

testOnCpu("an infinite state is reported", () => {
  const explode = (_t: Tensor, y: Tensor) => y.square().mul(1e30);
  assert.throws(
    () => sdeint(explode, explode, ones([2]), [0, 1], key(0), { method: "heun", stepSize: 0.1, check: true }),
    DivergenceError,
  );
});

testOnCpu("sdeint says what is wrong", () => {
  const [f, y0] = [(_t: Tensor, y: Tensor) => y.neg(), zeros([2, 3])];
  const solve = (options: object, g: unknown = f, t: unknown = [0, 1], source: Key = key(0)) => () =>
    sdeint(f, g as never, y0, t as never, source, { method: "heun", ...options } as SdeOptions);
  const wrong: [run: () => unknown, message: RegExp, type?: typeof OptionError][] = [
    [
      solve({ method: "euler" }),
      /^RangeError: sdeint: method "euler" is unknown; use one of euler_maruyama, milstein \(Ito\)/,
    ],
    [solve({ method: undefined }), /the option method is missing/, OptionError],
    [solve({ noise: "additive" }), /noise "additive" is unknown; use one of diagonal/],
    [solve({ noise: "general", method: "milstein" }), /milstein does not take general noise/, OptionError],
    [
      solve({ adjoint: "reversible" }),
      /the steps of heun cannot be undone; use the method "reversible_heun"/,
    ],
    [solve({ adjoint: "continuous" }), /adjoint "continuous" is unknown; use one of direct/],
    [solve({ stepSize: 0.1, grid: [0.5] }), /grid and stepSize both/, OptionError],
    [solve({ stepSize: 0 }), /stepSize is 0, expected a positive/],
    [solve({}, f, [1, 0]), /times decrease from 1 to 0/],
    [
      solve({}, (_t: Tensor, y: Tensor) => y.sum(-1)),
      /^ShapeError: sdeint: g returned \(2,\) for a state of \(2, 3\)/,
    ],
    [solve({ noise: "general" }), /g returned \(2, 3\) .* an axis for the motions/],
    [
      solve({}, f, [0, 1], zeros([2, 2, 3])),
      /the increments are float32 \(2, 2, 3\), expected float32 \(1, 2, 3\)/,
    ],
    [solve({}, f, [0, 1], [1.5, 2] as never), /is not a key/],
    [
      () => grad((t: Tensor) => (solve({}, f, t)() as Tensor).sum())(tensor([0, 1])),
      /a gradient with respect to t is requested/,
    ],
    [
      () =>
        grad((dw: Tensor) =>
          (solve({ method: "reversible_heun", adjoint: "reversible" }, f, [0, 1], dw)() as Tensor).sum()
        )(
          zeros([1, 2, 3]),
        ),
      /"reversible" has no gradient with respect to increments/,
    ],
  ];
  for (const [run, message, type] of wrong) {
    assert.throws(run, (error: Error) => {
      assert.match(`${error}`, message);
      return !type || error instanceof type;
    });
  }
  assert.throws(() => brownianIncrements(key(0), [0, 1], [2], { refine: -1 }), /refine is -1/);
  assert.throws(() => brownianIncrements(key(0), [1, 0], [2]), /times decrease/);
});
