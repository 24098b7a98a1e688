/** Draws the axes and marks of panels as SVG text. The style sheet of the page or the file has the colours. */
import { type Chart, coloursOf, isReference, type Mark, type Panel } from "./chart.ts";
import type { Tick } from "./dates.ts";
import { escapeText } from "./format.ts";
import { drawMark, type Frame, round } from "./marks.ts";
import { type Axis, extent, type Scale, scaleOf } from "./scale.ts";

/** Width and height of a drawing, in units of its view box. */
type Size = readonly [width: number, height: number];

/** Estimated width of a character of the 12-unit font. */
export const characterWidth = 7.4;
const lineHeight = 16;

/** Size of each panel of a chart. A phone shows a normal chart nearly at this width, so texts stay readable. */
export function panelSize({ panels, size = "normal" }: Chart): Size {
  const categories = panels[0]?.y.categories;
  if (categories) return [360, 60 + 24 * categories.length];
  if (size === "small") return [170, 150];
  return [360, panels.length > 1 ? 160 : 230];
}

/** Space above the axes, and below them for the labels of ticks and the title. */
const [top, below] = [8, 2 * lineHeight + 6];

/** Vertical scale of a panel. Its labels decide where the horizontal axis starts. */
function verticalScale({ y, marks }: Panel, [width, height]: Size): Scale {
  const most = Math.max(3, Math.floor((height - top - below) / 34) + 1);
  return withCutLabels(scaleOf(y, valueRange(marks, "y"), most), width);
}

/** Draws a panel whose horizontal axis starts at `left`: an SVG fragment of the given size. */
function drawPanel(
  panel: Panel,
  vertical: Scale,
  left: number,
  colours: ReadonlyMap<string, string>,
  size: Size,
): string {
  const [right, bottom] = [size[0] - 16, size[1] - below];
  const isTight = panel.marks.some((mark) => mark.kind !== "points" && !isReference(mark));
  const [x, y] = panel.isPlane
    ? equalScales(panel, right - left, bottom - top)
    : [fitting(panel.x, valueRange(panel.marks, "x"), right - left, isTight), vertical];
  const frame: Frame = {
    box: { left, right, top, bottom },
    axes: panel,
    x: (value) => left + x.place(value) * (right - left),
    y: (value) => bottom - y.place(value) * (bottom - top),
  };
  const drawn = (isIncluded: (kind: Mark["kind"]) => boolean) =>
    panel.marks.filter(({ kind }) => isIncluded(kind))
      .map((mark) => drawMark(mark, colours.get(mark.name) ?? "", frame)).join("");
  // Later drawings cover earlier ones: regions must not hide the axes, nor bands the lines.
  return drawn((kind) => kind === "region") + drawAxes(panel, [x, y], frame, size) +
    drawn((kind) => kind === "band") + drawn((kind) => kind !== "region" && kind !== "band");
}

/** Smallest and largest value along an axis. Bands extend it by at most twice the range of the other marks. */
function valueRange(marks: readonly Mark[], axis: "x" | "y"): [number, number] {
  const values = marks.flatMap((mark): ArrayLike<number>[] => {
    if (mark.kind === "region") return axis === "x" ? [[mark.from, mark.to]] : [];
    if (mark.kind === "bars") return axis === "x" ? [mark.values, [0]] : [];
    if (mark.kind === "band") return axis === "x" ? [mark.x] : [];
    return [mark[axis]];
  });
  const [low, high] = extent(function* () {
    for (const list of values) for (let i = 0; i < list.length; i++) yield list[i];
  }());
  if (axis === "x") return [low, high];
  const bands = marks.flatMap((mark) => mark.kind === "band" ? [mark.low, mark.high] : []);
  const most = 2 * (high - low);
  const inside = bands.flatMap((band) => Array.from(band).filter(Number.isFinite))
    .map((value) => Math.min(high + most, Math.max(low - most, value)));
  return extent([low, high, ...extent(inside.length > 0 ? inside : [low, high])]);
}

/** The scale with the most ticks whose labels fit side by side. */
function fitting(axis: Axis, range: readonly [number, number], width: number, isTight: boolean): Scale {
  const fits = ({ ticks, place }: Scale) => {
    const space = (ticks.length - 1) * (characterWidth * longest(ticks) + 12);
    return ticks.length < 2 ||
      space <= width * Math.abs(place(ticks.at(-1)!.value) - place(ticks[0].value));
  };
  let ends: Scale | undefined;
  for (let most = Math.max(5, Math.floor(width / 40));; most--) {
    const scale = scaleOf(axis, range, most, isTight);
    // One tick shows no scale: the first and the last of closer ticks do.
    if (scale.ticks.length < 2 && ends) return ends;
    if (most <= 2 || fits(scale)) return scale;
    const outer = { ...scale, ticks: [scale.ticks[0], scale.ticks.at(-1)!] };
    if (fits(outer)) ends = outer;
  }
}

function longest(ticks: readonly Tick[]): number {
  return Math.max(...ticks.map(({ label }) => label.length), 0);
}

/** Shortens labels that would take more than a third of the width. */
function withCutLabels(scale: Scale, width: number): Scale {
  const most = Math.floor(0.4 * width / characterWidth);
  return { ...scale, ticks: scale.ticks.map(({ value, label }) => ({ value, label: cut(label, most) })) };
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;
}

/** Scales with the same length of a unit on both axes. */
function equalScales({ x, y, marks }: Panel, width: number, height: number): [Scale, Scale] {
  const ranges = [valueRange(marks, "x"), valueRange(marks, "y")];
  const unit =
    Math.max((ranges[0][1] - ranges[0][0]) / width, (ranges[1][1] - ranges[1][0]) / height) * 1.1 ||
    1 / Math.min(width, height);
  const centred = ([low, high]: readonly number[], length: number): [number, number] => [
    (low + high - unit * length) / 2,
    (low + high + unit * length) / 2,
  ];
  return [
    fitting(x, centred(ranges[0], width), width, true),
    scaleOf(y, centred(ranges[1], height), Math.max(3, Math.floor(height / 34)), true),
  ];
}

/** Grid, tick labels and titles. */
function drawAxes(
  panel: Panel,
  [x, y]: readonly [Scale, Scale],
  frame: Frame,
  [width, height]: Size,
): string {
  const { left, right, top, bottom } = frame.box;
  const rows = y.ticks.map(({ value, label }) => {
    const at = round(frame.y(value));
    return (panel.y.categories ? "" : `<path class="grid" d="M${left},${at}H${right}"/>`) +
      text(left - 6, at + 4, "end", label);
  });
  const columns = x.ticks.map(({ value, label }) => {
    const at = round(frame.x(value));
    const half = characterWidth * label.length / 2;
    return `<path class="grid" d="M${at},${bottom}v4"/>` +
      text(round(Math.max(half, Math.min(width - half - 2, at))), bottom + lineHeight, "middle", label);
  });
  const shown = (titles: readonly string[], length: number) => {
    const most = Math.max(4, Math.floor(length / characterWidth));
    return titles.find((title) => title.length <= most) ?? cut(titles.at(-1)!, most);
  };
  const middle = round((top + bottom) / 2);
  const nameX = shown(titlesOf(panel.x, x), width - 8);
  // A long title is moved to the left of the middle of its axis, so that it fits.
  const center = Math.min((left + right) / 2, width - 4 - characterWidth * nameX.length / 2);
  return `<g class="axes" data-x="${scaleText(panel.x, x, [left, right])}" data-y="${
    scaleText(panel.y, y, [bottom, top])
  }">${rows.join("")}${columns.join("")}` +
    `<path class="axis" d="M${left},${top}V${bottom}H${right}"/>` +
    text(round(center), height - 5, "middle", nameX, "title") +
    `<g transform="rotate(-90 12 ${middle})">${
      text(12, middle, "middle", shown(titlesOf(panel.y, y), bottom - top + 24), "title")
    }</g></g>`;
}

/** A scale for scripts: positions of the ends of the axis, their values, and the kind of the axis. */
function scaleText({ isPercent }: Axis, { range, isLogarithmic }: Scale, ends: readonly number[]): string {
  return [...ends, ...range, ...isLogarithmic ? ["log"] : [], ...isPercent ? ["%"] : []].join(" ");
}

/** Titles of an axis, the longest first. Without space for the title of a time axis, its start date remains. */
function titlesOf({ title, unit }: Axis, { start }: Scale): string[] {
  const notes = [unit, start && `from ${start}`].filter(Boolean).join(", ");
  if (notes === "") return [title];
  return [`${title} (${notes})`, start === undefined ? title : notes];
}

function text(x: number, y: number, anchor: string, content: string, name = "tick"): string {
  return `<text class="${name}" x="${x}" y="${y}" text-anchor="${anchor}">${escapeText(content)}</text>`;
}

/**
 * Draws all panels of a chart: an SVG fragment for each, of the size {@linkcode panelSize}. Their horizontal
 * axes start at the same place.
 *
 * @param colours Class names of the colours of marks, by name.
 */
export function drawPanels(chart: Chart, colours: ReadonlyMap<string, string> = coloursOf(chart)): string[] {
  const size = panelSize(chart);
  const scales = chart.panels.map((panel) => verticalScale(panel, size));
  const most = Math.max(
    ...scales.map(({ ticks }) => longest(ticks)),
    chart.panels.some(({ isPlane }) => isPlane) ? 4 : 1,
  );
  const left = Math.ceil(lineHeight + 10 + characterWidth * most);
  return chart.panels.map((panel, i) => drawPanel(panel, scales[i], left, colours, size));
}
