import { largest, smallest } from "../device/extremes.ts";
import { escapeHtml, lineChart } from "./chart.ts";
import { type ForecastFigure, forecastFigure, forecastStyle } from "./forecast_figure.ts";
import { sectionStyle, table } from "./report_sections.ts";
import type { EpochMetrics } from "./run_folder.ts";
import type { Sample, Task } from "./task.ts";

/** Content of a report. */
export interface ReportContent {
  /** Settings, shown in a table. The name of the experiment is the title. */
  readonly config: Readonly<Record<string, unknown>> & { readonly experiment: string };
  /** Metrics of each complete epoch, drawn as curves and shown in a table. */
  readonly metrics: readonly EpochMetrics[];
  /** Measure that decides which epoch is the best. */
  readonly metric: Task["metric"];
  /** Result of a completed run: see {@linkcode RunSummary}. */
  readonly summary?: {
    readonly test: Readonly<Record<string, number>>;
    readonly bestEpoch: number;
    readonly parameters: number;
    readonly seconds: number;
    readonly deviceDescription: string;
  };
  /** Test samples with their predicted classes. */
  readonly samples?: readonly Sample[];
  /** Test series with their predictions. */
  readonly figures?: readonly ForecastFigure[];
  /** Further sections about the predictions, as HTML. */
  readonly sections?: readonly string[];
}

const style = `
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1b2230; --soft: #5d6778; --rule: #e3e7ee;
  --line-0: #2f6fde; --line-1: #d9730d; --line-2: #7a8699; --good: #15803d; --bad: #c2293f; }
@media (prefers-color-scheme: dark) { :root { --page: #12161d; --card: #1b212b; --ink: #e8ecf3; --soft: #97a3b6;
  --rule: #2d3644; --line-0: #6ea8fe; --line-1: #f5a54a; --line-2: #8b97a9; --good: #4ade80; --bad: #fb7185; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 20px 60px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0; }
h2 { font-size: 17px; margin: 36px 0 12px; }
p { color: var(--soft); margin: 6px 0 24px; }
.tiles, .charts, .samples { display: grid; gap: 14px; }
.tiles { grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); }
.charts { grid-template-columns: repeat(auto-fill, minmax(min(100%, 420px), 1fr)); margin-top: 14px; }
.samples { grid-template-columns: repeat(auto-fill, minmax(155px, 1fr)); }
.samples figure { padding: 10px 12px; }
.tile, figure, .table { background: var(--card); border: 1px solid var(--rule); border-radius: 10px; }
.tile { padding: 12px 16px; }
.tile b { display: block; white-space: nowrap; font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile span, figcaption small { color: var(--soft); font-size: 13px; }
figure { margin: 0; padding: 14px 16px; }
figcaption { font-weight: 600; display: flex; justify-content: space-between; flex-wrap: wrap; gap: 4px 12px; }
.legend { font-weight: 400; color: var(--soft); font-size: 13px; display: flex; gap: 14px; }
.key::before { content: ""; display: inline-block; width: 14px; height: 3px; border-radius: 2px; margin-right: 6px;
  vertical-align: middle; background: var(--line-0); }
.key-1::before { background: var(--line-1); }
.key-2::before { background: var(--line-2); }
svg { display: block; width: 100%; height: auto; margin-top: 8px; }
svg text { fill: var(--soft); font: 13px system-ui, sans-serif; }
.grid { stroke: var(--rule); }
.axis { stroke: var(--soft); }
.line { color: var(--line-0); }
.line-1 { color: var(--line-1); }
.line-2 { color: var(--line-2); }
.line path { fill: none; stroke: currentColor; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round; }
.line circle { fill: currentColor; }
.samples .start { fill: var(--ink); }
.samples figcaption { display: block; font-size: 13px; white-space: nowrap; font-weight: 400; margin-top: 6px; }
.right b { color: var(--good); }
.wrong { border-color: var(--bad); }
.wrong b { color: var(--bad); }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 7px 16px; border-top: 1px solid var(--rule); white-space: nowrap; }
tr:first-child > * { border-top: 0; }
th { color: var(--soft); font-weight: 400; }
.config th { width: 1%; padding-right: 40px; }
summary { cursor: pointer; font-size: 17px; font-weight: 600; margin: 36px 0 12px; }
`;

/**
 * Renders a run as one HTML page without external resources: its measures, curves of training and validation,
 * test samples or forecasts, configuration and a table of epochs.
 *
 * @returns Text of the page, for a file such as `report.html`.
 */
export function renderReport(content: ReportContent): string {
  const { config, metrics, metric, summary, samples = [], figures = [], sections = [] } = content;
  const title = config.experiment;
  const state = summary
    ? `Trained for ${metrics.length} epochs on ${summary.deviceDescription}`
    : `Stopped after ${metrics.length} of ${config.epochs} epochs; --resume goes on`;
  return htmlPage(
    title,
    `<p>${escapeHtml(state)}.</p>
${tiles(content)}
${metrics.length > 0 ? `<div class="charts">${charts(metrics, metric.name)}</div>` : ""}
${
      samples.length > 0
        ? `<h2>Test samples and what the model takes them for</h2>
<p>A dot is where a curve begins.${
          samples.some(({ curves }) => curves.length > 1)
            ? " The first channel is blue, the others are orange."
            : ""
        }</p>
<div class="samples">${samples.map(sampleFigure).join("\n")}</div>`
        : ""
    }
${
      figures.length > 0
        ? `<h2>Test series and how the model continues them</h2>
<div class="forecasts">${figures.map(forecastFigure).join("\n")}</div>`
        : ""
    }
${sections.join("\n")}
<h2>Configuration</h2>
<div class="table config"><table>${
      Object.entries(config).filter(([, value]) => value !== undefined).map(([name, value]) =>
        `<tr><th>${escapeHtml(name)}</th><td>${escapeHtml(configText(value))}</td></tr>`
      ).join("\n")
    }</table></div>
${metrics.length > 0 ? epochTable(metrics) : ""}`,
  );
}

/** An HTML page without external resources, in the style of reports. */
export function htmlPage(title: string, body: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - Weft</title>
<style>${style}${forecastStyle}${sectionStyle}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

function tiles({ summary, metrics, metric }: ReportContent): string {
  const last = metrics.at(-1);
  const values: [label: string, value: string][] = summary
    ? [
      ...Object.entries(summary.test).reverse().map(([name, value]): [string, string] => [
        `test ${name}`,
        formatMeasure(name, value),
      ]),
      ["best epoch", `${summary.bestEpoch}`],
      ["parameters", summary.parameters.toLocaleString("en")],
      ["training time", formatSeconds(summary.seconds)],
    ]
    : last
    ? [
      [`validation ${metric.name}`, formatMeasure(metric.name, last.validation[metric.name])],
      ["validation loss", formatMeasure("loss", last.validation.loss)],
      ["training time", formatSeconds(last.seconds)],
    ]
    : [];
  return `<div class="tiles">${
    values.map(([label, value]) => `<div class="tile"><b>${value}</b><span>${escapeHtml(label)}</span></div>`)
      .join("")
  }</div>`;
}

function charts(metrics: readonly EpochMetrics[], metric: string): string {
  return [...new Set(["loss", metric])].map((name) =>
    lineChart({
      title: name,
      xLabel: "epoch",
      lines: (["train", "validation"] as const).map((part) => ({
        name: part,
        x: metrics.map(({ epoch }) => epoch),
        y: metrics.map((line) => line[part][name]),
      })),
      format: name === "accuracy" ? (value) => `${Number((100 * value).toPrecision(4))} %` : undefined,
    })
  ).join("\n");
}

const sampleSize = 150;
const sampleMargin = 10;

function sampleFigure({ curves, isPlane, label, predicted }: Sample): string {
  const range = (axis: "x" | "y") => {
    const values = curves.flatMap((curve) => Array.from(curve[axis])).filter(Number.isFinite);
    const [low, high] = [smallest(values), largest(values)];
    return { middle: (low + high) / 2, span: high - low || 1 };
  };
  const [x, y] = [range("x"), range("y")];
  const room = sampleSize - 2 * sampleMargin;
  const common = Math.max(x.span, y.span);
  const place = (value: number, { middle, span }: typeof x, sign: number) =>
    (sampleSize / 2 + sign * (value - middle) / (isPlane ? common : span) * room).toFixed(1);
  const lines = curves.map((curve, i) => {
    const points = Array.from(curve.x, (value, at) => [value, curve.y[at]])
      .filter((point) => point.every(Number.isFinite))
      .map(([a, b]) => `${place(a, x, 1)},${place(b, y, -1)}`);
    const [startX, startY] = points[0]?.split(",") ?? [0, 0];
    return `<g class="line line-${Math.min(i, 1)}"><path d="M${points.join("L")}"/></g>` +
      `<circle class="start" cx="${startX}" cy="${startY}" r="3"><title>start</title></circle>`;
  });
  const isRight = label === predicted;
  const caption = isRight ? "" : ` <small>is ${escapeHtml(label)}</small>`;
  return `<figure class="${isRight ? "right" : "wrong"}"><svg viewBox="0 0 ${sampleSize} ${sampleSize}">${
    lines.join("")
  }</svg><figcaption><b>${isRight ? "✓" : "✗"}</b> ${escapeHtml(predicted)}${caption}</figcaption></figure>`;
}

function epochTable(metrics: readonly EpochMetrics[]): string {
  const columns = (["train", "validation"] as const).flatMap((part) =>
    Object.keys(metrics[0][part]).map((name) => ({ part, name }))
  );
  const head = [
    "epoch",
    ...columns.map(({ part, name }) => `${part} ${escapeHtml(name)}`),
    ...(metrics[0].learningRate === undefined ? [] : ["learning rate"]),
    "time",
  ];
  const rows = metrics.map((line) => [
    `${line.epoch}`,
    ...columns.map(({ part, name }) => formatMeasure(name, line[part][name])),
    ...(line.learningRate === undefined ? [] : [line.learningRate.toPrecision(3)]),
    formatSeconds(line.seconds),
  ]);
  return `<details><summary>Epochs</summary>${table(head, rows)}</details>`;
}

/**
 * Formats a measure with four digits. Accuracy and coverage are in percent.
 *
 * @param name Name of the measure, such as `"loss"`.
 */
export function formatMeasure(name: string, value: number): string {
  return name === "accuracy" || name === "coverage"
    ? `${(100 * value).toFixed(2)} %`
    : `${Number(value.toPrecision(4))}`;
}

/** Formats seconds: `2.5 s`, `3:07 min`, `1:20 h`. */
export function formatSeconds(seconds: number): string {
  if (!Number.isFinite(seconds)) return "?";
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  const minutes = Math.floor(seconds / 60);
  const rest = `${Math.floor(seconds % 60)}`.padStart(2, "0");
  return minutes < 60
    ? `${minutes}:${rest} min`
    : `${Math.floor(minutes / 60)}:${`${minutes % 60}`.padStart(2, "0")} h`;
}

/** Formats a setting. Objects, such as the table options, are shown as JSON. */
function configText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
