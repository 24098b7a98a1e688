/** Models of users: in programs outside the repository, in lists of models, and in files for the option `--model`. */
import assert from "node:assert/strict";
import { layer } from "../../src/nn/layer.ts";
import { Linear } from "../../src/nn/linear.ts";
import { forecast, type Model, openTrained, ownSeriesWith, seriesModels } from "../../src/series/mod.ts";
import { testLong } from "../devices.ts";
import { outsideProgram, withOutsideFolder } from "../outside_program.ts";

const rows = Array.from({ length: 80 }, (_, time) => ({ time, x: time + 3 * Math.sin(time / 3) }));
const sales = { name: "sales", rows };
const options = { horizon: 4, epochs: 4, device: "cpu" } as const;

/** NLinear: a linear map of the past relative to its last value. */
const nLinear: Model = {
  name: "n-linear",
  forecasts: {
    takes: [],
    make({ context, horizon, key }) {
      const linear = Linear({ inputs: context, outputs: horizon, key });
      return layer(linear.parameters, ({ grid }) => {
        const last = grid.slice(1, context - 1);
        return linear(grid.sub(last).transpose()).transpose().add(last);
      });
    },
  },
};

Deno.test("a model of a user is trained, and opened again with the same models only", async () => {
  const trained = await forecast(sales, { ...options, models: [nLinear] });
  const expected = await trained.predict(sales);
  const opened = await openTrained(trained.files, { models: [...seriesModels, nLinear], device: "cpu" });
  assert.deepEqual(await opened.predict(sales), expected);
  await assert.rejects(openTrained(trained.files), /unknown model "n-linear"/);
});

Deno.test("the automatic choice compares a model of a user that is a candidate", async () => {
  const mine = { ...nLinear, forecasts: { ...nLinear.forecasts!, isCandidate: true } };
  const linear = seriesModels.find(({ name }) => name === "linear")!;
  const { record } = await forecast(sales, {
    horizon: 4,
    device: "cpu",
    models: [linear, mine],
    budget: "20s",
  });
  assert.deepEqual(record.training!.compared!.map(({ model }) => model), ["linear", "n-linear"]);
});

Deno.test("columns that are known ahead of time are rejected for a model that does not take them", async () => {
  const table = { name: "sales", rows: rows.map((row) => ({ ...row, holiday: row.time % 7 })) };
  const known = { ...options, models: [nLinear], table: { known: ["holiday"] } };
  await assert.rejects(forecast(table, known), /n-linear uses no values known ahead of time/);
});

Deno.test("a list with an invalid model is rejected", () => {
  const cases: [unknown, RegExp][] = [
    [[], /a list of at least one model/],
    [[{ ...nLinear, name: "N Linear" }], /lower-case letters, digits and hyphens/],
    [[{ ...nLinear, name: "auto" }], /two models are called "auto"/],
    [[nLinear, nLinear], /two models are called "n-linear"/],
    [[{ name: "nothing" }], /the model "nothing" predicts nothing/],
  ];
  for (const [models, message] of cases) {
    assert.throws(() => ownSeriesWith({ models: models as Model[] }), message);
  }
});

Deno.test("a task that no model of the list can do is rejected", async () => {
  const { wholeSeries } = seriesModels.find(({ name }) => name === "gru")!;
  const models = [{ name: "gru", wholeSeries }];
  await assert.rejects(forecast(sales, { ...options, models }), /no model can be used for task forecast/);
});

const program = `
import { ownSeries } from "@weft/weft/series";
import { runCommands } from "@weft/weft/commands";
Deno.exit(await runCommands([ownSeries], Deno.args));
`;

testLong(
  "commands outside the repository load the file of a model, also for predictions and to resume",
  () =>
    withOutsideFolder({
      "commands.ts": program,
      "mine.ts": new URL("../../examples/own_forecaster.ts", import.meta.url),
      "empty.ts": "export const model = 1;",
      "sales.csv": ["time,x", ...rows.map(({ time, x }) => `${time},${x}`)].join("\n"),
    }, async (folder) => {
      const run = async (...args: string[]) => {
        const { code, stdout, stderr } = await outsideProgram(folder, "commands.ts", ...args).output();
        const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
        return { code, out, error };
      };
      const train = ["train", "own-series", "--task", "forecast", "--data", "sales.csv", "--device", "cpu"];
      const sizes = ["--horizon", "4", "--epochs", "4", "--run", "run"];
      const trained = await run(...train, ...sizes, "--model", "./mine.ts");
      assert.equal(trained.code, 0, trained.error);
      const config = JSON.parse(await Deno.readTextFile(`${folder}/run/config.json`));
      assert.equal(config.model, await Deno.realPath(`${folder}/mine.ts`));

      const refused = await run("predict", "run", "sales.csv");
      assert.equal(refused.code, 1);
      assert.match(
        refused.error,
        /the model of this run is the file .*mine\.ts: if you trust its code, give it with --model/,
      );
      const predicted = await run("predict", "run", "sales.csv", "--model", "mine.ts");
      assert.equal(predicted.code, 0, predicted.error);
      const { channels } = JSON.parse(predicted.out);
      const [answer] = await (await forecast(sales, { ...options, models: [nLinear] })).predict(sales);
      assert.deepEqual(channels, answer.channels);
      const resumed = await run("train", "--resume", "run", "--epochs", "5");
      assert.equal(resumed.code, 0, resumed.error);

      for (const [file, message] of [["empty", /no default export/], ["none", /cannot be loaded/]] as const) {
        const failed = await run(...train, "--model", `./${file}.ts`);
        assert.equal(failed.code, 1);
        assert.match(failed.error, message);
      }
    }),
);
