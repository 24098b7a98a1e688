/** Sections of a report about predictions, as HTML. The report's style sheet provides the colours. */
import { largest, smallest } from "../device/extremes.ts";
import { escapeHtml, lineChart } from "./chart.ts";
import type { ReliabilityBin } from "./metrics/classes.ts";

/** A series with a title, for a report. */
interface ShownSeries {
  /** Text above the curves. */
  readonly title: string;
  readonly times: Float64Array;
  /** Names of the channels. */
  readonly channels: readonly string[];
  /** Observations `(length, channels)`, row-major; NaN is missing. */
  readonly values: ArrayLike<number>;
}

/** A section with a heading. */
function section(title: string, text: string, content: string): string {
  return `<h2>${escapeHtml(title)}</h2>\n${text ? `<p>${escapeHtml(text)}</p>` : ""}${content}`;
}

/** Formats a number with four significant digits. */
function short(value: number): string {
  return Number.isFinite(value) ? `${Number(value.toPrecision(4))}` : "–";
}

/** A table of numbers. The first cell of each row is its name. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: string, row: readonly string[]) =>
    row.map((cell, i) => i === 0 ? `<th>${cell}</th>` : `<${tag}>${cell}</${tag}>`).join("");
  return `<div class="table numbers"><table><tr>${cells("th", head)}</tr>${
    rows.map((row) => `<tr>${cells("td", row)}</tr>`).join("\n")
  }</table></div>`;
}

/** Measures of the model and of the baselines. */
export function measureSection(
  measures: Readonly<Record<string, number>>,
  baselines: Readonly<Record<string, Readonly<Record<string, number>>>>,
): string {
  const rows = Object.entries({ "the model": measures, ...baselines });
  const names = Object.keys(measures);
  return section(
    "The model and predictions that need none",
    "On the test part.",
    table(
      ["", ...names.map(escapeHtml)],
      rows.map(([row, own]) => [
        escapeHtml(row),
        ...names.map((name) => short(own[name] ?? NaN)),
      ]),
    ),
  );
}

/** Maximum number of classes in a confusion matrix. */
const mostClasses = 40;

/** Confusion matrix of the test series. */
export function confusionSection(
  classes: readonly string[],
  matrix: readonly (readonly number[])[],
): string {
  if (classes.length > mostClasses) return "";
  const names = classes.map(escapeHtml);
  const rows = matrix.map((row, i) => {
    const total = Math.max(1, row.reduce((sum, one) => sum + one, 0));
    const cells = row.map((count, k) =>
      `<td class="${i === k ? "hit" : "miss"}" style="--share: ${(count / total).toFixed(3)}">${
        count || ""
      }</td>`
    );
    return `<tr><th>${names[i]}</th>${cells.join("")}</tr>`;
  });
  return section(
    "Confusion matrix",
    "A row for each true class, a column for what its test series were taken for.",
    `<div class="table confusion"><table><tr><th></th>${
      names.map((name) => `<th>${name}</th>`).join("")
    }</tr>${rows.join("\n")}</table></div>`,
  );
}

/** Precision, recall and F1 of each class. */
export function classSection(
  classes: readonly string[],
  scores: readonly { precision: number; recall: number; f1: number; count: number }[],
): string {
  const rows = scores.map(({ precision, recall, f1, count }, i) => [
    escapeHtml(classes[i]),
    ...[precision, recall, f1].map(short),
    `${count}`,
  ]);
  return section("Each class", "", table(["", "precision", "recall", "F1", "test series"], rows));
}

/** Fraction of correct predictions by predicted probability. */
export function reliabilitySection(bins: readonly ReliabilityBin[]): string {
  const percent = (share: number) => 100 * share;
  return section(
    "Reliability",
    "Of the predictions with a probability of 80 %, 80 % should be right. Each point is a tenth of the range; points of few series scatter.",
    `<div class="charts">${
      lineChart({
        title: "share of right predictions",
        xLabel: "probability of the prediction, in percent",
        lines: [
          {
            name: "predictions",
            x: bins.map(({ confidence }) => percent(confidence)),
            y: bins.map(({ accuracy }) => percent(accuracy)),
          },
          { name: "as it should be", x: [0, 100], y: [0, 100] },
        ],
        format: (value) => `${Number(value.toPrecision(3))} %`,
      })
    }</div>`,
  );
}

/** Increase of a measure when each channel is permuted; empty if the importance is unknown. */
export function importanceSection(
  measure: string,
  importance: Readonly<Record<string, number>> | undefined,
  unit = "series",
): string {
  if (!importance) return "";
  const sorted = Object.entries(importance).sort(([, a], [, b]) => b - a);
  const most = Math.max(...sorted.map(([, value]) => value), 1e-12);
  const rows = sorted.map(([name, value]) => [
    escapeHtml(name),
    `<span class="bar" style="--share: ${Math.max(0, value / most).toFixed(3)}"></span>${short(value)}`,
  ]);
  return section(
    "Importance of channels",
    `How much the ${measure} of the test part grows when a channel is that of another ${unit}.`,
    table(["channel", measure], rows),
  );
}

/** Series with the largest errors. */
export function worstSection(shown: readonly ShownSeries[]): string {
  if (shown.length === 0) return "";
  return section(
    "Largest errors",
    "Each channel has its own axis.",
    `<div class="forecasts">${shown.map(seriesFigure).join("\n")}</div>`,
  );
}

const [width, height, left, margin] = [480, 76, 54, 8];
/** Maximum number of channels in the figure of a series. */
const mostChannels = 6;

function seriesFigure({ title, times, channels, values }: ShownSeries): string {
  const [from, to] = [smallest(times), largest(times)];
  const x = (time: number) => left + (time - from) / (to - from || 1) * (width - left - margin);
  const panels = channels.slice(0, mostChannels).map((name, channel) => {
    const own = Array.from(times, (_, t) => values[t * channels.length + channel]);
    const known = own.filter(Number.isFinite);
    const [low, high] = known.length > 0 ? [smallest(known), largest(known)] : [0, 1];
    const y = (value: number) => height - margin - (value - low) / (high - low || 1) * (height - 2 * margin);
    const points = own.flatMap((value, t) =>
      Number.isFinite(value) ? [`${x(times[t]).toFixed(1)},${y(value).toFixed(1)}`] : []
    );
    const label = (value: number, at: number) =>
      `<text x="${left - 6}" y="${at}" text-anchor="end">${Number(value.toPrecision(3))}</text>`;
    return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(name)}">` +
      `<g class="line line-${channel % 2}"><path d="M${points.join("L")}"/></g>` +
      label(high, margin + 8) + label(low, height - margin) +
      `<text x="${width - margin}" y="14" text-anchor="end">${escapeHtml(name)}</text></svg>`;
  });
  const more = channels.length > mostChannels
    ? `<small>and ${channels.length - mostChannels} more channels</small>`
    : "";
  return `<figure class="forecast"><figcaption>${escapeHtml(title)}</figcaption>${
    panels.join("")
  }${more}</figure>`;
}

/** Scatter plot of true and predicted values. */
export function scatterSection(
  target: string,
  truth: readonly number[],
  predictions: readonly number[],
): string {
  const all = [...truth, ...predictions].filter(Number.isFinite);
  const [low, high] = [smallest(all), largest(all)];
  const size = 300;
  const place = (value: number) => 10 + (value - low) / (high - low || 1) * (size - 20);
  const points = truth.flatMap((value, i) =>
    Number.isNaN(value) ? [] : [
      `<circle cx="${place(value).toFixed(1)}" cy="${(size - place(predictions[i])).toFixed(1)}" r="2.5"/>`,
    ]
  );
  return section(
    target,
    `True values from left to right, predictions from bottom to top, both from ${short(low)} to ${
      short(high)
    }; right ones lie on the line.`,
    `<figure class="scatter"><svg viewBox="0 0 ${size} ${size}" role="img" aria-label="${
      escapeHtml(target)
    }">` +
      `<path class="axis" d="M10,${size - 10}L${size - 10},10"/><g class="line line-0">${
        points.join("")
      }</g></svg></figure>`,
  );
}

/** Style sheet of the sections. */
export const sectionStyle = `
.numbers td { text-align: right; }
.numbers tr:first-child th:not(:first-child) { text-align: right; }
.confusion td { text-align: center; padding: 5px 8px; }
.confusion th { padding: 5px 8px; text-align: center; }
.confusion .hit { background: color-mix(in srgb, var(--good) calc(var(--share) * 55%), transparent); }
.confusion .miss { background: color-mix(in srgb, var(--bad) calc(var(--share) * 90%), transparent); }
.bar { display: inline-block; height: 10px; width: calc(var(--share) * 220px); background: var(--line-0);
  border-radius: 3px; margin-right: 10px; }
.scatter { max-width: 420px; }
`;
