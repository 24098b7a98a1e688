/** Missing observations: every pattern, compared with the definition, one channel at a time. */
import assert from "node:assert/strict";
import {
  checkGradients,
  forwardFill,
  grad,
  hermiteCubicCoeffs,
  key,
  linearCoeffs,
  logsigWindows,
  naturalCubicCoeffs,
  normal,
  stack,
  type Tensor,
  tensor,
  uniform,
  where,
  zeros,
} from "../../mod.ts";
import { cpu, testOnBoth, testOnDevices } from "../devices.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { assertClose, tolerance, typesOf } from "./golden.ts";

const o = NaN;
const times = [0, 0.5, 1.5, 1.75, 3, 4, 4.5, 6];
const layouts: Record<string, number[]> = {
  "none missing": [1, -2, 0.5, 3, 2, 2, -1, 0],
  "the first missing": [o, o, 0.5, 3, 2, 2, -1, 0],
  "the last missing": [1, -2, 0.5, 3, 2, o, o, o],
  "both ends missing": [o, 2, 0.5, 3, 2, 1, -1, o],
  "all missing": [o, o, o, o, o, o, o, o],
  "one in the middle": [o, o, o, 3, o, o, o, o],
  "the first alone": [1, o, o, o, o, o, o, o],
  "the last alone": [o, o, o, o, o, o, o, 5],
  "both ends alone": [1, o, o, o, o, o, o, -1],
  "every other": [1, o, 0.5, o, 2, o, -1, o],
  "one gap": [1, -2, o, o, o, 2, -1, 0],
  "two gaps": [1, o, o, 3, o, o, -1, 0],
  "gaps and ends": [o, -2, o, 3, o, o, -1, o],
};

/** Fills the ends with the first and the last observation, or with zeros if all are missing. */
function fillEnds(x: readonly number[]): number[] {
  const observed = x.flatMap((value, i) => Number.isNaN(value) ? [] : [i]);
  if (observed.length === 0) return x.map(() => 0);
  return x.map((value, i) =>
    i < observed[0] ? x[observed[0]] : i > observed.at(-1)! ? x[observed.at(-1)!] : value
  );
}

function fillLinear(x: readonly number[], t: readonly number[]): number[] {
  const ends = fillEnds(x);
  const knots = ends.flatMap((value, i) => Number.isNaN(value) ? [] : [i]);
  return ends.map((value, i) => {
    if (!Number.isNaN(value)) return value;
    const [before, after] = [knots.findLast((k) => k < i)!, knots.find((k) => k > i)!];
    return ends[before] + (ends[after] - ends[before]) * (t[i] - t[before]) / (t[after] - t[before]);
  });
}

/** Gaussian elimination with pivoting. */
function solve(matrix: number[][], rhs: number[]): number[] {
  const rows = matrix.map((row, i) => [...row, rhs[i]]);
  rows.forEach((_, k) => {
    const pivot = rows.slice(k).reduce(
      (best, row, i) => Math.abs(row[k]) > Math.abs(rows[best][k]) ? i + k : best,
      k,
    );
    [rows[k], rows[pivot]] = [rows[pivot], rows[k]];
    for (const row of rows) {
      if (row === rows[k]) continue;
      const factor = row[k] / rows[k][k];
      row.forEach((_, j) => row[j] -= factor * rows[k][j]);
    }
  });
  return rows.map((row, k) => row.at(-1)! / row[k]);
}

/**
 * The natural cubic spline through the knots, by the moments M = second derivatives, shifted to the start of
 * each interval.
 */
function naturalPieces(x: readonly number[], t: readonly number[]): number[][] {
  const ends = fillEnds(x);
  const knots = ends.flatMap((value, i) => Number.isNaN(value) ? [] : [i]);
  const h = (k: number) => t[knots[k + 1]] - t[knots[k]];
  const secant = (k: number) => (ends[knots[k + 1]] - ends[knots[k]]) / h(k);
  const matrix = knots.map((_, k) =>
    knots.map((_, j) => {
      if (k === 0 || k === knots.length - 1) return j === k ? 1 : 0;
      if (j === k - 1) return h(k - 1) / 6;
      if (j === k + 1) return h(k) / 6;
      return j === k ? (h(k - 1) + h(k)) / 3 : 0;
    })
  );
  const M = solve(
    matrix,
    knots.map((_, k) => k === 0 || k === knots.length - 1 ? 0 : secant(k) - secant(k - 1)),
  );
  return x.slice(1).map((_, i) => {
    const k = knots.findLastIndex((knot) => knot <= i);
    const s = t[i] - t[knots[k]];
    const a = ends[knots[k]];
    const b = secant(k) - h(k) * (2 * M[k] + M[k + 1]) / 6;
    const d = (M[k + 1] - M[k]) / (6 * h(k));
    return [a + s * (b + s * (M[k] / 2 + s * d)), b + s * (M[k] + 3 * s * d), M[k] + 6 * d * s, 6 * d / 2];
  });
}

function hermitePieces(x: readonly number[], t: readonly number[]): number[][] {
  const filled = fillLinear(x, t);
  const slope = (i: number) => (filled[i + 1] - filled[i]) / (t[i + 1] - t[i]);
  return x.slice(1).map((_, i) => {
    const h = t[i + 1] - t[i];
    const [b, jump] = [slope(Math.max(0, i - 1)), slope(i) - slope(Math.max(0, i - 1))];
    return [filled[i], b, 4 * jump / h, -3 * jump / h ** 2];
  });
}

/** Channels as (length, channels). */
const columns = (series: readonly (readonly number[])[]) => series[0].map((_, i) => series.map((x) => x[i]));
/** [a, b, 2c, 3d] of each channel as (length - 1, 4 * channels). */
const packed = (pieces: readonly number[][][]) =>
  pieces[0].flatMap((_, i) => [0, 1, 2, 3].flatMap((k) => pieces.map((piece) => piece[i][k])));

for (const [name, x] of Object.entries(layouts)) {
  testOnDevices(`${name}: every kind of coefficients matches its definition`, async (device) => {
    for (const dtype of typesOf(device)) {
      const series = tensor(columns([x]), { dtype });
      const close = (found: Tensor, expected: number[], what: string) =>
        assertClose(found, expected, tolerance[dtype], `${what} ${dtype}`, dtype === "float32");
      await close(linearCoeffs(series, times), fillLinear(x, times), "linear");
      await close(naturalCubicCoeffs(series, times), packed([naturalPieces(x, times)]), "natural cubic");
      await close(hermiteCubicCoeffs(series, times), packed([hermitePieces(x, times)]), "Hermite cubic");
    }
  });
}

testOnDevices("channels and series may have different missing observations", async (device) => {
  const channels = Object.values(layouts);
  const other = channels.map((x) => x.toReversed());
  const series = tensor([columns(channels), columns(other)]);
  const expect = (pieces: (x: readonly number[], t: readonly number[]) => number[][]) => [
    ...packed(channels.map((x) => pieces(x, times))),
    ...packed(other.map((x) => pieces(x, times))),
  ];
  const where = device.info.kind;
  await assertClose(naturalCubicCoeffs(series, times), expect(naturalPieces), 1e-5, where, true);
  await assertClose(hermiteCubicCoeffs(series, times), expect(hermitePieces), 1e-5, where, true);
});

testOnDevices("series with separate times are fitted along their times", async (device) => {
  const seriesTimes = [times, times.map((time) => 2 * time - time ** 2 / 24)];
  const chosen = [layouts["gaps and ends"], layouts["none missing"]];
  const series = tensor([columns(chosen), columns(chosen.toReversed())]);
  const rows = tensor(seriesTimes);
  const expect = (pieces: (x: readonly number[], t: readonly number[]) => number[][]) => [
    ...packed(chosen.map((x) => pieces(x, seriesTimes[0]))),
    ...packed(chosen.toReversed().map((x) => pieces(x, seriesTimes[1]))),
  ];
  const where = device.info.kind;
  await assertClose(naturalCubicCoeffs(series, rows), expect(naturalPieces), 1e-5, where, true);
  await assertClose(hermiteCubicCoeffs(series, rows), expect(hermitePieces), 1e-5, where, true);
  const dense = tensor([columns([layouts["none missing"]]), columns([layouts["none missing"].toReversed()])]);
  const single = [
    ...packed([naturalPieces(layouts["none missing"], seriesTimes[0])]),
    ...packed([naturalPieces(layouts["none missing"].toReversed(), seriesTimes[1])]),
  ];
  await assertClose(naturalCubicCoeffs(dense, rows), single, 1e-5, where, true);
});

Deno.test("a series of two observations and series of several blocks match the definition", async () => {
  setCurrentDevice(cpu);
  await assertClose(naturalCubicCoeffs(tensor([[1], [3]]), [0, 2]), [1, 1, 0, 0], 1e-6, "natural cubic");
  await assertClose(naturalCubicCoeffs(tensor([[o], [3]]), [0, 2]), [3, 0, 0, 0], 1e-6, "one of two");
  const [series, length, channels] = [4000, 60, 5];
  const x = normal(key(0), [series, length, channels], { dtype: "float64" });
  const withMissing = where(uniform(key(1), x.shape).less(0.5), NaN, x);
  for (const fit of [naturalCubicCoeffs, hermiteCubicCoeffs, (x: Tensor) => linearCoeffs(x)]) {
    const all = fit(withMissing);
    for (const i of [0, 1, 1999, 2000, 2001, 3999]) {
      await assertClose(all.select(0, i), await fit(withMissing.select(0, i)).data(), 1e-12, `series ${i}`);
    }
  }
});

testOnBoth("coefficients of series with missing values agree between devices", async (cpu, webgpu) => {
  setCurrentDevice(cpu);
  const x = normal(key(2), [5, 3, 40, 3]);
  const withMissing = where(uniform(key(3), x.shape).less(0.7), NaN, x);
  const there = await withMissing.to(webgpu);
  for (const fit of [naturalCubicCoeffs, hermiteCubicCoeffs, (x: Tensor) => linearCoeffs(x), forwardFill]) {
    setCurrentDevice(cpu);
    const expected = Array.from(await fit(withMissing).data(), (value) => Number.isNaN(value) ? -1 : value);
    setCurrentDevice(webgpu);
    const found = fit(there);
    await assertClose(found.isNaN().where(-1, found), expected, 1e-5, fit.name, true);
  }
});

Deno.test("coefficients have correct gradients with respect to observed values", async () => {
  setCurrentDevice(cpu);
  const chosen = ["none missing", "gaps and ends", "both ends missing", "one gap"].map((name) =>
    layouts[name]
  );
  const gaps = tensor(columns(chosen), { dtype: "float64" });
  const mask = gaps.isNaN();
  const values = mask.where(0, gaps);
  const second = (f: (x: Tensor) => Tensor) => (x: Tensor) => grad((x: Tensor) => f(x).square().sum())(x);
  for (
    const fit of [naturalCubicCoeffs, hermiteCubicCoeffs, (x: Tensor, t: number[]) => linearCoeffs(x, t)]
  ) {
    const ofObserved = (x: Tensor) => fit(mask.where(NaN, x), times);
    await checkGradients(ofObserved, [values]);
    await checkGradients(second(ofObserved), [values], { tolerance: 1e-5 });
    await checkGradients((x) => fit(x, times), [tensor(columns([chosen[0]]), { dtype: "float64" })]);
  }
  await checkGradients((x) => forwardFill(mask.where(NaN, x)).slice(0, 1), [values.slice(1, 0, 1)]);
});

Deno.test("a missing observation gets a gradient of zero, not NaN", async () => {
  setCurrentDevice(cpu);
  const x = tensor(columns([layouts["gaps and ends"], layouts["all missing"]]));
  for (const fit of [naturalCubicCoeffs, hermiteCubicCoeffs, (x: Tensor) => linearCoeffs(x)]) {
    const gradient = await grad((x: Tensor) => fit(x).sum())(x).data();
    const observed = await x.isNaN().not().data();
    gradient.forEach((value, i) =>
      assert.ok(observed[i] ? Number.isFinite(value) : value === 0, `${i}: ${value}`)
    );
  }
});

testOnDevices("an infinite observation is rejected with its position", (device) => {
  const fits = {
    naturalCubicCoeffs,
    hermiteCubicCoeffs,
    linearCoeffs,
    logsigWindows: (x: Tensor) => logsigWindows(x, 2, 1),
  };
  for (const [name, fit] of Object.entries(fits)) {
    for (const other of [1, NaN]) {
      const flat = tensor([[0, 1], [other, -Infinity], [Infinity, 2]]);
      assert.throws(
        () => fit(flat),
        new RegExp(`${name}: x\\[1, 1\\] is -Infinity, expected a finite number, or NaN`),
      );
      // Values with more axes are known on the host if it can read them.
      if (!device.readSync) continue;
      const x = stack([zeros([3, 2]), flat]);
      assert.throws(() => fit(x), new RegExp(`${name}: x\\[1, 1, 1\\] is -Infinity`));
    }
    fit(tensor([[3e38, 1], [3e38, 2], [3e38, NaN]]));
  }
});
