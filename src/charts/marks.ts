/** Draws the marks of a panel. */
import type { BandMark, LineMark, Mark, PointsMark } from "./chart.ts";
import { escapeText, formatDate, formatNumber, formatPercent } from "./format.ts";
import type { Axis } from "./scale.ts";

/** Positions of values in a drawing, and the box of the axes. */
export interface Frame {
  readonly x: (value: number) => number;
  readonly y: (value: number) => number;
  readonly box: {
    readonly left: number;
    readonly right: number;
    readonly top: number;
    readonly bottom: number;
  };
  /** Axes, for the texts that appear above points. */
  readonly axes: { readonly x: Axis; readonly y: Axis };
}

/** Maximum number of points of a line that are drawn as dots. */
const mostDots = 40;
/** Maximum number of separate points that each show a text under the pointer. */
const mostTexts = 500;

/** Rounds a coordinate of a drawing. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Draws a mark. @param colour Class name of its colour. */
export function drawMark(mark: Mark, colour: string, frame: Frame): string {
  const { box, x } = frame;
  if (mark.kind === "line") return drawLine(mark, colour, frame);
  if (mark.kind === "points") return drawPoints(mark, colour, frame);
  if (mark.kind === "band") return drawBand(mark, colour, frame);
  if (mark.kind === "region") {
    const [from, to] = [mark.from, mark.to].map((value) => clamp(x(value), box.left, box.right));
    return `<rect class="region" x="${round(from)}" y="${box.top}" width="${
      round(Math.max(0, to - from))
    }" ` +
      `height="${box.bottom - box.top}"/>`;
  }
  const half = 0.36 * (frame.y(0) - frame.y(1));
  const bars = Array.from(mark.values, (value, i) => {
    const ends = [x(0), x(Number.isFinite(value) ? value : 0)].sort((a, b) => a - b);
    return `<rect class="bar" x="${round(ends[0])}" y="${round(frame.y(i) - Math.abs(half))}" width="${
      round(ends[1] - ends[0])
    }" height="${round(2 * Math.abs(half))}"><title>${
      escapeText(`${frame.axes.y.categories?.[i]}: ${formatNumber(value)}`)
    }</title></rect>`;
  });
  return `<g class="${colour}">${bars.join("")}</g>`;
}

type Point = readonly [x: number, y: number, at: number];

/** Positions of finite values in the drawing, with their indices in the data. */
function pointsOf(xs: ArrayLike<number>, ys: ArrayLike<number>, { x, y }: Frame): Point[] {
  return Array.from(xs, (value, i): Point => [round(x(value)), round(y(ys[i])), i])
    .filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b));
}

/**
 * Keeps the first, lowest, highest and last of successive points in one column of pixels: the drawing is the
 * same, and its size is bounded.
 */
function thinned(points: readonly Point[]): readonly Point[] {
  if (points.length < 2000) return points;
  const kept: Point[] = [];
  for (let start = 0; start < points.length;) {
    let [end, low, high] = [start, start, start];
    while (end < points.length && Math.round(points[end][0]) === Math.round(points[start][0])) {
      if (points[end][1] < points[low][1]) low = end;
      if (points[end][1] > points[high][1]) high = end;
      end++;
    }
    kept.push(...[...new Set([start, low, high, end - 1])].sort((a, b) => a - b).map((i) => points[i]));
    start = end;
  }
  return kept;
}

function pathOf(points: readonly Point[]): string {
  return points.map(([x, y]) => `${x},${y}`).join("L");
}

function drawLine(mark: LineMark, colour: string, frame: Frame): string {
  const { x, y, style = "solid" } = mark;
  const points = thinned(pointsOf(x, y, frame));
  if (points.length === 0) return "";
  const hasDots = style === "solid" && points.length <= mostDots || points.length === 1;
  const dots = hasDots ? points.map((point) => dot(point, mark, frame)).join("") : "";
  // Names of curves, which a script can read.
  const name = style === "solid" ? ` data-name="${escapeText(mark.name)}"` : "";
  return `<g class="${`${colour} ${style}`.trim()}"${name}><path class="line" d="M${
    pathOf(points)
  }"/>${dots}</g>`;
}

function dot([px, py, i]: Point, { name, x, y }: LineMark | PointsMark, frame: Frame): string {
  const { axes } = frame;
  const text = `${name}: ${axes.y.title} ${valueText(axes.y, y[i])}, ${axes.x.title} ${
    valueText(axes.x, x[i])
  }`;
  return `<circle class="dot" cx="${px}" cy="${py}" r="2.5"><title>${escapeText(text)}</title></circle>`;
}

function valueText({ scale, isPercent }: Axis, value: number): string {
  if (scale === "date") return formatDate(value);
  if (scale === "month") return formatDate(Date.UTC(1970, value) / 1000);
  return isPercent ? formatPercent(value) : formatNumber(value);
}

function drawPoints(mark: PointsMark, colour: string, frame: Frame): string {
  const points = pointsOf(mark.x, mark.y, frame);
  const drawn = points.length <= mostTexts
    ? points.map((point) => dot(point, mark, frame)).join("")
    // A path of short lines with round caps: many points in one element.
    : `<path class="dots" d="${points.map(([x, y]) => `M${x},${y}h0`).join("")}"/>`;
  return `<g class="${mark.isHollow ? "rings" : "points"} ${colour}">${drawn}</g>`;
}

function drawBand({ x, low, high }: BandMark, colour: string, frame: Frame): string {
  const { top, bottom } = frame.box;
  const inside = (points: readonly Point[]) =>
    thinned(points.map(([x, y, i]): Point => [x, round(clamp(y, top, bottom)), i]));
  const [lower, upper] = [low, high].map((values) => inside(pointsOf(x, values, frame)));
  if (upper.length === 0) return "";
  return `<path class="band ${colour}" d="M${pathOf(upper)}L${pathOf(lower.toReversed())}Z"/>`;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
