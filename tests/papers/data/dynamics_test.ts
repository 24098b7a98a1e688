import assert from "node:assert/strict";
import {
  lotkaVolterra,
  lotkaVolterraRanges,
  massSpringDamper,
  massSpringDamperRanges,
  repeatCopy,
  sineWaves,
} from "../../../tasks/papers/data/dynamics.ts";
import {
  maxAbsolute,
  rescale,
  solveSystem,
  timesUpTo,
  type Trajectories,
  valueRange,
} from "../../../tasks/papers/data/trajectories.ts";
import { key } from "../../../src/tensor/random.ts";
import { testLong } from "../../devices.ts";

const small = { length: 33 };

testLong("oscillations agree with the closed form", async () => {
  const parameters = [[0.02, 16, 0.2], [0.04, 4, 0.01], [0.01, 18, 0.3]];
  const { values, times } = await solveSystem(
    ([x, v], [m, k, c]) => [v, c.mul(v).add(k.mul(x)).div(m).neg()],
    parameters.map(() => [1, 0]),
    parameters,
    timesUpTo(1, 65),
  );
  parameters.forEach(([m, k, c], i) => {
    const decay = c / (2 * m);
    const frequency = Math.sqrt(k / m - decay ** 2);
    times.forEach((t, at) => {
      const expected = Math.exp(-decay * t) *
        (Math.cos(frequency * t) + decay / frequency * Math.sin(frequency * t));
      const found = values[(i * times.length + at) * 2];
      assert.ok(Math.abs(found - expected) < 1e-7, `series ${i}, time ${t}: ${found}, expected ${expected}`);
    });
  });
});

testLong("the parameters of mass-spring-dampers are within their range", async () => {
  const ranges = massSpringDamperRanges.outOfDistribution;
  const { values } = await massSpringDamper(64, key(0), { regime: "outOfDistribution", length: 4001 });
  // The initial acceleration is -k/m. It stays within the range, and sometimes exceeds the training range.
  const stiffness = Array.from({ length: 64 }, (_, i) => -values[(i * 4001 + 1) * 2 + 1] * 4000);
  const [min, max] = [ranges[1][0] / ranges[0][1], ranges[1][1] / ranges[0][0]];
  assert.ok(Math.min(...stiffness) > 0.9 * min && Math.max(...stiffness) < 1.1 * max, `${stiffness}`);
  assert.ok(Math.max(...stiffness) > 16 / 0.02, "no series is outside the training range");
});

testLong("MSD starts at rest at position 1, MSD-Zero close to it", async () => {
  const starts = async (variesInitial: boolean) => {
    const { values } = await massSpringDamper(50, key(3), { ...small, variesInitial });
    return Array.from({ length: 50 }, (_, i) => [...values.subarray(i * 66, i * 66 + 2)]);
  };
  for (const start of await starts(false)) assert.deepEqual(start, [1, 0]);
  const varied = await starts(true);
  for (const [x, v] of varied) assert.ok(Math.abs(x - 1) <= 0.5 && Math.abs(v) <= 0.5);
  assert.ok(new Set(varied.map(([x]) => x)).size === 50);
});

testLong("Lotka-Volterra keeps its constant of motion along a trajectory", async () => {
  // delta x - gamma ln x + beta y - alpha ln y is constant, so four differences determine the parameters up
  // to a factor. Here the trajectory of known parameters is checked.
  const [alpha, beta, gamma, delta] = lotkaVolterraRanges.paper.train.map(([low]) => low);
  const { values } = await solveSystem(
    ([x, y], [a, b, d, g]) => [a.mul(x).sub(b.mul(x).mul(y)), d.mul(x).mul(y).sub(g.mul(y))],
    [[1, 1]],
    [[alpha, beta, delta, gamma]],
    timesUpTo(1, 33),
  );
  const constant = (x: number, y: number) => delta * x - gamma * Math.log(x) + beta * y - alpha * Math.log(y);
  for (let t = 0; t < 33; t++) {
    const found = constant(values[2 * t], values[2 * t + 1]);
    assert.ok(Math.abs(found - constant(1, 1)) < 1e-4, `time ${t}: ${found}, expected ${constant(1, 1)}`);
  }
});

for (const make of [massSpringDamper, lotkaVolterra]) {
  testLong(
    `${make.name}: the number of trajectories does not change the first ones, and another key does`,
    async () => {
      const [some, more, other] = [
        await make(3, key(1), small),
        await make(5, key(1), small),
        await make(3, key(2), small),
      ];
      const distance = (values: Float64Array) =>
        Math.max(...some.values.map((value, i) => Math.abs(value - values[i])));
      assert.ok(distance(more.values) < 1e-6, `${distance(more.values)}`);
      assert.ok(distance(other.values) > 1e-2);
    },
  );
}

testLong("the Lotka-Volterra parameters match the paper or the authors' code", async () => {
  // At (1, 1) the slopes are alpha - beta and delta - gamma. Predators die out with the paper's ranges, and
  // thrive with the code's ranges.
  const length = 1001;
  for (const [ranges, low, high] of [["paper", -100, -30], ["code", 30, 100]] as const) {
    const { values } = await lotkaVolterra(8, key(5), { length, ranges });
    const slopes = Array.from(
      { length: 8 },
      (_, i) => (values[(i * length + 1) * 2 + 1] - 1) * (length - 1),
    );
    // Slopes of differences are a few units off.
    assert.ok(Math.min(...slopes) > low - 6 && Math.max(...slopes) < high + 6, `${ranges}: ${slopes}`);
  }
});

/** Four series of two channels. */
const made: Trajectories = {
  times: timesUpTo(1, 256),
  values: Float64Array.from({ length: 4 * 256 * 2 }, (_, i) => Math.sin(i)),
  shape: [4, 256, 2],
};

Deno.test("repeat-copy shows a prefix and expects three copies, separated by ten values of -1", () => {
  const { inputs, targets, shown } = repeatCopy(made, key(8));
  shown.forEach((prefix, i) => {
    assert.ok(prefix >= 32 && prefix < 64);
    for (let t = 0; t < 256; t++) {
      const at = (i * 256 + t) * 2;
      const original = made.values[at];
      assert.equal(inputs.values[at], t < prefix ? original : -1);
      const [copy, phase] = [Math.floor(t / (prefix + 10)), t % (prefix + 10)];
      assert.equal(
        targets.values[at],
        copy < 3 && phase < prefix ? made.values[(i * 256 + phase) * 2] : -1,
      );
    }
  });
});

Deno.test("repeat-copy of the authors' code continues to the end, separated by fifty zeros", () => {
  const { targets, shown } = repeatCopy(made, key(8), { spacing: 50, copies: Infinity, separator: 0 });
  shown.forEach((prefix, i) => {
    for (let t = 0; t < 256; t++) {
      const phase = t % (prefix + 50);
      assert.equal(
        targets.values[(i * 256 + t) * 2],
        phase < prefix ? made.values[(i * 256 + phase) * 2] : 0,
      );
    }
  });
});

Deno.test("sine waves begin at the sine of their phase, within pi/6, and end where they began", () => {
  const { values, shape } = sineWaves(100, key(4));
  assert.deepEqual(shape, [100, 16, 1]);
  const starts = Array.from({ length: 100 }, (_, i) => values[16 * i]);
  assert.ok(Math.max(...starts) <= 0.5 && Math.min(...starts) >= -0.5);
  assert.ok(Math.max(...starts) > 0.4 && Math.min(...starts) < -0.4);
  starts.forEach((start, i) => assert.ok(Math.abs(values[16 * i + 15] - start) < 1e-12));
});

Deno.test("the largest value is the largest absolute value", () => {
  assert.equal(maxAbsolute({ values: Float64Array.of(0.5, -3, 2) }), 3);
});

Deno.test("rescaling maps training data to [-1, 1] and applies the same map to test data", () => {
  const train = { times: timesUpTo(1, 2), values: Float64Array.of(0, 2, 4, 8), shape: [1, 2, 2] as const };
  const range = valueRange(train);
  assert.deepEqual([...rescale(train, range).values], [-1, -0.5, 0, 1]);
  assert.deepEqual([...rescale({ ...train, values: Float64Array.of(16, 4, 0, 0) }, range).values], [
    3,
    0,
    -1,
    -1,
  ]);
});
