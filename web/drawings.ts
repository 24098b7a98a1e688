/// <reference lib="dom" />
/** Charts of the playground. */
import type { Chart, Mark } from "../src/charts/chart.ts";
import { escapeText, formatDate, formatNumber } from "../src/charts/format.ts";
import { forecastPanel } from "../src/charts/forecast.ts";
import { drawImage } from "../src/charts/image.ts";
import { renderChart } from "../src/charts/render.ts";
import type { Axis } from "../src/charts/scale.ts";
import type { Forecast, View } from "./messages.ts";

/** Maximum number of entries of a state that are drawn as lines. */
const mostLines = 8;

/** Charts that an element is to show: a later call replaces those of an earlier one. */
const wanted = new Map<Element, readonly Chart[]>();

/** Draws charts in an element, one in each frame, so that no frame takes long. */
export async function drawCharts(element: Element, charts: readonly Chart[]): Promise<void> {
  wanted.set(element, charts);
  while (element.children.length > charts.length) element.lastElementChild!.remove();
  for (const [i, chart] of charts.entries()) {
    await new Promise(requestAnimationFrame);
    if (wanted.get(element) !== charts) return;
    const place = element.children[i] ?? element.appendChild(document.createElement("div"));
    place.innerHTML = renderChart(chart);
  }
}

/** Number of points of the control path up to a moment. */
export function curvePoints({ times, curveTimes }: View, moment: number): number {
  const perGap = (curveTimes.length - 1) / Math.max(1, times.length - 1);
  return curveTimes.length === 0 ? 0 : Math.round(perGap * moment) + 1;
}

/** Charts of the path, the state and the predictions along a series, up to a moment. */
export function viewCharts(
  view: View,
  moment: number,
  { channels, classes }: { channels: readonly string[]; classes: readonly string[] },
): Chart[] {
  const { observed, curve, states, kind, probabilities } = view;
  const [times, curveTimes] = [
    view.times.slice(0, moment + 1),
    view.curveTimes.slice(0, curvePoints(view, moment)),
  ];
  const x: Axis = {
    ...timeAxis(view),
    includes: [view.times[0], view.times.at(-1)!],
  };
  const known = (rows: readonly ArrayLike<number>[]) => {
    const all = rows.flatMap((row) => Array.from(row)).filter(Number.isFinite);
    return all.length > 0 ? [Math.min(...all), Math.max(...all)] : [];
  };
  const shown = mostChanged(states).slice(0, mostLines).sort((a, b) => a - b);
  const charts: Chart[] = [];
  if (curve.length > 0) {
    const isPath = view.curveTimes.length > view.times.length;
    charts.push({
      title: isPath
        ? "Observations, and the path through them"
        : "Observations, and the rows that the model reads",
      panels: [{
        x,
        y: { title: channels.length === 1 ? channels[0] : "value", includes: known([...observed, ...curve]) },
        marks: channels.flatMap((name, c): Mark[] => [
          { kind: "points", name, isHollow: true, x: times, y: observed[c].slice(0, times.length) },
          { kind: "line", name, x: curveTimes, y: curve[c].slice(0, curveTimes.length) },
        ]),
      }],
    });
    charts.push({
      title: shown.length < states[0].length
        ? `State: ${kind}, ${shown.length} of ${states[0].length}`
        : `State: ${kind}`,
      panels: [{
        x,
        y: { title: kind, includes: known(shown.map((entry) => states.map((state) => state[entry]))) },
        marks: shown.map((entry) => ({
          ...{ kind: "line", name: `${entry + 1}`, x: times },
          y: states.slice(0, times.length).map((state) => state[entry]),
        })),
      }],
    });
  }
  if (classes.length === 0) return charts;
  charts.push({
    title: "Prediction",
    panels: [{
      x,
      y: { title: "probability", isPercent: true, includes: [0, 1] },
      marks: classes.map((name, label) => ({
        ...{ kind: "line", name, x: times },
        y: probabilities[label].slice(0, times.length),
      })),
    }],
  });
  return charts;
}

const timeAxis = ({ timeKind }: View): Axis => ({
  title: "time",
  scale: timeKind === "number" ? "linear" : timeKind,
});

/** Chart of a channel and its forecast. */
export function forecastChart(
  view: View,
  name: string,
  channel: number,
  { times, mean, low, high }: Forecast,
): Chart {
  const interval = { name: "80 % interval", low, high };
  const [observed, predicted] = [{ x: view.times, y: view.observed[channel] }, { x: times, y: mean }];
  return {
    title: "Observations, and the forecast",
    panels: [forecastPanel(timeAxis(view), { name, observed, predicted, interval })],
  };
}

/** Entries of a state, those that change most along time first. */
function mostChanged(states: readonly Float32Array[]): number[] {
  const range = (entry: number) => {
    const values = states.map((state) => state[entry]);
    return Math.max(...values) - Math.min(...values);
  };
  const ranges = Array.from(states[0] ?? [], (_, entry) => range(entry));
  return [...ranges.keys()].sort((a, b) => ranges[b] - ranges[a]);
}

/** Colours of the smallest, of zero and of the largest weight: red, green and blue from 0 to 255. */
const colours = {
  light: [[208, 102, 10], [255, 255, 255], [31, 87, 184]],
  dark: [[245, 165, 74], [27, 33, 43], [110, 168, 254]],
} as const;

/** Size of a weight in the picture of a matrix, in pixels. */
const cell = 18;

/** Pictures of the matrices in a state at a moment, as HTML. */
export function matrixPictures(view: View, moment: number, scheme: keyof typeof colours): string {
  const largest = Math.max(1e-9, ...view.states.flatMap((state) => [...state]).map(Math.abs));
  return view.matrices.map((matrix) => {
    const values = view.states[moment].slice(matrix.start, matrix.start + matrix.rows * matrix.columns);
    const size = `style="width: ${cell * matrix.columns}px" `;
    const text = `${matrix.name}, ${matrix.rows} x ${matrix.columns}`;
    const picture = drawImage(
      {
        name: `${text}: from ${range(values)}`,
        width: matrix.columns,
        channels: 3,
        pixels: shades(values, largest, scheme),
      },
      size,
    );
    return `<figure><figcaption>${escapeText(matrix.name)}</figcaption>${picture}<small>${
      range(values)
    }</small></figure>`;
  }).join("");
}

function range(values: Float32Array): string {
  return `${formatNumber(Math.min(...values))} to ${formatNumber(Math.max(...values))}`;
}

function shades(values: Float32Array, largest: number, scheme: keyof typeof colours): number[] {
  const [low, zero, high] = colours[scheme];
  return Array.from(values).flatMap((value) => {
    const share = Math.min(1, Math.abs(value) / largest);
    const end = value < 0 ? low : high;
    return zero.map((part, i) => (part + share * (end[i] - part)) / 255);
  });
}

/** The time of a moment as text. */
export function timeText({ times, timeKind }: View, moment: number): string {
  const at = times[moment];
  if (timeKind === "date") return formatDate(at);
  return timeKind === "month" ? formatDate(Date.UTC(1970, at) / 1000) : at.toFixed(2);
}
