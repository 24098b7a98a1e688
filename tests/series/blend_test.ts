/** The model blend of own-series: a weighted mean of models that are fitted in closed form. */
import assert from "node:assert/strict";
import type { Series } from "../../src/data/series.ts";
import { blendNetwork } from "../../src/series/models/fitted/blend.ts";
import { fittedNetwork } from "../../src/series/models/fitted/fitted_networks.ts";
import type {
  FittedModelKind,
  SeriesNetwork,
  SeriesNetworkOptions,
} from "../../src/series/models/series_network.ts";
import { chooseWeights } from "../../src/series/math/choose_weights.ts";
import type { ClassPrediction, NumberPrediction } from "../../src/series/record/predictions.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { settingsOf } from "../../src/train/experiment.ts";
import { withFolder } from "../tasks/command_line.ts";
import { configOf } from "../../src/train/run/config.ts";
import { execute } from "../../src/train/mod.ts";
import { openTrained, readRunConfig, startRun } from "../runs.ts";
import { answersOf, write } from "./own_series_runs.ts";

/** Trains on a table, and opens the run as another process would. */
async function trainedOn(folder: string, data: string, chosen: object) {
  const config = configOf(ownSeries, { device: "cpu", model: "blend", data, ...chosen });
  const run = await startRun(config, `${folder}/runs`);
  const { summary } = await execute(run);
  const { model } = await openTrained(await readRunConfig(run.folder), run.folder);
  return { model, test: summary!.test };
}

Deno.test("weights have the smallest squared error, add up to 1, and are separate for each column", () => {
  const truth = Float64Array.from({ length: 40 }, (_, i) => Math.sin(i));
  const one = truth.map((value, i) => value + (i % 4 < 2 ? 0.7 : -0.7));
  const other = truth.map((value, i) => value + (i % 4 < 2 ? -0.3 : 0.3));
  assert.deepEqual(chooseWeights([one, other], truth, 1), [[0.3], [0.7]]);
  const columns = chooseWeights([one, other.map((value, i) => i % 2 ? value : 9)], truth, 2);
  assert.deepEqual(columns, [[1, 0.3], [0, 0.7]]);
});

Deno.test("weights ignore unknown numbers, and equal models leave all weight to the first", () => {
  const truth = Float64Array.of(1, NaN, 2);
  assert.deepEqual(chooseWeights([Float64Array.of(1, 5, 2), Float64Array.of(0, 0, 0)], truth, 1), [[1], [0]]);
  const same = Float64Array.of(0, 0, 0);
  assert.deepEqual(chooseWeights([same, same, same], truth, 1), [[1], [0], [0]]);
});

/**
 * Visits whose number `value` is a slope of the last `x` and a step at the age of 50, which no member of the blend finds
 * alone. `other` is twice the last value.
 */
function visits(count: number, first = 0): unknown[][] {
  return Array.from({ length: count }, (_, s) => {
    const id = first + s;
    const [age, last] = [30 + id * 7 % 40, id * 37 % 100 / 5];
    const value = last + (age > 50 ? 8 : 0);
    return Array.from({ length: 2 + id % 3 }, (_, t, length = 2 + id % 3) => {
      const x = t === length - 1 ? last : (id * 13 + t * 29) % 100 / 5;
      return [`v${id}`, t, x, age, value, 2 * last, value > 14 ? "high" : "low"];
    });
  }).flat();
}

const header = "series,time,x,age,value,other,label";

Deno.test(
  "a blend predicts numbers better than its members, with equal digits alone and together",
  withFolder(async (folder) => {
    const data = await write(`${folder}/visits.csv`, header, visits(48));
    const fresh = await write(`${folder}/fresh.csv`, header, visits(40, 48));
    const task = {
      task: "regress",
      table: { target: ["value", "other"], ignore: ["label"], static: ["age"] },
    };
    const errorOf = async (model: string) => {
      const { model: trained } = await trainedOn(folder, data, { ...task, model });
      const answers = await answersOf<NumberPrediction>(trained, fresh);
      const rows = visits(40, 48);
      const truth = new Map(rows.map(([name, , , , value]) => [name, Number(value)]));
      return answers.reduce((sum, { series, numbers }) => sum + (numbers.value - truth.get(series)!) ** 2, 0);
    };
    const blend = await errorOf("blend");
    for (const member of ["last-values", "boosted-trees"]) {
      const error = await errorOf(member);
      assert.ok(blend < error, `${blend}, ${member} ${error}`);
    }
  }),
);

Deno.test(
  "a blend predicts classes by the mean of the probabilities",
  withFolder(async (folder) => {
    const data = await write(`${folder}/visits.csv`, header, visits(80));
    const fresh = await write(`${folder}/fresh.csv`, header, visits(40, 80));
    const { model, test } = await trainedOn(folder, data, {
      table: { ignore: ["value", "other"], static: ["age"] },
    });
    assert.ok(test.accuracy > 0.7, `${test.accuracy}`);
    for (const { probabilities } of await answersOf<ClassPrediction>(model, fresh)) {
      const sum = Object.values(probabilities).reduce((a, b) => a + b);
      assert.ok(Math.abs(sum - 1) < 1e-6, `${sum}`);
    }
  }),
);

Deno.test("a comparison fits a model once for the same series, alone and in a blend", async () => {
  const fitted: string[] = [];
  const cleared: string[] = [];
  const kindNamed = (name: string) => ({
    network: () => ({
      parameters: {},
      fit(series: readonly Series[]) {
        fitted.push(`${name} ${series.length}`);
        return Promise.resolve(new Float64Array(series.length));
      },
      clearCache: () => cleared.push(name),
    }),
  } as unknown as FittedModelKind);
  const [one, other] = [kindNamed("one"), kindNamed("other")];
  const networks: SeriesNetworkOptions["fitted"] = new Map();
  const fit = async (count: number, networkOf: (options: SeriesNetworkOptions) => Partial<SeriesNetwork>) => {
    const train = Array.from({ length: count }, (_, position) => ({ position, label: 0 }));
    const record = { version: 4, targets: [], split: { train } };
    const options = { record, fitted: networks } as unknown as SeriesNetworkOptions;
    await networkOf(options).fit!(train as unknown as Series[], new Float64Array(count));
  };
  for (const count of [3, 4]) {
    await fit(
      count,
      (options) => fittedNetwork(networks, "one", options.record, () => one.network(options, 1)),
    );
    await fit(count, (options) => blendNetwork({ one, other }, options, 1));
    await fit(
      count,
      (options) => fittedNetwork(networks, "other", options.record, () => other.network(options, 1)),
    );
  }
  assert.deepEqual(fitted, ["one 3", "other 3", "one 4", "other 4"]);
  assert.deepEqual(cleared, ["one", "other", "one", "other"], "the caches are empty after each fit");
});

Deno.test("options that not all members can use are rejected", () => {
  const wrong = {
    epochs: 3,
    learningRate: 0.1,
    balance: true,
    positiveWeight: 2,
    intensity: true,
    ensemble: 2,
    online: true,
  };
  for (const [name, value] of Object.entries(wrong)) {
    assert.throws(() => settingsOf(ownSeries, { model: "blend", [name]: value }), /cannot use/);
  }
});
