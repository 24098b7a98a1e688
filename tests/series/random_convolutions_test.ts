/** Features of convolutions against naive loops. */
import assert from "node:assert/strict";
import { quantileOf } from "../../src/data/quantile.ts";
import {
  addChannels,
  biasCount,
  convolutionFeatureCount,
  convolutionFeatures,
  convolutionMemory,
  convolve,
  kernels,
  pool,
} from "../../src/series/models/random_convolutions.ts";
import { globalFeatureCount, writeGlobalFeatures } from "../../src/series/models/global_features.ts";
import { resample } from "../../src/series/read/resample.ts";
import { key } from "../../src/tensor/random.ts";

const wave = (length: number, seed = 1) =>
  Float64Array.from({ length }, (_, t) => Math.sin(1.3 * t * seed) + Math.cos(0.4 * t * t + seed));

/** y(t) = sum over i of w(i) x(t + (i - 4) d), with zeros outside of the series. */
function naive(x: ArrayLike<number>, kernel: readonly number[], dilation: number, t: number): number {
  let sum = 0;
  for (let i = 0; i < 9; i++) sum += (kernel.includes(i) ? 2 : -1) * (x[t + (i - 4) * dilation] ?? 0);
  return sum;
}

Deno.test("there are 84 kernels of six weights of -1 and three of 2, all different", () => {
  assert.equal(new Set(kernels.map(String)).size, 84);
  assert.ok(kernels.every((positions) => positions.length === 3 && new Set(positions).size === 3));
});

for (
  const { points, dilation } of [
    { points: 9, dilation: 1 },
    { points: 40, dilation: 1 },
    { points: 40, dilation: 4 },
    { points: 8, dilation: 1 },
  ]
) {
  Deno.test(`convolutions of ${points} points with dilation ${dilation} equal naive loops`, () => {
    const series = Float64Array.of(...wave(points), ...wave(points, 2), ...wave(points, 3));
    const [first, third] = [series.subarray(0, points), series.subarray(2 * points)];
    const sum = first.map((x, t) => x + third[t]);
    const memory = convolutionMemory(points);
    for (const kernel of kernels) {
      for (const [channels, x] of [[[0], first], [[0, 2], sum]] as const) {
        for (const isPadded of points > 8 * dilation ? [true, false] : [true]) {
          addChannels(series, points, { dilation, channels }, memory);
          const count = convolve(points, { kernel, dilation, isPadded }, memory);
          const from = isPadded ? 0 : 4 * dilation;
          assert.equal(count, points - 2 * from);
          for (let t = 0; t < count; t++) {
            assert.ok(Math.abs(memory.output[t] - naive(x, kernel, dilation, from + t)) < 1e-12);
          }
        }
      }
    }
  });
}

Deno.test("pooling gives the proportion, the mean, the mean position and the longest stretch above a bias", () => {
  const into = new Float64Array(4);
  pool(Float64Array.of(1, 3, 4, 0, 3, 9), 5, 2, into);
  assert.deepEqual([...into], [3 / 5, 4 / 3, 7 / 3 / 5, 2 / 5]);
  pool(Float64Array.of(1, 1), 2, 2, into);
  assert.deepEqual([...into], [0, 0, -1, 0]);
  pool(Float64Array.of(3, 3), 2, 2, into);
  assert.deepEqual([...into], [1, 1, 0.25, 1]);
  pool(Float64Array.of(-Infinity, 3, NaN, 4), 4, 2, into);
  assert.deepEqual([...into], [1 / 2, 3 / 2, 2 / 4, 1 / 4]);
});

Deno.test("thresholds are quantiles of convolutions, and the features are their pooled values", () => {
  const sizes = { channels: 1, points: 30, biases: 3, operators: 4, key: key(2) };
  const convolutions = convolutionFeatures(sizes);
  const series = wave(30);
  const thresholds = convolutions.thresholds(1, () => series);
  const features = new Float32Array(convolutionFeatureCount(sizes));
  convolutions.write(series, thresholds, features);
  assert.equal(features.length, 4 * biasCount(sizes));
  // The dilations of 30 points and three biases: 1, floor(sqrt(29 / 8)) = 1, and floor(29 / 8) = 3.
  const memory = convolutionMemory(30);
  addChannels(series, 30, { dilation: 3, channels: [0] }, memory);
  kernels.forEach((kernel, k) => {
    const isPadded = (k + 1) % 2 === 0;
    const count = convolve(30, { kernel, dilation: 3, isPadded }, memory);
    const values = memory.output.slice(0, count);
    const bias = 3 * k + 2;
    const share = (bias + 1) * (Math.sqrt(5) - 1) / 2 % 1;
    assert.equal(thresholds[bias], Math.fround(quantileOf(values.toSorted(), share)));
    const found = new Float64Array(4);
    pool(values, count, thresholds[bias], found);
    assert.deepEqual(features.subarray(4 * bias, 4 * bias + 4), Float32Array.from(found));
  });
});

Deno.test("a constant series has no values above a bias, in spite of rounding", () => {
  const sizes = { channels: 3, points: 30, biases: 4, operators: 4, key: key(2) };
  const convolutions = convolutionFeatures(sizes);
  const constant = (value: number) => Float64Array.from({ length: 90 }, (_, i) => value * (1 + (i % 3) / 7));
  const thresholds = convolutions.thresholds(1, () => constant(0.7));
  const features = new Float32Array(convolutionFeatureCount(sizes));
  const excesses = (value: number) => {
    convolutions.write(constant(value), thresholds, features);
    return features.filter((_, f) => f % 4 === 1 && features[f] > 0);
  };
  // A padded convolution is not 0 at the ends of a series.
  for (const value of [0.7, 0.7000001, 1.1, -2.3]) {
    assert.ok(excesses(value).every((excess) => excess > 1e-8), `${value}: ${Math.min(...excesses(value))}`);
  }
});

Deno.test("equal keys give equal features, and different keys give features of different channels", () => {
  const featuresOf = (seed: number) => {
    const sizes = { channels: 4, points: 12, biases: 2, operators: 1, key: key(seed) };
    const convolutions = convolutionFeatures(sizes);
    const features = new Float32Array(convolutionFeatureCount(sizes));
    const series = wave(48);
    convolutions.write(series, convolutions.thresholds(3, (i) => wave(48, i + 1)), features);
    return features;
  };
  assert.deepEqual(featuresOf(1), featuresOf(1));
  assert.notDeepEqual(featuresOf(1), featuresOf(2));
});

Deno.test("further draws have other channels and biases for the same kernels", () => {
  const sizes = { channels: 4, points: 12, biases: 2, operators: 1, draws: 2, key: key(1) };
  const convolutions = convolutionFeatures(sizes);
  const features = new Float32Array(convolutionFeatureCount(sizes));
  const thresholds = convolutions.thresholds(3, (i) => wave(48, i + 1));
  assert.equal(features.length, 2 * convolutionFeatureCount({ ...sizes, draws: 1 }));
  convolutions.write(wave(48), thresholds, features);
  const halves = (all: Float32Array) => [all.subarray(0, all.length / 2), all.subarray(all.length / 2)];
  for (const all of [thresholds, features]) {
    const [first, second] = halves(all);
    assert.ok(second.some((value) => value !== 0));
    assert.notDeepEqual(first, second);
  }
});

Deno.test("series are resampled linearly in time between the known values of each channel", () => {
  const series = { times: Float64Array.of(10, 11, 14), values: Float64Array.of(0, NaN, 1, 5, 4, NaN) };
  const grid = { points: 5, duration: 4 };
  assert.deepEqual([...resample(series, 2, [0], grid)], [0, 1, 2, 3, 4]);
  assert.deepEqual([...resample(series, 2, [1], grid)], [5, 5, 5, 5, 5]);
  assert.deepEqual([...resample(series, 2, [0], { points: 4, duration: 6 })], [0, 2, 4, 4]);
  assert.deepEqual([...resample(series, 2, [0], { points: 3, duration: 2 })], [0, 1, 2]);
  const unknown = { times: series.times, values: series.values.map(() => NaN) };
  assert.deepEqual([...resample(unknown, 2, [0, 1], { points: 2, duration: 4 })], [0, 0, 0, 0]);
  const single = { times: Float64Array.of(3), values: Float64Array.of(2) };
  assert.deepEqual([...resample(single, 1, [0], { points: 3, duration: 0 })], [2, 2, 2]);
});

Deno.test("a series with many more observations than points is averaged", () => {
  const times = Float64Array.from({ length: 1000 }, (_, t) => t);
  const values = times.map((t) => t % 2 === 0 ? 1 : -1);
  for (const value of resample({ times, values }, 1, [0], { points: 10, duration: 999 })) {
    assert.ok(Math.abs(value) < 0.05);
  }
});

Deno.test("global features are moments and shares of channels, the length and the duration", () => {
  const into = new Float32Array(globalFeatureCount(2));
  const series = {
    name: "",
    label: 0,
    times: Float64Array.of(5, 6, 8),
    values: Float64Array.of(1, NaN, 3, NaN, NaN, NaN),
  };
  writeGlobalFeatures(series, 2, 2, into);
  assert.deepEqual(into, Float32Array.of(2, 1, 2 / 3, 0, 0, 0, Math.log(3), Math.log1p(6)));
});
