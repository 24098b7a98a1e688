/** Adaptive solves that find the traces of earlier solves. */
import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  cdeint,
  concatenate,
  CubicSpline,
  type DType,
  type EmbeddedTableau,
  full,
  integralController,
  jit,
  jvp,
  key,
  linearCoeffs,
  LinearInterpolation,
  naturalCubicCoeffs,
  normal,
  odeint,
  odeintEvent,
  pidController,
  solve,
  type SolveOptions,
  type SolveStatistics,
  type Tensor,
  tensor,
  valueAndGrad,
  type VectorField,
  vmap,
} from "../../mod.ts";
import { peekHostValues } from "../../src/tensor/host.ts";
import { nextLevel } from "../../src/tensor/primitive.ts";
import { dopri5 } from "../../src/solvers/methods/dopri5.ts";

const float64 = { dtype: "float64" } as const;
const w = normal(key(0), [2], float64);
const v = normal(key(1), [2], float64);
const start = (shape: readonly number[], dtype: DType = "float64") => normal(key(2), shape, { dtype });

/** A solve that differs from the first in one respect. */
interface Variant {
  readonly f?: VectorField;
  readonly y0?: Tensor;
  readonly times?: readonly number[];
  readonly options?: SolveOptions;
}

/** The method of Dormand and Prince under its name, with an error that is twice as large. */
const doubled: EmbeddedTableau = { ...dopri5, error: dopri5.error.map((weight) => 2 * weight) };

const variants: Readonly<Record<string, Variant>> = {
  first: {},
  "a number of the field": { f: (_t, y) => y.mul(w).sin().mul(3) },
  "the sign of a zero of the field": {
    f: (_t, y) => y.mul(0).pow(-1).mul(0).add(1).isFinite().where(y, y.neg()),
  },
  "another operation": { f: (_t, y) => y.mul(w).cos() },
  "a field that uses its time": { f: (t, y) => y.mul(w).sin().add(t) },
  "a tensor that the field shares": { f: (_t, y) => y.mul(w).sin().add(w) },
  "two tensors of the same shape": { f: (_t, y) => y.mul(w).sin().add(v) },
  "two tensors, in the other order": { f: (_t, y) => y.mul(v).sin().add(w) },
  "a tensor that the field makes": { f: (_t, y) => y.mul(tensor([1, 2], float64)).sin() },
  "a number in every element": { f: (_t, y) => y.mul(full([2], 2, float64)).sin() },
  "another number in every element": { f: (_t, y) => y.mul(full([2], 3, float64)).sin() },
  float32: {
    f: (_t, y) => y.mul(w.cast("float32")).sin(),
    y0: start([3, 2], "float32"),
    options: { rtol: 1e-4, atol: 1e-4 },
  },
  "more samples": { y0: start([4, 2]) },
  "a state of one number": { y0: full([3, 2], 1, float64) },
  "a state of another number": { y0: full([3, 2], 2, float64) },
  "backwards in time": { times: [0, -1] },
  "a later end": { times: [0, 2] },
  "two output times": { times: [0, 0.3, 1] },
  rtol: { options: { rtol: 1e-3 } },
  atol: { options: { atol: 1e-3 } },
  "tolerances of each element": { options: { rtol: [1e-3, 1e-8] } },
  "other tolerances of each element": { options: { rtol: [1e-8, 1e-3] } },
  "one norm": { options: { norm: "batch" } },
  "another method": { options: { method: "tsit5" } },
  "a tableau of the same name": { options: { method: doubled } },
  "an implicit method": { options: { method: "kvaerno3" } },
  "an implicit method with tolerances of each element": {
    options: { method: "kvaerno3", rtol: [1e-3, 1e-8] },
  },
  "another implicit method": { options: { method: "kvaerno5" } },
  "a controller": { options: { controller: pidController({ pCoeff: 0.4, iCoeff: 0.3 }) } },
  safety: { options: { controller: integralController({ safety: 0.5 }) } },
  factorMin: { options: { controller: integralController({ factorMin: 0.7 }), stepSize: 1 } },
  factorMax: { options: { controller: integralController({ factorMax: 1.1 }), stepSize: 0.01 } },
  dtMin: { options: { controller: integralController({ dtMin: 0.4, forceDtMin: true }) } },
  dtMax: { options: { controller: integralController({ dtMax: 0.05 }) } },
  "times of steps": { options: { controller: integralController({ stepTimes: [0.31] }) } },
  "other times of steps": { options: { controller: integralController({ stepTimes: [0.77] }) } },
  jumps: { options: { jumpTimes: [0.31] } },
  "other jumps": { options: { jumpTimes: [0.77] } },
  "more jumps": { options: { jumpTimes: [0.31, 0.77] } },
};

/** The solution and its gradient, the solution without a gradient, and the cost of both. */
function solved({ f, y0 = start([3, 2]), times = [0, 1], options }: Variant, compile: boolean) {
  const statistics = {} as SolveStatistics;
  const all: SolveOptions = {
    ...{ method: "dopri5", rtol: 1e-6, atol: 1e-6, norm: "sample" },
    ...{ compile, statistics, ...options },
  };
  const field = f ?? ((_t, y) => y.mul(w).sin());
  const run = (y0: Tensor) => odeint(field, y0, [...times], all);
  const [value, gradient] = valueAndGrad((y0: Tensor) => run(y0).select(0, -1).square().sum())(y0);
  const { steps, rejected } = statistics;
  const y = run(y0);
  return { values: [value, gradient, y], cost: [steps, rejected, statistics.steps, statistics.rejected] };
}

const maxDifference = { float32: 1e-4, float64: 1e-9 } as Partial<Record<DType, number>>;

async function assertEqual(found: readonly Tensor[], expected: readonly Tensor[], name: string) {
  for (const [i, x] of expected.entries()) {
    assert.deepEqual(found[i].shape, x.shape, name);
    assert.equal(found[i].dtype, x.dtype, name);
    const values = await x.data();
    (await found[i].data()).forEach((value, j) => {
      const difference = Math.abs(Number(value) - Number(values[j]));
      const most = maxDifference[x.dtype]! * (1 + Math.abs(Number(values[j])));
      assert.ok(difference <= most, `${name}: ${value}, expected ${values[j]}`);
    });
  }
}

Deno.test("solves that differ do not share a trace, in any order", async () => {
  const names = Object.keys(variants);
  const expected = new Map(names.map((name) => [name, solved(variants[name], false)]));
  for (const name of [...names, ...names.toReversed()]) {
    const { values, cost } = solved(variants[name], true);
    await assertEqual(values, expected.get(name)!.values, name);
    assert.deepEqual(cost, expected.get(name)!.cost, name);
  }
});

Deno.test("solves of events that differ do not share a trace", async () => {
  const fall = (gravity: number): VectorField => (_t, y) =>
    concatenate([y.slice(1, 1, 2), y.slice(1, 0, 1).mul(0).sub(gravity)], 1);
  const heights = tensor([[1, 0], [2, 0]], float64);
  const exact = (gravity: number, floor: number) =>
    tensor([1, 2].map((height) => Math.sqrt(2 * (height - floor) / gravity)), float64);
  for (const [gravity, floor] of [[9.81, 0], [1.6, 0], [9.81, 0.5], [9.81, 0]]) {
    const { t } = odeintEvent(fall(gravity), heights, 0, (_t, y) => y.select(1, 0).sub(floor), {
      norm: "sample",
      jumpTimes: [0.1 * gravity],
    });
    await assertEqual([t], [exact(gravity, floor)], `gravity ${gravity}, floor ${floor}`);
  }
});

/** The number of traces that a computation begins. */
function countTraces(run: () => unknown): number {
  const before = nextLevel();
  run();
  return nextLevel() - before - 1;
}

const repeated: Readonly<Record<string, (f: VectorField) => unknown>> = {
  "without a gradient": (f) => odeint(f, start([5, 2]), [0, 1]),
  "with a gradient": (f) => valueAndGrad((y0: Tensor) => odeint(f, y0, [0, 1]).sum())(start([5, 2])),
  "with steps of each sample": (f) =>
    valueAndGrad((y0: Tensor) => odeint(f, y0, [0, 0.4, 1], { norm: "sample" }).sum())(start([5, 2])),
  "with jumps": (f) =>
    valueAndGrad((y0: Tensor) => odeint(f, y0, [0, 1], { jumpTimes: [0.2, 0.5] }).sum())(start([5, 2])),
  "of an implicit method": (f) =>
    valueAndGrad((y0: Tensor) => odeint(f, y0, [0, 1], { method: "kvaerno3", norm: "sample" }).sum())(
      start([5, 2]),
    ),
  "of solve": (f) =>
    valueAndGrad((y0: Tensor) => solve(f, y0, [0, 1], { save: { t: [0.2, 0.7] } }).y.sum())(start([5, 2])),
};

for (const [name, run] of Object.entries(repeated)) {
  Deno.test(`a repeated solve traces the vector field alone, once: ${name}`, () => {
    let calls = 0;
    const field: VectorField = (_t, y) => {
      calls++;
      return y.mul(w).tanh();
    };
    run(field);
    assert.equal(calls, 1);
    assert.equal(countTraces(() => run(field)), 1);
    assert.equal(calls, 2);
  });
}

Deno.test("a repeated solve along a control finds its loops", () => {
  for (
    const X of [
      CubicSpline(naturalCubicCoeffs(start([3, 6, 2]))),
      LinearInterpolation(linearCoeffs(start([3, 6, 2]))),
    ]
  ) {
    const run = () =>
      valueAndGrad((z0: Tensor) =>
        cdeint(X, (_t, z) => z.mul(v).expandDims(-1).tanh().broadcastTo([3, 2, 2]), z0, X.interval).sum()
      )(start([3, 2]));
    run();
    assert.equal(countTraces(run), 1);
  }
});

Deno.test("a found trace reads the present values of the tensors that the field closes over", async () => {
  const rate = tensor([0.5], float64);
  const one = tensor([1], float64);
  const step = (rate: Tensor) =>
    valueAndGrad((rate: Tensor) =>
      odeint((_t, y) => y.mul(rate), one, [0, 1], { rtol: 1e-10, atol: 1e-12 }).select(0, 1).sum()
    )(rate);
  const assertExact = async (rate: Tensor, value: number) => {
    const exact = tensor([Math.exp(value)], float64);
    const [y, gradient] = step(rate);
    await assertEqual([y, gradient], [exact.sum(), exact], `rate ${value}`);
  };
  await assertExact(rate, 0.5);
  rate.assign(tensor([-1], float64));
  await assertExact(rate, -1);
  await assertExact(tensor([0.25], float64), 0.25);
});

Deno.test("a field that reads values runs in each evaluation", async () => {
  const options = { compile: false, method: "dopri5" } as const;
  let calls = 0;
  const reading: VectorField = (_t, y) => {
    calls++;
    return y.mul(peekHostValues(y)!.length > 0 ? -1 : 1);
  };
  const found = odeint(reading, start([2]), [0, 1], options);
  await assertEqual([found], [odeint((_t, y) => y.neg(), start([2]), [0, 1], options)], "reads values");
  assert.ok(calls > 20, `${calls} calls`);
});

Deno.test("transformations of repeated solves are those of the first", async () => {
  const field: VectorField = (_t, y) => y.mul(w).sin();
  const final = (y0: Tensor) => odeint(field, y0, [0, 1], { rtol: 1e-8, atol: 1e-8 }).select(0, 1);
  const [y0, tangent] = [start([3, 2]), normal(key(3), [3, 2], float64)];
  const all = () => [
    final(y0),
    vmap(final)(y0),
    jvp(final)([y0], [tangent])[1],
    jit(final)(y0),
    jit((y0: Tensor) => vmap(final)(y0))(y0),
  ];
  const first = all();
  await assertEqual(all(), first, "second");
  await assertEqual([first[3], first[4]], [first[0], first[1]], "jit");
});

Deno.test("found traces keep no tensors in memory", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const run = () => {
    const rate = normal(key(5), [7, 7]);
    const y0 = normal(key(6), [3, 7]);
    valueAndGrad((rate: Tensor) =>
      odeint((_t, y) => y.matmul(rate).tanh(), y0, [0, 1], { norm: "sample" }).sum()
    )(rate);
    return [rate, y0].map((x) => new WeakRef(x));
  };
  const tensors = run();
  for (let i = 0; i < 3; i++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    collect();
  }
  assert.deepEqual(tensors.map((x) => x.deref()), [undefined, undefined]);
});

for (const norm of ["batch", "sample"] as const) {
  Deno.test(`a solve after a longer and a shorter one has the same bits, norm ${norm}`, async () => {
    const f: VectorField = (_t, y) => y.mul(w).sin();
    const solveTo = async (end: number, stepSize: number) => {
      const options: SolveOptions = {
        method: "dopri5",
        norm,
        stepSize,
        controller: integralController({ dtMax: 0.1 }),
      };
      return await odeint(f, start([3, 2]), [0, end], options).data();
    };
    // About 10, 400 and 10 steps. The loops take as many first steps as the loop before them took.
    const first = await solveTo(1, 0.1);
    await solveTo(40, 0.1);
    assert.deepEqual(await solveTo(1, 0.1), first);
    assert.deepEqual(await solveTo(1, 0.1), first);
  });
}
