import assert from "node:assert/strict";
import type { Section } from "../../src/charts/section.ts";
import {
  formatMeasure,
  measureName,
  measuresInWords,
  sortMeasures,
} from "../../src/train/report/measure_names.ts";
import { renderReport } from "../../src/train/report/report.ts";
import { statistics } from "../../src/train/report/statistics.ts";
import {
  classExamples,
  classSection,
  confusionSection,
  importanceSection,
  reliabilitySection,
  scatterSection,
  worstSection,
} from "../../src/series/targets/report_sections.ts";
import type { EpochMetrics } from "../../src/train/report/epoch_metrics.ts";

const metrics = [0.5, 0.75].map((accuracy, i): EpochMetrics => ({
  epoch: i + 1,
  step: 10 * (i + 1),
  learningRate: 0.01,
  train: { loss: 1 / (i + 1), accuracy },
  validation: { loss: 2 / (i + 1), accuracy },
  seconds: i + 1,
}));
const content = {
  config: { experiment: "letters <1>", epochs: 5, data: "a & b.csv.gz", model: "delta", batchSize: 3 },
  metrics,
  metric: { name: "accuracy", mode: "max" },
} as const;
const summary = {
  test: { loss: 0.25, macroF1: 0.8, accuracy: 0.875 },
  baselines: { "the most frequent class": { accuracy: 0.5, macroF1: 0.3 } },
  bestEpoch: 2,
  parameters: 1234,
  seconds: 90,
  deviceDescription: "a processor",
};
const series = { title: "s1", times: Float64Array.of(0, 1), values: [1, 2, 3, 4] };
const panel = {
  x: { title: "time" },
  y: { title: "value" },
  marks: [{ kind: "line", name: "x", x: [0, 1], y: [1, NaN] }],
} as const;

/** Sections of the reports of each task. */
const sections: Record<string, readonly Section[]> = {
  classes: [
    classExamples([{ panel, label: "a", predicted: "a" }, { panel, label: "a", predicted: "b" }]),
    ...confusionSection(["a", "b"], [[3, 1], [0, 4]]),
    classSection(["a", "b"], [1, 2].map(() => ({ precision: 1, recall: 0.5, f1: 0.75, count: 4 }))),
    reliabilitySection([{ confidence: 0.8, accuracy: 0.7, count: 3 }]),
    ...importanceSection("log loss", { x: 1, y: 0 }),
    ...worstSection([series], ["x", "y"]),
  ],
  numbers: [
    scatterSection([{ name: "age", truth: [1, 2, NaN], predictions: [1, 3, 2] }]),
    ...worstSection([series], ["x", "y"], { times: "date" }),
  ],
  nothing: [],
};

for (const [kind, kindSections] of Object.entries(sections)) {
  Deno.test("the standard deviation of results is that of a sample, and zero for one result", () => {
    assert.deepEqual(statistics([1, 2, 3, 6]), { mean: 3, standardDeviation: Math.sqrt(14 / 3) });
    assert.deepEqual(statistics([2]), { mean: 2, standardDeviation: 0 });
  });

  Deno.test(`a report about ${kind} names data and model, shows the selected metric first, and labels every axis`, () => {
    const html = renderReport({ ...content, summary, sections: kindSections });
    assert.match(html, /<h1>a &#38; b: delta<\/h1>/);
    const tiles = [...html.matchAll(/<div class="tile[^"]*"><b>([^<]*)<\/b><span>([^<]*)/g)].map((m) =>
      m.slice(1)
    );
    assert.deepEqual(tiles, [
      ["87.50 %", "test accuracy"],
      ["0.8", "test macro F1"],
      ["0.25", "test loss"],
      ["2", "best epoch"],
      ["1,234", "parameters"],
      ["1 minute 30 seconds", "training time"],
    ]);
    const drawings = [...html.matchAll(/<svg class="chart".*?<\/svg>/gs)].map(([svg]) => svg);
    assert.ok(drawings.length >= 2);
    for (const svg of drawings) {
      const titles = [...svg.matchAll(/class="title"[^>]*>([^<]+)</g)];
      assert.equal(titles.length, 2, svg);
    }
    for (const { title } of kindSections) assert.ok(html.includes(title), title);
  });
}

Deno.test("a report loads no resources, runs no scripts and fits a narrow page", () => {
  const html = renderReport({ ...content, summary, sections: Object.values(sections).flat() });
  assert.doesNotMatch(html, /https?:|src=|href=|@import|url\(|<script| style=/);
  // Only tables may be wider than a phone: they scroll inside their frame.
  const rules = html.slice(html.indexOf("<style>"), html.indexOf("</style>"));
  const widths = [...rules.matchAll(/(?<!max-)\b(?:min-)?width: (\d+)px|minmax\((\d+)px/g)];
  assert.ok(widths.length > 3);
  for (const [rule, width, column] of widths) assert.ok(Number(width ?? column) <= 358, rule);
  assert.doesNotMatch(html, /<svg[^>]* width=/);
  for (const [table] of html.matchAll(/.{30}<table/g)) assert.match(table, /class="table|tabindex/);
});

Deno.test("a report contains the verdict, the comparison with baselines, the data and the settings", () => {
  const html = renderReport({
    ...{ ...content, summary, verdict: "The model beats the baseline by 5 %.", description: ["2 <series>"] },
    config: { ...content.config, drop: undefined, hidden: 0, table: { wide: true, target: ["a", "b"] } },
    chosen: { season: "12 months" },
  });
  assert.match(html, /beats the baseline by 5&nbsp;%\./);
  assert.ok(html.indexOf("The model beats") < html.indexOf("87.50 %"), "the verdict is first");
  const rows = [...html.matchAll(/<tr><th scope="row">([^<]*)<\/th><td[^>]*>([^<]*)/g)].map((m) =>
    m.slice(1)
  );
  const valueOf = (name: string) => rows.find(([label]) => label === name)?.[1];
  assert.equal(valueOf("macro F1"), "0.8");
  assert.equal(valueOf("loss"), undefined, "no baseline has it");
  assert.equal(valueOf("batch size"), "3");
  assert.equal(valueOf("hidden"), "0");
  assert.equal(valueOf("wide"), "yes");
  assert.equal(valueOf("target"), "a, b");
  assert.equal(valueOf("season"), "12 months");
  assert.equal(valueOf("drop"), undefined);
  assert.match(html, /<li>2 &#60;series&#62;<\/li>/);
});

Deno.test("a report shows the measure of the verdict before the metric and all others", () => {
  const html = renderReport({ ...content, summary, verdict: "0.8.", verdictMeasure: "macroF1" });
  assert.match(html, /<div class="tiles"><div class="tile chosen"><b>0.8<\/b><span>test macro F1</);
  assert.match(html, /<tbody><tr><th scope="row">macro F1</);
});

Deno.test("a report without a validation set names no best epoch", () => {
  const trained = metrics.map((line) => ({ ...line, validation: {} }));
  assert.doesNotMatch(renderReport({ ...content, summary, metrics: trained }), /best epoch/i);
  assert.match(renderReport({ ...content, summary }), /The best epoch has the largest validation accuracy/);
});

Deno.test("a report omits settings without effect on the model", () => {
  assert.doesNotMatch(renderReport({ ...content, summary, unused: ["batchSize"] }), />batch size</);
});

Deno.test("a report with the log loss shows the loss before calibration too", () => {
  assert.deepEqual(measuresInWords({ loss: 0.5, logLoss: 0.25, accuracy: 0.5 }), [
    ["loss before calibration", "0.5"],
    ["log loss", "0.25"],
    ["accuracy", "50.00 %"],
  ]);
  assert.deepEqual(measuresInWords({ loss: 0.5 }), [["loss", "0.5"]]);
});

Deno.test("a report escapes texts of the data", () => {
  const html = renderReport({ ...content, summary: { ...summary, test: { "<2> mse": 1 } } });
  assert(html.includes("letters &#60;1&#62;"));
  assert.doesNotMatch(html, /<\d>/);
});

Deno.test("a report marks correct and wrong predictions", () => {
  const html = renderReport({ ...content, sections: sections.classes });
  assert.match(html, /<figure class="right"><figcaption><b>✓<\/b> a</);
  assert.match(html, /<figure class="wrong"><figcaption><b>✗<\/b> b; true class a</);
});

Deno.test("the report of an interrupted run names the option that continues the run", () => {
  assert.match(renderReport(content), /stopped after 2 of 5 epochs\. --resume continues the run/);
});

Deno.test("metrics have display names", () => {
  const names = ["logLoss", "age mse", "mse after 100/784", "macroF1", "other"];
  assert.deepEqual(names.map(measureName), [
    ...["log loss", "age: mean squared error", "mean squared error after 100/784", "macro F1", "other"],
  ]);
  assert.equal(formatMeasure("accuracy", 0.975), "97.50 %");
  assert.equal(formatMeasure("calibrationError", 2.7e-17), "0");
  assert.deepEqual(sortMeasures(["loss", "mae", "mse"], "mae"), ["mae", "mse", "loss"]);
});
