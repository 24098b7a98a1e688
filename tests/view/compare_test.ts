/** The page of a folder of runs. */
import assert from "node:assert/strict";
import { viewOf } from "../../src/view/server.ts";
import { withFolder } from "../tasks/command_line.ts";
import { makeRun, nameOf, progressOf } from "./folders.ts";

/** The page of a folder with a query, and the names of the runs in its table. */
async function pageOf(folder: string, query = "") {
  const text = await (await viewOf(folder)(new Request(`http://127.0.0.1/${query}`))).text();
  const rows = [...text.matchAll(/<th scope="row"[^>]*><a href="run\?name=[^"]*">([^<]*)<\/a>/g)];
  return { text, names: rows.map(([, name]) => name) };
}

/** Three runs of different learning rates: complete, in training and failed. */
async function threeRuns(out: string): Promise<string[]> {
  const runs = [
    await makeRun(out, { epochs: 4, accuracy: 0.75, settings: { learningRate: 0.03 } }),
    await makeRun(out, { epochs: 2, progress: progressOf(3) }),
    await makeRun(out, { accuracy: 0.9, failure: "NaN", settings: { learningRate: 0.1, seed: 10 } }),
  ];
  return runs.map(nameOf);
}

Deno.test(
  "the runs of a folder are in a table with their states, measures and the settings that differ",
  withFolder(async (out) => {
    const [complete, training, failed] = await threeRuns(out);
    const { text, names } = await pageOf(out);
    assert.deepEqual(names.toSorted(), [complete, training, failed].toSorted());
    const head = [...text.matchAll(/<th scope="col"[^>]*><a href="[^"]*">([^<]*)</g)].map(([, title]) =>
      title
    );
    assert.deepEqual(head, [
      ...["run", "state", "test accuracy", "validation accuracy", "validation loss", "seed"],
      ...["learning rate", "complete epochs", "training time"],
    ]);
    // The best epoch of the complete run is its first.
    for (const cell of ["training, 62 %", "75.00 %", "50.00 %", "2 of 4", "3 seconds"]) {
      assert.ok(text.includes(`>${cell}</td>`), cell);
    }
    assert.match(text, /2 of 6 settings differ/);
    const bold = (name: string) =>
      new RegExp(`<th scope="row">${name}</th>(.*?)</tr>`).exec(text)![1].match(/(?<=<b>)[^<]*/g) ?? [];
    assert.deepEqual(bold("learning rate").toSorted(), ["0.03"], "the others have 0.1");
    assert.deepEqual(bold("seed"), ["10"]);
    assert.deepEqual(bold("epochs"), []);
    assert.doesNotMatch(text, / style=/);
  }),
);

Deno.test(
  "a column sorts the runs, and runs without a value are last",
  withFolder(async (out) => {
    const [complete, training, failed] = await threeRuns(out);
    const by = async (sort: string, order: string) =>
      (await pageOf(out, `?${new URLSearchParams({ sort, order })}`)).names;
    assert.deepEqual(await by("test accuracy", "descending"), [failed, complete, training]);
    assert.deepEqual(await by("test accuracy", "ascending"), [complete, failed, training]);
    assert.deepEqual((await by("setting learning rate", "ascending"))[0], complete);
    assert.deepEqual(await by("constructor", "up"), (await pageOf(out)).names, "the default order");
    const { text } = await pageOf(out, "?sort=time&order=ascending&state=");
    assert.match(
      text,
      /<th scope="col" class="number" aria-sort="ascending"><a href="\?sort=time">/,
    );
  }),
);

Deno.test(
  "words, an experiment and a state select runs",
  withFolder(async (out) => {
    const [complete, training, failed] = await threeRuns(out);
    const found = async (query: Record<string, string>) =>
      (await pageOf(out, `?${new URLSearchParams(query)}`)).names.toSorted();
    assert.deepEqual(await found({ state: "training" }), [training]);
    assert.deepEqual(await found({ state: "nothing" }), [complete, training, failed].toSorted());
    assert.deepEqual(await found({ words: "learning-rate=0.1 seed=0" }), [training]);
    assert.deepEqual(await found({ words: "seed=1" }), [], "a value is compared as a whole");
    assert.deepEqual(await found({ words: failed.slice(3) }), [failed]);
    assert.deepEqual(await found({ experiment: "other" }), []);
  }),
);

Deno.test(
  "values of a setting that differ in every run are all bold",
  withFolder(async (out) => {
    for (const seed of [1, 2]) await makeRun(out, { settings: { seed } });
    assert.deepEqual((await pageOf(out)).text.match(/(?<=<b>)\d+(?=<\/b>)/g)?.toSorted(), ["1", "2"]);
  }),
);

Deno.test(
  "charts overlay the curves of at most eight runs",
  withFolder(async (out) => {
    for (let seed = 0; seed < 10; seed++) await makeRun(out, { epochs: 3, settings: { seed } });
    const { text, names } = await pageOf(out);
    assert.equal(names.length, 10);
    const [chart] = text.split("<figure>").slice(1);
    assert.equal(chart.match(/class="line"/g)!.length, 8);
    assert.match(text, /The first 8 runs of the table/);
  }),
);

/** Points of the curves of a chart in its units, from its scale. */
function curvesOf(chart: string): { name: string; points: [epoch: number, value: number][] }[] {
  const [bottom, top, low, high] = chart.match(/data-y="([^"]*)"/)![1].split(" ").map(Number);
  const [left, right, first, last] = chart.match(/data-x="([^"]*)"/)![1].split(" ").map(Number);
  const between = (place: number, from: number, to: number, a: number, b: number) =>
    a + (place - from) / (to - from) * (b - a);
  return [...chart.matchAll(/data-name="([^"]*)"><path class="line" d="M([^"]*)"/g)].map((
    [, name, path],
  ) => ({
    name,
    points: path.split("L").map((pair) => pair.split(",").map(Number)).map(([x, y]) => [
      Math.round(between(x, left, right, first, last)),
      between(y, bottom, top, low, high),
    ]),
  }));
}

const firstChart = (text: string) => text.split("<figure>")[1];

Deno.test(
  "a smoothed curve is the moving average of the values up to each epoch",
  withFolder(async (out) => {
    await makeRun(out, { epochs: 3 });
    const { text } = await pageOf(out, "?smoothing=0.5&scale=linear");
    const [{ points }] = curvesOf(firstChart(text));
    // Losses 1, 1/2 and 1/3 with weights 1, 2 and 4.
    const expected = [[1, 1], [2, (1 + 2 / 2) / 3], [3, (1 + 2 / 2 + 4 / 3) / 7]];
    points.forEach(([epoch, value], i) => {
      assert.equal(epoch, expected[i][0]);
      assert.ok(Math.abs(value - expected[i][1]) < 0.005, `${points}`);
    });
  }),
);

Deno.test(
  "a curve has the mean and the range of runs that differ only in the seed",
  withFolder(async (out) => {
    for (const seed of [0, 1, 2]) await makeRun(out, { epochs: 2, settings: { seed } });
    await makeRun(out, { epochs: 2, settings: { learningRate: 0.5 } });
    const chart = firstChart((await pageOf(out, "?seeds=mean")).text);
    const names = curvesOf(chart).map(({ name }) => name).toSorted();
    assert.deepEqual(names, ["learning rate 0.1, 3 seeds", "learning rate 0.5, 1 seed"]);
    assert.equal(chart.match(/class="band/g)!.length, 1);
  }),
);

Deno.test(
  "a part of the epochs is drawn, and the links keep it",
  withFolder(async (out) => {
    await makeRun(out, { epochs: 4 });
    const { text } = await pageOf(out, "?from=2&to=3");
    assert.deepEqual(curvesOf(firstChart(text))[0].points.map(([epoch]) => epoch), [2, 3]);
    assert.match(text, /href="\?sort=state&#38;from=2&#38;to=3"/);
    assert.match(text, /Some epochs only/);
  }),
);

Deno.test(
  "a run without a finite value has no entry in the legend",
  withFolder(async (out) => {
    await makeRun(out, { epochs: 2 });
    await makeRun(out, { epochs: 2, settings: { seed: 1 } });
    const empty = await makeRun(out, { settings: { seed: 2 } });
    const chart = firstChart((await pageOf(out)).text);
    assert.equal(curvesOf(chart).length, 2);
    assert.ok(!chart.includes(nameOf(empty)));
  }),
);

Deno.test(
  "texts of runs and of the query are escaped",
  withFolder(async (out) => {
    const evil = '"><script>alert(1)</script>';
    await makeRun(out, { settings: { experiment: evil, note: evil }, epochs: 1 });
    await makeRun(out, { settings: { note: "b" }, epochs: 1 });
    const query = new URLSearchParams({ words: "", sort: evil, experiment: "" });
    for (
      const search of [
        "",
        `?${query}`,
        `?words=${encodeURIComponent(evil)}`,
        `?experiment=${encodeURIComponent(evil)}`,
      ]
    ) {
      assert.ok(!(await pageOf(out, search)).text.includes("<script>alert"), search);
    }
  }),
);

Deno.test(
  "a folder without runs has a page that says so",
  withFolder(async (out) => {
    assert.match((await pageOf(out)).text, /No run in .*deno task train starts one/);
  }),
);
