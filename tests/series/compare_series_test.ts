/** The comparison of models for numbers: which are trained longer, and which are left out. */
import assert from "node:assert/strict";
import { compareWholeSeries } from "../../src/series/choose/compare_series.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { tinyTask } from "../train/tiny_task.ts";

const settings = { seed: 0, batchSize: 8, budget: "1m" } as SeriesSettings;
const series = Array.from({ length: 12 }, (_, i) => ({
  name: `${i}`,
  times: Float64Array.of(0),
  values: Float64Array.of(0),
  label: -1,
  targets: Float64Array.of(i % 2 ? 1 : -1),
}));

/** Error of a model's predictions after some steps; undefined for a model that is fitted in closed form. */
type Models = Readonly<Record<string, (steps: number, place: number) => number>>;

/**
 * Compares models whose errors are given.
 *
 * @param closed Names of the models that are fitted in closed form.
 * @param options `seconds`: work of a fit; `baselines`: names of the baselines; `averages`: names of the models that a
 * model averages.
 */
async function compare(
  models: Models,
  closed: readonly string[],
  { seconds = 0.01, baselines = [], averages = {} }: {
    seconds?: number;
    baselines?: readonly string[];
    averages?: Readonly<Record<string, readonly string[]>>;
  } = {},
) {
  const trainings: string[] = [];
  const lines: string[] = [];
  const found = await compareWholeSeries({
    settings,
    problem: {
      series,
      classes: 0,
      seconds: () => seconds,
      async task({ model }, { validation }, steps) {
        trainings.push(`${model} ${steps}`);
        const { optimizer, schedule, ...task } = await tinyTask();
        return {
          ...task,
          ...(closed.includes(model!) ? { fit: async () => {} } : { optimizer, schedule }),
          predictValidation: () =>
            Promise.resolve(validation.map((place) => [
              series[place].targets[0] * (1 - models[model!](steps, place) * (place < 6 ? 1 : 0.9)),
            ])),
        };
      },
    },
    candidates: Object.keys(models).map((label) => ({
      label,
      chosen: { model: label },
      isBaseline: baselines.includes(label),
      averages: averages[label],
    })),
    folds: 2,
    steps: [1, 3, 10],
    onLine: (line) => lines.push(line),
  });
  const reasons = Object.fromEntries(found!.compared.map(({ model, reason }) => [model, reason]));
  return { found: found!, trainings: [...new Set(trainings)], reasons, lines };
}

Deno.test("only the better half of the networks is trained longer, as long as it gets better", async () => {
  const { found, trainings, reasons } = await compare({
    simple: () => 0.9,
    good: (steps) => steps > 1 ? 0.3 : 0.8,
    bad: () => 0.95,
  }, ["simple"]);
  assert.deepEqual(trainings, ["simple 1", "good 1", "bad 1", "good 3", "good 10"]);
  assert.equal(found.chosen.model, "good");
  assert.equal(found.found.steps, 3);
  assert.match(reasons.bad!, /^not trained longer: /);
});

Deno.test("networks far behind a simple model get one more look at the best of them", async () => {
  const { found, trainings, reasons, lines } = await compare({
    simple: () => 0.1,
    first: () => 0.9,
    second: (steps) => 0.8 - 0.01 * steps,
  }, ["simple"]);
  assert.deepEqual(trainings, ["simple 1", "first 1", "second 1", "second 3"]);
  assert.equal(found.chosen.model, "simple");
  assert.equal(reasons.first, "not trained longer: clearly behind simple");
  assert.equal(reasons.second, "not trained longer: clearly behind simple");
  assert.ok(lines.includes("  not trained longer: second (clearly behind simple)"), lines.join("\n"));
});

Deno.test("nothing is compared after a model without an error", async () => {
  const { trainings, reasons } = await compare({ simple: () => 0, other: () => 0.5 }, ["simple"]);
  assert.deepEqual(trainings, ["simple 1"]);
  assert.equal(reasons.other, "not started: simple makes no error");
});

Deno.test("a model whose work exceeds the budget is left out, except the first one", async () => {
  const { found, reasons } = await compare({ simple: () => 0.9, other: () => 0.5 }, ["simple", "other"], {
    seconds: 40,
  });
  assert.equal(found.chosen.model, "simple");
  assert.match(
    reasons.other!,
    /^not started: its work is 1 minute 20 seconds on a typical machine, and the budget/,
  );
});

Deno.test("a model that is worse than the mean is not chosen over a better one", async () => {
  const { found } = await compare({ bad: () => 2.5, constant: () => 1.1 }, ["bad", "constant"]);
  assert.equal(found.chosen.model, "constant");
});

Deno.test("of models in closed form the best is chosen, but a baseline and a network only if it is not close", async () => {
  const worse = () => 0.302;
  const better = (_: number, place: number) => place % 2 ? 0.1 : 0.4;
  const closed = ["a", "b"];
  assert.equal((await compare({ a: worse, b: better }, closed)).found.chosen.model, "b");
  const baselines = ["a"];
  assert.equal((await compare({ a: worse, b: better }, closed, { baselines })).found.chosen.model, "a");
  assert.equal((await compare({ a: worse, network: better }, ["a"])).found.chosen.model, "a");
});

Deno.test("close models in closed form are compared with other folds too", async () => {
  let predicted = 0;
  // The first comparison predicts each series once.
  const lucky = (_: number, place: number) => predicted++ >= series.length ? 0.9 : place % 2 ? 0.1 : 0.4;
  const { found, lines } = await compare({ steady: () => 0.302, lucky }, ["steady", "lucky"]);
  assert.equal(found.chosen.model, "steady");
  assert.ok(lines.includes("  close: steady and lucky are compared with other folds too"), lines.join("\n"));
});

Deno.test("a model that averages the best one is preferred to it, unless it is clearly worse", async () => {
  const best = (_: number, place: number) => place % 2 ? 0.1 : 0.4;
  const chosen = async (error: number, averages: Readonly<Record<string, readonly string[]>>) => {
    const { found, lines } = await compare({ best, mean: () => error }, ["best", "mean"], { averages });
    assert.equal(found.replaced !== undefined, lines.some((line) => line.includes("mean averages best")));
    return [found.chosen.model, found.replaced];
  };
  assert.deepEqual(await chosen(0.302, {}), ["best", undefined]);
  assert.deepEqual(await chosen(0.302, { mean: ["best"] }), ["mean", "best"]);
  assert.deepEqual(await chosen(0.5, { mean: ["best"] }), ["best", undefined]);
  assert.deepEqual(
    await chosen(0.1, { mean: ["best"] }),
    ["mean", undefined],
    "the mean has the smallest error",
  );
});
