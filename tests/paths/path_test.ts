/** Times of paths: evaluation, grids, use inside loops, and errors. */
import assert from "node:assert/strict";
import {
  addTime,
  cdeint,
  checkGradients,
  concatenate,
  CubicSpline,
  forwardFill,
  grad,
  hermiteCubicCoeffs,
  jit,
  key,
  linearCoeffs,
  LinearInterpolation,
  naturalCubicCoeffs,
  normal,
  type Path,
  remat,
  scalar,
  scan,
  ShapeError,
  stack,
  stopGradient,
  type Tensor,
  tensor,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { countLoops } from "../loops.ts";
import { assertClose } from "./golden.ts";

const float64 = { dtype: "float64" } as const;
const o = NaN;

const schemes: [string, (x: Tensor, t?: Tensor | number[]) => Path][] = [
  ["natural cubic", (x, t) => CubicSpline(naturalCubicCoeffs(x, t), t)],
  ["Hermite cubic", (x, t) => CubicSpline(hermiteCubicCoeffs(x, t), t)],
  ["linear", (x, t) => LinearInterpolation(linearCoeffs(x, t), t)],
];

for (const [name, make] of schemes) {
  Deno.test(`${name}: a missing time or a time that is not finite is rejected`, () => {
    const X = make(zeros([3, 5, 2]));
    for (const call of [X.evaluate, X.derivative]) {
      const at = (t?: unknown) => () => call.call(X, t as number);
      assert.throws(at(NaN), /^RangeError: evaluate: t is NaN, expected a finite time$/);
      assert.throws(at(scalar(-Infinity)), /^RangeError: evaluate: t is -Infinity, expected a finite time$/);
      assert.throws(at([0, NaN]), /^RangeError: evaluate: t\[1\] is NaN, expected a finite time$/);
      assert.throws(at(), /^TypeError: evaluate: t is undefined, expected a time, an array/);
    }
  });
  const times = [0, 0.5, 2, 2.25, 3.5];

  testOnDevices(`${name}: the path goes through the observations`, async () => {
    const x = normal(key(0), [3, 5, 2]);
    const X = make(x, times);
    await assertClose(X.evaluate(X.gridPoints), await x.data(), 1e-5, name, true);
    await assertClose(X.interval, [0, 3.5], 0, "interval");
    assert.deepEqual([...X.times], times);
  });

  testOnDevices(`${name}: two observations with per-series times are joined by a line`, async () => {
    const x = tensor([[[0], [2]], [[1], [-3]], [[4], [4]]]);
    const X = make(x, tensor([[0, 1], [0, 2], [1, 5]]));
    await assertClose(X.evaluate(X.gridPoints), await x.data(), 1e-6, "observations");
    await assertClose(X.evaluate(0.5), [1, 0, 4], 1e-6, "values");
    await assertClose(X.derivative(0.5), [2, -2, 0], 1e-6, "slopes");
  });

  testOnDevices(`${name}: evaluation at per-series times equals evaluation one by one`, async () => {
    const x = normal(key(1), [2, 3, 5, 2]);
    const X = make(x, times);
    const query = tensor([[[0.1, 2], [0.5, 3.5], [-1, 4]], [[2.1, 2.2], [0, 3], [3.4, 1]]]);
    for (const what of ["evaluate", "derivative"] as const) {
      const found = X[what](query);
      assert.deepEqual(found.shape, [2, 3, 2, 2]);
      const separate = [0, 1].map((i) =>
        stack(
          [0, 1, 2].map((j) =>
            make(x.select(0, i).select(0, j), times)[what](query.select(0, i).select(0, j))
          ),
        )
      );
      await assertClose(found, await stack(separate).data(), 1e-5, what, true);
    }
  });

  testOnDevices(`${name}: series with separate grids equal series one by one`, async () => {
    const x = normal(key(2), [2, 5, 3]);
    const grids = [[0, 0.5, 2, 2.25, 3.5], [1, 1.5, 1.75, 4, 5]];
    const rows = tensor(grids);
    const X = make(x, rows);
    await assertClose(X.gridPoints, await rows.data(), 0, "grid points");
    await assertClose(X.interval, [0, 3.5, 1, 5], 0, "interval");
    const queries: (number | Tensor)[] = [
      1.6,
      scalar(1.6),
      tensor([0.4, 1.75, 4.5]),
      tensor([[2, 3], [1.2, 6]]),
    ];
    for (const query of queries) {
      for (const what of ["evaluate", "derivative"] as const) {
        const separate = [0, 1].map((i) => {
          const times = typeof query !== "number" && query.rank === 2 ? query.select(0, i) : query;
          return make(x.select(0, i), grids[i])[what](times);
        });
        await assertClose(X[what](query), await stack(separate).data(), 1e-5, what, true);
      }
    }
  });

  Deno.test(`${name}: bisection for many grid points agrees with comparison for few`, async () => {
    const length = 700;
    const long = Array.from({ length }, (_, i) => i + 0.4 * Math.sin(i));
    const x = normal(key(3), [2, length, 2], float64);
    const X = make(x, long);
    const query = [-3, 0, long[1], 12.3, 300.5, long[350], long[698], 698.9, long[699], 900];
    const expected = stack(query.map((time) => X.evaluate(time)), 1);
    await assertClose(X.evaluate(tensor(query, float64)), await expected.data(), 1e-10, name, true);
    const each = tensor([query, query], float64);
    await assertClose(X.evaluate(each), await expected.data(), 1e-10, name, true);
  });

  Deno.test(`${name}: gradients with respect to observations and query times are correct`, async () => {
    const x = normal(key(4), [2, 5, 2], float64);
    const both =
      (t: Tensor | number) => (x: Tensor) => [make(x, times).evaluate(t), make(x, times).derivative(t)];
    await checkGradients(both(1.1), [x]);
    await checkGradients(both(tensor([0.2, 1.1, 4], float64)), [x]);
    for (const t of [tensor(1.1, float64), tensor([0.2, 1.1, 4], float64), tensor([[0.2], [3]], float64)]) {
      const X = make(x, times);
      await checkGradients((t) => [X.evaluate(t), X.derivative(t)], [t]);
    }
    const rows = tensor([[0, 0.5, 2, 2.25, 3.5], [1, 1.5, 1.75, 4, 5]], float64);
    const path = make(x, rows);
    await checkGradients((t) => path.evaluate(t), [tensor([[0.2], [3]], float64)]);
    await checkGradients((x) => make(x, rows).evaluate(1.1), [x]);
    const atNumber = grad((t: Tensor) => make(x, times).evaluate(t).sum())(scalar(1.1, "float64"));
    await assertClose(
      atNumber,
      [await make(x, times).derivative(1.1).sum().item()],
      1e-12,
      "at a plain number",
    );
  });

  Deno.test(`${name}: values inside a compiled loop equal values outside`, async () => {
    const x = normal(key(5), [2, 5, 2], float64);
    const rows = tensor([[0, 0.5, 2, 2.25, 3.5], [1, 1.5, 1.75, 4, 5]], float64);
    const long = normal(key(6), [2, 400, 2], float64);
    for (const X of [make(x, times), make(x, rows), make(long)]) {
      const [compiled, plain] = [true, false].map((compile) =>
        scan(
          (z: Tensor, row: { t: Tensor }) => [z.mul(0.5).add(X.derivative(row.t)).add(X.evaluate(row.t)), []],
          x.select(1, 0),
          { t: tensor([0, 0.3, 0.5, 2, 3, 4, 390.5], float64) },
          { compile },
        )[0]
      );
      await assertClose(compiled, await plain.data(), 1e-12, name);
    }
  });

  testOnDevices(
    `${name}: reparametrized per-series times do not change the solution of a CDE`,
    async () => {
      const rows = [[0, 0.5, 2, 2.25, 3.5], [1, 1.5, 1.75, 4, 5]];
      const x = stack(rows.map((times, i) => addTime(normal(key(6 + i), [5, 2]), times)));
      const A = normal(key(8), [3, 3, 3]).mul(0.3);
      const field = (_t: Tensor, z: Tensor) =>
        z.expandDims(-2).matmul(A.reshape([3, 9])).reshape([...z.shape, 3]).tanh();
      const z0 = normal(key(9), [2, 3]);
      const X = make(x, tensor(rows)) as CubicSpline | LinearInterpolation;
      assert.throws(() => X.times, /the times of this path differ between series.*reparametrize/);
      const options = { method: "midpoint", stepSize: 1 / 256 } as const;
      const found = cdeint(X.reparametrize(), field, z0, [0, 4], options).select(1, 1);
      const separate = rows.map((times, i) =>
        cdeint(make(x.select(0, i), times), field, z0.select(0, i), [times[0], times[4]], options).select(
          0,
          1,
        )
      );
      await assertClose(found, await stack(separate).data(), 1e-3, name);
    },
  );

  testOnDevices(`${name}: invalid observations and times are reported by name`, () => {
    const x = normal(key(0), [2, 3, 2]);
    const assertRejects = (x: Tensor, t: Tensor | number[] | undefined, message: RegExp) =>
      assert.throws(() => make(x, t), message);
    assertRejects(x, [0, 1], /t has 2 times for 3 observations/);
    assertRejects(x, [0, 2, 2], /times must increase, but t\[1\] = 2 and t\[2\] = 2/);
    assertRejects(x, [0, 2, 1], /times must increase, but t\[1\] = 2 and t\[2\] = 1/);
    assertRejects(x, [0, NaN, 1], /t\[1\] is NaN, expected a finite time/);
    assertRejects(x, [0, 1, Infinity], /t\[2\] is Infinity, expected a finite time/);
    assertRejects(x.slice(1, 0, 1), undefined, /two observations at least, got 1/);
    assertRejects(x.slice(1, 0, 0), undefined, /two observations at least, got 0/);
    assertRejects(tensor([1, 2, 3]), undefined, /x has shape \(3,\), expected \(\.\.\., length, channels\)/);
    assertRejects(x.cast("int32"), undefined, /x is int32, expected float32 or float64/);
    assertRejects(
      x,
      tensor([[0, 1, 2]]),
      /t has shape \(1, 3\), expected \(3,\) or, for times of each series, \(2, 3\)/,
    );
    assertRejects(
      x,
      tensor([[0, 1, 2], [0, 3, 2]]),
      /row 1 of t: times must increase, but t\[1\] = 3 and t\[2\] = 2/,
    );
    assertRejects(x, tensor([[0, NaN, 2], [0, 1, 2]]), /row 0 of t: t\[1\] is NaN, expected a finite time/);
    assertRejects(
      x,
      tensor([0, 0, 1, 3, 2, 2]).reshape([3, 2]).mT,
      /row 1 of t: .*t\[1\] = 3 and t\[2\] = 2/,
    );
    assert.throws(
      () => make(x).evaluate(tensor([[1], [1], [1]])),
      /times of shape \(3, 1\).*the axes \(2,\) of the path/,
    );
  });
}

testOnDevices(
  "unsorted times computed by a GPU are reported at the next read of values",
  async (device) => {
    if (device.readSync) return;
    const rows = tensor([[0, 1, 2], [0, 2, 3]]);
    const x = normal(key(0), [2, 3, 2]);
    linearCoeffs(x, rows.mul(2));
    await device.synchronize();
    const coeffs = linearCoeffs(x, rows.neg());
    await assert.rejects(() => coeffs.data(), /linearCoeffs: row 0 of t: times must increase, but t\[0\]/);
    // It is reported once.
    await coeffs.data();
  },
);

Deno.test("coefficients of the wrong shape are rejected", () => {
  assert.throws(
    () => CubicSpline(normal(key(0), [4, 6])),
    /CubicSpline: .*\(4, 6\), expected .*4 \* channels/,
  );
  assert.throws(() => CubicSpline(normal(key(0), [4, 8]), [0, 1, 2, 3]), /4 times for 5 observations/);
  assert.throws(() => LinearInterpolation(normal(key(0), [4])), ShapeError);
});

Deno.test("the second derivative of a natural cubic spline is continuous and 0 at both ends", async () => {
  const times = [0, 0.5, 2, 2.25, 3.5];
  const coeffs = naturalCubicCoeffs(normal(key(1), [5, 3], float64), times);
  const [twoC, threeD] = [coeffs.slice(-1, 6, 9), coeffs.slice(-1, 9)];
  const durations = tensor(times.slice(1).map((time, i) => time - times[i]), { ...float64, shape: [4, 1] });
  const after = twoC.add(threeD.mul(durations).mul(2));
  await assertClose(after.slice(0, 0, -1), await twoC.slice(0, 1).data(), 1e-10, "inside");
  await assertClose(twoC.select(0, 0), [0, 0, 0], 1e-10, "start");
  await assertClose(after.select(0, -1), [0, 0, 0], 1e-10, "end");
});

Deno.test("a natural cubic spline reproduces a cubic without curvature at its ends", async () => {
  // x = 3 t^2 - t^3 on [-1, 1] moved: second derivative 6 (1 - s), zero at s = 1 only; a line has no second
  // derivative.
  const times = [0, 0.3, 1, 1.1, 2];
  const X = CubicSpline(naturalCubicCoeffs(tensor(times.map((t) => [2 * t - 1]), float64), times), times);
  for (const t of [-1, 0.15, 0.7, 1.9, 5]) await assertClose(X.evaluate(t), [2 * t - 1], 1e-12, `at ${t}`);
});

testOnDevices("rectilinear paths move in time first and then to the new values", async () => {
  const x = tensor([[0, 5, o], [1, o, 2], [3, 7, o]]);
  const coeffs = linearCoeffs(x.slice(-1, 0, 2), undefined, { rectilinear: 0 });
  await assertClose(coeffs, [0, 5, 1, 5, 1, 5, 3, 5, 3, 7], 0, "gaps are filled forward");
  const backward = linearCoeffs(x, undefined, { rectilinear: 0 });
  await assertClose(
    backward.slice(-1, 2),
    [2, 2, 2, 2, 2],
    0,
    "missing values at the start are filled backward",
  );
  const last = linearCoeffs(x.slice(-1, 0, 2).flip(-1), undefined, { rectilinear: 1 });
  await assertClose(last, [5, 0, 5, 1, 5, 1, 5, 3, 7, 3], 0, "time is the last channel");
});

Deno.test("the rectilinear option rejects a channel that is not a complete time channel", () => {
  const x = tensor([[0, 5], [o, 6]]);
  assert.throws(() => linearCoeffs(x, undefined, { rectilinear: 2 }), /rectilinear is 2, expected .* 0 to 1/);
  assert.throws(
    () => linearCoeffs(x, undefined, { rectilinear: 0 }),
    /channel 0 contains the time .* missing values/,
  );
  assert.throws(
    () => linearCoeffs(x.slice(0, 0, 1), undefined, { rectilinear: 1 }),
    /two observations at least/,
  );
});

Deno.test("a path states whether it is causal", () => {
  const x = addTime(normal(key(0), [5, 2]));
  const withMissing = addTime(tensor([[1], [o], [3], [4], [5]]));
  const late = addTime(tensor([[o], [2], [3], [4], [5]]));
  const rectilinear = { rectilinear: 0 };
  assert.equal(CubicSpline(hermiteCubicCoeffs(x)).causal, true);
  assert.equal(CubicSpline(hermiteCubicCoeffs(withMissing)).causal, false);
  assert.equal(CubicSpline(hermiteCubicCoeffs(forwardFill(withMissing))).causal, true);
  assert.equal(CubicSpline(naturalCubicCoeffs(x)).causal, false);
  assert.equal(LinearInterpolation(linearCoeffs(x)).causal, false);
  assert.equal(LinearInterpolation(linearCoeffs(x, undefined, rectilinear)).causal, true);
  assert.equal(LinearInterpolation(linearCoeffs(withMissing, undefined, rectilinear)).causal, true);
  assert.equal(LinearInterpolation(linearCoeffs(late, undefined, rectilinear)).causal, false);
  assert.equal(CubicSpline(hermiteCubicCoeffs(x)).reparametrize().causal, true);
  assert.equal(
    CubicSpline(hermiteCubicCoeffs(x).slice(0, 0, 2), undefined, { causal: true }).causal,
    true,
  );
});

Deno.test("a path is not called causal if its observations are not known", () => {
  const isCausal: boolean[] = [];
  jit((x: Tensor) => {
    isCausal.push(
      CubicSpline(hermiteCubicCoeffs(x)).causal,
      LinearInterpolation(linearCoeffs(x, undefined, { rectilinear: 0 })).causal,
    );
    return x;
  })(addTime(normal(key(0), [5, 2])));
  assert.deepEqual(isCausal, [false, false]);
});

Deno.test("later observations do not change a causal path before them, bit for bit", async () => {
  const x = addTime(normal(key(0), [2, 8, 2]));
  const y = concatenate([x.slice(1, 0, 5), x.slice(1, 5).mul(-3)], 1);
  const upTo = 4;
  const hermite = [x, y].map((series) => hermiteCubicCoeffs(series).slice(1, 0, upTo));
  const rectilinear = [x, y].map((series) =>
    linearCoeffs(addTime(series), undefined, { rectilinear: 0 }).slice(1, 0, 2 * upTo + 1)
  );
  const natural = [x, y].map((series) => naturalCubicCoeffs(series).slice(1, 0, upTo));
  const data = async (pair: Tensor[]) => [await pair[0].data(), await pair[1].data()];
  for (const pair of [hermite, rectilinear]) {
    const [before, after] = await data(pair);
    assert.deepEqual(before, after);
  }
  const [before, after] = await data(natural);
  assert.notDeepEqual(before, after);
});

Deno.test("a piecewise linear path lists the jumps of its derivative, and a spline has none", () => {
  const t = [0, 1, 2.5];
  assert.deepEqual([...LinearInterpolation(zeros([3, 1]), t).jumpTimes!], t);
  assert.equal(LinearInterpolation(zeros([2, 3, 1]), tensor([t, t])).jumpTimes, undefined);
  const spline: Path = CubicSpline(hermiteCubicCoeffs(zeros([3, 1]), t), t);
  assert.equal(spline.jumpTimes, undefined);
});

Deno.test("a gradient with respect to the times of a path throws", () => {
  const x = normal(key(9), [3, 2], float64);
  const t = tensor([0, 1, 3], float64);
  const uses: ((t: Tensor) => Tensor)[] = [
    (t) => naturalCubicCoeffs(x, t),
    (t) => linearCoeffs(stack([x, x]), stack([t, t.mul(2)])),
    (t) => CubicSpline(hermiteCubicCoeffs(x), t).evaluate(0.5),
    (t) => addTime(x, t),
  ];
  for (const use of uses) {
    assert.throws(
      () => grad((t: Tensor) => use(t).sum())(t),
      /: t: times have no gradient.*stopGradient/,
    );
    use(t);
    grad((t: Tensor) => use(stopGradient(t)).sum().add(t.sum()))(t);
    // Recomputed without a gradient of the times.
    grad((x: Tensor) => remat((x) => CubicSplineThrough(x, t), x).sum())(x);
  }
});

function CubicSplineThrough(x: Tensor, t: Tensor): Tensor {
  return CubicSpline(naturalCubicCoeffs(x, t.mul(1)), t.mul(1)).evaluate(0.5);
}

testOnDevices("coefficients can be computed inside a loop, with correct gradients", async () => {
  const series = normal(key(10), [4, 3, 6, 2]);
  const withMissing = series.greater(1).where(NaN, series);
  const fits = [naturalCubicCoeffs, hermiteCubicCoeffs, linearCoeffs];
  for (const fit of fits) {
    const loop = (series: Tensor) =>
      scan(
        (sum: Tensor, x: Tensor) => [sum.add(fit(x).square().sum()), sum] as [Tensor, Tensor],
        scalar(0),
        series,
      )[0];
    const sum = (series: Tensor) => fit(series).square().sum();
    for (const x of [series, withMissing]) {
      assert.equal(countLoops(() => loop(x)), 1, fit.name);
      const [found, expected] = [loop, sum].map((f) => valueAndGrad(f)(x));
      for (const i of [0, 1]) await assertClose(found[i], await expected[i].data(), 1e-4, fit.name, true);
    }
  }
});
