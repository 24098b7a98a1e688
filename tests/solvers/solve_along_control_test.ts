/** `solve` along a control saves what `cdeint` computes. */
import assert from "node:assert/strict";
import {
  cdeint,
  checkGradients,
  constantStepSize,
  CubicSpline,
  grad,
  jit,
  key,
  linearCoeffs,
  LinearInterpolation,
  naturalCubicCoeffs,
  normal,
  solve,
  type SolveOptions,
  solveResults,
  stack,
  type Tensor,
  tensor,
  vmap,
} from "../../mod.ts";

const dtype = "float64";
const grid = [0, 0.5, 1.5, 2, 3];
const coeffs = naturalCubicCoeffs(normal(key(0), [2, 5, 3], { dtype }), grid);
const weights = normal(key(1), [4, 3], { dtype });
const z0 = normal(key(2), [2, 4], { dtype });
/** Maps `(batch, 4)` to `(batch, 4, 3)`. */
const field = (w: Tensor) => (t: Tensor, z: Tensor) => z.add(t.mul(0.1)).tanh().expandDims(-1).mul(w);
const f = field(weights);
const X = CubicSpline(coeffs, grid);
const tight = { method: "dopri5", rtol: 1e-9, atol: 1e-11 } as const;

async function assertClose(found: Tensor, expected: Tensor, tolerance: number): Promise<void> {
  assert.deepEqual(found.shape, expected.shape);
  const [a, b] = [await found.data(), await expected.data()];
  a.forEach((x, i) =>
    assert.ok(
      Number.isNaN(b[i]) ? Number.isNaN(x) : Math.abs(x - b[i]) <= tolerance,
      `element ${i} is ${x}, expected ${b[i]}`,
    )
  );
}

const cases: Record<string, SolveOptions & { stepsPerPiece?: number }> = {
  "dopri5": tight,
  "the default method and tolerances": {},
  "dopri5, norm sample": { ...tight, norm: "sample" },
  "dopri5, checkpoint": { ...tight, adjoint: "checkpoint" },
  "kvaerno3": { method: "kvaerno3", rtol: 1e-4, atol: 1e-6 },
  "rk4 in steps of the smallest gap": { method: "rk4" },
  "rk4 in steps per piece": { method: "rk4", stepsPerPiece: 3 },
  "rk4 with a controller": { method: "rk4", controller: constantStepSize(0.1) },
  "reversible_rk4": { method: "reversible_rk4", stepSize: 0.05, adjoint: "reversible" },
};
for (const [name, options] of Object.entries(cases)) {
  Deno.test(`solve along a control saves the states of cdeint: ${name}`, async () => {
    const times = [0, 0.5, 1.25, 3];
    const expected = cdeint(X, f, z0, times, options).transpose(0, 1);
    const { y, result } = solve({ X, f }, z0, [0, 3], { ...options, save: { t: times } });
    await assertClose(y, expected, 1e-12);
    assert.ok((await result.data()).every((code) => solveResults[code] === "success"));
    const last = solve({ X, f }, z0, X.interval, options).y;
    // An implicit method ends steps at the output times.
    await assertClose(last, expected.slice(0, 3), name === "kvaerno3" ? 1e-3 : 1e-12);
  });

  Deno.test(`each series has its own times: ${name}`, async () => {
    const save = { t: [[0.5, 1.25, 3], [0.75, NaN, NaN]] };
    const { y, t } = solve({ X, f }, z0, X.interval, { ...options, save });
    assert.deepEqual(await t.data(), Float64Array.from(save.t.flat()));
    const states = cdeint(X, f, z0, [0, 0.5, 0.75, 1.25, 3], options);
    const at = (row: number, series: number) => states.select(0, series).select(0, row);
    const nothing = at(0, 1).mul(NaN);
    const expected = stack([
      stack([at(1, 0), at(2, 1)]),
      stack([at(3, 0), nothing]),
      stack([at(4, 0), nothing]),
    ]);
    await assertClose(y, expected, 1e-12);
  });
}

Deno.test("gradients flow to the control, the state and the weights from times of each series", async () => {
  const save = { t: [[0.5, 1.25, 3], [0.75, NaN, NaN]], fn: (t: Tensor, z: Tensor) => z.square().add(t) };
  // Steps of a constant size: adaptive ones change between the points of a central difference.
  const steps = { method: "dopri5", controller: constantStepSize(0.2) } as const;
  for (const options of [steps, { ...steps, norm: "sample" }, { method: "rk4", stepSize: 0.25 }] as const) {
    const run = (coeffs: Tensor, z0: Tensor, w: Tensor) => {
      const { y } = solve({ X: CubicSpline(coeffs, grid), f: field(w) }, z0, [0, 3], { ...options, save });
      return y.isFinite().where(y, 0);
    };
    await checkGradients(run, [coeffs, z0, weights], { elements: 4 });
  }
  const loss = (solved: (coeffs: Tensor) => Tensor) => grad((c: Tensor) => solved(c).square().sum())(coeffs);
  const found = loss((c) =>
    solve({ X: CubicSpline(c, grid), f }, z0, [0, 3], { ...tight, save: { t: [1, 2] } }).y
  );
  const expected = loss((c) => cdeint(CubicSpline(c, grid), f, z0, [0, 1, 2, 3], tight).slice(1, 1, 3));
  await assertClose(found, expected, 1e-10);
});

Deno.test("the dense solution along a control has its states and slopes, with adaptive and fixed steps", async () => {
  for (const options of [tight, { method: "rk4", stepSize: 0.01 }] as const) {
    const { dense } = solve({ X, f }, z0, X.interval, { ...options, save: { dense: true } });
    const times = [0.3, 1.9];
    const states = cdeint(X, f, z0, [0, ...times, 3], tight).transpose(0, 1).slice(0, 1, 3);
    await assertClose(dense.evaluate(times), states, 1e-4);
    const slopes = times.map((time, i) => {
      const matrix = f(tensor(time, { dtype }), states.select(0, i));
      return matrix.matmul(X.derivative(tensor(time, { dtype })).expandDims(-1)).squeeze(-1);
    });
    await assertClose(dense.derivative(times), stack(slopes), 2e-3);
  }
});

Deno.test("saved steps along a linear path end at its grid points", async () => {
  const path = LinearInterpolation(linearCoeffs(normal(key(0), [2, 5, 3], { dtype }), grid), grid);
  for (const norm of ["batch", "sample"] as const) {
    const { t, counts } = solve({ X: path, f }, z0, [0, 3], { norm, save: { steps: true, start: true } });
    const [ends, numbers] = [await t.data(), await counts!.data()];
    const rows = norm === "batch" ? [ends] : [ends.slice(0, ends.length / 2), ends.slice(ends.length / 2)];
    rows.forEach((row, i) => {
      assert.deepEqual(grid.filter((time) => !row.includes(time)), []);
      assert.equal(row.filter((time) => !Number.isNaN(time)).length, numbers[i]);
    });
  }
  const fixed = solve({ X: path, f }, z0, [0, 3], { method: "rk4", stepsPerPiece: 1, save: { steps: true } });
  assert.deepEqual([...await fixed.t.data()], grid.slice(1));
});

Deno.test("a series that cannot be solved has a code of failure, and no other series has", async () => {
  const diverging = (_t: Tensor, z: Tensor) => z.square().mul(100).expandDims(-1).mul(weights.mul(0).add(1));
  const ramp = LinearInterpolation(tensor([[[0, 0, 0], [3, 3, 3]], [[0, 0, 0], [-3, -3, -3]]], { dtype }));
  const { y, result } = solve({ X: ramp, f: diverging }, z0.abs(), [0, 1], {
    norm: "sample",
    maxSteps: 200,
    throw: false,
    save: { t: [0.1, 1] },
  });
  const [first, second] = await result.data();
  assert.notEqual(solveResults[first], "success");
  assert.equal(solveResults[second], "success");
  const isFinite = await y.isFinite().all(-1).data();
  assert.deepEqual([...isFinite].map(Number), [0, 1, 0, 1]);
});

Deno.test("solve along a control works inside jit and vmap, with trees and with Unix seconds", async () => {
  const save = { t: [[0.5, 1.25, 3], [0.75, NaN, NaN]] };
  const run = (z: Tensor) => solve({ X, f }, z, [0, 3], { ...tight, save }).y;
  const expected = run(z0);
  await assertClose(jit(run)(z0), expected, 1e-12);
  const single = (c: Tensor, z: Tensor) =>
    solve({ X: CubicSpline(c, grid), f }, z, [0, 3], { ...tight, save: { t: [0.75, 1.25] } }).y;
  const rows = [0, 1].map((i) => single(coeffs.select(0, i), z0.select(0, i)));
  await assertClose(vmap(single)(coeffs, z0), stack(rows), 1e-8);
  const tree = solve(
    { X, f: (t, { a, b }: { a: Tensor; b: Tensor }) => ({ a: f(t, a), b: f(t, b) }) },
    { a: z0, b: z0 },
    [0, 3],
    { ...tight, save },
  ).y;
  await assertClose(tree.b, expected, 1e-6);
  const since = 1.7e9;
  const shifted = CubicSpline(coeffs.cast("float32"), grid.map((time) => time + since));
  const still = (_t: Tensor, z: Tensor) => z.tanh().expandDims(-1).mul(weights.cast("float32"));
  const far = solve({ X: shifted, f: still }, z0.cast("float32"), shifted.interval, {
    save: { t: save.t.map((row) => row.map((time) => time + since)) },
  });
  const near = solve({ X: CubicSpline(coeffs.cast("float32"), grid), f: still }, z0.cast("float32"), [0, 3], {
    save,
  });
  await assertClose(far.y, near.y, 1e-5);
});

const wrong: [name: string, run: () => unknown, message: RegExp][] = [
  [
    "times outside the control",
    () => solve({ X, f }, z0, [0, 4]),
    /^RangeError: solve: t\[1\] is 4, but the control/,
  ],
  [
    "a control that is none",
    () => solve({ X: {} as never, f }, z0, [0, 3]),
    /^TypeError: solve: expected a path/,
  ],
  [
    "an equation without a field",
    () => solve({ X } as never, z0, [0, 3]),
    /^TypeError: solve: f\.f is undefined/,
  ],
  ["a state without axes", () => solve({ X, f }, tensor(1, { dtype }), [0, 3]), /solve: y0 has shape \(\)/],
  [
    "a field of another shape",
    () => solve({ X, f: (_t, z) => z }, z0, [0, 3]),
    /solve: the vector field returned/,
  ],
  [
    "steps per piece without a control",
    () => solve((_t, z) => z, z0, [0, 3], { method: "rk4", stepsPerPiece: 2 }),
    /stepsPerPiece needs a control; pass \{ X, f \}/,
  ],
];
for (const [name, run, message] of wrong) {
  Deno.test(`solve along a control rejects ${name}`, () => {
    assert.throws(run, (error: Error) => {
      assert.match(`${error}`, message);
      return true;
    });
  });
}
