/** The cases of Diffrax's test_adjoint.py, with its equations and numbers. */
import assert from "node:assert/strict";
import {
  type Adjoint,
  brownianIncrements,
  checkGradients,
  grad,
  jacobian,
  jit,
  jvp,
  key,
  Linear,
  odeint,
  ones,
  sdeint,
  SGD,
  solve,
  type SolveOptions,
  splitKey,
  stack,
  type Tensor,
  tensor,
  treeLeaves,
  valueAndGrad,
  vjp,
  vmap,
} from "../../mod.ts";
import { testLong } from "../devices.ts";

const dtype = "float64";
const numbers = (values: number[]) => tensor(values, { dtype });
const number = (value: number) => tensor(value, { dtype });

/** Checks leaves to a tolerance relative to 1 or, above 1, to the expected number. */
async function assertClose(found: object, expected: object, tolerance: number): Promise<void> {
  const [a, b] = [found, expected].map((tree) => treeLeaves(tree as Tensor));
  assert.deepEqual(a.map(({ shape }) => shape), b.map(({ shape }) => shape));
  for (const [i, leaf] of a.entries()) {
    const [x, y] = [await leaf.data(), await b[i].data()];
    x.forEach((value, j) =>
      assert.ok(Math.abs(value - y[j]) <= tolerance * Math.max(1, Math.abs(y[j])), `${i}: ${value}, ${y[j]}`)
    );
  }
}

// Diffrax's equation: dy/dt = [[a, b], [c, d]] y with a = 0.1, b = -1, c = 1, d = -0.1 from t = 0.3 to 9.5.
type Inputs = { y0: Tensor; a: Tensor; b: Tensor; c: Tensor; d: Tensor };
const inputs: Inputs = {
  y0: numbers([0.9, 5.4]),
  a: number(0.1),
  b: number(-1),
  c: number(1),
  d: number(-0.1),
};
const twice = Object.fromEntries(
  Object.entries(inputs).map(([name, x]) => [name, stack([x, x])]),
) as Inputs;
const tight = { method: "tsit5", rtol: 1e-8, atol: 1e-8 } as const;
type Save = { start?: boolean; end?: boolean; t?: number[] };

function total(
  { y0, a, b, c, d }: Inputs,
  { start = false, end = false, t }: Save,
  adjoint: Adjoint,
): Tensor {
  const field = (_t: Tensor, y: Tensor) => {
    const [u, v] = [y.select(0, 0), y.select(0, 1)];
    return stack([a.mul(u).add(b.mul(v)), c.mul(u).add(d.mul(v))]);
  };
  return solve(field, y0, [0.3, 9.5], { ...tight, adjoint, save: { start, end, ...t ? { t } : {} } }).y.sum();
}

/** The gradient of the sum of the saved states with respect to the first state: the square of the matrix is -0.99. */
function exactGradient({ start, end, t = [] }: Save): Tensor {
  const omega = Math.sqrt(0.99);
  const times = [...start ? [0.3] : [], ...t, ...end ? [9.5] : []].map((time) => omega * (time - 0.3));
  const [cos, sin] = [Math.cos, Math.sin].map((f) => times.reduce((sum, time) => sum + f(time), 0));
  return numbers([cos + sin / omega * 1.1, cos - sin / omega * 1.1]);
}

/** Times beside the start and the end. Times at the start and at the end alone are tested without these two. */
const outputs = [undefined, [2], [0.3, 7, 9.5]];
for (const [start, end] of [[true, true], [true, false], [false, true], [false, false]]) {
  const test = start === end ? Deno.test : testLong;
  test(`all adjoints have the gradients of saved states, start ${start}, end ${end}`, async () => {
    for (const t of start || end ? outputs : [[0.3], [9.5], ...outputs.slice(1)]) {
      const save = { start, end, t };
      const run = (adjoint: Adjoint) => (x: Inputs) => total(x, save, adjoint);
      const direct = grad(run("direct"))(inputs);
      await assertClose(direct.y0, exactGradient(save), 1e-5);
      for (const adjoint of ["checkpoint", "continuous"] as const) {
        await assertClose(grad(run(adjoint))(inputs), direct, 1e-5);
        await assertClose(jit(grad(run(adjoint)))(inputs), direct, 1e-5);
      }
      if (t === outputs[1]) continue; // The transformations of these are those of the times below.
      const forwards = (name: keyof Inputs, one: Tensor) => {
        const zero = Object.fromEntries(Object.entries(inputs).map(([name, x]) => [name, x.zerosLike()]));
        return jvp(run("direct"))([inputs], [{ ...zero, [name]: one } as Inputs])[1];
      };
      const y0 = stack([forwards("y0", numbers([1, 0])), forwards("y0", numbers([0, 1]))]);
      const rest = Object.fromEntries(
        (["a", "b", "c", "d"] as const).map((name) => [name, forwards(name, number(1))]),
      );
      await assertClose({ y0, ...rest }, direct, 1e-5);
      const both = Object.fromEntries(Object.entries(direct).map(([name, x]) => [name, stack([x, x])]));
      for (const adjoint of ["direct", "checkpoint", "continuous"] as const) {
        await assertClose(vmap(grad(run(adjoint)))(twice), both, 1e-5);
        await assertClose(grad((x: Inputs) => vmap(run(adjoint))(x).sum())(twice), both, 1e-5);
      }
    }
  });
}

for (const method of ["dopri5", "kvaerno5", "rk4"] as const) {
  const test = method === "kvaerno5" ? testLong : Deno.test;
  test(`transformations of the continuous adjoint of ${method} agree with the direct adjoint`, async () => {
    const w = numbers([0.3, -0.7]);
    const y0 = tensor([[[1, 2]], [[0.5, 3]], [[4, 1]]], { dtype });
    const steps = method === "rk4" ? { stepSize: 0.01 } : { rtol: 1e-7, atol: 1e-9 };
    const solved = (adjoint: Adjoint) => (y: Tensor, w: Tensor) =>
      odeint((t, y) => y.sin().mul(t.add(w)), y, [0, 0.5, 1], { method, adjoint, ...steps });
    const run = (adjoint: Adjoint) => {
      const f = solved(adjoint);
      const loss = (y: Tensor, w: Tensor) => f(y, w).square().sum();
      const ofState = (y: Tensor) => grad((y: Tensor) => loss(y, w))(y);
      const ofWeight = (y: Tensor) => grad((w: Tensor) => loss(y, w))(w);
      const each = (w: Tensor) => vmap((y: Tensor) => loss(y, w))(y0).sum();
      return {
        vmapGrad: vmap(ofState)(y0),
        vmapGradOfWeight: vmap(ofWeight)(y0),
        jitVmapGrad: jit(vmap(ofWeight))(y0),
        vmapJitGrad: vmap(jit(ofState))(y0),
        gradVmap: grad((y: Tensor) => vmap((y: Tensor) => loss(y, w))(y).sum())(y0),
        gradVmapOfWeight: grad(each)(w),
        jitGradVmap: jit(grad(each))(w),
        jitGrad: jit(grad(loss))(y0.select(0, 0), w),
        gradVmapGrad: grad((w: Tensor) =>
          vmap((y: Tensor) => grad((y: Tensor) => loss(y, w))(y))(y0).square().sum()
        )(w),
        jacobian: jacobian((y: Tensor) => f(y, w).select(0, 2), { mode: "reverse" })(y0.select(0, 0)),
        jitJacobian: jit(jacobian((y: Tensor) => f(y, w).select(0, 2), { mode: "reverse" }))(y0.select(0, 0)),
      };
    };
    await assertClose(run("continuous"), run("direct"), 1e-5);
    const step = jit((w: Tensor) => grad((w: Tensor) => solved("continuous")(y0.select(0, 0), w).sum())(w));
    step(w);
    const expected = grad((w: Tensor) => solved("direct")(y0.select(0, 0), w).sum())(w.mul(2));
    await assertClose(step(w.mul(2)), expected, 1e-5);
  });
}

Deno.test("second gradients of the continuous adjoint through vmap are rejected for adaptive methods", () => {
  const y0 = numbers([1, 2]);
  const solved = (y: Tensor) =>
    odeint((_t, y) => y.sin(), y, [0, 1], { method: "dopri5", adjoint: "continuous" });
  const { pullback } = vjp(() => solved(y0), y0);
  const cotangents = ones([3, 2, 2], { dtype });
  const wrong: (() => unknown)[] = [
    () => grad((c: Tensor) => vmap(pullback)(c).square().sum())(cotangents),
    () => jvp((y: Tensor) => vmap(grad((y: Tensor) => solved(y).sum()))(y))([y0], [y0]),
  ];
  for (const run of wrong) assert.throws(run, /a second gradient is requested/);
});

Deno.test("the continuous adjoint has the gradient of a decay, with the tolerances of Diffrax's seminorm", async () => {
  const run = (y: Tensor) =>
    odeint((_t, y) => y.neg(), y, [0, 1], {
      method: "tsit5",
      rtol: 1e-3,
      atol: 1e-6,
      adjoint: "continuous",
    }).select(0, 1);
  await assertClose(grad(run)(number(2)), number(Math.exp(-1)), 1e-3);
});

/** A network of one hidden layer of 8 numbers. */
function network() {
  const [first, second] = splitKey(key(0));
  const layers = [
    Linear({ inputs: 1, outputs: 8, key: first, dtype }),
    Linear({ inputs: 8, outputs: 1, key: second, dtype }),
  ];
  return {
    field: (_t: Tensor, y: Tensor) => layers[1](layers[0](y).relu()),
    parameters: layers.map(({ parameters }) => parameters),
  };
}

Deno.test("the continuous adjoint reaches parameters that a vector field closes over", async () => {
  // Diffrax rejects them: they must be arguments there.
  const { field, parameters } = network();
  const gradients = (["direct", "continuous"] as const).map((adjoint) =>
    grad(() =>
      odeint(field, numbers([1]), [0, 1], { method: "euler", stepSize: 1 / 1024, adjoint }).select(0, 1).sum()
    )(
      parameters,
    )
  );
  await assertClose(gradients[1], gradients[0], 1e-2);
  const sizes = await Promise.all(treeLeaves(gradients[0]).map((x) => x.abs().max().item()));
  assert.ok(sizes.some((size) => size > 0.1), `${sizes}`);
});

Deno.test("gradients flow through output times between the steps of euler", async () => {
  const { field } = network();
  const run = (y: Tensor) =>
    odeint(field, y, [0, 0.25, 0.5, 0.75, 1], { method: "euler", stepSize: 0.1 }).square();
  await checkGradients(run, [numbers([1])]);
});

Deno.test("the steady state of a long solve can be trained, without an implicit adjoint", async () => {
  // The equation of Diffrax's ImplicitAdjoint: y' = s - y, whose steady state s is trained to be 0.76 in 100 steps.
  const model = { steadyState: number(0) };
  const optimizer = SGD(model, { learningRate: 1e-2, momentum: 0.7, nesterov: true });
  const step = jit(() => {
    const [loss, gradients] = valueAndGrad(({ steadyState }: typeof model) =>
      odeint((_t, y) => steadyState.sub(y), number(1), [0, 20], { method: "tsit5", rtol: 1e-3, atol: 1e-6 })
        .select(0, 1).sub(0.76).square()
    )(model);
    optimizer.step(gradients);
    return loss;
  });
  for (let i = 0; i < 100; i++) step();
  await assertClose(model.steadyState, number(0.76), 1e-2);
});

Deno.test("adjoints of a stochastic equation agree, and have the gradient of the exact solution", async () => {
  // Diffrax's drift -0.5 y and diffusion 0.1 y, in the sense of Stratonovich: y = y0 exp(-k0 t + k1 W).
  const dw = brownianIncrements(key(1), [...Array(1001).keys()].map((i) => i / 1000), [2], { dtype });
  type Equation = { y0: Tensor; k0: Tensor; k1: Tensor };
  const run = (options: { method: "heun" | "reversible_heun"; adjoint?: "checkpoint" | "reversible" }) =>
    grad(({ y0, k0, k1 }: Equation) =>
      sdeint((_t, y) => y.mul(k0).neg(), (_t, y) => y.mul(k1), y0, [0, 1], dw, { stepSize: 1e-3, ...options })
        .select(0, 1).sum()
    )({ y0: numbers([1, 2]), k0: number(0.5), k1: number(0.1) });
  const w = dw.sum(0);
  const end = w.mul(0.1).sub(0.5).exp();
  const exact = { y0: end, k0: end.mul(numbers([-1, -2])).sum(), k1: end.mul(w).mul(numbers([1, 2])).sum() };
  const direct = run({ method: "heun" });
  await assertClose(direct, exact, 1e-3);
  await assertClose(run({ method: "heun", adjoint: "checkpoint" }), direct, 1e-12);
  await assertClose(run({ method: "reversible_heun", adjoint: "reversible" }), direct, 1e-3);
});

Deno.test("an implicit method has the direct gradient of a decay", async () => {
  for (const method of ["kvaerno3", "kvaerno5"] as const) {
    const options: SolveOptions = { method, rtol: 1e-3, atol: 1e-6, stepSize: 0.01 };
    const run = (y: Tensor) => odeint((_t, y) => y.neg(), y, [0, 1], options).select(0, 1).sum();
    await assertClose(grad(run)(ones([1], { dtype })), numbers([Math.exp(-1)]), 1e-3);
  }
});

Deno.test("jvp works through ordinary and stochastic equations, inside jit", async () => {
  const ordinary = (y: Tensor) =>
    odeint((_t, y) => y.neg(), y, [0, 1], { ...tight, stepSize: 0.01 }).select(0, 1);
  const stochastic = (y: Tensor) =>
    sdeint((_t, y) => y.neg(), (_t, y) => y.mul(0.1), y, [0, 1], key(2), { method: "heun", stepSize: 0.01 })
      .select(0, 1);
  for (const run of [ordinary, stochastic]) {
    // The equations are linear, so the tangent of 1 from 1 is the state.
    const [value, tangent] = jit((y: Tensor) => jvp(run)([y], [y.zerosLike().add(1)]))(number(1));
    await assertClose(tangent, value, 1e-12);
  }
});

Deno.test("a continuous adjoint takes short steps for its own error where the solution has none", async () => {
  // y' = y cos(5 t) from y = 0: the solution is 0, and dy(2) / dy(0) = exp(sin(10) / 5).
  const final = (y: Tensor) =>
    odeint((t, y) => y.mul(t.mul(5).cos()), y, [0, 2], { ...tight, adjoint: "continuous" }).select(0, 1);
  await assertClose(
    grad((y: Tensor) => final(y).sum())(numbers([0])),
    numbers([Math.exp(Math.sin(10) / 5)]),
    1e-6,
  );
});
