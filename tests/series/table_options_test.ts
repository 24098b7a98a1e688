import assert from "node:assert/strict";
import { treeLeaves } from "../../src/tensor/tree.ts";
import { startRun } from "../runs.ts";
import type { TaskKind } from "../../src/series/record/predictions.ts";
import type { TableOptions } from "../../src/data/table/options.ts";
import { configOf } from "../../src/train/run/config.ts";
import { checkValues } from "../../src/train/experiment.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { makeCharacters, withFolder } from "../tasks/command_line.ts";

/** Series of one channel and a column of integers, constant within a series and missing in its first rows. */
const table = [
  "series,time,x,kind,label",
  ...Array.from(
    { length: 12 },
    (_, s) =>
      Array.from(
        { length: 30 },
        (_, t) => `s${s},${t},${Math.sin(t + s)},${t < 2 ? "" : s % 8},${1 + s % 2}`,
      ),
  ).flat(),
].join("\n");

/** The data and the split that a task reads. */
async function readAs(settings: SeriesSettings): Promise<unknown> {
  checkValues(ownSeries, { ...settings });
  ownSeries.check!(settings);
  const { data, record } = await ownSeries.prepare(settings);
  const tensors = [data.train, data.validation, data.test].flatMap((part) => treeLeaves(part));
  const { train, validation, test } = record!.split;
  return [record!.windows, train, validation, test, await Promise.all(tensors.map((x) => x.data()))];
}

for (const task of ["classify", "regress", "forecast"] satisfies TaskKind[]) {
  for (const option of ["group", "static", "known", "category"] satisfies (keyof TableOptions)[]) {
    Deno.test(
      `the table option ${option} changes the data of the task ${task} or is rejected by name`,
      withFolder(async (folder) => {
        const data = `${folder}/own.csv`;
        await Deno.writeTextFile(data, table);
        const read = (options: TableOptions) =>
          readAs({
            ...{
              seed: 0,
              epochs: 1,
              batchSize: 8,
              learningRate: 0.01,
              hidden: 4,
              model: "neural-cde",
              task,
              data,
            },
            ...(task === "forecast" ? { horizon: 2, context: 4 } : {}),
            table: options,
          });
        const options = option === "group" ? { group: "kind" } : { [option]: ["kind"] };
        const isRejected = task === "forecast" ? option === "group" : option === "known";
        if (isRejected) {
          const message = new RegExp(`task ${task} cannot use ${option}: leave it out`);
          await assert.rejects(() => read(options), message);
          return;
        }
        const found = await read(options);
        // If the column were read like any channel, or ignored, the option would have no effect.
        assert.notDeepEqual(found, await read({}));
        assert.notDeepEqual(found, await read({ ignore: ["kind"] }));
      }),
    );
  }
}

Deno.test(
  "table options are rejected by name if the data are not a table",
  withFolder(async (folder) => {
    const data = await makeCharacters(folder);
    const config = configOf(ownSeries, { device: "cpu", data });
    await assert.rejects(
      () => startRun({ ...config, table: { static: ["age"], zone: "Europe/Berlin" } }, `${folder}/runs`),
      /static, zone: options of tables, and this is a problem of the UEA archive/,
    );
    await startRun(config, `${folder}/runs`);
  }),
);
