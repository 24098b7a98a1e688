/**
 * The cases of Diffrax's test_brownian.py that apply to increments of a key. There are no Levy areas, no complex or float16 numbers,
 * and no virtual tree, whose splines between dyadic times Diffrax tests.
 */
import assert from "node:assert/strict";
import {
  brownianIncrements,
  jit,
  type Key,
  key,
  sdeint,
  splitKey,
  stack,
  type Tensor,
  tensor,
  vmap,
  zeros,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { normalDistance } from "./normal_distance.ts";

/** The p-value of Kolmogorov and Smirnov's test of a standard normal distribution. */
const probability = (samples: ArrayLike<number>) =>
  2 * Math.exp(-2 * samples.length * normalDistance(samples) ** 2);

const shapes = [[], [0], [1, 0], [3, 4], [1, 2, 3, 4]];
const intervals: Record<string, Tensor | number[]> = {
  "numbers": [0, 2],
  "an int32 tensor": tensor([0, 2], { dtype: "int32" }),
  "a float32 tensor": tensor([0, 2]),
  "a float64 tensor": tensor([0, 2], { dtype: "float64" }),
};
for (const [name, t] of Object.entries(intervals)) {
  Deno.test(`increments between times in ${name} have the shape and type that are asked for`, async () => {
    for (const shape of shapes) {
      for (const dtype of [undefined, "float32", "float64"] as const) {
        const dw = brownianIncrements(key(0), t, shape, { dtype });
        assert.deepEqual([dw.shape, dw.dtype], [[1, ...shape], dtype ?? "float32"]);
        const expected = brownianIncrements(key(0), [0, 2], shape, { dtype });
        assert.deepEqual(await dw.data(), await expected.data());
      }
    }
  });
}

Deno.test("a solve draws increments with the structure, shapes and type of a tree of states", () => {
  for (const dtype of ["float32", "float64"] as const) {
    const y0 = { a: zeros([1], { dtype }), b: [zeros([2, 3], { dtype }), zeros([], { dtype })] };
    const one = <S>(_t: Tensor, y: S) => y;
    const { a, b } = sdeint(one, one, y0, [0, 2], key(0), { method: "euler_maruyama" });
    assert.deepEqual([a, ...b].map((y) => y.shape), [[2, 1], [2, 2, 3], [2]]);
    assert.deepEqual(new Set([a, ...b].map((y) => y.dtype)), new Set([dtype]));
  }
});

testOnDevices(
  "increments over [0, 5] have variance 5, drawn with one key or with a key for each path",
  async () => {
    const count = 600_000;
    const one = brownianIncrements(key(5678), [0, 5], [count]);
    const keys = splitKey(key(5678), 2000);
    const many = vmap((own: Key) => brownianIncrements(own, [0, 5], [count / 2000]))(keys);
    for (const dw of [one, many]) {
      const p = probability(await dw.div(Math.sqrt(5)).data() as Float32Array);
      assert.ok(p > 0.1, `${p}`);
    }
  },
);

Deno.test("inside a refined path, each point has the law of a bridge between its neighbours", async () => {
  // 50 random times between 0 and 8.7 that are at least 2^-8 apart.
  const [paths, dtype] = [20_000, "float64" as const];
  let seed = 7;
  const random = () => (seed = seed * 16807 % 2147483647) / 2147483647;
  const times = [0];
  while (times.length < 51) times.push(times.at(-1)! + 2 ** -8 + random() * 0.33);
  const dw = brownianIncrements(key(5680), times, [paths], { refine: 1, dtype });
  const fine = times.flatMap((time, i) => i === 0 ? [time] : [(times[i - 1] + time) / 2, time]);
  const points = fine.length - 2;
  for (let i = 1; i <= points; i++) {
    const [sr, ru] = [fine[i] - fine[i - 1], fine[i + 1] - fine[i]];
    const [before, after] = [dw.select(0, i - 1), dw.select(0, i)];
    const mean = before.add(after).mul(sr / (sr + ru));
    const normalised = before.sub(mean).div(Math.sqrt(sr * ru / (sr + ru)));
    const p = probability(await normalised.data() as Float64Array);
    assert.ok(p > 0.1 / points, `time ${fine[i]}: ${p}`);
  }
});

testOnDevices("an increment depends on the key, the number of the step and its length alone", async () => {
  const draw = (own: Key, times: number[]) => brownianIncrements(own, times, [3]);
  const first = await draw(key(1), [0, 1, 2]).data();
  assert.deepEqual(await draw(key(1), [0, 1, 2]).data(), first);
  assert.deepEqual(
    await draw(key(1), [5, 6, 7, 9]).slice(0, 0, 2).data(),
    first,
    "another start, more steps",
  );
  const longer = await draw(key(1), [0, 4, 8]).data();
  longer.forEach((x, i) => assert.ok(Math.abs(x - 2 * first[i]) < 1e-6, "variance four times as large"));
  const other = await draw(key(2), [0, 1, 2]).data();
  assert.ok(other.every((x, i) => x !== first[i]), "another key");
  // Unlike a virtual Brownian tree, other steps without refine are another path.
  const half = await draw(key(1), [0, 0.5, 1]).sum(0).data();
  assert.ok(half.every((x, i) => Math.abs(x - first[i]) > 1e-3));
});

testOnDevices("vmap and jit over keys draw the increments of each key, refined or not", async () => {
  const keys = splitKey(key(9), 3);
  for (const refine of [0, 2]) {
    const draw = (own: Key) => brownianIncrements(own, [0, 0.5, 2], [4], { refine });
    const expected = await stack(keys.map(draw)).data();
    const found = await vmap(draw)(keys).data();
    found.forEach((x, i) => assert.ok(Math.abs(x - expected[i]) < 1e-6));
    const traced = await jit(draw)(keys[1]).data();
    traced.forEach((x, i) => assert.ok(Math.abs(x - expected[traced.length + i]) < 1e-6));
  }
});

Deno.test("a path backwards in time, and increments that are no floats, are rejected", () => {
  for (const dtype of ["int32", "float16"]) {
    assert.throws(
      () => brownianIncrements(key(0), [0, 5], [2], { dtype: dtype as "float32" }),
      new RegExp(`brownianIncrements: dtype is ${dtype}, expected float32 or float64`),
    );
  }
  assert.throws(
    () => brownianIncrements(key(0), [5, 0], [2]),
    /times decrease from 5 to 0, expected increasing/,
  );
});
