/** Jacobian-vector products by forward-mode differentiation. */
import assert from "node:assert/strict";
import {
  checkGradients,
  grad,
  jit,
  jvp,
  key,
  normal,
  odeint,
  scan,
  type SolveOptions,
  type Tensor,
  tensor,
  tidy,
  type Tree,
  valueAndGrad,
  vmap,
} from "../../mod.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu, testOnCpu } from "../devices.ts";
import { assertTensor, fromTensor, random, toTensor } from "../tensor/nd.ts";
import { cases } from "../tensor/primitive_cases.ts";
import { differentiable, differentiableCases } from "./differentiable.ts";
import { recurrent } from "./recurrent.ts";

const step = 1e-5;
const float64 = { dtype: "float64" } as const;

/** Directions in which the arguments change. */
const directionsOf = (args: readonly Tensor[]): Tensor[] =>
  args.map(({ shape }, i) => toTensor(random(shape, 90 + i, { low: -1, high: 1 }), "float64"));

/** The derivative of a function along directions, by central differences. */
function differences(
  f: (...args: Tensor[]) => Tensor,
  args: readonly Tensor[],
  along: readonly Tensor[],
): Tensor {
  const at = (shift: number) => f(...args.map((x, i) => x.add(along[i].mul(shift))));
  return at(step).sub(at(-step)).div(2 * step);
}

async function assertTangent(
  f: (...args: Tensor[]) => Tensor,
  args: readonly Tensor[],
  tolerance: number,
  what: string,
): Promise<void> {
  setCurrentDevice(cpu);
  const along = directionsOf(args);
  const [value, tangent] = jvp(f)([...args], along);
  await assertTensor(value, await fromTensor(f(...args)), 1e-9, `${what}: value`);
  await assertTensor(tangent, await fromTensor(differences(f, args, along)), tolerance, `${what}: tangent`);
}

for (const [name, list] of differentiableCases) {
  Deno.test(`jvp of ${name} agrees with central differences`, async () => {
    setCurrentDevice(cpu);
    for (const example of list) {
      const { f, args } = differentiable(example);
      await assertTangent(f, args, 1e-6, example.name);
      const along = directionsOf(args);
      const [, traced] = jit((x: Tensor[], v: Tensor[]) => jvp(f)(x, v))(args, along);
      await assertTensor(
        traced,
        await fromTensor(jvp(f)(args, along)[1]),
        1e-14,
        `${example.name} under jit`,
      );
    }
  });

  Deno.test(`jvp of the gradient of ${name} agrees with central differences`, async () => {
    setCurrentDevice(cpu);
    for (const example of list.filter(({ smooth }) => smooth === 2)) {
      const { f, args } = differentiable(example);
      // Squared, so that linear functions have a second derivative too.
      const first = (...floats: Tensor[]) => grad((x: Tensor[]) => f(...x).square().sum())(floats)[0];
      await assertTangent(first, args, 1e-5, example.name);
    }
  });
}

Deno.test("jvp in jit computes the tangents of new arguments", async () => {
  setCurrentDevice(cpu);
  const slope = jit((x: Tensor, v: Tensor) => jvp((x: Tensor) => x.sin().sum())([x], [v])[1]);
  const v = tensor([1, 2], { dtype: "float64" });
  for (const values of [[0, 1], [0.5, -1]]) {
    const found = await slope(tensor(values, { dtype: "float64" }), v).item();
    assert.ok(Math.abs(found - Math.cos(values[0]) - 2 * Math.cos(values[1])) < 1e-14);
  }
});

const [weights, state, rows] = [[3, 3], [2, 3], [6, 2, 3]].map((shape, i) =>
  toTensor(random(shape, 20 + i, { low: -1, high: 1 }), "float64")
);

for (const compile of [true, false]) {
  const how = compile ? "compiled" : "step by step";
  Deno.test(`jvp around scan, ${how}`, () =>
    assertTangent(recurrent(compile), [weights, state, rows], 1e-7, how));
  Deno.test(`jvp of the gradient of scan, ${how}`, () =>
    assertTangent(
      (...args) => grad((w: Tensor[]) => recurrent(compile)(w[0], w[1], w[2]))([...args])[0],
      [weights, state, rows],
      1e-6,
      how,
    ));
}

const solves: readonly SolveOptions[] = [
  { method: "rk4", stepSize: 0.1 },
  { method: "rk4", stepSize: 0.1, adjoint: "continuous" },
  { method: "reversible_heun", stepSize: 0.1, adjoint: "reversible" },
  { method: "explicit_adams", stepSize: 0.1 },
  { method: "dopri5", rtol: 1e-9, atol: 1e-9 },
  { method: "kvaerno3", rtol: 1e-6, atol: 1e-8 },
];
for (const options of solves) {
  const name = `${options.method}, ${options.adjoint ?? "direct"} adjoint`;
  const solve = (w: Tensor, y: Tensor) =>
    odeint((t, y) => y.matmul(w).tanh().mul(t.cos()), y, [0, 0.3, 1], options);
  Deno.test(`jvp around odeint: ${name}`, () => assertTangent(solve, [weights, state], 1e-6, name));
  // Newton iterations take seconds.
  if (options.method === "kvaerno3") continue;
  Deno.test(`a Hessian-vector product around odeint: ${name}`, () =>
    assertTangent(
      (...args) => grad((w: Tensor[]) => solve(w[0], w[1]).square().sum())([...args])[0],
      [weights, state],
      1e-5,
      name,
    ));
  Deno.test(`the gradient of a tangent of odeint: ${name}`, async () => {
    setCurrentDevice(cpu);
    const [v, u] = directionsOf([weights, weights]);
    const total = (w: Tensor) => solve(w, state).square().sum();
    const [first, second] = [
      (w: Tensor) => jvp(total)([w], [v])[1],
      (w: Tensor) => grad(total)(w).mul(v).sum(),
    ];
    const expected = differences(second, [weights], [u]);
    await assertTensor(grad(first)(weights).mul(u).sum(), await fromTensor(expected), 1e-5, name);
  });
}

Deno.test("jvp of jvp is a second derivative", async () => {
  setCurrentDevice(cpu);
  const x = tensor([0.3, 0.7], { dtype: "float64" });
  const v = tensor([1, 0], { dtype: "float64" });
  const first = (x: Tensor) => jvp((x: Tensor) => x.sin())([x], [v])[1];
  const [slope, second] = jvp(first)([x], [v]);
  await assertTensor(slope, { shape: [2], values: [Math.cos(0.3), 0] }, 1e-15, "first");
  await assertTensor(second, { shape: [2], values: [-Math.sin(0.3), 0] }, 1e-15, "second");
});

Deno.test("a function inside jvp that closes over an outer tangent does not confuse the two", async () => {
  setCurrentDevice(cpu);
  // d/dx of x d/dy (x + y) = 1, not 2.
  const one = tensor(1, { dtype: "float64" });
  const f = (x: Tensor) => x.mul(jvp((y: Tensor) => x.add(y))([one], [one])[1]);
  assert.equal(await jvp(f)([one], [one])[1].item(), 1);
});

Deno.test("the tangent of a primitive without a gradient rule is zero", async () => {
  setCurrentDevice(cpu);
  const x = tensor([0.5, -2], { dtype: "float64" });
  const [, tangent] = jvp((x: Tensor) => [x.sign(), x.less(0).cast("float64"), x.argmax(0)])([x], [x]);
  assert.deepEqual(await Promise.all(tangent.map((x) => x.toArray())), [[0, 0], [0, 0], 0]);
});

Deno.test("jvp takes and returns trees, and reads values inside", async () => {
  setCurrentDevice(cpu);
  const model = { layers: [{ w: tensor([2]) }], name: "line", count: tensor([3], { dtype: "int32" }) };
  const tangents = { layers: [{ w: tensor([1]) }], name: "line", count: tensor([0], { dtype: "int32" }) };
  let read: Promise<Tree> | undefined;
  const [value, tangent] = jvp((m: typeof model) => {
    read = m.layers[0].w.toArray();
    return { y: m.layers[0].w.mul(m.count.cast("float32")), name: m.name };
  })([model], [tangents]);
  assert.deepEqual([await value.y.toArray(), await tangent.y.toArray(), value.name], [[6], [3], "line"]);
  assert.deepEqual(await read, [2]);
});

Deno.test("jvp rejects missing tangents and tangents of other shapes", () => {
  setCurrentDevice(cpu);
  const f = (x: Tensor) => x.sum();
  assert.throws(
    () => jvp(f)([tensor([1, 2])], [tensor([1])]),
    { message: "jvp: the tangent of argument 0 is float32 (1,), expected float32 (2,), as the argument" },
  );
  // deno-lint-ignore no-explicit-any
  assert.throws(() => jvp(f)([tensor([1])], [] as any), /the tangent of argument 0 is missing/);
});

Deno.test("tensors inside jvp cannot be assigned", () => {
  setCurrentDevice(cpu);
  const outside = tensor([0]);
  assert.throws(
    () => jvp((x: Tensor) => (outside.assign(x), x))([tensor([1])], [tensor([1])]),
    /inside jvp and vmap/,
  );
});

Deno.test("jvp of a training loss agrees with its gradient", async () => {
  setCurrentDevice(cpu);
  const [v] = directionsOf([weights]);
  const loss = (w: Tensor) => recurrent(true)(w, state, rows).square();
  const [value, gradient] = valueAndGrad(loss)(weights);
  const [found, tangent] = jvp(loss)([weights], [v]);
  await assertTensor(found, await fromTensor(value), 1e-14, "value");
  await assertTensor(tangent, await fromTensor(gradient.mul(v).sum()), 1e-12, "tangent");
});

Deno.test("every differentiable primitive of the table has a test of jvp", () => {
  assert.ok(differentiableCases.length > 30, `${differentiableCases.length} of ${Object.keys(cases).length}`);
});

Deno.test("loops in jvp and vmap, and in gradients for each example, are compiled", () => {
  setCurrentDevice(cpu);
  const f = recurrent(true);
  const compiledLoops = (body: () => unknown) => {
    const directions: string[] = [];
    observeLoops(
      ({ hoistedLoop }) => directions.push(hoistedLoop.graph.backward ? "backward" : "forward"),
      () => void body(),
    );
    return [...new Set(directions)];
  };
  const batch = state.expandDims(0).broadcastTo([4, 2, 3]);
  const gradient = (h: Tensor) => grad((h: Tensor) => f(weights, h, rows))(h);
  assert.deepEqual(compiledLoops(() => jvp(f)([weights, state, rows], [weights, state, rows])), ["forward"]);
  assert.deepEqual(compiledLoops(() => vmap((h: Tensor) => f(weights, h, rows))(batch)), ["forward"]);
  assert.deepEqual(compiledLoops(() => vmap(gradient)(batch)), ["forward", "backward"]);
});

testOnCpu("tensors made in the body of a loop by grad, jvp and solves outlive their scopes", async () => {
  const bodies: Record<string, (y: Tensor) => Tensor> = {
    grad: (y) => grad((z: Tensor) => z.mul(tensor([1, 2], float64)).square().sum())(y),
    jvp: (y) => jvp((z: Tensor) => z.mul(tensor([1, 2], float64)).sin())([y], [y.cos()])[1],
    tidy: (y) => tidy(() => y.mul(tensor([1, 2], float64))),
    reversible: (y) =>
      odeint((t, y) => y.mul(tensor([1, 2], float64)).add(t), y, [0, 1], {
        method: "reversible_heun",
        adjoint: "reversible",
      }).select(0, 1),
  };
  const rows = tensor([0.1, 0.2, 0.3], float64);
  for (const [name, body] of Object.entries(bodies)) {
    const solve = (compile: boolean) => (y0: Tensor) =>
      scan((y: Tensor, r: Tensor) => [y.sub(body(y).mul(r)), {}], y0, rows, { compile })[0];
    const y0 = tensor([0.5, -0.3], float64);
    const [compiled, plain] = [true, false].map((compile) => solve(compile)(y0));
    assert.ok(await compiled.sub(plain).abs().max().item() < 1e-12, name);
    await checkGradients(solve(true), [y0]);
  }
});

testOnCpu("a loop whose body has the jvp of matrix products has a gradient", async () => {
  const [a, b] = [normal(key(0), [3, 4], float64), normal(key(1), [4, 3], float64)];
  const rows = tensor([0.1, 0.2], float64);
  const fields: Record<string, (y: Tensor) => Tensor> = {
    product: (y) => y.matmul(a.matmul(b)),
    layers: (y) => y.matmul(a).tanh().matmul(b),
    transposed: (y) => y.matmul(b.mT).sin().matmul(a.mT),
  };
  for (const field of Object.values(fields)) {
    const solve = (_a: Tensor, _b: Tensor) =>
      scan(
        (y: Tensor, r: Tensor) => [y.add(jvp(field)([y], [field(y)])[1].mul(r)), {}],
        normal(key(2), [5, 3], float64),
        rows,
      )[0];
    await checkGradients(solve, [a, b]);
  }
});
