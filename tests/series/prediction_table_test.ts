import assert from "node:assert/strict";
import { csvOf } from "../../src/series/read/csv.ts";
import { execute } from "../../src/train/mod.ts";
import { measureNew } from "../../src/series/models/trained_model.ts";
import { openTrained, readRunConfig, startRun } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";
import { parseCsv, readTable } from "../../src/data/mod.ts";
import { escapeFormula, unescapeFormula } from "../../src/data/table/formula.ts";
import type { ForecastPrediction, Prediction } from "../../src/series/record/predictions.ts";
import { predictionsAsCsv } from "../../src/series/targets/prediction_table.ts";
import { testLong } from "../devices.ts";

/** Prefixes that make spreadsheets evaluate a text, and texts after them. */
const signs = ["=", "+", "-", "@", "\t", "\r", "\n", "\uFF1D", "\uFF0B", "\uFF0D", "\uFF20"];
const rests = ["", "1+1", "cmd|' /C calc'!A0", 'HYPERLINK("http://x")', "home", "5 apples", " 5", "a,b", "'"];
const dangerous = signs.flatMap((sign) => rests.flatMap((rest) => [`${sign}${rest}`, ` ${sign}${rest}`]))
  .filter((text) => /[=@+-]|[^\s\d]|^[\t\r\n]/.test(text));
const harmless = [
  "",
  "a",
  "ward 3",
  "a=b",
  "x-1",
  "-1.5",
  "+5",
  "-.5",
  "1e-3",
  "-2E+4",
  "'",
  "'quoted'",
  "5-3",
];
/** All texts, without and after one or two single quotes. */
const texts = [...dangerous, ...harmless].flatMap((text) => [text, `'${text}`, `''${text}`]);

/** Fields of a CSV text (RFC 4180), as spreadsheets read them. */
function fieldsOf(csv: string): string[] {
  return Array.from(
    csv.matchAll(/(?:^|,|\n)(?:"((?:[^"]|"")*)"|([^",\n]*))/g),
    ([, quoted, bare]) => quoted?.replaceAll('""', '"') ?? bare,
  );
}

const isComputed = (field: string) =>
  /^\s*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^[\t\r\n]/.test(field) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(field);

Deno.test("spreadsheets do not evaluate escaped texts, and escaping is invertible", () => {
  assert.ok(dangerous.length > 100);
  const escaped = texts.map(escapeFormula);
  assert.deepEqual(escaped.filter(isComputed), []);
  assert.equal(new Set(escaped).size, new Set(texts).size);
  assert.deepEqual(escaped.map((text) => unescapeFormula(text) ?? text), texts);
  assert.deepEqual(harmless.map(escapeFormula), harmless);
});

/** Names as in tables, without surrounding blanks. */
const names = [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ""))]
  .filter((text) => !["'"].includes(text));

Deno.test("spreadsheets evaluate no cell of tables of classes, numbers and forecasts", () => {
  const kinds: Prediction[][] = [
    names.map((name) => ({ series: name, label: name, probability: 0.5, probabilities: { [name]: 0.5 } })),
    names.map((name) => ({ series: name, numbers: { "=target": -1.5, "-2": -2e-9 } })),
    names.map((name) => ({
      series: name,
      times: [-1, 0],
      channels: { [name]: { mean: [-1, 2], quantiles: {} } },
    })),
  ];
  for (const predictions of kinds) {
    const fields = fieldsOf(predictionsAsCsv(predictions));
    assert.ok(fields.length > 3 * names.length);
    assert.deepEqual(fields.filter(isComputed), []);
  }
  assert.equal(predictionsAsCsv(kinds[1]).split("\n")[0], "series,'=target,-2");
});

Deno.test("series, labels and numbers of a prediction table are read back unchanged", async () => {
  const predictions = names.map((name, i) => ({
    ...{
      series: name,
      label: names[(i + 1) % names.length],
      probability: i,
      probabilities: { "=a": -i - 0.5 },
    },
  }));
  const bytes = new TextEncoder().encode(predictionsAsCsv(predictions));
  // Predicted classes have no times, but readTable needs a column of times.
  const { series, classes, channels } = await readTable({ name: "classes.csv", bytes }, {
    time: "probability",
  });
  assert.deepEqual(series.map(({ name }) => name), names);
  assert.deepEqual(series.map(({ label }) => classes[label]), predictions.map(({ label }) => label));
  assert.deepEqual(series.map(({ times }) => times[0]), names.map((_, i) => i));
  assert.deepEqual(series.map(({ values }) => values[0]), names.map((_, i) => -i - 0.5));
  assert.deepEqual(channels, ["probability of =a"]);
});

Deno.test("channels with formula-like names can be forecast again from a prediction table", () => {
  const forecast: ForecastPrediction = {
    series: "@home",
    times: [1, 2],
    channels: { "=load": { mean: [-1.5, 2], quantiles: { "0.1": [-3, 1] } } },
  };
  const csv = predictionsAsCsv([forecast]);
  assert.equal(csv, "series,time,channel,mean,quantile 0.1\n'@home,1,'=load,-1.5,-3\n'@home,2,'=load,2,1");
  const set = parseCsv(csv, "forecast.csv");
  assert.equal(set.series[0].name, "@home");
  assert.deepEqual(set.channels, ["channel==load", "mean", "quantile 0.1"]);
  assert.deepEqual([...set.series[0].values], [1, -1.5, -3, 1, 2, 1]);
});

Deno.test("number columns follow the series column in the order of the targets", () => {
  const csv = predictionsAsCsv([{ series: "a", numbers: { "2020": 1, "2021": 2 } }]);
  assert.equal(csv, "series,2020,2021\na,1,2");
});

Deno.test("a quoted number is rejected as a number, and an unquoted formula as a name", () => {
  const read = (line: string) => parseCsv(`series,time,x\n${line}\nb,1,2\n`, "own.csv");
  assert.throws(() => read("a,0,'-5"), /expected a number.*got "'-5"/);
  assert.throws(() => read("=A1,0,1"), /a formula in column "series", "=A1"/);
  assert.equal(read("'=A1,0,1").series[0].name, "=A1");
});

testLong(
  "an escaped table contains the same series as the training table",
  withFolder(async (folder) => {
    const rows = Array.from(
      { length: 24 },
      (_, i) => [0, 1, 2].map((t) => [`@s${i}`, t, i % 2 ? t - 1.5 : -t, i % 2 ? "+up" : "-down"]),
    ).flat();
    const table = [["series", "time", "=height", "label"], ...rows];
    const [data, escaped] = [`${folder}/own.csv`, `${folder}/escaped.csv`];
    await Deno.writeTextFile(data, table.map((row) => row.join(",")).join("\n"));
    await Deno.writeTextFile(escaped, csvOf(table));
    assert.match(await Deno.readTextFile(escaped), /^series,time,'=height,label\n'@s0,0,0,'-down\n/);
    const config = { experiment: "own-series", device: "cpu", seed: 0, epochs: 1, batchSize: 8 } as const;
    const run = await startRun({ ...config, learningRate: 0.01, hidden: 4, data }, `${folder}/runs`);
    await execute(run);
    const trained = await openTrained(await readRunConfig(run.folder), run.folder);
    const [found, expected] = [await measureNew(trained, escaped), await measureNew(trained, data)];
    assert.deepEqual(found, expected);
    assert.ok(found.seen > 0);
    // The answers for both tables are equal, with the true names.
    const answers = async (path: string) => await trained.model.predict!(await trained.model.series!(path));
    assert.deepEqual(await answers(escaped), await answers(data));
    assert.equal((await answers(escaped))[0].series, "@s0");
  }),
);
