/** Tensors as figures. */
import type { Chart } from "../charts/chart.ts";
import { type Figure, makeFigure } from "../charts/display.ts";
import { chartFile } from "../charts/file.ts";
import { drawImage } from "../charts/image.ts";
import { extent } from "../charts/scale.ts";
import { describe } from "../device/describe.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { formatShape, normalizeAxis, refuseShape, ShapeError } from "../device/shape.ts";
import { checkTensor } from "./checks.ts";
import { Tensor } from "./tensor.ts";

export type { Figure } from "../charts/display.ts";

/** Maximum number of lines of a chart: the number of colours. */
const maxLines = 8;

/** A chart of lines over time. The title has the number of lines if some are left out. */
export function lineChart(
  title: string,
  times: ArrayLike<number>,
  lines: readonly { readonly name: string; readonly values: ArrayLike<number> }[],
): Chart {
  const shown = lines.slice(0, maxLines);
  return {
    title: shown.length < lines.length ? `${title}: ${shown.length} of ${lines.length} lines` : title,
    panels: [{
      x: { title: "time" },
      y: { title: "value" },
      marks: shown.map(({ name, values }) => ({ kind: "line", name, x: times, y: values })),
    }],
  };
}

/** Options of {@linkcode plot}. */
export interface PlotOptions {
  /**
   * Axis of time. It is -2 for a solution of `cdeint`, which is `(..., length, hidden)`.
   *
   * @default {0}
   */
  axis?: number;
  /** Title above the plot. By default the shape. */
  title?: string;
  /** Names of the lines in the legend. By default their indices in the other axes. */
  names?: readonly string[];
}

const plotNames = namesOf<PlotOptions>()("axis? title? names?");

/**
 * Draws a solution, or another tensor, as lines over time. `deno jupyter` shows the figure. It has the first 8
 * lines.
 *
 * @example
 * ```ts
 * import { linspace, odeint, plot, tensor } from "@weft/weft";
 *
 * const t = linspace(0, 6, 50);
 * const y = odeint((_t, y) => y.neg(), tensor([1, 2]), t, { method: "dopri5" });
 * const figure = plot(y, t); // the result of a cell of a notebook
 * console.log((await figure.svg()).length); // Deno.writeTextFile("decay.svg", ...)
 * ```
 *
 * @param y Values, such as a solution `(length, ...)`. Each index of the other axes is a line.
 * @param t Times `(length,)`; 0, 1, ... by default.
 * @throws {ShapeError} If the tensor has no axis, or not as many values along its axis as there are times.
 */
export function plot(y: Tensor, t?: Tensor | ArrayLike<number>, options: PlotOptions = {}): Figure {
  checkTensor("plot: y", y);
  checkOptions("plot", options, plotNames);
  const { axis = 0, title, names = [] } = options;
  if (y.rank === 0) refuseShape("plot: y", y.shape, "a shape with an axis of time");
  const at = normalizeAxis(axis, y.rank, "plot");
  const length = y.shape[at];
  checkPlotTimes(t, length);
  const others = y.shape.filter((_, other) => other !== at);
  const text = title ?? `Values ${formatShape(y.shape)} over time`;
  return makeFigure(text, async () => {
    const order = [at, ...y.shape.keys()].filter((axis, i) => i === 0 || axis !== at);
    const values = await y.permute(order).data();
    const times = t instanceof Tensor ? await t.data() : t ?? Array.from({ length }, (_, i) => i);
    const count = length === 0 ? 0 : values.length / length;
    const lines = Array.from({ length: count }, (_, line) => ({
      name: names[line] ?? nameOf(line, others),
      values: Array.from({ length }, (_, i) => values[i * count + line]),
    }));
    return chartFile([lineChart(text, times, lines)]);
  });
}

/** Index of a line in the axes without the axis of time, such as `1, 2`. */
function nameOf(line: number, shape: readonly number[]): string {
  const indices: number[] = [];
  for (let axis = shape.length - 1, rest = line; axis >= 0; rest = Math.floor(rest / shape[axis--])) {
    indices.unshift(rest % shape[axis]);
  }
  return indices.join(", ") || "value";
}

function checkPlotTimes(t: Tensor | ArrayLike<number> | undefined, length: number): void {
  if (t === undefined) return;
  const shape = t instanceof Tensor ? t.shape : isNumbers(t) ? [t.length] : undefined;
  if (!shape) throw new TypeError(`plot: t is ${describe(t)}, expected a tensor or an array of numbers`);
  if (shape.length !== 1 || shape[0] !== length) {
    throw new ShapeError(
      `plot: t has shape ${formatShape(shape)}, expected (${length},), a time for each value`,
    );
  }
}

function isNumbers(t: unknown): t is ArrayLike<number> {
  return ArrayBuffer.isView(t) && !(t instanceof DataView) ||
    Array.isArray(t) && t.every((time) => typeof time === "number");
}

/** Options of {@linkcode image}. */
export interface ImageOptions {
  /** Value of black pixels. By default the smallest finite value. */
  min?: number;
  /** Value of white pixels. By default the largest finite value. */
  max?: number;
}

const imageNames = namesOf<ImageOptions>()("min? max?");

/** Maximum number of pixels of each side of an image. */
const maxPixels = 128;

/** Width of an image in a notebook, in CSS pixels. */
const imageWidth = 360;

/**
 * Draws a matrix as a grey image. `deno jupyter` shows the figure. NaN is transparent. A matrix with more than
 * 128 rows or columns is reduced to means of equal blocks.
 *
 * @example
 * ```ts
 * import { image, key, normal } from "@weft/weft";
 *
 * const figure = image(normal(key(0), [20, 30])); // the result of a cell of a notebook
 * console.log((await figure.svg()).length);
 * ```
 *
 * @param x A matrix `(rows, columns)`. The first row is at the top.
 * @throws {ShapeError} If the tensor is not a matrix, or is empty.
 */
export function image(x: Tensor, options: ImageOptions = {}): Figure {
  checkTensor("image: x", x);
  checkOptions("image", options, imageNames);
  for (const [name, limit] of Object.entries(options)) {
    if (limit !== undefined && !Number.isFinite(limit)) {
      throw new TypeError(`image: ${name} is ${describe(limit)}, expected a number`);
    }
  }
  if (x.rank !== 2 || x.size === 0) refuseShape("image: x", x.shape, "(rows, columns), at least one of each");
  const name = `Image of ${x.dtype} ${formatShape(x.shape)}`;
  return makeFigure(name, async () => {
    const { pixels, width } = reduce(await x.data(), x.shape);
    const [smallest, largest] = extent(pixels);
    const { min = smallest, max = largest } = options;
    // A constant matrix is black.
    const scale = max === min ? 1 : max - min;
    const size = `xmlns="http://www.w3.org/2000/svg" width="${imageWidth}" `;
    return drawImage({ name, width, pixels: pixels.map((value) => (value - min) / scale) }, size);
  });
}

/** Means of equal blocks of a matrix, so that each side has at most {@linkcode maxPixels}. */
function reduce(values: ArrayLike<number>, [rows, columns]: readonly number[]) {
  const [tall, wide] = [Math.ceil(rows / maxPixels), Math.ceil(columns / maxPixels)];
  const [height, width] = [Math.ceil(rows / tall), Math.ceil(columns / wide)];
  const pixels = Array.from({ length: height * width }, (_, at) => {
    const [top, left] = [tall * Math.floor(at / width), wide * (at % width)];
    let [sum, count] = [0, 0];
    for (let row = top; row < Math.min(rows, top + tall); row++) {
      for (let column = left; column < Math.min(columns, left + wide); column++, count++) {
        sum += values[row * columns + column];
      }
    }
    return sum / count;
  });
  return { pixels, width };
}
