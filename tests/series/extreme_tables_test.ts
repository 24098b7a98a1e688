/** Columns that are constant within series, and a sample of `deno task fuzz --kind tables`. */
import assert from "node:assert/strict";
import { init } from "../../mod.ts";
import type { SeriesSet } from "../../src/data/series.ts";
import { classify, regress } from "../../src/series/run/learn.ts";
import { testLong } from "../devices.ts";
import { channelKinds, checkCase, departures, drawCase } from "./extreme_tables.ts";

/** Series at uneven times whose age is constant, and rises by 1 halfway if `rises`. The target depends on it. */
function ages(count: number, rises: boolean): SeriesSet {
  const series = Array.from({ length: count }, (_, i) => {
    const [rows, age] = [4 + i % 5, 46 + (7 * i) % 17];
    return {
      name: `s${i}`,
      times: Float64Array.from({ length: rows }, (_, t) => 7.5 * t + (t * i) % 3 / 4),
      values: Float64Array.from({ length: rows }, (_, t) => age + (rises && 2 * t >= rows ? 1 : 0)),
      label: +(age > 54),
      targets: Float64Array.of(2.7 + (age - 54) / 10 + (i % 3 - 1) / 10),
    };
  });
  return {
    name: "ages",
    channels: ["age"],
    times: "number",
    classes: ["young", "old"],
    targets: ["y"],
    series,
  };
}

const options = { model: "random-convolutions", device: "cpu", noRefit: true } as const;

testLong(
  "numbers of series with a constant are predicted as well if the constant changes a little",
  async () => {
    const model = await regress(ages(60, false), options);
    const { measures, warnings } = await model.evaluate(ages(20, true));
    assert.ok(measures.r2 > 0.8, `R² ${measures.r2}`);
    assert.deepEqual(warnings, []);
  },
);

testLong(
  "classes of series with a constant are predicted as well if the constant changes a little",
  async () => {
    const model = await classify(ages(60, false), options);
    const { measures, warnings } = await model.evaluate(ages(20, true));
    assert.ok(measures.accuracy >= 0.85, `accuracy ${measures.accuracy}`);
    assert.ok(measures.logLoss < 0.5, `log loss ${measures.logLoss}`);
    assert.deepEqual(warnings, []);
  },
);

/** Checks cases, and lists the failures. */
async function failuresOf(cases: readonly ReturnType<typeof drawCase>[]): Promise<string[]> {
  await init({ device: "cpu" });
  const failures: string[] = [];
  for (const one of cases) {
    const { failure } = await checkCase(one);
    if (failure) failures.push(`${one.channels}, ${one.departure}: ${failure}`);
  }
  return failures;
}

testLong(
  "linear forecasts of every kind of column outside its range are close or have a warning",
  async () => {
    const cases = Object.keys(channelKinds).map((kind, seed) =>
      drawCase(seed, { task: "forecast", model: "linear", channels: [kind] })
    );
    assert.deepEqual(await failuresOf(cases), []);
  },
);

for (const model of ["last-values", "random-convolutions", "boosted-trees", "blend"]) {
  for (const task of ["regress", "classify"] as const) {
    testLong(
      `${model}, ${task}: predictions of every kind of column are close or have a warning`,
      async () => {
        const ways = Object.keys(departures);
        // A departure for each kind, different for neighbouring kinds and for the two tasks.
        const cases = Object.keys(channelKinds).map((kind, seed) => {
          const way = task === "regress" ? seed : 3 * seed + 7;
          const departure = ways[way % ways.length];
          return drawCase(seed, { task, model, channels: [kind], target: "ordinary", departure });
        });
        assert.deepEqual(await failuresOf(cases), []);
      },
    );
  }
}
