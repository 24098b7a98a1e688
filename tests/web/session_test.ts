/** The session of the playground's worker. */
import assert from "node:assert/strict";
import { DataError, WeftError } from "../../src/device/errors.ts";
import type { ClassPrediction, ForecastPrediction } from "../../src/series/record/predictions.ts";
import { futureName, futureSteps, pastSteps } from "../../web/future.ts";
import type { Choice, Row } from "../../web/messages.ts";
import { load, look, lookAgain, next, open, predict, save, testSeries, train } from "../../web/session.ts";

const choice: Choice = { model: "neural-cde", path: "hermite", method: "midpoint", device: "cpu", epochs: 4 };
const { signal } = new AbortController();

/** Trains on spirals. */
async function trainOnSpirals(change: Partial<Choice>, stopped = signal, onEpoch = async () => {}) {
  await load("spirals");
  return await train({ ...choice, ...change }, stopped, onEpoch);
}

/** Predictions of the series of the test set. */
const predictions = async () =>
  await predict(new File([testSeries()], "test.csv")) as readonly ClassPrediction[];

/** A drawn half circle. */
const drawn: Row[] = [0, 1, 2, 3, 4, 5].map((i) => ({
  time: i / 20,
  values: [Math.cos(i / 2), i === 3 ? NaN : Math.sin(i / 2)],
}));

for (
  const [name, change] of [
    ["a Neural CDE", {}],
    ["a Neural CDE along a natural cubic spline", { path: "natural" }],
    ["a fast weight programmer", { model: "delta-cde" }],
    ["WARP", { model: "warp" }],
  ] as const
) {
  Deno.test(`the view of ${name} ends with the prediction of the run, and the plane has the next ones [cpu]`, async () => {
    const { path } = { ...choice, ...change };
    await trainOnSpirals({ epochs: 2, ...change });
    for (const { series, probabilities } of (await predictions()).slice(0, 2)) {
      const { view } = (await look(series, 0))!;
      const { states, curve, curveTimes, times } = view;
      assert.deepEqual([curve[0].length, states.length], [curveTimes.length, times.length]);
      assert.ok(Math.abs(curveTimes.at(-1)! - times.at(-1)!) < 1e-5);
      const last = view.probabilities.map((along) => along.at(-1)!);
      Object.values(probabilities).forEach((expected, i) => assert.ok(Math.abs(last[i] - expected) < 2e-3));
    }
    const { channels: [x, y], gap } = await load("spirals", { trained: new File([await save()], "run.zip") });
    await look(drawn.slice(0, 3), 2);
    const { side, probabilities } = (await next(2)).plane!;
    const [column, row] = [4, 11];
    const at = (low: number, high: number, share: number) => low + (high - low) * share / (side - 1);
    const values = [at(x.low, x.high, column), at(y.low, y.high, side - 1 - row)];
    const { view } = (await look([...drawn.slice(0, 3), { time: drawn[2].time + gap, values }], 3))!;
    const expected = view.probabilities.map((along) => along.at(-1)!);
    // A natural spline changes its past with each observation, and the plane does not.
    const tolerance = path === "natural" ? 0.2 : 1e-3;
    probabilities[row * side + column].forEach((p, i) => assert.ok(Math.abs(p - expected[i]) < tolerance));
  });
}

Deno.test("a model without access to its states shows the predictions of the observations so far [cpu]", async () => {
  await trainOnSpirals({ model: "s4d", method: undefined, epochs: 1 });
  const [{ series, probabilities }] = await predictions();
  const { view, next: { plane } } = (await look(series, 0))!;
  assert.deepEqual([view.states, plane], [[], undefined]);
  assert.deepEqual(view.probabilities.map((along) => along.length), [view.times.length, view.times.length]);
  Object.values(probabilities).forEach((p, i) =>
    assert.ok(Math.abs(p - view.probabilities[i].at(-1)!) < 1e-6)
  );
});

Deno.test("the forecast continues the season of a drawn curve, within its interval [cpu]", async () => {
  const { series: [{ name }], futureSteps: steps, trained } = await load(futureName);
  assert.deepEqual([steps, trained], [futureSteps, undefined]);
  const past = pastSteps(futureSteps);
  const { view, next: untrained } = (await look(name, past))!;
  assert.deepEqual([view.times.at(-1), view.times.length, untrained], [119, past, {}]);
  const { verdict } = await train({ ...choice, model: "autoregression" }, signal, async () => {});
  assert.match(verdict!, /^Better than the seasonal naive forecast/);
  await load(futureName, { trained: new File([await save()], "future.zip") });
  const season = (t: number) => Math.sin(t / 2);
  const rows = Array.from({ length: past }, (_, time): Row => ({ time, values: [season(time)] }));
  const { next: { forecasts: [found] = [] } } = (await look(rows, past - 1))!;
  const { times, mean, low, high } = found;
  assert.deepEqual(times, Array.from({ length: futureSteps }, (_, i) => past + i));
  const inside = times.filter((t, i) => low[i] <= season(t) && season(t) <= high[i]);
  assert.ok(inside.length >= futureSteps / 2, `${inside.length} steps within the interval`);
  assert.ok(mean.every((value, i) => i >= 6 || Math.abs(value - season(times[i])) < 0.4), `${mean}`);
  assert.equal((await look(rows.slice(0, 2), 1))!.next.forecasts, undefined);
  // The shown part of a series ends with its last observation.
  assert.equal((await look(name, past - 1))!.next.forecasts![0].times[0], 120);
  assert.equal((await look(name, 10))!.next.forecasts![0].times[0], 120 - past + 11);
});

Deno.test("a table of days is forecast after its end, and for drawn values [cpu]", async () => {
  const day = (t: number) => new Date(Date.UTC(2026, 0, 1 + t)).toISOString().slice(0, 10);
  const rows = Array.from(
    { length: 120 },
    (_, t) => `${day(t)},${10 + 3 * Math.sin(t * 2 * Math.PI / 7)},${t}`,
  );
  const table = new File([["date,sales,stock", ...rows].join("\n")], "sales.csv");
  const options = { task: "forecast", steps: 7, table: { time: "date" } } as const;
  const { channels, timeKind, series: [{ name }] } = await load(table, options);
  assert.deepEqual([channels.map(({ name }) => name), timeKind], [["sales", "stock"], "date"]);
  for (const model of ["exponential-smoothing", "neural-cde"]) {
    const { command } = await train({ ...choice, model, epochs: 2 }, signal, async () => {});
    assert.match(command!, /^deno task train own-series --data sales.csv --time date --model .*--horizon 7/);
    const { view, next: { forecasts: [sales, stock] = [] } } = (await look(name, 13))!;
    assert.equal(view.times.length, 14);
    assert.deepEqual([sales.times[0] - view.times.at(-1)!, sales.mean.length], [86_400, 7]);
    assert.ok(model === "neural-cde" || Math.abs(stock.mean[6] - 126) < 5, `${stock.mean}`);
    const drawn = [1, 2, 3, 4, 5].map((value, i) => ({ time: 86_400 * i, values: [value, NaN] }));
    assert.equal((await look(drawn, 4))!.next.forecasts![0].mean.length, 7);
  }
  const expected = await predict(table) as readonly ForecastPrediction[];
  assert.equal((await open([new File([await save()], "run.zip")], "cpu")).futureSteps, 7);
  assert.deepEqual(await predict(table), expected);
});

Deno.test("the matrices of a view are the parts of the state [cpu]", async () => {
  await trainOnSpirals({ model: "warp", epochs: 1 });
  const { view: { matrices, states } } = (await look("1", 0))!;
  const ends = matrices.map(({ start, rows, columns }) => start + rows * columns);
  assert.deepEqual(matrices.map(({ start }) => start), [0, ...ends.slice(0, -1)]);
  assert.equal(ends.at(-1), states[0].length);
});

Deno.test("a saved run opens with the same predictions, alone or with its example data [cpu]", async () => {
  await trainOnSpirals({ epochs: 2 });
  const table = new File([testSeries()], "test.csv");
  const expected = await predict(table);
  const trained = new File([await save()], "run.zip");
  const info = await open([trained], "cpu");
  assert.deepEqual([info.classes, info.channels.map(({ name }) => name)], [
    ["counter-clockwise", "clockwise"],
    ["x", "y"],
  ]);
  assert.deepEqual(await predict(table), expected);
  assert.equal((await look(drawn, 0))!.view.times.length, drawn.length);
  const opened = await load("spirals", { trained });
  assert.deepEqual([opened.series.length, opened.trained?.model], [300, "neural-cde"]);
  assert.deepEqual(await predict(table), expected);
});

Deno.test("the view changes while the model trains [cpu]", async () => {
  const last: number[] = [];
  await load("spirals");
  await look("1", 0);
  await train({ ...choice, epochs: 3 }, signal, async () => {
    last.push((await lookAgain())!.view.probabilities[0].at(-1)!);
  });
  assert.equal(new Set(last).size, 3);
});

Deno.test("a training that is stopped keeps its best weights, and is repeated by its number of epochs [cpu]", async () => {
  const controller = new AbortController();
  const { accuracy } = await trainOnSpirals(
    { epochs: 50 },
    controller.signal,
    () => Promise.resolve(controller.abort()),
  );
  assert.equal(accuracy, undefined);
  const stopped = await predictions();
  assert.equal(stopped.length, 44);
  await trainOnSpirals({ epochs: 50, stopAfter: 1 });
  assert.deepEqual(await predictions(), stopped);
});

Deno.test("without a model, a table is rejected, and no series is looked at", async () => {
  await load("waves");
  await assert.rejects(predict(new File([], "new.csv")), WeftError);
  assert.equal(await look("1", 0), undefined);
});

Deno.test("a table with a wrong cell is rejected with its line, and the data before remain [cpu]", async () => {
  await load("waves");
  const broken = new File(["series,time,x,label\na,0,1,up\na,soon,1,up\n"], "broken.csv");
  await assert.rejects(
    load(broken),
    (error) => error instanceof DataError && error.code === "invalid-cell" && error.row === 3,
  );
  assert.equal((await train({ ...choice, epochs: 1 }, signal, async () => {})).device.length > 0, true);
});

Deno.test("a table that training would reject is rejected when it is read", async () => {
  const rows = ["a,0,1", "a,1,2", "b,0,1", "b,1,2"];
  for (
    const [text, reason] of [
      [["series,time,x", ...rows], /no column "label"/],
      [["series,time,x,label", ...rows.map((row) => `${row},up`)], /only the label "up"/],
      [["series,time,x,label", ...rows.map((row) => `${row},${row[0]}`)], /fewer than 3 series/],
    ] as const
  ) await assert.rejects(load(new File([text.join("\n")], "small.csv")), reason);
});
