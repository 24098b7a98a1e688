/** Networks that the automatic choice trains for forecasts: the final model learns from the validation part too. */
import assert from "node:assert/strict";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import type { ModelExperiment } from "../../src/series/models/model_settings.ts";
import { seriesModels } from "../../src/series/models/series_models.ts";
import { ownSeriesWith } from "../../src/series/run/own_series.ts";
import { configOf } from "../../src/train/run/config.ts";
import { execute, resumeRun, startRun } from "../../src/train/run/run.ts";
import { openBest } from "../../src/train/run/trained_run.ts";
import type { TrainedModel } from "../../src/series/models/trained_model.ts";
import { withFolder } from "../tasks/command_line.ts";

const network = seriesModels.find(({ name }) => name === "neural-cde")!;
const experiment: ModelExperiment = ownSeriesWith({ models: [network] });

Deno.test(
  "a forecasting network of auto learns from the validation part, keeps the errors of the comparison, and resumes",
  withFolder(async (folder) => {
    const rows = Array.from({ length: 60 }, (_, i) => `${i},${Math.sin(i / 2).toFixed(3)}`);
    await Deno.writeTextFile(`${folder}/t.csv`, ["time,x", ...rows].join("\n"));
    const config = configOf(experiment, {
      ...{ data: `${folder}/t.csv`, task: "forecast", horizon: 4, device: "cpu" },
    });
    const whole = await startRun(experiment, config, `${folder}/whole`);
    const { metrics, summary } = await execute(whole);
    assert.equal(metrics.length, 20);
    assert.equal(summary!.bestEpoch, 20);
    const record: DataRecord = JSON.parse(await Deno.readTextFile(whole.folder.data));
    assert.ok(record.training!.errors);

    const part = await startRun(experiment, config, `${folder}/part`);
    const stop = new AbortController();
    await execute(part, { signal: stop.signal, onEpoch: () => stop.abort() });
    const resumed = await execute(await resumeRun(experiment, config, part.folder));
    assert.deepEqual(resumed.summary!.test, summary!.test);

    const { model } = await openBest<TrainedModel, DataRecord>(experiment, config, whole.folder);
    const [forecast] = await model.predict!(await model.series!(`${folder}/t.csv`));
    assert.ok("channels" in forecast && forecast.channels.x.quantiles["0.9"].every(Number.isFinite));
  }),
);
