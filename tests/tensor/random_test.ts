import assert from "node:assert/strict";
import {
  bernoulli,
  foldIn,
  jit,
  type Key,
  key,
  normal,
  randint,
  randperm,
  splitKey,
  type Tensor,
  uniform,
} from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { threefry2x32 } from "../../src/tensor/random.ts";
import { testOnBoth, testOnDevices } from "../devices.ts";

const hex = (words: readonly number[]) => words.map((word) => word.toString(16).padStart(8, "0")).join(" ");

/** The known answers from the generator's paper: 20 rounds, two words. */
const answers: [key: Key, counter: [number, number], output: string][] = [
  [[0, 0], [0, 0], "6b200159 99ba4efe"],
  [[0xffffffff, 0xffffffff], [0xffffffff, 0xffffffff], "1cb996fc bb002be7"],
  [[0x13198a2e, 0x03707344], [0x243f6a88, 0x85a308d3], "c4923a9c 483df7a0"],
];

Deno.test("Threefry-2x32 reproduces the known answers of its paper", () => {
  for (const [key, counter, output] of answers) assert.equal(hex(threefry2x32(key, counter)), output);
});

testOnDevices("element i of a random tensor is the generator's output for counter i", async () => {
  const seed: Key = [0x13198a2e, 0x03707344];
  const values = await uniform(seed, [7, 11]).data();
  values.forEach((value, i) => assert.equal(value, (threefry2x32(seed, [i, 0])[0] >>> 8) / 2 ** 24));
});

testOnBoth("both devices give the same random stream", async (cpu, webgpu) => {
  const draws: ArrayLike<number>[][] = [];
  for (const device of [cpu, webgpu]) {
    setCurrentDevice(device);
    const seed = key(42);
    const made = [uniform(seed, [1001]), bernoulli(seed, 0.3, [1001]), randperm(seed, 101)];
    draws.push([...await Promise.all(made.map((x) => x.data())), await normal(seed, [1001]).data()]);
  }
  for (const kind of [0, 1, 2]) assert.deepEqual(draws[1][kind], draws[0][kind]);
  for (let i = 0; i < 1001; i++) assert.ok(Math.abs(draws[0][3][i] - draws[1][3][i]) < 1e-5);
});

/** The largest distance between the empirical and the theoretical distribution function. */
async function kolmogorovSmirnov(x: Tensor, distribution: (x: number) => number): Promise<number> {
  const sorted = [...await x.data()].sort((a, b) => a - b);
  return sorted.reduce((worst, value, i) => {
    const below = distribution(value);
    return Math.max(worst, below - i / sorted.length, (i + 1) / sorted.length - below);
  }, 0);
}

/** The normal distribution function by a sum over small steps from minus eight. */
const normalDistribution = (() => {
  const steps = 160_000, table = new Float64Array(steps + 1), width = 16 / steps;
  for (let i = 1; i <= steps; i++) {
    const middle = -8 + (i - 0.5) * width;
    table[i] = table[i - 1] + width * Math.exp(-middle * middle / 2) / Math.sqrt(2 * Math.PI);
  }
  return (x: number) => table[Math.round((Math.min(8, Math.max(-8, x)) + 8) / width)];
})();

const count = 100_000;
/** Exceeded by chance with a probability of one in a million. The seeds are fixed. */
const bound = 2.7 / Math.sqrt(count);

testOnDevices("uniform numbers follow the uniform distribution", async () => {
  for (const dtype of ["float32", "float64"] as const) {
    // Only the CPU supports float64.
    if (dtype === "float64" && uniform(key(0), [1]).device.info.kind !== "cpu") continue;
    const distance = await kolmogorovSmirnov(uniform(key(1), [count], { dtype }), (x) => x);
    assert.ok(distance < bound, `${dtype}: ${distance}`);
    const between = uniform(key(2), [count], { low: -3, high: 5, dtype });
    assert.ok(await kolmogorovSmirnov(between, (x) => (x + 3) / 8) < bound);
    const [low, high] = [await between.min().item(), await between.max().item()];
    assert.ok(low >= -3 && high <= 5, `${low} to ${high}`);
  }
});

testOnDevices("normal numbers follow the normal distribution", async () => {
  const x = normal(key(3), [count]);
  assert.ok(await kolmogorovSmirnov(x, normalDistribution) < bound);
  const scaled = normal(key(4), [count], { mean: 2, standardDeviation: 3 });
  const [mean, variance] = [await scaled.mean().item(), await scaled.variance().item()];
  assert.ok(Math.abs(mean - 2) < 5 * 3 / Math.sqrt(count), `mean ${mean}`);
  assert.ok(Math.abs(variance / 9 - 1) < 5 * Math.sqrt(2 / count), `variance ${variance}`);
  const kurtosis = await scaled.sub(2).div(3).pow(4).mean().item();
  assert.ok(Math.abs(kurtosis - 3) < 5 * Math.sqrt(96 / count), `kurtosis ${kurtosis}`);
});

testOnDevices("bernoulli is true with the given probability", async () => {
  for (const p of [0, 0.1, 0.5, 1]) {
    const share = await bernoulli(key(5), p, [count]).cast("float32").mean().item();
    assert.ok(Math.abs(share - p) <= 5 * Math.sqrt(p * (1 - p) / count), `${p}: ${share}`);
  }
  assert.throws(() => bernoulli(key(5), 1.5, [1]), /probability 1.5/);
});

testOnDevices("split, folded and successive keys give independent streams", async () => {
  const parent = key(6);
  const keys = [
    parent,
    ...splitKey(parent, 3),
    foldIn(parent, 0),
    foldIn(parent, 1),
    key(7),
    foldIn(parent, 2 ** 40),
  ];
  assert.equal(new Set(keys.map(hex)).size, keys.length);
  const draws = await Promise.all(
    keys.map(async (seed) => Float32Array.from(await normal(seed, [20_000]).data())),
  );
  for (let i = 0; i < draws.length; i++) {
    for (let j = 0; j < i; j++) {
      const correlation = draws[i].reduce((sum, value, n) => sum + value * draws[j][n], 0) / 20_000;
      assert.ok(Math.abs(correlation) < 5 / Math.sqrt(20_000), `streams ${i} and ${j}: ${correlation}`);
    }
  }
});

testOnDevices("neighboring elements of a stream are independent", async () => {
  const x = await normal(key(8), [count]).data();
  for (const lag of [1, 2, 64]) {
    let sum = 0;
    for (let i = lag; i < count; i++) sum += x[i] * x[i - lag];
    assert.ok(Math.abs(sum / count) < 5 / Math.sqrt(count), `lag ${lag}: ${sum / count}`);
  }
});

testOnDevices(
  "a permutation contains every number once, and every first number is equally likely",
  async () => {
    const order = [...await randperm(key(9), 100).data()];
    assert.deepEqual(order.toSorted((a, b) => a - b), Array.from({ length: 100 }, (_, i) => i));
    const firsts = new Array(5).fill(0);
    for (let seed = 0; seed < 500; seed++) firsts[(await randperm(key(seed), 5).data())[0]]++;
    const chiSquared = firsts.reduce((sum, n) => sum + (n - 100) ** 2 / 100, 0);
    assert.ok(chiSquared < 28, `${firsts}`);
  },
);

Deno.test("a seed must be a safe integer", () => {
  for (const seed of [-1, 0.5, NaN, 2 ** 53]) assert.throws(() => key(seed), RangeError);
  assert.notDeepEqual(key(0), key(2 ** 32));
});

testOnDevices("uniform numbers stay below high even if rounding would reach it", async () => {
  for (const [low, high] of [[100, 101], [-101, -100], [-65, -64], [0, 0.1]]) {
    const largest = await uniform(key(0), [4_000_000], { low, high }).max().item();
    assert.ok(largest < high && largest > high - 1e-4, `${largest} for [${low}, ${high})`);
  }
});

testOnDevices(
  "randint draws every number of a range equally often, with the same numbers on each device",
  async () => {
    const drawn = await randint(key(0), [60000], -2, 4).data();
    const counts = Array.from({ length: 6 }, (_, i) => drawn.filter((value) => value === i - 2).length);
    assert.equal(counts.reduce((sum, count) => sum + count), 60000);
    // Five standard deviations of a binomial distribution: 5 sqrt(60000 / 6 * 5 / 6).
    for (const count of counts) assert.ok(Math.abs(count - 10000) < 457, `${counts}`);
    const words = Array.from({ length: 8 }, (_, i) => threefry2x32(key(0), [i, 0])[0]);
    assert.deepEqual([...drawn.slice(0, 8)], words.map((word) => Math.floor(word * 6 / 2 ** 32) - 2));
  },
);

testOnDevices("randint draws from the whole range of int32", async () => {
  const drawn = await randint(key(1), [1000], -(2 ** 31), 2 ** 31).data();
  const words = Array.from({ length: 1000 }, (_, i) => threefry2x32(key(1), [i, 0])[0]);
  assert.deepEqual([...drawn], words.map((word) => word - 2 ** 31));
  const large = await randint(key(1), [1000], -7, 2 ** 31).data();
  assert.deepEqual([...large], words.map((word) => Number(BigInt(word) * (2n ** 31n + 7n) >> 32n) - 7));
});

testOnDevices("randint under jit draws the numbers of its key", async () => {
  const draw = jit((key: Key) => randint(key, [20], 0, 100));
  for (const seed of [0, 1]) {
    assert.deepEqual(await draw(key(seed)).data(), await randint(key(seed), [20], 0, 100).data());
  }
});

Deno.test("randint rejects bounds that are not whole or not in order", () => {
  assert.throws(
    () => randint(key(0), [2], 0.5, 3),
    /^RangeError: randint: low is 0\.5, expected a whole number/,
  );
  assert.throws(
    () => randint(key(0), [2], 3, 3),
    /^RangeError: randint: low is 3 and high 3, expected low < high/,
  );
  assert.throws(() => randint(key(0), [2], 0, 2 ** 32), /^RangeError: randint: high is 4294967296/);
});
