/** Line charts as SVG text without scripts. The page provides the style sheet. */
import { largest, smallest } from "../device/extremes.ts";

/** A line of a chart. Lines with the same name have the same colour. */
export interface ChartLine {
  readonly name: string;
  readonly x: readonly number[];
  readonly y: readonly number[];
}

/** Options of {@linkcode lineChart}. */
export interface ChartOptions {
  readonly title: string;
  readonly xLabel: string;
  readonly lines: readonly ChartLine[];
  /** Formats a value; by default with three significant digits. */
  readonly format?: (value: number) => string;
}

/** Width and height of a chart. */
export const chartSize = [640, 340] as const;
const [width, height] = chartSize;
const frame = { left: 58, right: width - 16, top: 18, bottom: height - 46 };
/** Ratio of the largest to the smallest value above which the axis is logarithmic. */
const logarithmicRatio = 50;

/** A chart of lines over a common axis, as an HTML figure. Non-finite values are skipped. */
export function lineChart(options: ChartOptions): string {
  const { title } = options;
  const legend = namesOf(options).map((name, i) => `<span class="key key-${i}">${escapeHtml(name)}</span>`);
  return `<figure><figcaption>${escapeHtml(title)}<span class="legend">${
    legend.join("")
  }</span></figcaption>` +
    `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(title)}">${
      plot(options)
    }</svg></figure>`;
}

/** Distinct names of the lines, in the order of their colours. */
export function namesOf({ lines }: ChartOptions): string[] {
  return [...new Set(lines.map(({ name }) => name))];
}

/** Axes, lines and points, in a drawing of {@linkcode chartSize}. */
export function plot(options: ChartOptions): string {
  const { xLabel, lines, format = formatTick } = options;
  const names = namesOf(options);
  const xs = lines.flatMap(({ x }) => x);
  const ys = lines.flatMap(({ y }) => y).filter(Number.isFinite);
  const x = axis(smallest(xs), largest(xs), frame.left, frame.right, false);
  const y = axis(smallest(ys), largest(ys), frame.bottom, frame.top, true);
  const text = (at: { x: number; y: number }, anchor: string, content: string) =>
    `<text x="${round(at.x)}" y="${round(at.y)}" text-anchor="${anchor}">${escapeHtml(content)}</text>`;
  const grid = y.ticks.map((value) => {
    const at = round(y.place(value));
    return `<path class="grid" d="M${frame.left},${at}H${frame.right}"/>` +
      text({ x: frame.left - 8, y: at + 4 }, "end", format(value));
  });
  const wholeTicks = x.ticks.filter(Number.isInteger);
  const labels = wholeTicks.map((value) =>
    text({ x: x.place(value), y: frame.bottom + 20 }, "middle", `${value}`)
  );
  const paths = lines.map((line) => {
    const points = line.x.flatMap((value, at) =>
      Number.isFinite(line.y[at]) && (!y.isLogarithmic || line.y[at] > 0)
        ? [{ x: round(x.place(value)), y: round(y.place(line.y[at])), at: value, value: line.y[at] }]
        : []
    );
    const dots = points.map((point) =>
      `<circle cx="${point.x}" cy="${point.y}" r="${points.length > 60 ? 1.5 : 3}"><title>${
        escapeHtml(`${line.name}, ${xLabel} ${point.at}: ${format(point.value)}`)
      }</title></circle>`
    );
    const path = points.map((point) => `${point.x},${point.y}`).join("L");
    return `<g class="line line-${names.indexOf(line.name)}"><path d="M${path}"/>${dots.join("")}</g>`;
  });
  return grid.join("") +
    `<path class="axis" d="M${frame.left},${frame.bottom}H${frame.right}"/>${labels.join("")}` +
    text({ x: (frame.left + frame.right) / 2, y: height - 8 }, "middle", xLabel) +
    paths.join("");
}

/** Formats a number with three significant digits, short enough to fit beside the axis. */
function formatTick(value: number): string {
  const rounded = Number(value.toPrecision(3));
  return rounded !== 0 && Math.abs(rounded) < 1e-3 ? rounded.toExponential() : String(rounded);
}

interface Axis {
  readonly isLogarithmic: boolean;
  readonly ticks: readonly number[];
  place(value: number): number;
}

/**
 * Makes an axis between the positions `from` and `to` on the page. A value axis ends at round numbers, and
 * may be logarithmic.
 */
function axis(low: number, high: number, from: number, to: number, isValue: boolean): Axis {
  const isLogarithmic = isValue && low > 0 && high / low > logarithmicRatio;
  if (isLogarithmic) {
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const every = Math.max(1, Math.ceil((last - first) / 6));
    const ticks: number[] = [];
    for (let power = first; power <= last; power += every) ticks.push(10 ** power);
    const share = (value: number) => (Math.log10(value) - first) / (last - first);
    return { isLogarithmic, ticks, place: (value) => from + share(value) * (to - from) };
  }
  const span = high - low || Math.abs(high) || 1;
  const step = [1, 2, 5, 10].map((factor) => factor * 10 ** Math.floor(Math.log10(span / 5)))
    .find((candidate) => span / candidate <= 6)!;
  const [start, end] = isValue
    ? [Math.floor(low / step) * step, Math.ceil(Math.max(high, low + step) / step) * step]
    : [low, low === high ? low + 1 : high];
  const ticks: number[] = [];
  for (let i = Math.ceil(start / step - 1e-9); i * step <= end + step * 1e-9; i++) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return { isLogarithmic, ticks, place: (value) => from + (value - start) / (end - start) * (to - from) };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Escapes a text for HTML. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
