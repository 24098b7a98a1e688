/** Answers as parts of a web page: tables and charts in HTML, for the page of the server. */
import type { Chart } from "../../charts/chart.ts";
import { forecastPanel } from "../../charts/forecast.ts";
import { formatDate, formatNumber, formatPercent } from "../../charts/format.ts";
import { renderSection, renderTable } from "../../charts/render.ts";
import type { Cell, Section } from "../../charts/section.ts";
import type {
  ChannelForecast,
  ClassPrediction,
  ForecastPrediction,
  NumberPrediction,
  Prediction,
} from "../../series/record/predictions.ts";
import { describeWarnings } from "../../series/targets/range_warnings.ts";
import { timeAxis } from "../../series/targets/time_axis.ts";

/** A past answer, for the page with the latest answers. */
export interface RecentAnswer {
  /** Time of the answer in ISO 8601. */
  readonly at: string;
  /** The answer. */
  readonly answer: Prediction;
}

/** Maximum number of rows of a table, and of charts. */
const [mostRows, mostCharts] = [500, 12];

/** Whether a client prefers HTML, as the page of the server does. */
export function wantsHtml(request: Request): boolean {
  return request.headers.get("accept")?.includes("text/html") ?? false;
}

/** Headers of a part of a page. A browser that opens the part itself loads and runs nothing. */
export const htmlHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": "default-src 'none'",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** Answers as a table, and as charts if they are forecasts. @param notices Lines about how the table was read. */
export function answersPart(answers: readonly Prediction[], notices: readonly string[]): string {
  const table = tableOf(answers);
  const more = table.rows.length - mostRows;
  const warnings = describeWarnings(answers);
  const sections: Section[] = [
    ...(warnings.length > 0 ? [{ kind: "text", title: "Warnings", lines: warnings } as const] : []),
    {
      ...{ kind: "table", title: "Answers", ...table, rows: table.rows.slice(0, mostRows) },
      ...(more > 0 ? { text: `The first ${mostRows} of ${table.rows.length} rows.` } : {}),
    },
    ...(notices.length > 0 ? [{ kind: "text", title: "Notices", lines: notices } as const] : []),
  ];
  const charts = answers.filter(isForecast).slice(0, mostCharts).map(chartOf);
  if (charts.length > 0) sections.unshift({ kind: "charts", title: "Forecasts", charts });
  return sections.map(renderSection).join("\n");
}

/** The latest answers as a table. */
export function latestPart(latest: readonly RecentAnswer[]): string {
  if (latest.length === 0) return "<p>No answers yet.</p>";
  return renderTable({
    head: ["time (UTC)", "series", "answer"],
    rows: latest.map(({ at, answer }) => [
      formatDate(Math.floor(Date.parse(at) / 1000)),
      answer.series,
      textOf(answer),
    ]),
    texts: [0, 1, 2],
  });
}

function isForecast(answer: Prediction): answer is ForecastPrediction {
  return "channels" in answer;
}

function isClass(answer: Prediction): answer is ClassPrediction {
  return "label" in answer;
}

/** A prediction as one line of text. */
function textOf(answer: Prediction): string {
  if (isClass(answer)) return `${answer.label}, ${formatPercent(answer.probability, 1)}`;
  const numbers = isForecast(answer)
    ? Object.entries(answer.channels).map(([name, { mean }]) => [name, mean.at(-1)!] as const)
    : Object.entries(answer.numbers);
  const text = numbers.map(([name, value]) => `${name} ${formatNumber(value)}`).join(", ");
  return isForecast(answer) ? `${text} at ${timeText(answer.times.at(-1)!)}` : text;
}

interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly texts?: readonly number[];
}

function tableOf(answers: readonly Prediction[]): Table {
  const [first] = answers;
  if (first === undefined) return { head: ["series"], rows: [] };
  if (isClass(first)) {
    const classes = Object.keys(first.probabilities);
    return {
      head: ["series", "predicted class", ...classes.map((name) => `probability of ${name}`)],
      rows: (answers as readonly ClassPrediction[]).map(({ series, label, probabilities }) => [
        series,
        label,
        ...classes.map((name) => formatPercent(probabilities[name], 1)),
      ]),
      texts: [0, 1],
    };
  }
  if (!isForecast(first)) {
    const names = Object.keys(first.numbers);
    return {
      head: ["series", ...names],
      rows: (answers as readonly NumberPrediction[]).map(({ series, numbers }) => [
        series,
        ...names.map((name) => numbers[name]),
      ]),
    };
  }
  return {
    head: ["series", "channel", "time", "mean", "lower bound", "upper bound"],
    rows: answers.filter(isForecast).flatMap(({ series, times, channels }) =>
      Object.entries(channels).flatMap(([name, channel]) => {
        const interval = intervalOf(channel);
        return times.map((time, i): Cell[] => [
          ...[series, name, timeText(time)],
          ...[channel.mean[i], interval?.low[i] ?? NaN, interval?.high[i] ?? NaN],
        ]);
      })
    ),
    texts: [0, 1, 2],
  };
}

function timeText(time: number | string): string {
  if (typeof time === "number") return formatNumber(time, 6);
  return isMonthText(time) ? time : formatDate(Date.parse(time) / 1000);
}

/** Whether a time is a month, such as `1949-01`: it has no day. */
function isMonthText(time: string): boolean {
  return time.length <= 7;
}

/** The interval between the lowest and the highest quantile. */
function intervalOf(
  { quantiles }: ChannelForecast,
): { name: string; low: readonly number[]; high: readonly number[] } | undefined {
  const levels = Object.keys(quantiles).sort((a, b) => Number(a) - Number(b));
  if (levels.length < 2) return undefined;
  const [low, high] = [levels[0], levels.at(-1)!];
  const share = formatPercent(Number(high) - Number(low), 0);
  return { name: `${share} interval`, low: quantiles[low], high: quantiles[high] };
}

function chartOf({ series, times, channels }: ForecastPrediction): Chart {
  const isDate = typeof times[0] === "string";
  const isMonth = isDate && isMonthText(times[0] as string);
  const x = times.map((time) => typeof time === "string" ? Date.parse(time) / 1000 : time);
  return {
    title: series,
    panels: Object.entries(channels).map(([name, channel]) =>
      forecastPanel({ ...timeAxis(isDate ? "date" : "number"), ...(isMonth ? { unit: undefined } : {}) }, {
        name,
        predicted: { x, y: channel.mean },
        interval: intervalOf(channel),
      })
    ),
  };
}
