/** Forecasts of own series by models that are fitted in closed form. */
import assert from "node:assert/strict";
import { execute, type RunConfig, testBest } from "../../src/train/mod.ts";
import { forecastVerdict } from "../../src/series/targets/forecast_verdict.ts";
import type { ForecastPrediction } from "../../src/series/record/predictions.ts";
import { experimentNamed, openTrained, resumeRun, startRun } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";
import { testLong } from "../devices.ts";

/** Monthly values with growth and a season; the row of an absent month is left out. */
function months(count: number, isAbsent = (_: number) => false): string {
  const rows = Array.from({ length: count }, (_, t) => {
    const value = 100 + 2 * t + 20 * Math.sin(Math.PI * t / 6) + 3 * Math.sin(77 * t * t);
    return `${1990 + Math.floor(t / 12)}-${`${t % 12 + 1}`.padStart(2, "0")},${value.toFixed(4)}`;
  });
  return `time,x\n${rows.filter((_, t) => !isAbsent(t)).join("\n")}\n`;
}

function config(data: string, more: Partial<RunConfig>): RunConfig {
  return {
    ...{ experiment: "own-series", device: "cpu", seed: 0, epochs: 1, batchSize: 64, learningRate: 0.003 },
    ...{ hidden: 4, task: "forecast", horizon: 6, data, ...more },
  };
}

for (
  const model of [
    ...["naive", "seasonal-naive", "exponential-smoothing", "autoregression", "linear", "boosted-trees"],
  ]
) {
  testLong(
    `${model} gives the same forecasts after training, from its folder, in a stream, and after it is resumed`,
    withFolder(async (folder) => {
      const data = `${folder}/own.csv`;
      await Deno.writeTextFile(data, months(96, (t) => t % 10 === 4));
      const run = await startRun(config(data, { model }), `${folder}/runs`);
      const { summary } = await execute(run);
      assert.equal(run.task.record.windows.season, 12);
      assert.ok(Number.isFinite(summary!.test.mase));
      const open = async () => (await openTrained(run.config, run.folder)).model;
      const trained = await open();
      const set = await trained.series!(data);
      const [expected] = await trained.predict!(set) as ForecastPrediction[];
      assert.equal(expected.times[0], "1998-01");
      const stream = trained.stream!(expected.series);
      const [{ times, values }] = set.series;
      let last;
      for (let i = 0; i < times.length; i++) last = await stream.push(times[i], [values[i]]);
      assert.deepEqual(last, expected);
      const again = await resumeRun(run.config, run.folder);
      assert.deepEqual((await execute(again)).summary!.test, summary!.test);
      assert.deepEqual((await testBest(again)).measures, summary!.test);
      assert.deepEqual((await (await open()).predict!(set))[0], expected);
    }),
  );

  Deno.test(
    `${model} learns from thirty rows with a horizon of six, and has intervals`,
    withFolder(async (folder) => {
      const data = `${folder}/own.csv`;
      await Deno.writeTextFile(data, months(30));
      const run = await startRun(config(data, { model }), `${folder}/runs`);
      await execute(run);
      const { model: trained } = await openTrained(run.config, run.folder);
      const [{ channels: { x } }] = await trained.predict!(
        await trained.series!(data),
      ) as ForecastPrediction[];
      assert.equal(x.mean.length, 6);
      x.mean.forEach((value, h) => {
        assert.ok(x.quantiles["0.1"][h] < value && value < x.quantiles["0.9"][h], `step ${h + 1}`);
      });
    }),
  );
}

Deno.test(
  "a linear forecaster with version 1 of the record, which gradients trained, is not fitted or trained further",
  withFolder(async (folder) => {
    const data = `${folder}/own.csv`;
    await Deno.writeTextFile(data, months(96));
    const run = await startRun(config(data, { model: "linear" }), `${folder}/runs`);
    const earlier = await experimentNamed("own-series").prepare(run.config as never, {
      ...run.task.record,
      version: 1,
    });
    assert.equal(earlier.fit, undefined);
    assert.throws(() => earlier.checkTraining!(), { code: "unsupported-version" });
  }),
);

Deno.test(
  "exponential smoothing of trend and season has smaller errors than the seasonal naive forecast",
  withFolder(async (folder) => {
    const data = `${folder}/own.csv`;
    await Deno.writeTextFile(data, months(120));
    const { summary } = await execute(
      await startRun(config(data, { model: "exponential-smoothing" }), `${folder}/runs`),
    );
    const { test, baselines } = summary!;
    assert.ok(test.mase < 0.3 * baselines!["the season before"].mase, `${test.mase}`);
    assert.match(
      forecastVerdict(test, baselines!)!,
      /^Better than the seasonal naive forecast \(MASE 0\.\d\d, /,
    );
  }),
);

Deno.test(
  "final weights learn from the validation period, and not from the test period",
  withFolder(async (folder) => {
    const forecastAfter = async (change: (t: number) => number) => {
      const rows = Array.from({ length: 100 }, (_, t) => `${t},${Math.sin(77 * t * t) + change(t)}`);
      const data = `${folder}/own.csv`;
      await Deno.writeTextFile(data, `time,x\n${rows.join("\n")}\n`);
      const run = await startRun(config(data, { model: "linear", season: 1, context: 4 }), `${folder}/runs`);
      await execute(run);
      const { model } = await openTrained(run.config, run.folder);
      const [series] = (await model.series!(data)).series;
      const past = { ...series, times: series.times.slice(0, 50), values: series.values.slice(0, 50) };
      const set = { ...await model.series!(data), series: [past] };
      return (await model.predict!(set) as ForecastPrediction[])[0].channels.x.mean;
    };
    const expected = await forecastAfter(() => 0);
    assert.deepEqual(await forecastAfter((t) => t >= 80 ? 9 : 0), expected);
    assert.notDeepEqual(await forecastAfter((t) => t >= 70 && t < 80 ? t : 0), expected);
  }),
);

Deno.test(
  "a linear forecast of a constant past is the constant, and series with a trend keep theirs",
  withFolder(async (folder) => {
    const data = `${folder}/own.csv`;
    const valueOf = { flat: () => 0.7, rising: (t: number) => 3 * t + Math.sin(77 * t * t) };
    const rows = Object.entries(valueOf).flatMap(([name, of]) =>
      Array.from({ length: 60 }, (_, t) => `${name},${t},${of(t)}`)
    );
    await Deno.writeTextFile(data, `series,time,x\n${rows.join("\n")}\n`);
    const run = await startRun(config(data, { model: "linear", context: 7, season: 1 }), `${folder}/runs`);
    await execute(run);
    const { model } = await openTrained(run.config, run.folder);
    const [flat, rising] = await model.predict!(await model.series!(data)) as ForecastPrediction[];
    flat.channels.x.mean.forEach((value) => assert.ok(Math.abs(value - 0.7) < 1e-5, `${value}`));
    rising.channels.x.mean.forEach((value, h) => assert.ok(Math.abs(value - 3 * (60 + h)) < 3, `${value}`));
  }),
);

Deno.test("the verdict compares MASE with the seasonal naive forecast, or the naive forecast without a season", () => {
  const naive = { "the last value": { mase: 2 } };
  const seasonal = { ...naive, "the season before": { mase: 1.57 } };
  assert.equal(
    forecastVerdict({ mase: 0.8 }, seasonal),
    "Better than the seasonal naive forecast (MASE 0.80, seasonal naive 1.57).",
  );
  assert.equal(
    forecastVerdict({ mase: 2 }, naive),
    "No better than the naive forecast (MASE 2.00, naive 2.00).",
  );
  assert.equal(forecastVerdict({ mae: 2 }, naive), undefined);
});
