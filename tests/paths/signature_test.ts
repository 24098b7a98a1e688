import assert from "node:assert/strict";
import {
  cdeint,
  checkGradients,
  combineSignatures,
  concatenate,
  key,
  LinearInterpolation,
  logsignature,
  logsignatureChannels,
  logsigWindows,
  normal,
  signature,
  signatureChannels,
  type Tensor,
  tensor,
  uniform,
} from "../../mod.ts";
import { lyndonWords } from "../../src/paths/signature.ts";
import { testOnDevices } from "../devices.ts";
import fixture from "../fixtures/logsignature.json" with { type: "json" };
import { read } from "../golden.ts";
import { assertClose, assertGolden, tolerance, typesOf } from "./golden.ts";

const float64 = { dtype: "float64" } as const;

testOnDevices("signatures and log-signatures agree with golden values", async (device) => {
  for (const golden of fixture.cases) {
    const channels = golden.path.shape[1];
    assert.deepEqual(lyndonWords(channels, golden.depth), golden.lyndon_words);
    for (const dtype of typesOf(device)) {
      const path = read(golden.path, dtype);
      const where = `${channels} channels, depth ${golden.depth}, ${dtype}`;
      await assertGolden(signature(path, golden.depth), golden.signature, tolerance[dtype], where);
      await assertGolden(logsignature(path, golden.depth), golden.logsignature, tolerance[dtype], where);
    }
  }
});

/** All iterated integrals by definition: Chen's identity, piece by piece and word by word. */
function naiveSignature(points: number[][], depth: number): number[] {
  const channels = points[0].length;
  let level: number[][] = [
    [1],
    ...Array.from({ length: depth }, (_, k) => Array(channels ** (k + 1)).fill(0)),
  ];
  for (let i = 1; i < points.length; i++) {
    const d = points[i].map((value, c) => value - points[i - 1][c]);
    const powers = [[1]];
    for (let k = 1; k <= depth; k++) {
      powers.push(powers[k - 1].flatMap((p) => d.map((step) => p * step / k)));
    }
    level = level.map((terms, k) =>
      terms.map((_, word) => {
        let sum = 0;
        for (let j = 0; j <= k; j++) {
          sum += level[j][Math.floor(word / channels ** (k - j))] * powers[k - j][word % channels ** (k - j)];
        }
        return sum;
      })
    );
  }
  return level.slice(1).flat();
}

testOnDevices("signatures of a batch equal the signatures of its paths", async (device) => {
  for (const depth of [1, 2, 3, 4]) {
    const x = normal(key(depth), [2, 3, 6, 3]);
    const found = signature(x, depth);
    assert.deepEqual(found.shape, [2, 3, signatureChannels(3, depth)]);
    const points = await x.toArray() as number[][][][];
    const expected = points.flat().flatMap((path) => naiveSignature(path, depth));
    await assertClose(found, expected, 2e-6, `${device.info.kind}, depth ${depth}`, true);
  }
});

Deno.test("the signature of concatenated paths is the product of their signatures", async () => {
  const x = normal(key(0), [4, 9, 3], float64);
  const parts = [signature(x.slice(1, 0, 5), 4), signature(x.slice(1, 4), 4)];
  await assertClose(
    combineSignatures(parts[0], parts[1], 3, 4),
    await signature(x, 4).data(),
    1e-12,
    "product",
  );
});

Deno.test("the log-signature of a reversed path is the negative log-signature", async () => {
  const x = normal(key(1), [4, 7, 3], float64);
  await assertClose(logsignature(x.flip(1), 4), await logsignature(x, 4).neg().data(), 1e-12, "backwards");
});

Deno.test("additional points on straight pieces do not change the signature", async () => {
  const x = normal(key(2), [2, 5, 3], float64);
  const middles = x.slice(1, 0, -1).add(x.slice(1, 1)).mul(0.5);
  const refined = concatenate([
    concatenate([x.slice(1, 0, -1).expandDims(2), middles.expandDims(2)], 2).flatten(1, 2),
    x.slice(1, -1),
  ], 1);
  await assertClose(signature(refined, 4), await signature(x, 4).data(), 1e-12, "refined");
});

Deno.test("the log-signature of a straight path is zero beyond the first level", async () => {
  const found = await logsignature(tensor([[0, 0, 0], [1, 2, 3], [2, 4, 6]], float64), 4).data();
  assert.equal(found.length, logsignatureChannels(3, 4));
  found.forEach((value, i) => assert.ok(Math.abs(value - [2, 4, 6, ...Array(29).fill(0)][i]) < 1e-13));
});

Deno.test("gradients of signatures and log-signatures agree with central differences", async () => {
  const x = normal(key(3), [2, 5, 2], float64);
  for (const depth of [1, 2, 3, 4]) {
    await checkGradients((x) => [signature(x, depth), logsignature(x, depth)], [x]);
  }
  await checkGradients((x) => logsigWindows(x, 3, 1.5, [0, 0.7, 1, 2.9, 3]), [x]);
});

testOnDevices(
  "windows contain the first point and the cumulative log-signatures of their intervals",
  async () => {
    const x = normal(key(4), [2, 13, 2]);
    const windows = logsigWindows(x, 3, 4);
    assert.deepEqual(windows.shape, [2, 4, 5]);
    const rows = [
      windows.select(1, 0),
      ...[0, 1, 2].map((i) => windows.select(1, i + 1).sub(windows.select(1, i))),
    ];
    await assertClose(rows[0].slice(1, 0, 2), await x.select(1, 0).data(), 0, "first point");
    await assertClose(rows[0].slice(1, 2), new Array(6).fill(0), 0, "nothing else");
    for (const i of [0, 1, 2]) {
      const interval = x.slice(1, 4 * i, 4 * i + 5);
      await assertClose(rows[i + 1], await logsignature(interval, 3).data(), 1e-5, `window ${i}`);
    }
  },
);

testOnDevices("a window that ends between observations is interpolated linearly", async () => {
  const x = tensor([[0, 0], [4, 2], [6, 10]]);
  const windows = logsigWindows(x, 2, 2, [0, 4, 5]);
  assert.deepEqual(windows.shape, [4, 3]);
  const intervals = [[[0, 0], [2, 1]], [[2, 1], [4, 2]], [[4, 2], [6, 10]]];
  for (const [i, interval] of intervals.entries()) {
    const expected = await logsignature(tensor(interval), 2).data();
    await assertClose(windows.select(0, i + 1).sub(windows.select(0, i)), expected, 1e-6, `window ${i}`);
  }
});

Deno.test("at large times a window ends at the nearest observation", async () => {
  const windows = logsigWindows(tensor([[0], [1], [2], [3]]), 1, 5e5, [0, 1e6, 1e6 + 1, 1e6 + 2]);
  await assertClose(windows, [0, 0.5, 1, 3], 1e-6, "the last one with the series");
});

Deno.test("a duration that is a multiple of the window up to rounding has no extra window", () => {
  const times = [0, 0.1, 0.2, 0.1 + 0.2];
  assert.deepEqual(logsigWindows(tensor([[0], [1], [2], [3]]), 1, 0.1, times).shape, [4, 1]);
});

testOnDevices("missing observations are filled before windows are computed", async () => {
  const x = tensor([[NaN, 0], [1, 1], [2, NaN], [3, 3], [4, 4]]);
  const filled = tensor([[1, 0], [1, 1], [2, 2], [3, 3], [4, 4]]);
  await assertClose(logsigWindows(x, 2, 2), await logsigWindows(filled, 2, 2).data(), 1e-6, "filled");
});

Deno.test("windows of depth 1 are the path itself, and log-ODE steps solve along it", async () => {
  const x = normal(key(5), [3, 9, 2], float64);
  const windows = logsigWindows(x, 1, 4);
  const expected = [0, 4, 8].map((i) => x.select(1, i));
  for (const [i, row] of expected.entries()) {
    await assertClose(windows.select(1, i), await row.data(), 1e-12, `row ${i}`);
  }
  // dz = A dX with a constant matrix: z(T) - z(0) = A (X(T) - X(0)).
  const X = LinearInterpolation(windows);
  const A = normal(key(6), [4, 2], float64);
  // The midpoint rule never evaluates the slope at a kink.
  const z = cdeint(
    X,
    (_t, z: Tensor) => A.broadcastTo([...z.shape.slice(0, -1), 4, 2]),
    uniform(key(7), [3, 4], float64),
    X.interval,
    { method: "midpoint" },
  );
  const change = z.select(1, 1).sub(z.select(1, 0));
  await assertClose(change, await x.select(1, 8).sub(x.select(1, 0)).matmul(A.mT).data(), 1e-12, "change");
});

Deno.test("invalid depths, windows and paths are rejected by name", () => {
  const x = normal(key(0), [5, 2]);
  assert.throws(() => signature(x, 5), /signature: depth is 5, expected 1, 2, 3 or 4/);
  assert.throws(() => logsignature(x, 1.5), /logsignature: depth is 1.5/);
  assert.throws(
    () => signature(x.slice(0, 0, 1), 2),
    /signature: the path has shape \(1, 2\), expected .* two points/,
  );
  assert.throws(
    () => signature(tensor([1, 2]), 2),
    /signature: x has shape \(2,\), expected \(..., length, channels\)/,
  );
  assert.throws(() => logsigWindows(x, 2, 0), /windowLength is 0, expected a positive duration/);
  assert.throws(() => logsigWindows(x, 2, NaN), /windowLength is NaN/);
  assert.throws(() => logsigWindows(x, 2, 5), /windowLength is 5, longer than the series, which lasts 4/);
  assert.throws(() => logsigWindows(x, 2, 1, [0, 1, 2, 2, 3]), /logsigWindows: t: times must increase/);
  assert.throws(() => combineSignatures(x, x, 3, 2), /expected \(..., 12\) for 3 channels to depth 2/);
});
