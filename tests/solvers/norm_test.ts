/** Norms of the error of a step that users write. The cases of torchdiffeq's norm_tests.py, and their compositions. */
import assert from "node:assert/strict";
import {
  cdeint,
  CubicSpline,
  type ErrorNormFunction,
  findOdeintSteps,
  grad,
  jit,
  jvp,
  key,
  Linear,
  LinearInterpolation,
  naturalCubicCoeffs,
  normal,
  odeint,
  odeintEvent,
  solve,
  type SolveOptions,
  type SolveStatistics,
  splitKey,
  stack,
  type Tensor,
  tensor,
  vmap,
} from "../../mod.ts";
import { rdeint } from "../../src/solvers/rdeint.ts";

const dtype = "float64";
const rms: ErrorNormFunction = (error: Tensor) => error.square().mean().sqrt();
const largest: ErrorNormFunction = (error: Tensor) => error.abs().max();
const y0 = tensor([[1, 2], [0.5, 3]], { dtype });
const f = (t: Tensor, y: Tensor) => y.sin().mul(t.add(1));
const options = { method: "dopri5", rtol: 1e-5, atol: 1e-7 } as const;
const nothing = (): SolveStatistics => ({ steps: 0, rejected: 0, evaluations: 0 });

async function assertClose(found: Tensor, expected: Tensor, tolerance: number): Promise<void> {
  assert.deepEqual(found.shape, expected.shape);
  const [a, b] = [await found.data(), await expected.data()];
  a.forEach((x, i) => assert.ok(Math.abs(x - b[i]) <= tolerance, `element ${i} is ${x}, expected ${b[i]}`));
}

Deno.test("torchdiffeq: a norm gets the error with the structure and the shapes of the state", () => {
  const one = tensor(1);
  const square = tensor([[0.5, 0.5], [0.1, 0.1]]);
  const shapes: unknown[] = [];
  const [grow, interval] = [<S>(_t: Tensor, x: S) => x, [0, 1]];
  odeint(grow, one, interval, {
    norm(error: Tensor) {
      shapes.push(error.shape);
      return error.abs();
    },
  });
  odeint(grow, [one], interval, {
    norm(error: Tensor[]) {
      shapes.push(error.map(({ shape }) => shape));
      return error[0].abs();
    },
  });
  odeint(grow, { a: one, b: square }, interval, {
    norm(error: { a: Tensor; b: Tensor }) {
      shapes.push([error.a.shape, error.b.shape]);
      return error.a.abs();
    },
  });
  const expected = [[], [[]], [[], [2, 2]]].map((one) => JSON.stringify(one));
  assert.deepEqual([...new Set(shapes.map((shape) => JSON.stringify(shape)))], expected);
});

/** torchdiffeq's network of two layers, times sin(2 t). */
function network(width: number, type: "float32" | "float64") {
  const [first, second] = splitKey(key(0));
  const inner = Linear({ inputs: 2, outputs: width, key: first, dtype: type });
  const outer = Linear({ inputs: width, outputs: 2, key: second, dtype: type });
  return (t: Tensor, x: Tensor) => outer(inner(x).tanh()).tanh().mul(t.mul(2).sin());
}

const adaptive = ["dopri5", "tsit5", "bosh3", "fehlberg2", "adaptive_heun", "dopri8", "kvaerno3"] as const;
for (const method of adaptive) {
  Deno.test(`torchdiffeq: ten times the norm needs as many evaluations of ${method} or more`, () => {
    for (const type of ["float32", "float64"] as const) {
      if (type === "float32" && method === "dopri8") continue;
      const field = network(10, type);
      const tolerances = ["kvaerno3", "fehlberg2", "adaptive_heun"].includes(method)
        ? { rtol: 1e-4, atol: 1e-6 }
        : {};
      const evaluations = [1, 10].map((factor) => {
        const statistics = nothing();
        const norm = (error: Tensor) => error.abs().max().mul(factor);
        odeint(field, tensor([1, 2], { dtype: type }), [0, 1], { method, norm, statistics, ...tolerances });
        return statistics.evaluations;
      });
      assert.ok(evaluations[0] <= evaluations[1], `${type}: ${evaluations}`);
    }
  });
}

Deno.test("torchdiffeq: the adjoint is solved with a seminorm: gradients of parameters choose no steps", async () => {
  // With the norm of all tensors, parameters whose gradients are larger would have shorter steps.
  const field = network(32, dtype);
  const solved = (scale: number) =>
    grad((w: Tensor) =>
      odeint((t, x) => field(t, x).add(x.mul(w.mul(scale)).sum(-1, { keepDims: true })), y0, [0, 1], {
        ...options,
        adjoint: "continuous",
      }).sum()
    )(tensor([0.5, -0.25], { dtype }).div(scale)).div(scale);
  assert.deepEqual(await solved(2 ** 20).data(), await solved(1).data());
});

Deno.test("torchdiffeq: the norm of a solve is that of the state and of the adjoint, separately", async () => {
  for (const tree of [false, true]) {
    const shapes = new Set<string>();
    const run = (norm: ErrorNormFunction | undefined, y: Tensor) => {
      const given = { ...options, norm, adjoint: "continuous" } as const;
      if (!tree) return odeint(f, y, [0, 1], given).select(0, 1).sum();
      const field = (t: Tensor, { a, b }: { a: Tensor; b: Tensor }) => ({ a: f(t, a), b: b.neg() });
      return odeint(field, { a: y, b: y.select(1, 0) }, [0, 1], given).a.select(0, 1).sum();
    };
    const spy = (error: Tensor | { a: Tensor; b: Tensor }) => {
      const parts = "a" in error ? [error.a, error.b] : [error];
      shapes.add(JSON.stringify(parts.map(({ shape }) => shape)));
      const squares = parts.map((part) => part.square().sum());
      return squares.reduce((sum, part) => sum.add(part)).div(tree ? 6 : 4).sqrt();
    };
    const [found, expected] = [spy, undefined].map((norm) => grad((y: Tensor) => run(norm, y))(y0));
    assert.deepEqual([...shapes], [tree ? "[[2,2],[2]]" : "[[2,2]]"]);
    await assertClose(found, expected, 1e-12);
  }
});

Deno.test("the root mean square as a function takes the steps of the norm batch, compiled or not", async () => {
  for (const method of ["dopri5", "kvaerno3"] as const) {
    for (const compile of [true, false]) {
      const [own, batch] = [rms, "batch" as const].map((norm) => {
        const statistics = nothing();
        const y = odeint(f, y0, [0, 0.3, 1], { ...options, method, norm, statistics, compile });
        return { statistics, y };
      });
      assert.deepEqual(own.statistics, batch.statistics);
      await assertClose(own.y, batch.y, 1e-14);
    }
  }
  const [own, batch] = await Promise.all(
    [rms, "batch" as const].map((norm) => findOdeintSteps(f, y0, [0, 1], { ...options, norm })),
  );
  assert.deepEqual(own.accepted.lists, batch.accepted.lists);
});

Deno.test("elements that a norm leaves out have no error control", () => {
  const stiff = (_t: Tensor, y: Tensor) => y.mul(tensor([[-1, -40], [-1, -40]], { dtype }));
  const steps = [largest, (error: Tensor) => error.select(1, 0).abs().max()].map((norm) => {
    const statistics = nothing();
    odeint(stiff, y0, [0, 1], { ...options, stepSize: 0.01, norm, statistics });
    return statistics.steps;
  });
  assert.ok(steps[0] > 2 * steps[1], `${steps}`);
});

Deno.test("weights that a norm closes over are read in each solve", () => {
  const count = (weight: number) => {
    const statistics = nothing();
    const own = tensor(weight, { dtype });
    odeint(f, y0, [0, 1], { ...options, statistics, norm: (error: Tensor) => rms(error).mul(own) });
    return statistics.steps;
  };
  const [small, large, again] = [count(1), count(1000), count(1)];
  assert.ok(large > 2 * small, `${small}, ${large}`);
  assert.equal(again, small);
});

Deno.test("solves with a norm agree inside jit, vmap, jvp and grad", async () => {
  const run = (y: Tensor) => odeint(f, y, [0, 0.5, 1], { ...options, norm: largest });
  const loss = (y: Tensor) => run(y).square().sum();
  const expected = run(y0);
  await assertClose(jit(run)(y0), expected, 1e-14);
  const rows = (g: (y: Tensor) => Tensor) => stack([0, 1].map((i) => g(y0.select(0, i))));
  await assertClose(vmap(run)(y0), rows(run), 1e-13);
  await assertClose(jit(vmap(run))(y0), rows(run), 1e-13);
  await assertClose(vmap(grad(loss))(y0), rows(grad(loss)), 1e-12);
  const gradient = grad(loss)(y0);
  await assertClose(jit(grad(loss))(y0), gradient, 1e-12);
  const [, tangent] = jvp(loss)([y0], [y0.sin()]);
  await assertClose(tangent, gradient.mul(y0.sin()).sum(), 1e-10);
  const checkpoint = grad((y: Tensor) =>
    odeint(f, y, [0, 0.5, 1], { ...options, norm: largest, adjoint: "checkpoint" }).square().sum()
  )(y0);
  await assertClose(checkpoint, gradient, 1e-12);
  const weight = grad((w: Tensor) =>
    odeint(f, y0, [0, 1], { ...options, norm: (error: Tensor) => rms(error).mul(w) }).sum()
  )(tensor(3, { dtype }));
  assert.equal(await weight.item(), 0, "steps are constants of every derivative");
});

Deno.test("events, controls, windows and saves take a norm", async () => {
  const [ball, gravity] = [tensor([1, 0], { dtype }), tensor([0, -9.81], { dtype })];
  const falling = (_t: Tensor, y: Tensor) => concatenateVelocity(y).add(gravity);
  const concatenateVelocity = (y: Tensor) => stack([y.select(-1, 1), y.select(-1, 1).zerosLike()]);
  const height = (_t: Tensor, y: Tensor) => y.select(0, 0);
  for (const norm of ["batch", rms, largest] as SolveOptions["norm"][]) {
    const solved = (y: Tensor) =>
      odeintEvent(falling, y, 0, height, {
        ...options,
        norm,
        maxEvents: 2,
        restart: (_t: Tensor, y: Tensor) => y.mul(tensor([0, -0.5], { dtype })),
        direction: "down",
      }).t;
    await assertClose(solved(ball), tensor(2 * Math.sqrt(2 / 9.81), { dtype }), 1e-6);
    await assertClose(jit(solved)(ball), solved(ball), 1e-12);
  }
  const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [2, 5, 1], { dtype })));
  const field = (_t: Tensor, z: Tensor) => z.tanh().expandDims(-1);
  const along = [largest, "batch" as const].map((norm) => cdeint(X, field, y0, [0, 4], { ...options, norm }));
  await assertClose(along[0], along[1], 1e-3);
  const { t } = solve({ X, f: field }, y0, [0, 4], { ...options, norm: largest, save: { steps: true } });
  assert.ok(t.shape[0] > 3);
  const path = LinearInterpolation(normal(key(1), [2, 4, 1], { dtype }));
  const shapes = new Set<string>();
  rdeint(path, (slope, { a }: { a: Tensor }) => ({ a: a.tanh().mul(slope) }), { a: y0 }, [0, 3], {
    ...options,
    norm(error: { a: Tensor }) {
      shapes.add(`${error.a.shape}`);
      return error.a.abs().max();
    },
  });
  assert.deepEqual([...shapes], ["2,2"]);
});

Deno.test("a norm that is not a scalar is rejected, and fixed steps use none", () => {
  const solved = (given: SolveOptions) => () => odeint(f, y0, [0, 1], given);
  assert.throws(
    solved({ norm: (error: Tensor) => error.abs().max(-1) }),
    /odeint: the option norm returned \(2,\), expected a scalar \(\); for steps of each sample, use norm: "sample"/,
  );
  assert.throws(solved({ norm: (() => 1) as never }), /^TypeError: odeint: the result of the option norm/);
  assert.throws(solved({ method: "rk4", norm: rms }), /rk4 does not use the option norm/);
});
