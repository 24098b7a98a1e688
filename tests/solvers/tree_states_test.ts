/** States that are trees of tensors, against the same problem with one concatenated tensor. */
import assert from "node:assert/strict";
import {
  type Adjoint,
  cdeint,
  concatenate,
  CubicSpline,
  DivergenceError,
  explain,
  findCdeintSteps,
  findOdeintSteps,
  grad,
  jit,
  key,
  type MethodName,
  naturalCubicCoeffs,
  normal,
  odeint,
  odeintEvent,
  type SolveOptions,
  type SolveStatistics,
  splitKey,
  stack,
  type Tensor,
  tensor,
  vmap,
} from "../../mod.ts";
import { LinearInterpolation } from "../../src/paths/linear.ts";
import { rdeint } from "../../src/solvers/rdeint.ts";
import { treeLeaves } from "../../src/tensor/tree.ts";
import { testLong, testOnDevices } from "../devices.ts";
import { solved } from "../loops.ts";

const float64 = { dtype: "float64" } as const;
const [k1, k2, k3, k4] = splitKey(key(3), 4);
const drawn = (key: typeof k1, shape: number[]) => normal(key, shape, float64).mul(0.5);

/** Leaves of different ranks that share the axis of the samples. */
type State = { readonly h: Tensor; readonly memory: readonly [Tensor, Tensor] };
const inputs = {
  h: drawn(k1, [4, 3]),
  matrix: drawn(k2, [4, 2, 3]),
  energy: drawn(k3, [4]),
  w: drawn(k4, [3, 3]),
};
type Inputs = typeof inputs;
const times = [0, 0.3, 1.1];

/** The slopes of the three leaves, whose equations depend on one another and on time. */
function slopes(t: Tensor, h: Tensor, matrix: Tensor, energy: Tensor, w: Tensor): [Tensor, Tensor, Tensor] {
  const pulled = matrix.mul(h.expandDims(1));
  return [
    h.matmul(w).add(pulled.sum(1)).tanh().sub(h.mul(0.3)),
    pulled.sin().sub(matrix).mul(t.add(1)),
    h.square().sum(-1).sub(energy),
  ];
}

function solveTree({ h, matrix, energy, w }: Inputs, options: SolveOptions): Tensor[] {
  const field = (t: Tensor, y: State): State => {
    const [dh, dMatrix, dEnergy] = slopes(t, y.h, y.memory[0], y.memory[1], w);
    return { h: dh, memory: [dMatrix, dEnergy] };
  };
  const y0: State = { h, memory: [matrix, energy] };
  const y = odeint(field, y0, times, options);
  return [y.h, ...y.memory];
}

function solveConcatenated({ h, matrix, energy, w }: Inputs, options: SolveOptions): Tensor[] {
  const join = (parts: readonly Tensor[]) => concatenate(parts.map((x) => x.reshape([4, -1])), 1);
  const field = (t: Tensor, y: Tensor) => {
    const [h, matrix, energy] = [y.slice(1, 0, 3), y.slice(1, 3, 9), y.slice(1, 9, 10)];
    return join(slopes(t, h, matrix.reshape([4, 2, 3]), energy.reshape([4]), w));
  };
  const y = odeint(field, join([h, matrix, energy]), times, options);
  return [
    y.slice(2, 0, 3),
    y.slice(2, 3, 9).reshape([times.length, 4, 2, 3]),
    y.slice(2, 9, 10).reshape([times.length, 4]),
  ];
}

const lossOf = (states: readonly Tensor[]) =>
  states.map((x, i) => x.sub(0.2 * i).square().sum()).reduce((sum, own) => sum.add(own));

async function assertEqual(found: readonly Tensor[], expected: readonly Tensor[]): Promise<void> {
  assert.deepEqual(found.map(({ shape }) => shape), expected.map(({ shape }) => shape));
  for (const [i, x] of found.entries()) {
    const values = await expected[i].data();
    (await x.data()).forEach((value, j) =>
      assert.ok(
        Math.abs(value - values[j]) <= 1e-12 * Math.max(1, Math.abs(values[j])),
        `tensor ${i}, element ${j}: ${value}, expected ${values[j]}`,
      )
    );
  }
}

const tolerances = { rtol: 1e-5, atol: 1e-7 };
const cases: { method: MethodName; adjoints: readonly Adjoint[]; options?: SolveOptions }[] = [
  { method: "euler", adjoints: ["direct", "checkpoint", "continuous"], options: { stepSize: 0.1 } },
  { method: "rk4", adjoints: ["direct", "checkpoint", "continuous"], options: { stepSize: 0.2 } },
  { method: "explicit_adams", adjoints: ["direct", "checkpoint", "continuous"], options: { stepSize: 0.11 } },
  { method: "implicit_adams", adjoints: ["direct"], options: { stepSize: 0.11 } },
  { method: "reversible_heun", adjoints: ["direct", "reversible", "continuous"], options: { stepSize: 0.1 } },
  { method: "reversible_rk4", adjoints: ["direct", "reversible", "continuous"], options: { stepSize: 0.2 } },
  { method: "dopri5", adjoints: ["direct", "checkpoint", "continuous"], options: tolerances },
  { method: "bosh3", adjoints: ["direct", "continuous"], options: tolerances },
  {
    method: "kvaerno3",
    adjoints: ["direct", "checkpoint", "continuous"],
    // Steps of an implicit method take long: loose tolerances need few.
    options: { rtol: 1e-2, atol: 1e-3 },
  },
];
/** Whether a solve runs a compiled loop. */
const runsCompiled = (method: MethodName, adjoint: Adjoint) =>
  method !== "implicit_adams" &&
  !(adjoint === "continuous" && ["dopri5", "bosh3", "kvaerno3"].includes(method));

for (const { method, adjoints, options } of cases) {
  for (const adjoint of adjoints) {
    for (const compile of runsCompiled(method, adjoint) ? [true, false] : [false]) {
      const name = `${method}, adjoint ${adjoint}${compile ? "" : ", step by step"}`;
      // Gradients of an implicit method take seconds.
      const test = method === "kvaerno3" ? testLong : Deno.test;
      test(`a tree has the solution and gradients of the concatenated state: ${name}`, async () => {
        const all = { ...options, method, adjoint, compile } as const;
        const solve = compile ? (f: () => Inputs) => solved(true, f) : (f: () => Inputs) => f();
        await assertEqual(solveTree(inputs, all), solveConcatenated(inputs, all));
        const [own, expected] = [solveTree, solveConcatenated].map((solver) =>
          solve(() => grad((x: Inputs) => lossOf(solver(x, all)))(inputs))
        );
        await assertEqual(treeLeaves(own), treeLeaves(expected));
      });
    }
  }
}

testOnDevices("a tree has the solution of the concatenated state, on each device", async () => {
  const entries = Object.entries(inputs).map(async (
    [name, x],
  ) => [name, tensor(await x.data(), { shape: x.shape })]);
  const single: Inputs = Object.fromEntries(await Promise.all(entries));
  const options = { method: "rk4", stepSize: 0.2 } as const;
  const [found, expected] = [solveTree(single, options), solveConcatenated(single, options)];
  for (const [i, x] of found.entries()) {
    assert.ok(await x.sub(expected[i]).abs().max().item() < 1e-5);
  }
});

Deno.test("an adaptive solve of a tree takes the steps of the concatenated state", () => {
  const [own, expected] = [solveTree, solveConcatenated].map((solver) => {
    const statistics: SolveStatistics = { steps: 0, rejected: 0, evaluations: 0 };
    solver(inputs, { method: "dopri5", rtol: 1e-8, statistics });
    return statistics;
  });
  assert.deepEqual(own, expected);
  assert.ok(own.steps > 3);
});

Deno.test("steps of each sample of a tree are those of the concatenated state", async () => {
  const options: SolveOptions = { method: "dopri5", ...tolerances, norm: "sample" };
  // The field of the concatenated state has times (4, 1); that of the tree has times (4, 1, 1).
  const still = { h: inputs.h, matrix: inputs.matrix };
  const field = (h: Tensor, matrix: Tensor): [Tensor, Tensor] => {
    const [dh, dMatrix] = slopes(tensor(0, float64), h, matrix, h.sum(-1), inputs.w);
    return [dh, dMatrix];
  };
  const times = [0, 0.5, 1];
  const tree = (_t: Tensor, { h, matrix }: typeof still) => {
    const [dh, dMatrix] = field(h, matrix);
    return { h: dh, matrix: dMatrix };
  };
  const flat = (_t: Tensor, y: Tensor) => {
    const [dh, dMatrix] = field(y.slice(1, 0, 3), y.slice(1, 3, 9).reshape([4, 2, 3]));
    return concatenate([dh, dMatrix.reshape([4, 6])], 1);
  };
  const y0 = concatenate([still.h, still.matrix.reshape([4, 6])], 1);
  const expected = odeint(flat, y0, times, options);
  const { h, matrix } = odeint(tree, still, times, options);
  const parts = [expected.slice(2, 0, 3), expected.slice(2, 3, 9).reshape([3, 4, 2, 3])];
  await assertEqual([h, matrix], parts);
  const steps = await findOdeintSteps(tree, still, times, options);
  assert.equal(steps.accepted.lists.length, 4);
  const found = odeint(tree, still, times, { steps });
  await assertEqual([found.h, found.matrix], parts);
});

Deno.test("with steps of each sample, the field of a tree has times that broadcast against its leaves", async () => {
  const y0 = { a: tensor([[1], [2]], float64), b: tensor([[3, 4], [5, 6]], float64) };
  const shapes = new Set<string>();
  const y = odeint(
    (t, { a, b }) => {
      shapes.add(t.shape.join());
      return { a: t.mul(2).broadcastTo(a.shape), b: b.zerosLike().add(t) };
    },
    y0,
    [0, 1],
    { method: "dopri5", norm: "sample" },
  );
  assert.deepEqual([...shapes], ["2,1"]);
  await assertEqual([y.a.select(0, 1), y.b.select(0, 1)], [y0.a.add(1), y0.b.add(0.5)]);
});

Deno.test("leaves without a common first axis are one vector", async () => {
  const y0 = { point: tensor([1, 2], float64), mass: tensor(0.5, float64) };
  const field = (_t: Tensor, { point, mass }: typeof y0) => ({ point: point.mul(mass), mass: point.sum() });
  const flat = (_t: Tensor, y: Tensor) => {
    const [point, mass] = [y.slice(0, 0, 2), y.slice(0, 2, 3)];
    return concatenate([point.mul(mass), point.sum().expandDims(0)]);
  };
  for (const method of ["rk4", "dopri5", "kvaerno5"] as const) {
    const options = { method, stepSize: 0.1 } as const;
    const { point, mass } = odeint(field, y0, [0, 0.5, 1], options);
    const expected = odeint(flat, tensor([1, 2, 0.5], float64), [0, 0.5, 1], options);
    await assertEqual([point, mass], [expected.slice(1, 0, 2), expected.select(1, 2)]);
  }
});

Deno.test("leaves of one axis may depend on one another in an implicit method", async () => {
  const y0 = { position: tensor([1, 0], float64), velocity: tensor([0, 1], float64) };
  const y = odeint(
    (_t, { position, velocity }) => ({ position: velocity.flip(0), velocity: position.neg() }),
    y0,
    [0, 1],
    { method: "kvaerno5" },
  );
  assert.deepEqual(y.position.shape, [2, 2]);
  const exact = odeint(
    (_t, y) => concatenate([y.slice(0, 2, 4).flip(0), y.slice(0, 0, 2).neg()]),
    concatenate([y0.position, y0.velocity]),
    [0, 1],
    { method: "kvaerno5" },
  );
  await assertEqual([y.position, y.velocity], [exact.slice(1, 0, 2), exact.slice(1, 2, 4)]);
});

Deno.test("a tree of one leaf keeps the solution of the leaf", async () => {
  const y0 = { y: tensor([[1, 2], [3, 4]], float64), name: "decay" };
  const solution = odeint((_t, { y, name }) => ({ y: y.neg(), name }), y0, [0, 1], { rtol: 1e-6 });
  assert.equal(solution.name, "decay");
  await assertEqual([solution.y], [odeint((_t, y) => y.neg(), y0.y, [0, 1], { rtol: 1e-6 })]);
});

Deno.test("the loop of a tree is compiled, alone and under jit", async () => {
  assert.match(
    explain(() => solveTree(inputs, { method: "rk4", stepSize: 0.2 })).text,
    /forward loop: 6 steps of 4 samples/,
  );
  const step = jit((x: Inputs) => solveTree(x, { method: "rk4", stepSize: 0.2 }));
  await assertEqual(step(inputs), solveTree(inputs, { method: "rk4", stepSize: 0.2 }));
});

for (const method of ["rk4", "dopri5"] as const) {
  Deno.test(`vmap solves a tree for each example with ${method}, as separate solves do`, async () => {
    const options = { method, ...(method === "rk4" ? { stepSize: 0.2 } : { rtol: 1e-9, atol: 1e-10 }) };
    const solve = (h: Tensor) => {
      const y = odeint(
        (t, { a, b }) => ({ a: b.mul(t).sum().sub(a), b: a.mul(b) }),
        { a: h.square(), b: stack([h, h.cos()]) },
        times,
        options,
      );
      return y.a.add(y.b.sum(-1));
    };
    const examples = tensor([0.2, -0.5, 0.9], float64);
    const separate = stack([0, 1, 2].map((i) => solve(examples.select(0, i))));
    assert.ok(await vmap(solve)(examples).sub(separate).abs().max().item() < 1e-8);
  });
}

Deno.test("the event of a tree has the time, state and gradients of the concatenated state", async () => {
  const height = tensor(10, float64);
  const tree = (height: Tensor) => {
    const { t, y } = odeintEvent(
      (_t, y) => ({ height: y.speed, speed: y.speed.mul(-0.1).sub(9.81) }),
      { height, speed: tensor(0, float64) },
      0,
      (_t, y) => y.height,
    );
    return [t, y.height, y.speed];
  };
  const flat = (height: Tensor) => {
    const { t, y } = odeintEvent(
      (_t, y) => stack([y.select(0, 1), y.select(0, 1).mul(-0.1).sub(9.81)]),
      stack([height, tensor(0, float64)]),
      0,
      (_t, y) => y.select(0, 0),
    );
    return [t, y.select(0, 0), y.select(0, 1)];
  };
  await assertEqual(tree(height), flat(height));
  const total = (solve: typeof tree) => (h: Tensor) =>
    solve(h).reduce((sum, x, i) => sum.add(x.mul(i + 1)), height.mul(0));
  await assertEqual([grad(total(tree))(height)], [grad(total(flat))(height)]);
});

const x = naturalCubicCoeffs(normal(key(7), [4, 6, 2], float64));

Deno.test("a controlled equation of a tree is that of the concatenated state", async () => {
  const X = CubicSpline(x);
  const z0 = { a: inputs.h, b: inputs.matrix.slice(1, 0, 1).squeeze(1).slice(1, 0, 2) };
  const field = (_t: Tensor, { a, b }: typeof z0) => ({
    a: stack([a.tanh(), b.sum(-1, { keepDims: true }).mul(a).sin()], -1),
    b: stack([b.sin(), a.slice(1, 1, 3)], -1),
  });
  const flat = (t: Tensor, z: Tensor) => {
    const { a, b } = field(t, { a: z.slice(1, 0, 3), b: z.slice(1, 3, 5) });
    return concatenate([a, b], 1);
  };
  const joined = concatenate([z0.a, z0.b], 1);
  for (const method of ["rk4", "dopri5"] as const) {
    for (const adjoint of ["direct", "continuous"] as const) {
      const solve = (z0: { a: Tensor; b: Tensor }) => {
        const { a, b } = cdeint(X, field, z0, [0, 2.5, 5], { method, adjoint });
        return [a, b];
      };
      const z = cdeint(X, flat, joined, [0, 2.5, 5], { method, adjoint });
      await assertEqual(solve(z0), [z.slice(2, 0, 3), z.slice(2, 3, 5)]);
      const own = grad((z0: { a: Tensor; b: Tensor }) => lossOf(solve(z0)))(z0);
      const expected = grad((z0: Tensor) => {
        const z = cdeint(X, flat, z0, [0, 2.5, 5], { method, adjoint });
        return lossOf([z.slice(2, 0, 3), z.slice(2, 3, 5)]);
      })(joined);
      await assertEqual([own.a, own.b], [expected.slice(1, 0, 3), expected.slice(1, 3, 5)]);
    }
  }
  const steps = await findCdeintSteps(X, field, z0, [0, 5]);
  const z = cdeint(X, flat, joined, [0, 5]);
  const found = cdeint(X, field, z0, [0, 5], { steps });
  assert.ok(await found.a.sub(z.slice(2, 0, 3)).abs().max().item() < 1e-12);
});

Deno.test("an equation along log-signatures of a tree is that of the concatenated state", async () => {
  const X = LinearInterpolation(normal(key(8), [4, 5, 3], float64));
  const y0 = { h: inputs.h, m: inputs.matrix };
  const field = (words: Tensor, { h, m }: typeof y0) => ({
    h: h.mul(words).sin(),
    m: m.mul(words.expandDims(1)).add(h.expandDims(1)),
  });
  const flat = (words: Tensor, y: Tensor) => {
    const { h, m } = field(words, { h: y.slice(1, 0, 3), m: y.slice(1, 3, 9).reshape([4, 2, 3]) });
    return concatenate([h, m.reshape([4, 6])], 1);
  };
  for (const method of ["rk4", "dopri5"] as const) {
    const { h, m } = rdeint(X, field, y0, [0, 2, 4], { method });
    const y = rdeint(X, flat, concatenate([y0.h, y0.m.reshape([4, 6])], 1), [0, 2, 4], { method });
    await assertEqual([h, m], [y.slice(2, 0, 3), y.slice(2, 3, 9).reshape([3, 4, 2, 3])]);
  }
});

Deno.test("a diverging state is reported with its leaf", () => {
  const y0 = { calm: tensor([[1, 1], [1, 1]]), wild: tensor([[[0.1, 0.1]], [[0.1, 3]]]) };
  const solve = () =>
    odeint((_t, { calm, wild }) => ({ calm: calm.neg(), wild: wild.square() }), y0, [0, 9], {
      method: "rk4",
      stepSize: 0.1,
      check: true,
    });
  assert.throws(solve, (error: unknown) => {
    assert.ok(error instanceof DivergenceError);
    assert.deepEqual([error.leaf, error.sample, ...error.index], ["wild", 1, 0, 1]);
    assert.match(error.message, /^the state wild of sample 1 became/);
    return true;
  });
});

Deno.test("states and slopes that do not fit together are rejected with the leaf", () => {
  const y0 = { a: tensor([1]), b: tensor([[2]]) };
  // deno-lint-ignore no-explicit-any
  const solve = (field: (t: Tensor, y: any) => any, y: any = y0, options = {}) => () =>
    odeint(field, y, [0, 1], options);
  assert.throws(
    solve(() => ({ a: y0.a })),
    /odeint: the vector field returned a for a state of a, b; they must have the same structure/,
  );
  assert.throws(
    solve(() => ({ a: y0.a, b: y0.a })),
    /odeint: the vector field returned \(1,\) at b for a state of \(1, 1\); they must have the same shape/,
  );
  assert.throws(
    solve(() => ({ a: y0.a, b: y0.b.cast("int32") })),
    /odeint: the vector field returned int32 at b for a state of float32/,
  );
  assert.throws(solve((_t, y) => y, { a: y0.a, b: tensor([1], float64) }), /odeint: y0.b is float64 and/);
  assert.throws(solve((_t, y) => y, { a: y0.a.cast("int32") }), /odeint: y0.a is int32, expected float32/);
  assert.throws(solve((_t, y) => y, { a: 1 }), /odeint: y0 must be a tensor/);
  assert.throws(
    solve((_t, y) => y, { a: tensor([1, 2]), b: tensor([[2]]) }, { norm: "sample" }),
    /odeint: norm "sample" needs leaves with the same first axis, got \(2,\), \(1, 1\)/,
  );
  const X = CubicSpline(x);
  assert.throws(
    () => cdeint(X, (_t, z) => z, { a: inputs.h }, X.interval),
    /cdeint: the vector field returned \(4, 3\) at a for a state of \(4, 3\) and a control of \(4, 2\)/,
  );
});
