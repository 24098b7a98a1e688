import assert from "node:assert/strict";
import { lineChart } from "../../src/train/chart.ts";
import { renderReport } from "../../src/train/report.ts";
import type { EpochMetrics } from "../../src/train/run_folder.ts";

const metrics = [0.5, 0.75].map((accuracy, i): EpochMetrics => ({
  epoch: i + 1,
  step: 10 * (i + 1),
  learningRate: 0.01,
  train: { loss: 1 / (i + 1), accuracy },
  validation: { loss: 2 / (i + 1), accuracy },
  seconds: i + 1,
}));
const content = {
  config: { experiment: "letters <1>", epochs: 5, data: "a & b" },
  metrics,
  metric: { name: "accuracy", mode: "max" },
} as const;
const summary = {
  test: { loss: 0.25, accuracy: 0.875 },
  bestEpoch: 2,
  parameters: 1234,
  seconds: 90,
  deviceDescription: "a processor",
};

Deno.test("a report shows curves, results, settings and samples with the predicted class", () => {
  const samples = [
    { curves: [{ x: [0, 1], y: [1, 3] }], isPlane: true, label: "a", predicted: "a" },
    { curves: [{ x: [0, 1], y: [1, NaN] }], isPlane: false, label: "a", predicted: "b" },
  ];
  const html = renderReport({ ...content, summary, samples });
  for (
    const text of [
      "87.50 %",
      "1,234",
      "1:30 min",
      "a processor",
      "a &#38; b",
      "✓</b> a",
      "✗</b> b <small>is a",
    ]
  ) {
    assert(html.includes(text), text);
  }
  assert.equal(html.match(/<figure/g)?.length, 4);
});

Deno.test("a report loads nothing and runs nothing", () => {
  const html = renderReport({ ...content, summary });
  assert.doesNotMatch(html, /https?:|src=|href=|@import|url\(|<script/);
});

Deno.test("names stand for themselves in a report", () => {
  const html = renderReport({ ...content, summary: { ...summary, test: { "<2> mse": 1 } } });
  assert(html.includes("letters &#60;1&#62;"));
  assert.doesNotMatch(html, /<\d>/);
});

Deno.test("a setting without a value is not in a report", () => {
  const html = renderReport({ ...content, config: { ...content.config, drop: undefined, hidden: 0 } });
  assert(!html.includes("drop"));
  assert(html.includes("<th>hidden</th><td>0</td>"));
});

Deno.test("the report of a run that was stopped says how to go on", () => {
  assert.match(renderReport(content), /Stopped after 2 of 5 epochs; --resume goes on/);
});

const circles = (svg: string) =>
  [...svg.matchAll(/<circle cx="([\d.-]+)" cy="([\d.-]+)"/g)].map((m) => m.slice(1).map(Number));

Deno.test("a chart places values in order, larger ones higher", () => {
  const svg = lineChart({ title: "t", xLabel: "epoch", lines: [{ name: "a", x: [1, 2, 3], y: [1, 3, 2] }] });
  const [[x1, y1], [x2, y2], [x3, y3]] = circles(svg);
  assert(x1 < x2 && x2 < x3);
  assert(y2 < y3 && y3 < y1);
});

Deno.test("a chart of one point, or of equal values, has no number that is not finite", () => {
  for (const [x, y] of [[[1], [0.5]], [[1, 2], [0, 0]], [[1, 2], [NaN, 1]]]) {
    const svg = lineChart({ title: "t", xLabel: "epoch", lines: [{ name: "a", x, y }] });
    assert.doesNotMatch(svg, /NaN|Infinity|undefined/);
    assert(circles(svg).length >= 1);
  }
});

Deno.test("values over several orders of magnitude get a logarithmic axis", () => {
  const svg = lineChart({
    title: "t",
    xLabel: "epoch",
    lines: [{ name: "a", x: [1, 2, 3], y: [1, 0.1, 0.01] }],
  });
  const [[, y1], [, y2], [, y3]] = circles(svg);
  assert(Math.abs((y2 - y1) - (y3 - y2)) < 0.2);
});

Deno.test("a report draws series and curves of 140,000 points", () => {
  const points = Float64Array.from({ length: 140_000 }, (_, i) => i);
  const samples = [{ curves: [{ x: points, y: points }], isPlane: true, label: "a", predicted: "a" }];
  const figures = [{
    title: "long",
    context: 1,
    channels: [{ name: "x", truth: points, predicted: points }],
  }];
  const html = renderReport({ ...content, summary, samples, figures });
  assert(html.includes("L140.0,10.0"), "the last point in the corner of the sample's figure");
  const chart = lineChart({
    title: "loss",
    xLabel: "epoch",
    lines: [{ name: "a", x: [...points], y: [...points] }],
  });
  assert(chart.includes(`epoch ${points.length - 1}: 140000`));
});
