/** Tolerances of each element of a state, and the number of steps that small tolerances need. */
import assert from "node:assert/strict";
import {
  type ErrorNorm,
  grad,
  jit,
  odeint,
  type SolveOptions,
  type SolveStatistics,
  stack,
  type Tensor,
  tensor,
  vmap,
} from "../../mod.ts";
import { testLong } from "../devices.ts";

const dtype = "float64";
const norms: ErrorNorm[] = ["batch", "sample"];

type Field = (t: Tensor, y: Tensor) => Tensor;

async function assertClose(found: Tensor, expected: ArrayLike<number>, tolerance: number): Promise<void> {
  const values = [...await found.data()];
  assert.equal(values.length, expected.length);
  values.forEach((value, i) =>
    assert.ok(Math.abs(value - expected[i]) <= tolerance, `${values}, expected ${Array.from(expected)}`)
  );
}

// Tolerances of elements: equal ones give the steps of a number, larger ones fewer steps.
const pair = tensor([[1, 2], [3, 4]], { dtype });
const turn: Field = (t, y) => y.mul(t.mul(3).cos()).sub(y.square().mul(0.1));
const equal: [title: string, rtol: SolveOptions["rtol"]][] = [
  ["a vector", [1e-5, 1e-5]],
  ["a typed array", Float32Array.of(1e-5, 1e-5).map(() => 2 ** -17)],
  ["a tensor of the state's shape", tensor([[1e-5, 1e-5], [1e-5, 1e-5]], { dtype })],
  ["a tensor for each sample", tensor([[1e-5], [1e-5]], { dtype })],
  ["a scalar tensor", tensor(1e-5, { dtype })],
];
for (const [title, rtol] of equal) {
  Deno.test(`a tolerance may be ${title}`, async () => {
    const number = title === "a typed array" ? 2 ** -17 : 1e-5;
    const solve = (rtol: SolveOptions["rtol"], norm: ErrorNorm) =>
      odeint(turn, pair, [0, 0.5, 2], { method: "dopri5", rtol, atol: 1e-7, norm });
    for (const norm of norms) {
      const expected = await solve(number, norm).data();
      assert.deepEqual(await solve(rtol, norm).data(), expected, norm);
    }
  });
}

testLong("implicit stages and the continuous adjoint have tolerances of elements", async () => {
  const each = tensor([[1e-5], [1e-5]], { dtype });
  const stages = (rtol: SolveOptions["rtol"]) =>
    odeint(turn, pair, [0, 0.5, 2], { method: "kvaerno3", rtol, atol: 1e-7 }).data();
  const gradient = (adjointRtol: SolveOptions["rtol"]) => {
    const options = { method: "dopri5", adjoint: "continuous", rtol: 1e-5, atol: 1e-7, adjointRtol } as const;
    return grad((y: Tensor) => odeint(turn, y, [0, 1], options).sum())(pair).data();
  };
  for (const solve of [stages, gradient]) assert.deepEqual(await solve(each), await solve(1e-5));
});

Deno.test("a tolerance may be a tree of the state's structure", async () => {
  const [a, b] = [pair, pair.mul(2)];
  type State = { a: Tensor; deep: [Tensor] };
  const solve = async (rtol: SolveOptions["rtol"], norm: ErrorNorm) => {
    const statistics: SolveStatistics = { steps: 0, rejected: 0, evaluations: 0 };
    const f = (t: Tensor, { a, deep: [b] }: State): State => ({ a: turn(t, a), deep: [a.sub(b)] });
    const options = { method: "dopri5", rtol, atol: 1e-9, norm, statistics } as const;
    const y = odeint(f, { a, deep: [b] }, [0, 1], options);
    return { y: [...await y.a.data(), ...await y.deep[0].data()], steps: statistics.steps };
  };
  for (const norm of norms) {
    const plain = await solve(1e-6, norm);
    const trees: SolveOptions["rtol"][] = [
      { a: 1e-6, deep: 1e-6 },
      { a: [1e-6, 1e-6], deep: [tensor(1e-6, { dtype })] },
    ];
    for (const tree of trees) assert.deepEqual(await solve(tree, norm), plain);
    const loose = await solve({ a: 1e-2, deep: [1e-2] }, norm);
    const mixed = await solve({ a: 1e-6, deep: [1e-2] }, norm);
    assert.ok(loose.steps < mixed.steps && mixed.steps <= plain.steps, `${loose.steps}, ${mixed.steps}`);
    assert.deepEqual(mixed, await solve({ a: 1e-6, deep: [tensor([[1e-2, 1e-2]], { dtype })] }, norm));
  }
});

Deno.test("tolerances of samples give each sample its steps, inside jit and vmap too", async () => {
  const y0 = tensor([[1], [1]], { dtype });
  const rtol = tensor([[1e-3], [1e-8]], { dtype });
  const solve = (y0: Tensor, rtol: SolveOptions["rtol"]) =>
    odeint(turn, y0, [0, 2], { method: "dopri5", norm: "sample", rtol, atol: 1e-10 }).select(0, 1);
  const alone = [1e-3, 1e-8].map((rtol) => solve(y0.slice(0, 0, 1), rtol));
  const expected = [...await alone[0].data(), ...await alone[1].data()];
  assert.notEqual(expected[0], expected[1]);
  await assertClose(solve(y0, rtol), expected, 1e-14);
  await assertClose(jit((y: Tensor) => solve(y, rtol))(y0), expected, 1e-14);
  await assertClose(
    vmap((y: Tensor) => solve(y, rtol))(stack([y0, y0])),
    [...expected, ...expected],
    1e-14,
  );
});

/** The problems of torchdiffeq's tests, from t = 1 to 8, with the exact solution. */
const sine = (t: number) =>
  -0.5 * t ** 4 * Math.cos(2 * t) + 0.5 * t ** 3 * Math.sin(2 * t) + 0.25 * t ** 2 * Math.cos(2 * t) -
  t ** 3 + 2 * t ** 4 + (Math.PI - 0.25) * t ** 2;
const problems: [name: string, f: Field, exact: (t: number) => number[]][] = [
  ["constant", (t, y) => y.sub(t.mul(0.2).add(3)).pow(5).add(0.2), (t) => [0.2 * t + 3]],
  [
    "sine",
    (t, y) => y.mul(2).div(t).add(t.pow(4).mul(t.mul(2).sin())).sub(t.square()).add(t.pow(3).mul(4)),
    (t) => [sine(t)],
  ],
  [
    "linear",
    (_t, y) => stack([y.select(0, 1), y.select(0, 0).neg()]).mul(0.3),
    (t) => [Math.cos(0.3 * t) + Math.sin(0.3 * t), Math.cos(0.3 * t) - Math.sin(0.3 * t)],
  ],
];
for (const [name, f, exact] of problems) {
  testLong(`torchdiffeq: adaptive_heun solves ${name} with default tolerances`, async () => {
    for (const type of ["float32", "float64"] as const) {
      for (const ends of [[1, 8], [8, 1]]) {
        const t = Array.from({ length: 10 }, (_, i) => ends[0] + (ends[1] - ends[0]) * i / 9);
        const y = odeint(f, tensor(exact(t[0]), { dtype: type }), t, { method: "adaptive_heun" });
        const expected = t.flatMap(exact);
        (await y.data()).forEach((value, i) =>
          assert.ok(Math.abs(value / expected[i] - 1) < 4e-3, `${type}: ${value}, expected ${expected[i]}`)
        );
      }
    }
  });
}
