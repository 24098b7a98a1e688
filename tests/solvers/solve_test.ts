/** The states that a solve saves, dense solutions and failures. */
import assert from "node:assert/strict";
import {
  constantStepSize,
  findOdeintSteps,
  grad,
  jit,
  jvp,
  NoProgressError,
  odeint,
  type SaveAt,
  type SaveSolveOptions,
  solve,
  type SolveOptions,
  solveResults,
  stack,
  type Tensor,
  tensor,
  tidy,
  vmap,
} from "../../mod.ts";
import { testLong } from "../devices.ts";

const dtype = "float64";
const numbers = (values: readonly (number | number[])[]) => tensor(values as number[][], { dtype });

async function assertClose(found: Tensor, expected: Tensor, tolerance: number): Promise<void> {
  assert.deepEqual(found.shape, expected.shape);
  const [a, b] = [await found.data(), await expected.data()];
  a.forEach((x, i) => {
    const isClose = Object.is(x, NaN) === Object.is(b[i], NaN) &&
      !(Math.abs(x - b[i]) > tolerance * Math.max(1, Math.abs(b[i])));
    assert.ok(isClose, `element ${i} is ${x}, expected ${b[i]}`);
  });
}

const tight = { rtol: 1e-8, atol: 1e-10 };
const methods: Record<string, SolveOptions> = {
  "dopri5": { method: "dopri5", ...tight },
  "dopri5, norm sample": { method: "dopri5", ...tight, norm: "sample" },
  "dopri8": { method: "dopri8", ...tight },
  "bosh3 in steps of samples": { method: "bosh3", rtol: 1e-6, atol: 1e-8, norm: "sample" },
  "tsit5, checkpoint": { method: "tsit5", ...tight, adjoint: "checkpoint" },
  "kvaerno3": { method: "kvaerno3", rtol: 1e-4, atol: 1e-6 },
  "rk4": { method: "rk4", stepSize: 0.04 },
  "reversible_heun": { method: "reversible_heun", stepSize: 0.01, adjoint: "reversible" },
  "rk4, continuous": { method: "rk4", stepSize: 0.05, adjoint: "continuous" },
};
const y0 = numbers([[1, 2], [0.5, -1]]);
/** y' = t - y: y = t - 1 + (y0 + 1) exp(-t). */
const field = (t: Tensor, y: Tensor) => t.sub(y);
const exact = (y: Tensor, t: number) => y.add(1).mul(Math.exp(-t)).add(t - 1);
const slope = (y: Tensor, t: number) => exact(y, t).neg().add(t);

for (const [name, options] of Object.entries(methods)) {
  const test = ["dopri5, norm sample", "rk4"].includes(name) ? Deno.test : testLong;
  const run = (save: SaveSolveOptions<Tensor>["save"], interval = [0, 2]) =>
    solve(field, y0, interval, { ...options, save });
  const accuracy = name.startsWith("kvaerno3")
    ? 2e-3
    : name.startsWith("bosh3")
    ? 1e-3
    : name === "reversible_heun"
    ? 1e-4
    : 2e-5;

  test(`saved times of ${name} equal those of odeint`, async () => {
    const all = odeint(field, y0, [0, 0.3, 1.1, 2], options);
    const cases = [
      [{}, [3]],
      [{ start: true }, [0]],
      [{ start: true, end: true }, [0, 3]],
      [{ t: [0.3, 1.1] }, [1, 2]],
      [{ t: [0.3, 1.1], start: true, end: true }, [0, 1, 2, 3]],
      [{ t: [0, 0.3, 1.1, 2] }, [0, 1, 2, 3]],
      [{ t: numbers([0.3]), end: true }, [1, 3]],
      [{ t: [0], start: true }, [0, 0]],
      [{ t: [2], end: true }, [3, 3]],
      [{ t: [0, 2], start: true, end: true }, [0, 0, 3, 3]],
    ] as const;
    for (const [save, rows] of cases) {
      const { t, y, result } = run(save);
      await assertClose(
        y,
        stack(rows.map((row) => all.select(0, row))),
        name.startsWith("kvaerno") ? 1e-3 : 1e-9,
      );
      await assertClose(t, numbers(rows.map((row) => [0, 0.3, 1.1, 2][row])), 1e-15);
      assert.ok((await result.data()).every((code: number) => code === 0));
    }
  });

  test(`times of each sample of ${name} are those of a loop over samples`, async () => {
    const times = [[0.3, 1.1, 2], [0.75, NaN, NaN]];
    const { t, y } = run({ t: times, start: true });
    await assertClose(t, numbers([[0, 0.3, 1.1, 2], [0, 0.75, NaN, NaN]]), 1e-15);
    for (const [i, own] of [[0, 0.3, 1.1, 2], [0, 0.75, 2]].entries()) {
      const alone = odeint(field, options.norm === "sample" ? y0.slice(0, i, i + 1) : y0, own, options);
      const count = i === 0 ? 4 : 2;
      const expected = alone.select(1, options.norm === "sample" ? 0 : i).slice(0, 0, count);
      await assertClose(
        y.select(1, i).slice(0, 0, count),
        expected,
        name.startsWith("kvaerno") ? 1e-3 : 1e-9,
      );
    }
    assert.ok((await y.select(1, 1).slice(0, 2).data()).every(Number.isNaN));
    const tensorRows = run({ t: numbers(times), start: true });
    await assertClose(tensorRows.y, y, 0);
  });

  test(`all steps of ${name} lie on the solution, and are counted`, async () => {
    const { t, y, counts, statistics } = run({ steps: true, start: true });
    const own = options.norm === "sample" ? [0, 1] : [0];
    const found = [...await counts!.data()];
    assert.deepEqual(found.map((n) => n - 1), statistics.stepsOfSamples ?? [statistics.steps]);
    for (const sample of own) {
      const row = [...await (t.rank === 2 ? t.select(0, sample) : t).data()];
      assert.deepEqual([row[0], row[found[sample] - 1]], [0, 2]);
      assert.ok(row.slice(found[sample]).every(Number.isNaN));
      const states = t.rank === 2 ? y.select(1, sample) : y;
      const start = t.rank === 2 ? y0.select(0, sample) : y0;
      const expected = stack(row.map((time) => exact(start, time)));
      await assertClose(states, expected, accuracy);
    }
  });

  test(`the dense solution of ${name} and its derivative approximate the solution`, async () => {
    for (const [begin, end] of [[0, 2], [2, 0]]) {
      const start = exact(y0, begin);
      const { dense } = solve(field, start, [begin, end], { ...options, save: { dense: true } });
      const times = [0, 0.013, 0.5, 1.234, 2];
      for (const [found, of] of [[dense.evaluate(times), exact], [dense.derivative(times), slope]] as const) {
        const error = accuracy * (of === slope ? 50 : 10);
        await assertClose(found, stack(times.map((t) => of(y0, t))), error);
      }
      await assertClose(dense.evaluate(0.5), dense.evaluate(tensor(0.5, { dtype })), 0);
      const own = dense.evaluate([[0.5, 0.1], [1, 0.2]]);
      await assertClose(own.select(1, 1), dense.evaluate([1, 0.2]).select(1, 1), 1e-14);
    }
  });

  test(`gradients of what ${name} saves agree with central differences`, async () => {
    const w = numbers([[0.2, -0.5], [0.7, 0.1]]);
    const equation = (w: Tensor) => (t: Tensor, y: Tensor) => y.matmul(w).sin().add(t);
    // Steps are constants of a gradient, so those of the differences are the same.
    const isFixed = options.stepSize !== undefined;
    const steps = isFixed ? undefined : await findOdeintSteps(equation(w), y0, [0, 2], options);
    const { method, stepSize, adjoint } = options;
    const solver = isFixed ? { method, stepSize, adjoint } : { steps, adjoint };
    const losses: Record<string, (w: Tensor, y: Tensor) => Tensor> = {
      "times of each sample": (w, y) =>
        solve(equation(w), y, [0, 2], {
          ...solver,
          save: { t: [[0.3, 1.1], [0.7, NaN]], fn: (t, y) => y.matmul(w).mul(t) },
        }).y.slice(0, 0, 1).square().sum(),
      "steps": (w, y) => {
        const { y: states } = solve(equation(w), y, [0, 2], { ...solver, save: { steps: true } });
        return states.equal(states).where(states, 0).square().sum();
      },
      "dense": (w, y) => {
        const { dense } = solve(equation(w), y, [0, 2], { ...solver, save: { dense: true } });
        const times = w.abs().mul(2.317);
        return dense.evaluate(times).square().sum().add(dense.derivative(times.flatten()).sum());
      },
    };
    for (const [kind, loss] of Object.entries(losses)) {
      const gradients = grad(({ w, y }: { w: Tensor; y: Tensor }) => loss(w, y))({ w, y: y0 });
      const h = 1e-5;
      const [a, b] = [h, -h].map((shift) => loss(w.add(w.cos().mul(shift)), y0.add(y0.sin().mul(shift))));
      const found = gradients.w.mul(w.cos()).sum().add(gradients.y.mul(y0.sin()).sum());
      const tolerance = name.includes("continuous") || name.startsWith("kvaerno") ? 1e-4 : 1e-6;
      await assertClose(found, a.sub(b).div(2 * h), tolerance).catch((error) => {
        throw new Error(`${kind}: ${error.message}`);
      });
    }
  });
}

Deno.test("saves of Diffrax's test_saveat_solution have its values", async () => {
  // y' = -y / 2 from 2.1 over [0.1, 1.1], tolerances of 1e-8.
  const run = (save: SaveAt<Tensor>) =>
    solve((_t, y) => y.mul(-0.5), numbers([2.1]), [0.1, 1.1], { rtol: 1e-8, atol: 1e-8, save });
  const at = (t: number) => 2.1 * Math.exp(-0.5 * (t - 0.1));
  const column = (...times: number[]) => numbers(times.map((t) => [at(t)]));
  await assertClose(run({ start: true }).y, column(0.1), 0);
  await assertClose(run({ end: true }).y, column(1.1), 1e-7);
  await assertClose(run({ t: [0.5, 0.8] }).y, column(0.5, 0.8), 1e-7);
  const { t, y } = run({ steps: true });
  await assertClose(y, column(...await t.data()), 1e-7);
  const { dense } = solve((_t, y) => y.mul(-0.5), numbers([2.1]), [0.1, 1.1], { save: { dense: true } });
  await assertClose(dense.evaluate(0.8).sub(dense.evaluate(0.2)), numbers([at(0.8) - at(0.2)]), 1e-7);
  await assertClose(dense.derivative(0.2), numbers([-0.5 * at(0.2)]), 1e-5);
});

const diverging = (_t: Tensor, y: Tensor) => y.square();
const short = { method: "dopri5", rtol: 1e-6, atol: 1e-8 } as const;
/** y = 1 / (1 / y0 - t): the first sample ends at t = 0.5. */
const starts = numbers([[2], [-1], [0.5]]);

for (
  const [reason, options, f] of [
    ["maxSteps", { maxSteps: 12 }, diverging],
    [
      "notFinite",
      {},
      (t: Tensor, y: Tensor) => y.square().add(t.greater(0.4).and(y.greater(1)).where(NaN, y.zerosLike())),
    ],
  ] as const
) {
  for (const compiled of [false, true]) {
    Deno.test(`a sample that ends with ${reason} is NaN from there, and no other sample is, ${compiled ? "jit" : "eager"}`, async () => {
      const run = (y: Tensor) => {
        const { y: states, result } = solve(f, y, [0, 1], {
          ...short,
          ...options,
          norm: "sample",
          throw: false,
          save: { t: [0.1, 0.6, 1] },
        });
        return { states, result };
      };
      const { states, result } = (compiled ? jit(run) : run)(starts);
      assert.deepEqual([...await result.data()].map((code) => solveResults[code]), [
        reason,
        "success",
        "success",
      ]);
      const expected = [0.1, 0.6, 1].map((
        t,
      ) => [[t < 0.5 ? 1 / (0.5 - t) : NaN], [-1 / (1 + t)], [1 / (2 - t)]]);
      await assertClose(states, tensor(expected, { dtype }), 1e-5);
      const sum = (y: Tensor) => run(y).states.slice(1, 1).square().sum();
      const gradient = grad(sum)(starts);
      const of = (y: number) => [0.1, 0.6, 1].reduce((total, t) => total + 2 / (1 / y - t) ** 3 / y ** 2, 0);
      await assertClose(gradient, numbers([[0], [of(-1)], [of(0.5)]]), 1e-4);
    });
  }
  Deno.test(`a solve that ends with ${reason} throws the reason`, () => {
    assert.throws(
      () => solve(f, starts, [0, 1], { ...short, ...options }),
      (error) =>
        error instanceof NoProgressError &&
        error.message.includes(reason === "maxSteps" ? "maxSteps" : "not finite"),
    );
  });
}

Deno.test("failures inside vmap are those of each example", async () => {
  const { y, result } = vmap((y: Tensor) => {
    const { y: states, result } = solve(diverging, y, [0, 1], { ...short, maxSteps: 40, throw: false });
    return { y: states.select(0, 0), result };
  })(starts);
  assert.deepEqual([...await result.data()], [1, 0, 0]);
  await assertClose(y, numbers([[NaN], [-0.5], [1]]), 1e-5);
});

Deno.test("the first step may fail", async () => {
  const { y, counts, result, dense } = solve((_t, y) => y.mul(NaN), numbers([1]), [0, 1], {
    throw: false,
    save: { steps: true, start: true, dense: true },
  });
  assert.equal(solveResults[await result.item()], "notFinite");
  assert.equal(await counts!.item(), 1);
  await assertClose(y, numbers([[1]]), 0);
  assert.ok(Number.isNaN(await dense.evaluate(0.5).item()));
});

Deno.test("fixed steps of a controller are saved as those of a step size", async () => {
  const saves: SaveSolveOptions<Tensor>["save"][] = [{ steps: true, start: true }, {
    t: [[0.15, 1], [1.5, NaN]],
  }];
  for (const save of saves) {
    const [found, expected] = [{ controller: constantStepSize(0.1) }, { stepSize: 0.1 }].map((options) =>
      solve(field, y0, [0, 2], { method: "rk4", ...options, save })
    );
    await assertClose(found.t, expected.t, 0);
    await assertClose(found.y, expected.y, 0);
  }
});

Deno.test("fixed steps to infinity end with notFinite", async () => {
  const { result } = solve(diverging, numbers([2]), [0, 9], { method: "euler", stepSize: 0.1 });
  assert.equal(solveResults[await result.item()], "notFinite");
});

Deno.test("a tree of states keeps its structure in all that is saved", async () => {
  const tree = { a: numbers([[1], [2]]), b: numbers([[0, 1], [2, 3]]) };
  const { y, dense } = solve((t, { a, b }) => ({ a: a.neg().add(t.mul(0)), b: b.mul(a) }), tree, [0, 1], {
    norm: "sample",
    save: {
      t: [[0.5, 1], [0.25, NaN]],
      dense: true,
      fn: (_t, { a, b }) => ({ sum: a.add(b), positive: a.greater(0) }),
    },
  });
  assert.deepEqual(y.sum.shape, [2, 2, 2]);
  assert.equal(y.positive.dtype, "bool");
  const { a, b } = dense.evaluate(0.25);
  await assertClose(y.sum.select(0, 0).select(0, 1), a.add(b).select(0, 1), 1e-12);
  await assertClose(a, numbers([[1], [2]]).mul(Math.exp(-0.25)), 1e-7);
});

Deno.test("a dense solution outlives tidy, and works inside vmap and jit", async () => {
  const { dense } = tidy(() => solve(field, y0, [0, 2], { save: { dense: true } }));
  const times = numbers([0.1, 0.7, 1.9]);
  const expected = dense.evaluate(times);
  await assertClose(vmap((t: Tensor) => dense.evaluate(t))(times), expected, 1e-14);
  await assertClose(jit((t: Tensor) => dense.evaluate(t))(times), expected, 1e-14);
  const [, tangent] = jvp((t: Tensor) => dense.evaluate(t))([times], [times.zerosLike().add(1)]);
  await assertClose(tangent, dense.derivative(times), 1e-12);
});

Deno.test("first-order gradients flow to the interval and to shared times", async () => {
  for (const options of [short, { method: "rk4", stepSize: 0.02 }] as SolveOptions[]) {
    const end = (t: Tensor) =>
      solve(field, y0, t.take(tensor([0, 2], { dtype: "int32" })), {
        ...options,
        save: { t: t.slice(0, 1, 2), end: true },
      }).y.sum();
    const product = (t: Tensor) =>
      solve(field, y0, [0, 2], { ...options, save: { t, fn: (t, y) => y.mul(t.square()) } }).y.sum();
    const expected = slope(y0, 0.7).mul(0.49).add(exact(y0, 0.7).mul(1.4)).sum();
    await assertClose(grad(product)(numbers([0.7])), expected.reshape([1]), 1e-4);
    const found = grad(end)(numbers([0, 0.7, 2]));
    const slopes = [0.7, 2].map((t) => slope(y0, t).sum());
    const first = y0.mul(Math.exp(-0.7) + Math.exp(-2)).sum();
    await assertClose(found, stack([first, ...slopes]), 1e-4);
  }
});

const wrong: [name: string, run: () => unknown, message: RegExp][] = [
  [
    "times outside",
    () => solve(field, y0, [0, 1], { save: { t: [0.5, 2] } }),
    /save\.t\[1\] is 2.*from 0 to 1/,
  ],
  ["times in the other order", () => solve(field, y0, [0, 1], { save: { t: [0.5, 0.2] } }), /in this order/],
  ["an interval of three times", () => solve(field, y0, [0, 1, 2]), /3 times.*save: \{ t \}/],
  ["times of other samples", () => solve(field, y0, [0, 1], { save: { t: [[0.5]] } }), /1 samples.*\(2, 2\)/],
  ["t and steps", () => solve(field, y0, [0, 1], { save: { t: [0.5], steps: true } }), /both determine/],
  [
    "a misspelt option",
    () => solve(field, y0, [0, 1], { save: { ts: [0.5] } as object }),
    /unknown option ts/,
  ],
  ["rows of unequal length", () => solve(field, y0, [0, 1], { save: { t: [[0.5], [0.1, 0.2]] } }), /NaN/],
  ["NaN between times", () => solve(field, y0, [0, 1], { save: { t: [[NaN, 0.5], [0.1, 0.2]] } }), /NaN/],
  [
    "fixed steps to times of samples without a size",
    () => solve(field, y0, [0, 1], { method: "rk4", save: { t: [[0.5], [0.1]] } }),
    /stepSize/,
  ],
  [
    "steps inside jit",
    () => jit((y: Tensor) => solve(field, y, [0, 1], { save: { steps: true } }).y)(y0),
    /inside jit the number of steps is unknown/,
  ],
  [
    "dense with the continuous adjoint",
    () => solve(field, y0, [0, 1], { adjoint: "continuous", save: { dense: true } }),
    /does not support save\.steps and save\.dense/,
  ],
  ["nothing to save", () => solve(field, y0, [0, 1], { save: { t: [] } }), /asks for no state/],
  [
    "gradients of the interval with times of samples",
    () => grad((t: Tensor) => solve(field, y0, t, { save: { t: [[0.5], [0.1]] } }).y.sum())(numbers([0, 1])),
    /stopGradient\(interval\)/,
  ],
  [
    "gradients of shared times with dense fixed steps",
    () =>
      grad((t: Tensor) =>
        solve(field, y0, [0, 1], { method: "rk4", stepSize: 0.1, save: { t, dense: true } }).y.sum()
      )(numbers([0.5])),
    /evaluate the dense solution/,
  ],
  [
    "gradients of times of samples",
    () => grad((t: Tensor) => solve(field, y0, [0, 1], { save: { t } }).y.sum())(numbers([[0.5], [0.1]])),
    /dense: true/,
  ],
];
for (const [name, run, message] of wrong) {
  Deno.test(`solve rejects ${name}`, () => void assert.throws(run, message));
}
