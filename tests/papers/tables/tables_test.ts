import assert from "node:assert/strict";
import { experimentNamed } from "../../runs.ts";
import { checkValues, settingsOf } from "../../../src/train/experiment.ts";
import { neuralModels } from "../../../src/series/models/neural/neural_models.ts";
import { imageModels } from "../../../tasks/papers/experiments/image_models.ts";
import { tables } from "../../../tasks/papers/tables/registry.ts";
import { givenSettings, scales, tableRuns } from "../../../tasks/papers/tables/table.ts";

for (const table of tables) {
  Deno.test(`the runs of ${table.name} have valid models, experiments and settings`, async () => {
    for (const row of table.rows) {
      assert.ok(!row.published || row.published.length === table.columns.length, row.title);
    }
    assert(table.rows.some(({ model }) => model === table.reference), table.reference);
    for (const scale of scales.filter((scale) => table.scales[scale])) {
      const runs = await tableRuns(table, { scale });
      assert.equal(new Set(runs.map(({ folder }) => folder.path)).size, runs.length);
      for (const { config } of runs) {
        const { experiment, ...settings } = config;
        checkValues(experimentNamed(experiment), settings);
        experimentNamed(experiment).check!(settings);
        const model = config.model as string;
        assert(model in { ...neuralModels, ...imageModels }, model);
      }
    }
  });
}

Deno.test("the configuration of a run is complete: no default adds to it or changes it", async () => {
  for (const table of tables) {
    for (const scale of scales.filter((scale) => table.scales[scale])) {
      for (const { config } of await tableRuns(table, { scale, seeds: [0] })) {
        const { experiment } = config;
        const { device: _, ...settings } = givenSettings(config);
        const found = settingsOf(experimentNamed(experiment), settings);
        const chosen = Object.entries(found).filter(([, value]) => value !== undefined && value !== false);
        const added = chosen.filter(([name]) => !(name in config)).map(([name]) => name);
        assert.deepEqual(added, [], `${table.name}, ${scale}, ${config.model}, ${experiment}`);
      }
    }
  }
});

Deno.test("the name of a run depends on its settings and not on data path and device", async () => {
  const [table] = tables;
  const runs = await tableRuns(table, { scale: "small", seeds: [0] });
  const moved = await tableRuns(table, {
    scale: "small",
    seeds: [0],
    data: "/moved/",
    device: "cpu",
  });
  assert.deepEqual(moved.map(({ folder }) => folder.path), runs.map(({ folder }) => folder.path));
  assert.equal(moved[0].config.data, "/moved/CharacterTrajectories.zip");
  const paperRuns = await tableRuns(table, { scale: "paper", seeds: [0] });
  assert.equal(new Set([...runs, ...paperRuns].map(({ folder }) => folder.path)).size, 2 * runs.length);
});

Deno.test("columns of one problem share runs, and rows have no run for values that the paper does not have", async () => {
  const table = tables.find(({ name }) => name === "warp-table-2")!;
  const options = { scale: "small", seeds: [0], models: ["warp-phys"] } as const;
  const columnsOf = async (experiments?: string[]) =>
    (await tableRuns(table, { ...options, experiments }))
      .map(({ config, columns }) => [config.experiment, columns.length]);
  assert.deepEqual(
    await columnsOf(),
    [["mass-spring-damper", 2], ["mass-spring-damper-zero", 2], ["sine", 2]],
  );
  assert.deepEqual(await columnsOf(["sine"]), [["sine", 2]]);
  await assert.rejects(
    columnsOf(["cosine"]),
    /has no column of the experiment "cosine"; did you mean sine\?/,
  );
});

Deno.test("an unknown scale is rejected with a list of the scales of the table", async () => {
  const table = tables.find(({ scales }) => !scales.paper)!;
  await assert.rejects(tableRuns(table, { scale: "paper" }), /has no scale "paper"; it has small/);
});

Deno.test("a model without a row is rejected with a list of the models of the table", async () => {
  await assert.rejects(
    tableRuns(tables[0], { scale: "small", models: ["transformer-xl"] }),
    /ncde-table-1 has no row of the model "transformer-xl"; expected .*neural-cde/,
  );
});
