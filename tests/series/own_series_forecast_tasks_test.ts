/** Forecasts of own-series: their times, intervals, streams and columns. */
import assert from "node:assert/strict";
import { windowsOf } from "../../src/series/read/forecast_windows.ts";
import type { ForecastPrediction } from "../../src/series/record/predictions.ts";
import { key, randpermArray } from "../../src/tensor/random.ts";
import { startRun } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";
import { answersOf, settings, trainedOn, write } from "./own_series_runs.ts";
import { testLong } from "../devices.ts";

/** Two waves of a period of eight steps. */
const wave = (name: string, t: number) => 10 + 3 * Math.sin(Math.PI * t / 4) + (name === "a" ? 0 : 5);

testLong(
  "a forecast starts after the last value of each series and uses the times of rows without values",
  withFolder(async (folder) => {
    const rows = ["a", "b"].flatMap((name) =>
      Array.from({ length: 120 }, (_, t) => [name, t, wave(name, t).toFixed(6)])
    );
    const data = await write(`${folder}/own.csv`, "series,time,x", [...rows, ["short", 0, 1], [
      "short",
      8,
      1,
    ]]);
    const chosen = { task: "forecast", horizon: 8, context: 16, epochs: 1, model: "linear" } as const;
    const { task } = await startRun({ ...settings, ...chosen, data }, `${folder}/runs`);
    assert.match(task.description!.at(-1)!, /^nothing is learned from 1 of 3 series, "short": .* shorter/);
    const { model, test } = await trainedOn(folder, data, chosen);
    assert.ok(test.loss < 0.02, `${test.loss}`);
    assert.ok(test.mase < 0.2, `${test.mase}`);
    const extended = [...rows, ["a", 120, ""], ["a", 121.5, ""]];
    const [a, b] = await answersOf<ForecastPrediction>(
      model,
      await write(`${folder}/new.csv`, "series,time,x", extended),
    );
    assert.deepEqual(a.times, [120, 121.5]);
    // Of 120 steps, the first 72 are training data: windows with 2 to 64 context steps and 8 future steps.
    const { count, seen } = await model.samples(data);
    assert.deepEqual([count, seen], [2 * 111, 2 * 63]);
    assert.deepEqual(b.times, Array.from({ length: 8 }, (_, i) => 120 + i));
    for (const { series, times, channels } of [a, b]) {
      times.forEach((time, i) => {
        const error = Math.abs(channels.x.mean[i] - wave(series, time as number));
        assert.ok(error < 0.8, `${series} at ${time}: ${error}`);
      });
    }
  }),
);

testLong(
  "irregular series are forecast by a model that reads their times",
  withFolder(async (folder) => {
    const rows = Array.from({ length: 80 }, (_, i) => {
      const t = i + 0.4 * Math.sin(5 * i);
      return ["a", t.toFixed(4), wave("a", t).toFixed(6)];
    });
    const data = await write(`${folder}/own.csv`, "series,time,x", rows);
    const { model, test } = await trainedOn(folder, data, {
      ...{ task: "forecast", horizon: 4, context: 12, epochs: 15, model: "neural-cde" },
    });
    assert.ok(test.loss < 0.5, `${test.loss}, and 1 for a forecast of the mean`);
    const [{ times, channels: { x: { quantiles } } }] = await answersOf<ForecastPrediction>(model, data);
    assert.equal(times.length, 4);
    for (const step of times.keys()) {
      const values = Object.values(quantiles).map((line) => line[step]);
      assert.equal(values.length, 9);
      assert.deepEqual(values, values.toSorted((a, b) => a - b));
    }
    // A series with more observations than a window has steps does not change the answers for other series of
    // its batch.
    const dense = Array.from({ length: 60 }, (_, i) => ["b", i / 2, wave("b", i / 2)]);
    await answersOf(model, await write(`${folder}/new.csv`, "series,time,x", [...rows, ...dense]));
  }),
);

Deno.test(
  "a horizon given as a duration is converted to steps of the dates",
  withFolder(async (folder) => {
    const hour = (t: number) => new Date(3_600_000 * t).toISOString().replace(".000Z", "Z");
    const dated = Array.from({ length: 80 }, (_, t) => [hour(2 * t), Math.sin(t)]);
    const data = await write(`${folder}/dated.csv`, "time,x", dated);
    const chosen = { task: "forecast", horizon: "6h", context: 4, epochs: 1, model: "linear" } as const;
    const { model } = await trainedOn(folder, data, chosen);
    const [answer] = await model.predict!(await model.series!(data));
    assert.deepEqual((answer as ForecastPrediction).times, [160, 162, 164].map((t) => hour(t)));
    await assert.rejects(
      () => trainedOn(folder, data, { ...chosen, horizon: "30min" }),
      /horizon 30min is shorter than a step of 2 hours; give a longer one/,
    );
    const numbered = await write(`${folder}/numbered.csv`, "time,x", dated.map(([, x], t) => [t, x]));
    await assert.rejects(
      () => trainedOn(folder, numbered, chosen),
      /horizon 6h needs dates, and these times are numbers; give a number of steps/,
    );
  }),
);

Deno.test(
  "80 % intervals cover 80 % of held-out noise, and the seasonal baseline is not better than the model",
  withFolder(async (folder) => {
    const noise = randpermArray(key(0), 1000);
    const rows = Array.from({ length: 1000 }, (_, t) => ["a", t, wave("a", t) + noise[t] / 500]);
    const data = await write(`${folder}/own.csv`, "series,time,x", rows);
    const { baselines, test } = await trainedOn(folder, data, {
      ...{ task: "forecast", horizon: 8, season: 8, epochs: 1, model: "linear" },
    });
    assert.ok(test.coverage > 0.75 && test.coverage < 0.85, `${test.coverage}`);
    assert.deepEqual(Object.keys(baselines!), [
      "the mean of the past",
      "the last value",
      "the season before",
    ]);
    // The variance of two independent errors is twice the variance of one.
    const ratio = test.mse / baselines!["the season before"].mse;
    assert.ok(ratio > 0.45 && ratio < 0.7, `${ratio}`);
    assert.ok(test.crps < baselines!["the season before"].crps);
  }),
);

Deno.test(
  "the forecast loss weights every known value equally for any batch size, like the squared error",
  withFolder(async (folder) => {
    // Towards the end y is observed more and more rarely.
    const rows = Array.from({ length: 200 }, (_, t) => ["a", t, wave("a", t), t > 150 && t % 16 ? "" : t]);
    const data = await write(`${folder}/own.csv`, "series,time,x,y", rows);
    const { test } = await trainedOn(folder, data, {
      ...{ task: "forecast", horizon: 8, context: 8, epochs: 1, batchSize: 1, model: "linear" },
    });
    assert.ok(Math.abs(test.loss / test.mse - 1) < 1e-4, `${test.loss}, a squared error of ${test.mse}`);
  }),
);

for (const model of ["linear", "neural-cde", "seasonal-naive"]) {
  testLong(
    `streamed forecasts of ${model} equal the forecasts of the whole series, with a state of bounded size`,
    withFolder(async (folder) => {
      // Uneven times, some within a step. y is observed occasionally. A holiday is known in advance.
      const row = (i: number) => [
        i + (i % 7 === 3 ? 0.8 : 0.2 * Math.sin(5 * i)),
        i % 9 === 4 ? NaN : wave("a", i),
        i % 40 === 20 ? Math.cos(i / 9) : NaN,
        Number(i % 7 === 0),
      ];
      const rows = Array.from({ length: 120 }, (_, i) => row(i));
      const text = (rows: readonly number[][]) =>
        rows.map((row) => ["a", ...row.map((x) => x || x === 0 ? x : "")]);
      const data = await write(`${folder}/own.csv`, "series,time,x,y,holiday", text(rows));
      const { model: trained } = await trainedOn(folder, data, {
        ...{ task: "forecast", horizon: 4, context: 8, epochs: 1, model, table: { known: ["holiday"] } },
      });
      const set = await trained.series!(data);
      let stream = trained.stream!("a");
      const sizes: number[] = [];
      for (const [i, [time, ...values]] of rows.entries()) {
        const answer = await stream.push(time, values);
        const state = JSON.stringify(await stream.save());
        sizes.push(state.length);
        stream = trained.stream!("a", JSON.parse(state));
        if (i % 10 > 3) continue;
        const [{ times, values: all }] = set.series;
        const soFar = { name: "a", label: -1, times: times.slice(0, i + 1), values: all.slice(0, 3 * i + 3) };
        assert.deepEqual([answer], await trained.predict!({ ...set, series: [soFar] }), `after ${i}`);
      }
      assert.ok(Math.max(...sizes.slice(60)) <= Math.max(...sizes.slice(20, 60)) + 8, `${sizes}`);
      // Future holidays are given. A forecast too far ahead is rejected and has no effect. An observation may
      // come before a given holiday.
      const none = [NaN, NaN, 1];
      const now = rows.at(-1)![0];
      await stream.push(now + 2, none);
      await assert.rejects(stream.push(now + 9, none), /a time 9.* steps after its last observation/);
      const { times } = await stream.push(now + 1, [12, 1, 0]) as ForecastPrediction;
      assert.deepEqual(times, [now + 2]);
      await assert.rejects(stream.push(now + 1, [1, 1, 0]), /expected a time later than/);
      if (model !== "linear") return;
      const dense = async () => {
        for (let i = 0; i < 500; i++) await stream.push(now + 2 + i / 1000, [1, 1, 0]);
      };
      await assert.rejects(dense, /more than 192 observations among the 8 steps/);
    }),
  );
}

Deno.test(
  "intervals after few observations are as wide as the errors after few observations",
  withFolder(async (folder) => {
    const [period, horizon] = [16, 4];
    const at = (t: number) => Math.sin(2 * Math.PI * t / period) + 0.1 * Math.sin(77 * t * t);
    const rows = Array.from({ length: 600 }, (_, t) => ["a", t, at(t)]);
    const { model } = await trainedOn(folder, await write(`${folder}/waves.csv`, "series,time,x", rows), {
      ...{ task: "forecast", horizon, context: 32, season: period, epochs: 1, model: "linear" },
    });
    for (const length of [1, 3, 8, 16]) {
      const started = Array.from(
        { length: 64 },
        (_, i) => Array.from({ length }, (_, t) => [`s${i}`, 700 + 3 * i + t, at(700 + 3 * i + t)]),
      );
      const path = await write(`${folder}/begun.csv`, "series,time,x", started.flat());
      const answers = await answersOf<ForecastPrediction>(model, path);
      const inside = answers.flatMap(({ times, channels: { x: { quantiles } } }) =>
        times.map((time, step) =>
          Number(quantiles["0.1"][step] <= at(Number(time)) && at(Number(time)) <= quantiles["0.9"][step])
        )
      );
      const share = inside.reduce((sum, one) => sum + one, 0) / inside.length;
      assert.ok(share > 0.65 && share < 0.97, `after ${length}: ${share}`);
    }
  }),
);

Deno.test(
  "a channel without observations so far is forecast from its mean",
  withFolder(async (folder) => {
    const head = "series,time,x,y";
    const rows = Array.from({ length: 99 }, (_, t) => ["a", t, t % 5, t % 9 < 4 ? "" : 1000 + t % 7]);
    const { model } = await trainedOn(folder, await write(`${folder}/late.csv`, head, rows), {
      ...{ task: "forecast", horizon: 2, context: 4, epochs: 1, model: "linear" },
    });
    const path = await write(`${folder}/new.csv`, head, [["b", 0, 1, ""]]);
    const [{ channels: { y: { mean, quantiles } } }] = await answersOf<ForecastPrediction>(model, path);
    for (const value of [mean, quantiles["0.1"], quantiles["0.9"]].flat()) {
      assert.ok(value > 990 && value < 1016, `${value}`);
    }
  }),
);

Deno.test(
  "a channel that is constant for long has intervals of the size of its values",
  withFolder(async (folder) => {
    const head = "time,x";
    const rows = Array.from({ length: 400 }, (_, t) => [t, t % 20 < 10 ? 0 : 5 + t * 7 % 5]);
    const { model } = await trainedOn(folder, await write(`${folder}/still.csv`, head, rows), {
      ...{ task: "forecast", horizon: 6, context: 4, epochs: 1, model: "linear" },
    });
    const path = await write(`${folder}/new.csv`, head, [[0, 5], [1, 9], [2, 7], [3, 6]]);
    const [{ channels: { x: { quantiles } } }] = await answersOf<ForecastPrediction>(model, path);
    const width = quantiles["0.9"][5] - quantiles["0.1"][5];
    assert.ok(width > 2 && width < 20, `${width}`);
  }),
);

Deno.test(
  "no window of irregular series has a target beyond the end of its part",
  () => {
    const series = [0, 0.25, 0.5, 0.75].map((offset, i) => ({
      ...{ name: `s${i}`, label: -1, values: new Float64Array(20) },
      times: Float64Array.from({ length: 20 }, (_, t) => t + offset),
    }));
    const sizes = { gap: 1, context: 4, horizon: 2, season: 1, seasonalErrors: [1], trained: [] };
    const windows = windowsOf(series, 1, sizes, { from: 5, to: 12 });
    const targets = windows.flatMap(({ origin, at }) => Array.from(at, (step) => origin + step));
    assert.deepEqual([Math.min(...targets), Math.max(...targets)], [5.25, 12]);
  },
);

Deno.test(
  "with a target option, other columns are inputs and are not forecast",
  withFolder(async (folder) => {
    const rows = Array.from({ length: 80 }, (_, t) => ["a", t, wave("a", t), t % 5]);
    const data = await write(`${folder}/own.csv`, "series,time,x,beside", rows);
    const { model } = await trainedOn(folder, data, {
      ...{ task: "forecast", horizon: 2, context: 4, epochs: 1, model: "neural-cde" },
      table: { target: ["x"] },
    });
    const [{ channels }] = await answersOf<ForecastPrediction>(model, data);
    assert.deepEqual(Object.keys(channels), ["x"]);
    const changed = rows.map((row, t) => t === 79 ? row.with(3, 9) : row);
    const next = await write(`${folder}/new.csv`, "series,time,x,beside", changed);
    const [other] = await answersOf<ForecastPrediction>(model, next);
    assert.notDeepEqual(other.channels.x.mean, channels.x.mean);
  }),
);

Deno.test(
  "an ignored column is required for training and optional for predictions, also in wide tables",
  withFolder(async (folder) => {
    const day = (t: number) => new Date(86_400_000 * t).toISOString();
    const rows = Array.from({ length: 40 }, (_, t) => [day(t), Math.sin(t), "note"]);
    const data = await write(`${folder}/own.csv`, "time,x,note", rows);
    const chosen = { task: "forecast", horizon: 2, context: 4, epochs: 1, model: "linear" } as const;
    const { model } = await trainedOn(folder, data, { ...chosen, table: { wide: true, ignore: ["note"] } });
    const expected = await answersOf(model, data);
    await write(data, "time,x", rows.map((row) => row.slice(0, 2)));
    assert.deepEqual(await answersOf(model, data), expected);
    await assert.rejects(
      () => trainedOn(folder, data, { ...chosen, table: { wide: true, ignore: ["note"] } }),
      /no column "note" among time, x; name another with the option ignore/,
    );
  }),
);

Deno.test(
  "columns known in advance are inputs over the horizon, and are neither forecast nor evaluated",
  withFolder(async (folder) => {
    // A holiday adds 5. Earlier rows do not predict it.
    const drawn = randpermArray(key(0), 400);
    const row = (t: number) => ["a", t, drawn[t] % 4 === 0 ? 5 + t % 2 : t % 2, Number(drawn[t] % 4 === 0)];
    const rows = Array.from({ length: 396 }, (_, t) => row(t));
    const data = await write(`${folder}/own.csv`, "series,time,x,holiday", rows);
    const { model, test } = await trainedOn(folder, data, {
      ...{ task: "forecast", horizon: 4, context: 8, model: "linear", epochs: 1 },
      table: { known: ["holiday"] },
    });
    assert.ok(test.mse < 0.3, `${test.mse}, and 1 without the holidays`);
    const future = [["a", 396, "", 1], ["a", 397, "", 0]];
    const next = await write(`${folder}/new.csv`, "series,time,x,holiday", [...rows, ...future]);
    const [{ times, channels }] = await answersOf<ForecastPrediction>(model, next);
    assert.deepEqual([times, Object.keys(channels)], [[396, 397], ["x"]]);
    const [holiday, workday] = channels.x.mean;
    assert.ok(holiday - workday > 3, `${holiday} on a holiday, ${workday} after it`);
    const noticesOf = async (path: string) => (await model.series!(path)).notices!.join();
    assert.doesNotMatch(await noticesOf(next), /no values after/);
    assert.match(
      await noticesOf(data),
      /"holiday" has no values after the last observation of "?a"?: forecasts are made without it/,
    );
  }),
);
