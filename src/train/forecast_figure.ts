/** Figures of forecasts and observed values, as SVG text. The report's style sheet provides the colours. */
import { largest, smallest } from "../device/extremes.ts";
import { escapeHtml } from "./chart.ts";

/** A channel of a series. */
export interface ForecastChannel {
  /** Name of the channel. */
  readonly name: string;
  /** Observed values at the steps of the figure. */
  readonly truth: ArrayLike<number>;
  /** Predicted values at the same steps, NaN for steps without a prediction. */
  readonly predicted: ArrayLike<number>;
  /** Standard deviations of the predictions. */
  readonly deviation?: ArrayLike<number>;
  /** Bounds of a prediction interval, instead of standard deviations. */
  readonly interval?: { readonly low: ArrayLike<number>; readonly high: ArrayLike<number> };
  /** Values of the baseline at the same steps. */
  readonly baseline?: ArrayLike<number>;
}

/** A grey image. */
export interface GreyImage {
  /** Caption of the picture. */
  readonly name: string;
  /** Number of pixels of a row. */
  readonly width: number;
  /** Brightness of each pixel, row by row, from 0 (dark) to 1. */
  readonly pixels: ArrayLike<number>;
}

/** Figure of one series in a report: its channels over time, or images. */
export type ForecastFigure =
  & { readonly title: string }
  & (
    | {
      /** Number of observations given to the model. */
      readonly context: number;
      readonly channels: readonly ForecastChannel[];
      /** Positions of the values on the axis, in ascending order; by default 0, 1, ... */
      readonly steps?: ArrayLike<number>;
      /** Name of the baseline. */
      readonly baseline?: string;
      /** Probability of the interval, such as `"80 %"`. */
      readonly interval?: string;
    }
    | { readonly images: readonly GreyImage[] }
  );

/** Returns a figure as HTML. */
export function forecastFigure(figure: ForecastFigure): string {
  const caption = (legend: string) =>
    `<figcaption>${escapeHtml(figure.title)}<span class="legend">${legend}</span></figcaption>`;
  if ("images" in figure) {
    const pictures = figure.images.map((image) =>
      `<div>${greyImage(image)}<small>${escapeHtml(image.name)}</small></div>`
    );
    return `<figure class="images">${caption("")}<div>${pictures.join("")}</div></figure>`;
  }
  const hasBand = figure.channels.some(({ deviation }) => deviation);
  return `<figure class="forecast">${
    caption(
      `<span class="key">observed</span><span class="key key-1">predicted${
        hasBand ? " ± 2 deviations" : figure.interval ? `, interval of ${escapeHtml(figure.interval)}` : ""
      }</span>` +
        (figure.baseline ? `<span class="key key-2">${escapeHtml(figure.baseline)}</span>` : ""),
    )
  }${figure.channels.map((channel) => channelPanel(channel, figure)).join("")}</figure>`;
}

const [width, height, left, margin] = [480, 120, 44, 10];

function channelPanel(
  { name, truth, predicted, deviation, interval, baseline = [] }: ForecastChannel,
  { context, steps }: { readonly context: number; readonly steps?: ArrayLike<number> },
): string {
  const known = [truth, predicted, baseline].flatMap((values) => Array.from(values)).filter(Number.isFinite);
  const [low, high] = [smallest(known), largest(known)];
  const span = high - low || 1;
  const place = (i: number) => steps ? steps[i] : i;
  const end = Math.max(1, place(truth.length - 1));
  const x = (i: number) => (left + place(i) / end * (width - left - margin)).toFixed(1);
  // Clip a wide band at the panel's edge, so that the lines stay visible.
  const y = (value: number) =>
    Math.min(height, Math.max(0, height - margin - (value - low) / span * (height - 2 * margin))).toFixed(1);
  const points = (values: ArrayLike<number>, add: (step: number) => number = () => 0) =>
    Array.from(values, (value, step): [number, number] => [step, value + add(step)])
      .filter(([, value]) => Number.isFinite(value));
  const path = (line: readonly [number, number][]) =>
    line.map(([step, value]) => `${x(step)},${y(value)}`).join("L");
  const [above, below] = deviation
    ? [points(predicted, (step) => 2 * deviation[step]), points(predicted, (step) => -2 * deviation[step])]
    : [points(interval?.high ?? []), points(interval?.low ?? [])];
  const band = above.length > 0 ? `<path class="band" d="M${path(above)}L${path(below.reverse())}Z"/>` : "";
  const label = (value: number, at: number) =>
    `<text x="${left - 6}" y="${at}" text-anchor="end">${labelOf(value, span)}</text>`;
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(name)}">` +
    `<rect class="context" x="${left}" y="0" width="${
      (Number(x(context - 1)) - left).toFixed(1)
    }" height="${height}"><title>given</title></rect>` +
    label(high, margin + 8) + label(low, height - margin) +
    `<g class="line line-1">${band}</g>` +
    `<g class="line line-0"><path d="M${path(points(truth))}"/></g>` +
    (baseline.length > 0
      ? `<g class="line line-2"><path class="faint" d="M${path(points(baseline))}"/></g>`
      : "") +
    `<g class="line line-1"><path class="thin" d="M${path(points(predicted))}"/></g>` +
    `<text x="${width - margin}" y="14" text-anchor="end">${escapeHtml(name)}</text></svg>`;
}

/** Formats a value to two digits of its span. Labels have space for six characters. */
function labelOf(value: number, span: number): string {
  const unit = 10 ** (Math.floor(Math.log10(span)) - 1);
  const rounded = Number((Math.round(value / unit) * unit).toPrecision(3));
  const text = String(rounded);
  return text.length > 6 ? rounded.toExponential(1).replace("e+", "e") : text;
}

/** Merges runs of equal pixels into one rectangle: the image is small, and sharp at every size. */
function greyImage({ width, pixels, name }: GreyImage): string {
  const rows = Math.ceil(pixels.length / width);
  const rectangles: string[] = [];
  for (let row = 0; row < rows; row++) {
    for (let start = 0, column = 0; column <= width; column++) {
      const grey = (at: number) => Math.round(255 * Math.min(1, Math.max(0, pixels[row * width + at])));
      if (column < width && grey(column) === grey(start)) continue;
      const shade = grey(start).toString(16).padStart(2, "0");
      rectangles.push(
        `<path fill="#${shade}${shade}${shade}" d="M${start},${row}h${column - start}v1h-${
          column - start
        }z"/>`,
      );
      start = column;
    }
  }
  return `<svg viewBox="0 0 ${width} ${rows}" shape-rendering="crispEdges" role="img" aria-label="${
    escapeHtml(name)
  }">${rectangles.join("")}</svg>`;
}

/** Style sheet of the figures. */
export const forecastStyle = `
.forecasts { display: grid; gap: 14px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
.forecast text { paint-order: stroke; stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; }
.forecast .context { fill: var(--rule); opacity: .6; }
.forecast .line .band { fill: currentColor; stroke: none; opacity: .22; }
.forecast .line .thin { stroke-width: 1.8; stroke-dasharray: 5 3; }
.forecast .line .faint { stroke-width: 1.2; }
.images > div { display: flex; gap: 10px; }
.images > div > div { flex: 1; }
.images small { color: var(--soft); }
`;
