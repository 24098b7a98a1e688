/** Functions of one example mapped over a batch, compared with a loop over the examples. */
import assert from "node:assert/strict";
import {
  bernoulli,
  cdeint,
  CubicSpline,
  grad,
  jit,
  jvp,
  type Key,
  key,
  naturalCubicCoeffs,
  normal,
  odeint,
  randperm,
  remat,
  scan,
  type SolveOptions,
  splitKey,
  stack,
  type Tensor,
  tensor,
  vmap,
  zeros,
} from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { apply, type Primitive } from "../../src/tensor/primitive.ts";
import { cpu, testOnDevices } from "../devices.ts";
import { assertTensor, fromTensor, random, toTensor } from "../tensor/nd.ts";
import { type Case, cases } from "../tensor/primitive_cases.ts";
import { differentiable, differentiableCases } from "./differentiable.ts";
import { recurrent } from "./recurrent.ts";

const examples = 3;

/** The results of a function for each example of the mapped arguments. */
function loop(
  f: (...args: Tensor[]) => Tensor,
  args: readonly Tensor[],
  isMapped: readonly boolean[],
): Tensor {
  const one = (i: number) => f(...args.map((x, j) => isMapped[j] ? x.select(0, i) : x));
  return stack(Array.from({ length: examples }, (_, i) => one(i)));
}

const axesOf = (isMapped: readonly boolean[]) => isMapped.map((is) => is ? 0 : null);

/** Operands of a case. Mapped operands of floats are scaled differently for each example. */
function operandsOf({ operands }: Case, isMapped: readonly boolean[]): Tensor[] {
  const float = operands.some(({ dtype }) => dtype === "float32") ? "float32" : "float64";
  return operands.map(({ array, dtype }, i) => {
    const x = toTensor(array, dtype ?? float);
    if (!isMapped[i]) return x;
    return stack(Array.from({ length: examples }, (_, k) => dtype === undefined ? x.mul(1 - 0.2 * k) : x));
  });
}

for (const [name, list] of Object.entries(cases)) {
  Deno.test(`vmap of ${name} agrees with a loop over the examples`, async () => {
    setCurrentDevice(cpu);
    for (const example of list) {
      const count = example.operands.length;
      for (let bits = 1; bits < 2 ** count; bits++) {
        const isMapped = example.operands.map((_, i) => (bits >> i) % 2 === 1);
        const args = operandsOf(example, isMapped);
        const mapped = vmap(example.run, { inAxes: axesOf(isMapped) });
        const expected = await fromTensor(loop(example.run, args, isMapped));
        const tolerance = args.some(({ dtype }) => dtype === "float64") ? 1e-12 : 1e-6;
        await assertTensor(mapped(...args), expected, tolerance, `${example.name}, ${isMapped}`);
        await assertTensor(jit(mapped)(...args), expected, tolerance, `${example.name} in jit, ${isMapped}`);
      }
    }
  });
}

for (const [name, list] of differentiableCases) {
  Deno.test(`gradients and tangents of ${name} for each example agree with a loop`, async () => {
    setCurrentDevice(cpu);
    for (const example of list) {
      const { f, args } = differentiable(example);
      const loss = (...args: Tensor[]) => f(...args).square().sum();
      const first = (...args: Tensor[]) => grad((x: Tensor[]) => loss(...x))(args)[0];
      const tangent = (...args: Tensor[]) => jvp(loss)(args, args)[1];
      // The last argument is shared, and differs from the first unless there is only one.
      const isMapped = args.map((_, i) => i === 0 || i < args.length - 1);
      const batch = args.map((x, i) =>
        isMapped[i] ? stack(Array.from({ length: examples }, (_, k) => x.mul(1 - 0.2 * k))) : x
      );
      for (const [what, g] of Object.entries({ gradient: first, tangent })) {
        const mapped = vmap(g, { inAxes: axesOf(isMapped) })(...batch);
        await assertTensor(
          mapped,
          await fromTensor(loop(g, batch, isMapped)),
          1e-11,
          `${example.name}: ${what}`,
        );
      }
      const total = (g: (...args: Tensor[]) => Tensor) => (all: Tensor[]) => g(...all).sum();
      const ofMapped = grad(total(vmap(loss, { inAxes: axesOf(isMapped) })))(batch);
      const ofLoop = grad(total((...all) => loop(loss, all, isMapped)))(batch);
      for (const [i, x] of ofMapped.entries()) {
        await assertTensor(x, await fromTensor(ofLoop[i]), 1e-11, `${example.name}: gradient ${i} of vmap`);
      }
    }
  });
}

const [weights, states, rows] = [[3, 3], [examples, 2, 3], [examples, 6, 2, 3]].map((shape, i) =>
  toTensor(random(shape, 20 + i, { low: -1, high: 1 }), "float64")
);

const solve = (options: SolveOptions) => (w: Tensor, y: Tensor) =>
  odeint((t, y) => y.matmul(w).tanh().mul(t.cos()), y, [0, 0.3, 1], options);

const spline = (w: Tensor, x: Tensor) => {
  const control = CubicSpline(naturalCubicCoeffs(x.select(1, 0)));
  const field = (_t: Tensor, z: Tensor) => z.matmul(w).tanh().reshape([3, 1]).broadcastTo([3, 3]);
  return cdeint(control, field, zeros([3], { dtype: "float64" }), [0, 5], { method: "rk4", stepSize: 0.5 });
};

const tight = { method: "dopri5", rtol: 1e-10, atol: 1e-10 } as const;

/** Functions with loops and solvers: name, function, arguments, mapped arguments, tolerance. */
const functions: readonly (readonly [
  name: string,
  f: (...args: Tensor[]) => Tensor,
  args: readonly Tensor[],
  isMapped: readonly boolean[],
  tolerance?: number,
])[] = [
  ["scan", recurrent(true), [weights, states, rows], [false, true, true]],
  ["scan step by step", recurrent(false), [weights, states, rows], [false, true, true]],
  ["scan with mapped weights only", recurrent(true), [
    stack([weights, weights.mul(0.5), weights.mul(0.1)]),
    states.select(0, 0),
    rows.select(0, 0),
  ], [true, false, false]],
  ["scan with mapped rows only", recurrent(true), [weights, states.select(0, 0), rows], [false, false, true]],
  [
    "scan with checkpoints",
    (w, h, x) => {
      const [last] = scan((h: Tensor, x: Tensor) => [h.matmul(w).add(x).tanh(), {}], h, x, {
        checkpoint: true,
      });
      return last;
    },
    [weights, states, rows],
    [false, true, true],
  ],
  [
    "a scan within a scan",
    (w, h, x) => {
      const inner = (h: Tensor, x: Tensor) => [h.matmul(w).add(x).tanh(), []] as [Tensor, []];
      return scan((h: Tensor, row: Tensor) => [scan(inner, h, stack([row, row]))[0], {}], h, x)[0];
    },
    [weights, states, rows],
    [false, true, true],
  ],
  ["remat", (w, h) => remat((h) => h.matmul(w).tanh().matmul(w), h), [weights, states], [
    false,
    true,
  ]],
  ["rk4", solve({ method: "rk4", stepSize: 0.1 }), [weights, states], [false, true]],
  [
    "rk4, continuous adjoint",
    solve({ method: "rk4", stepSize: 0.1, adjoint: "continuous" }),
    [
      weights,
      states,
    ],
    [false, true],
    1e-5,
  ],
  ["reversible_heun", solve({ method: "reversible_heun", stepSize: 0.1, adjoint: "reversible" }), [
    weights,
    states,
  ], [false, true]],
  ["explicit_adams", solve({ method: "explicit_adams", stepSize: 0.1 }), [weights, states], [false, true]],
  ["dopri5", solve(tight), [weights, states], [false, true], 1e-6],
  [
    "dopri5 with mapped weights only",
    solve(tight),
    [
      stack([weights, weights.mul(0.5), weights.mul(0.1)]),
      states.select(0, 0),
    ],
    [true, false],
    1e-6,
  ],
  ["cdeint along mapped controls", spline, [weights, rows], [false, true]],
];

for (const [name, f, args, isMapped, tolerance = 1e-11] of functions) {
  const options = { inAxes: axesOf(isMapped) };
  Deno.test(`vmap around ${name}`, async () => {
    setCurrentDevice(cpu);
    await assertTensor(vmap(f, options)(...args), await fromTensor(loop(f, args, isMapped)), tolerance, name);
  });

  Deno.test(`gradients for each example around ${name}`, async () => {
    setCurrentDevice(cpu);
    for (const argument of args.keys()) {
      const gradient = (...args: Tensor[]) =>
        grad((x: Tensor) => f(...args.with(argument, x)).square().sum())(args[argument]);
      const expected = await fromTensor(loop(gradient, args, isMapped));
      await assertTensor(
        vmap(gradient, options)(...args),
        expected,
        tolerance,
        `${name}, argument ${argument}`,
      );
    }
  });

  Deno.test(`the gradient of vmap around ${name}`, async () => {
    setCurrentDevice(cpu);
    const found = grad((args: Tensor[]) => vmap(f, options)(...args).square().sum())([...args]);
    const expected = grad((args: Tensor[]) => loop(f, args, isMapped).square().sum())([...args]);
    for (const [i, x] of found.entries()) {
      await assertTensor(x, await fromTensor(expected[i]), tolerance, `${name}, argument ${i}`);
    }
  });

  Deno.test(`the tangent of vmap around ${name}`, async () => {
    setCurrentDevice(cpu);
    const [, found] = jvp((...args: Tensor[]) => vmap(f, options)(...args))([...args], [...args]);
    const expected = loop((...args) => jvp(f)(args, args)[1], args, isMapped);
    await assertTensor(found, await fromTensor(expected), Math.max(tolerance, 1e-10), name);
  });
}

Deno.test("second gradients for each example around scan", async () => {
  setCurrentDevice(cpu);
  const f = recurrent(true);
  const product = (w: Tensor, h: Tensor, x: Tensor) =>
    grad((h: Tensor) => grad((h: Tensor) => f(w, h, x))(h).square().sum())(h);
  const args = [weights, states, rows];
  const expected = await fromTensor(loop(product, args, [false, true, true]));
  await assertTensor(
    vmap(product, { inAxes: [null, 0, 0] })(...args as [Tensor, Tensor, Tensor]),
    expected,
    1e-10,
    "",
  );
});

Deno.test("vmap of vmap maps over two axes", async () => {
  setCurrentDevice(cpu);
  const f = (w: Tensor, h: Tensor, x: Tensor) => recurrent(true)(w, h, x);
  const [many, inputs] = [stack([weights, weights.mul(0.5)]), rows];
  const nested = vmap(
    (w: Tensor, h: Tensor, x: Tensor) => vmap(f, { inAxes: [null, 0, 0] })(w, h, x),
    { inAxes: [0, null, null] },
  )(many, states, inputs);
  const expected = stack(
    [0, 1].map((i) => loop(f, [many.select(0, i), states, inputs], [false, true, true])),
  );
  await assertTensor(nested, await fromTensor(expected), 1e-12, "");
});

Deno.test("vmap takes and returns trees with any axes", async () => {
  setCurrentDevice(cpu);
  const [a, b] = [normal(key(0), [2, 5, 3]), normal(key(1), [5, 4])];
  const f = ({ a, b }: { a: Tensor; b: Tensor }, factor: number) => ({
    sum: a.sum(0).add(b.sum()).mul(factor),
    pair: [b, a] as const,
    same: tensor([1, 2]),
  });
  const mapped = vmap(f, {
    inAxes: [{ a: 1, b: 0 }, null],
    outAxes: { sum: -1, pair: [0, 2], same: null },
  })({ a, b }, 2);
  assert.deepEqual(mapped.sum.shape, [3, 5]);
  assert.deepEqual(mapped.pair.map(({ shape }) => shape), [[5, 4], [2, 3, 5]]);
  assert.deepEqual(mapped.same.shape, [2]);
  const second = f({ a: a.select(1, 1), b: b.select(0, 1) }, 2);
  await assertTensor(mapped.sum.select(1, 1), await fromTensor(second.sum), 1e-6, "sum");
  await assertTensor(mapped.pair[1].select(2, 1), await fromTensor(second.pair[1]), 0, "pair");
});

Deno.test("vmap in jit computes new arguments", async () => {
  setCurrentDevice(cpu);
  const f = jit((w: Tensor, h: Tensor, x: Tensor) =>
    vmap(recurrent(true), { inAxes: [null, 0, 0] })(w, h, x)
  );
  for (const scale of [1, 0.5, 0.2]) {
    const args = [weights.mul(scale), states, rows] as const;
    const expected = await fromTensor(loop(recurrent(true), args, [false, true, true]));
    await assertTensor(f(...args), expected, 1e-12, `${scale}`);
  }
});

Deno.test("vmap in the body of a scan agrees with a loop over the examples", async () => {
  setCurrentDevice(cpu);
  const cell = (h: Tensor, x: Tensor) => h.matmul(weights).add(x).tanh();
  const run = (f: (h: Tensor, x: Tensor) => Tensor) =>
    scan((h: Tensor, x: Tensor) => [f(h, x), {}], states, rows.transpose(0, 1))[0];
  const expected = run((h, x) => loop(cell, [h, x], [true, true]));
  await assertTensor(run(vmap(cell)), await fromTensor(expected), 1e-12, "");
});

Deno.test("random numbers in vmap are the same for all examples", async () => {
  setCurrentDevice(cpu);
  const noisy = vmap((x: Tensor) => x.add(bernoulli(key(0), 0.5, [4]).cast("float32")))(zeros([2, 4]));
  const [first, second] = await Promise.all([0, 1].map((i) => noisy.select(0, i).toArray()));
  assert.deepEqual(first, second);
});

Deno.test("vmap says why it cannot map", () => {
  setCurrentDevice(cpu);
  const x = tensor([[1, 2], [3, 4], [5, 6]]);
  const noRule: Primitive<void> = {
    name: "sortRows",
    infer: ([spec]) => spec,
    run: (_device, [view]) => view,
    reverse: "zero",
    batch: { none: "rows are sorted on the host" },
    lower: { none: "rows are sorted on the host" },
  };
  const throws = (f: () => unknown, message: RegExp | { message: string }) => assert.throws(f, message);
  throws(() => vmap((x: Tensor) => apply(noRule, [x], undefined))(x), {
    message:
      "vmap: sortRows has no batching rule: rows are sorted on the host; call the function for each example",
  });
  throws(
    () => vmap((x: Tensor) => x.view)(x),
    /^Error: vmap: the values of a mapped tensor cannot be read|NoValuesError/,
  );
  throws(() => vmap((x: Tensor) => normal(x, [2]))(x), /^TypeError: normal: .* is not a key/);
  throws(() => vmap((key: Key) => randperm(key, 2))(splitKey(key(0))), /host cannot read a key .* vmap/);
  throws(() => vmap((t: Tensor) => odeint((_t, y) => y, tensor([1]), t))(x), /values of a mapped tensor/);
  throws(() => vmap((x: Tensor, y: Tensor) => x.add(y))(x, tensor([1])), {
    message:
      "vmap: the mapped axes have the lengths 3 (argument 0), 1 (argument 1), expected the same length",
  });
  throws(() => vmap((x: Tensor) => x, { inAxes: null })(x), /no argument has a mapped tensor/);
  throws(() => vmap((x: Tensor) => x, { inAxes: 2 })(x), /axis 2 of 0 does not exist: its shape is \(3, 2\)/);
  throws(() => vmap((x: Tensor) => x, { inAxes: [0, 0] })(x), /./);
  throws(() => vmap((x: Tensor) => x, { outAxes: null })(x), /the result differs between examples/);
});

testOnDevices("per-example gradients and tangents around a compiled scan and a solve", async () => {
  const [w, h, x] = [key(0), key(1), key(2)].map((key, i) => normal(key, [[3, 3], [2, 3], [2, 4, 3]][i]));
  const f = (w: Tensor, h: Tensor, x: Tensor) => {
    const [last] = scan((h: Tensor, x: Tensor) => [h.matmul(w).add(x).tanh(), []], h, x);
    return odeint((_t, y) => y.matmul(w).tanh(), last, [0, 1], { method: "rk4", stepSize: 0.25 }).sum();
  };
  const gradient = (w: Tensor, h: Tensor, x: Tensor) => grad((w: Tensor) => f(w, h, x))(w);
  const tangent = (w: Tensor, h: Tensor, x: Tensor) => jvp(f)([w, h, x], [w, h, x])[1];
  for (const g of [gradient, tangent]) {
    const each = stack([0, 1].map((i) => g(w, h.select(0, i), x.select(0, i))));
    await assertTensor(vmap(g, { inAxes: [null, 0, 0] })(w, h, x), await fromTensor(each), 1e-4, "");
  }
});

Deno.test("vmap maps over series with different observation times", async () => {
  setCurrentDevice(cpu);
  const times = normal(key(4), [examples, 6]).abs().add(0.1).cumsum(1);
  // Times along one axis are numbers of the host, which cannot be mapped; times with an axis for series can.
  const coefficients = (x: Tensor, t: Tensor) => naturalCubicCoeffs(x.expandDims(0), t.expandDims(0));
  const x = normal(key(5), [examples, 6, 2]);
  const expected = loop((...args) => coefficients(args[0], args[1]), [x, times], [true, true]);
  await assertTensor(vmap(coefficients)(x, times), await fromTensor(expected), 1e-5, "");
});
