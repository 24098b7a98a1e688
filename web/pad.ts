/// <reference lib="dom" />
/** The drawing pad: shows the data, a series and the decisions of the model. A pen, moved by a pointer or by keys, draws a series. */
import { durationAxis, evenAxis, gridLines, showNumbers, stepAxis } from "./axes.ts";
import { curvePoints } from "./drawings.ts";
import type { Channel, DataInfo, Forecast, Line, Plane, Row, View } from "./messages.ts";

/** Channels and times of the pad. */
export interface PadRules extends Pick<DataInfo, "channels" | "gap" | "lines" | "futureSteps" | "timeKind"> {
  /** Index of the channel that is drawn over time; undefined to draw two channels as coordinates. */
  readonly channel?: number;
  /** Number of observations that fit on the horizontal axis, if it is the time. */
  readonly length: number;
  /** Number of observations that can be drawn over time, `length` by default. */
  readonly drawn?: number;
}

/** Place on the pad in percent, from the upper left corner. */
export type Point = readonly [x: number, y: number];

/** The pad. */
export interface Pad {
  /** Changes what the pad draws, and forgets the drawing. */
  use(rules: PadRules): void;
  /** Shows a series of the data up to a moment, in place of a drawing. */
  show(view: View, moment: number): void;
  /** Shows the decisions in the plane; undefined shows none. */
  showPlane(plane: Plane | undefined): void;
  /** Forgets the drawing. */
  clear(): void;
  /** Draws these points, as the pen does. */
  draw(points: readonly Point[]): void;
  /** The drawn points. */
  readonly points: readonly Point[];
  /** Shows the forecast after a moment of a view, from the last observation on; undefined shows none. */
  showForecast(forecast: Forecast | undefined, view: View | undefined, moment: number): void;
}

/** Distance between two observations of a pointer that moves in the plane, in percent of the pad. */
const spacing = 7;
/** Distance of a move by an arrow key, in percent; with the shift key, one. */
const keyStep = 5;

const moves: Readonly<Record<string, Point>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

const tenth = (value: number) => Math.round(10 * value) / 10;
const within = (value: number) => tenth(Math.min(100, Math.max(0, value)));
const polyline = (points: readonly Point[]) => points.map((point) => point.map(tenth).join()).join("L");
const isKnown = ([x, y]: Point) => Number.isFinite(x) && Number.isFinite(y);

/**
 * Makes the pad in an SVG element.
 *
 * @param canvas Element below the SVG element, for the decisions in the plane.
 * @param onDraw Called with all drawn observations after each change of the drawing.
 */
export function drawingPad(
  svg: SVGSVGElement,
  canvas: HTMLCanvasElement,
  onDraw: (rows: readonly Row[]) => void,
): Pad {
  let rules: PadRules = { channels: [], lines: [], gap: 1, length: 1, timeKind: "number" };
  let [points, pen, isDown]: [Point[], Point, boolean] = [[], [50, 50], false];
  /** Lines of the axes and of the data, the shown series, and its forecast, as SVG. */
  let [grid, data, series, decoration] = ["", "", "", ""];

  const isPlane = () => rules.channel === undefined;
  const most = () => rules.drawn ?? rules.length;
  const valueAt = ({ low, high }: Channel, place: number) => low + (high - low) * place / 100;
  const percentOf = ({ low, high }: Channel, value: number) => 100 * (value - low) / (high - low || 1);
  /** Horizontal place of an observation, if the axis is the time. */
  const placeAt = (index: number) => 100 * index / Math.max(1, rules.length - 1);
  const overTime = (share: number, value: number): Point => [
    100 * share,
    100 - percentOf(rules.channels[rules.channel ?? 0], value),
  ];
  const inPlane = ([x, y]: readonly number[]): Point => [
    percentOf(rules.channels[0], x),
    100 - percentOf(rules.channels[1], y),
  ];
  const lineOf = ({ times, rows }: Line) =>
    rows.map((row, t) => isPlane() ? inPlane(row) : overTime(times[t], row[rules.channel!])).filter(isKnown);
  const timeShare = (time: number) => time / rules.gap / Math.max(1, rules.length - 1);
  /** Forecasts have a place for each step, so that days without observations take no room. */
  const isForecast = () => rules.futureSteps !== undefined;

  const render = () => {
    const dots = (points: readonly Point[]) =>
      points.map(([x, y]) => `<circle class="seen" cx="${tenth(x)}" cy="${tenth(y)}" r="1.4"/>`).join("");
    const [x, y] = pen;
    svg.innerHTML = grid + data + decoration +
      (series ||
        (points.length > 1 ? `<path class="curve" d="M${polyline(points)}"/>` : "") + dots(points)) +
      `<path class="pen" d="M${x - 3},${y}h6M${x},${y - 3}v6"/>`;
  };
  /** Shows the axes. @param times Times of observations, if their places have equal distances. */
  const showAxes = (times?: readonly number[]) => {
    const { channels, channel, gap, length, timeKind } = rules;
    const axisOf = ({ name, low, high }: Channel, isVertical: boolean) =>
      evenAxis({ title: name }, low, high, isVertical);
    const x = isPlane()
      ? axisOf(channels[0], false)
      : times
      ? stepAxis(timeKind, times, length)
      : durationAxis(timeKind, gap * (length - 1));
    const y = axisOf(channels[channel ?? 1], true);
    grid = gridLines(x, y);
    showNumbers(svg, x, y);
  };
  const report = () => {
    const rows = points.map((point, i): Row => ({
      time: i * rules.gap,
      values: rules.channels.map((channel, c) =>
        isPlane()
          ? valueAt(channel, c === 0 ? point[0] : 100 - point[1])
          : c === rules.channel
          ? valueAt(channel, 100 - point[1])
          : NaN
      ),
    }));
    onDraw(rows);
  };
  const forget = () => [points, series, decoration] = [[], "", ""];
  const add = (point: Point) => {
    series = "";
    points.push(point);
    if (!isPlane()) pen = [Math.min(100, tenth(placeAt(points.length))), pen[1]];
  };
  const placeOfPointer = ({ clientX, clientY }: PointerEvent): Point => {
    const { left, top, width, height } = svg.getBoundingClientRect();
    return [within(100 * (clientX - left) / width), within(100 * (clientY - top) / height)];
  };
  /** Adds the observations between the last one and the pen. */
  const follow = () => {
    const before = points.length;
    if (isPlane()) {
      const last = points.at(-1);
      if (!last || Math.hypot(pen[0] - last[0], pen[1] - last[1]) >= spacing) add(pen);
    } else {
      const [x, y] = pen;
      while (points.length < most() && placeAt(points.length) <= x) add([tenth(placeAt(points.length)), y]);
      pen = [x, y];
    }
    if (points.length > before) report();
    render();
  };

  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    forget();
    [isDown, pen] = [true, placeOfPointer(event)];
    follow();
  });
  svg.addEventListener("pointermove", (event) => {
    if (!isDown) return;
    pen = placeOfPointer(event);
    follow();
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => isDown = false);
  svg.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (move) {
      const step = event.shiftKey ? 1 : keyStep;
      pen = [isPlane() ? within(pen[0] + step * move[0]) : pen[0], within(pen[1] + step * move[1])];
    } else if (event.key === " " || event.key === "Enter") {
      if (series) forget();
      if (isPlane() || points.length < most()) {
        add(isPlane() ? pen : [tenth(placeAt(points.length)), pen[1]]);
        report();
      }
    } else if (event.key === "Escape" || event.key === "Delete") {
      forget();
      report();
    } else return;
    event.preventDefault();
    render();
  });

  return {
    get points() {
      return points;
    },
    use(given) {
      rules = given;
      pen = isPlane() ? [50, 50] : [0, 50];
      forget();
      showAxes();
      data = rules.lines.map((line) =>
        `<path class="data c${Math.max(0, line.label)}" d="M${polyline(lineOf(line))}"/>`
      ).join("");
      render();
    },
    show(view, moment) {
      const { times, observed, curveTimes, curve } = view;
      points = [];
      const at = (rows: readonly (readonly number[])[], times: readonly number[], i: number) =>
        isPlane() ? inPlane([rows[0][i], rows[1][i]]) : overTime(
          isForecast() ? placeAt(i) / 100 : timeShare(times[i] - times[0]),
          rows[rules.channel!][i],
        );
      if (isForecast()) showAxes(times);
      const seen = times.slice(0, moment + 1).map((_, i) => at(observed, times, i)).filter(isKnown);
      const path = curveTimes.slice(0, curvePoints(view, moment)).map((_, i) => at(curve, curveTimes, i))
        .filter(isKnown);
      const line = path.length > 1 ? path : seen;
      const after = isForecast()
        ? times.map((_, i) => at(observed, times, i)).slice(moment).filter(isKnown)
        : [];
      series = (after.length > 1 ? `<path class="data c0" d="M${polyline(after)}"/>` : "") +
        (line.length > 1 ? `<path class="curve" d="M${polyline(line)}"/>` : "") +
        seen.map(([x, y]) => `<circle class="seen" cx="${tenth(x)}" cy="${tenth(y)}" r="1.4"/>`).join("");
      const [x, y] = line.at(-1) ?? [50, 50];
      pen = [within(x), within(y)];
      render();
    },
    showPlane(plane) {
      canvas.hidden = !plane;
      if (!plane) return;
      const { side, probabilities } = plane;
      const style = getComputedStyle(canvas);
      const colours = probabilities[0].map((_, i) => hexBytes(style.getPropertyValue(`--c${i % 8}`).trim()));
      canvas.width = canvas.height = side;
      const pixels = probabilities.flatMap((row) => {
        const mixed = [0, 1, 2].map((part) => row.reduce((sum, p, i) => sum + p * colours[i][part], 0));
        return [...mixed, 255];
      });
      canvas.getContext("2d")!.putImageData(new ImageData(Uint8ClampedArray.from(pixels), side), 0, 0);
    },
    clear() {
      forget();
      report();
      render();
    },
    draw(given) {
      forget();
      for (const point of given) add(point);
      pen = points.at(-1) ?? pen;
      report();
      render();
    },
    showForecast(forecast, view, moment) {
      if (!forecast || !view) {
        if (!decoration) return;
        decoration = "";
        return render();
      }
      const { times, mean, low, high } = forecast;
      showAxes([...view.times.slice(0, moment + 1), ...times]);
      const past = view.observed[rules.channel!].slice(0, moment + 1);
      const last = past.findLastIndex(Number.isFinite);
      const line = (values: readonly number[]) => [
        ...last < 0 ? [] : [overTime(placeAt(last) / 100, past[last])],
        ...values.map((value, i) => overTime(placeAt(moment + 1 + i) / 100, value)),
      ];
      decoration = `<path class="band" d="M${polyline([...line(low), ...line(high).reverse()])}Z"/>` +
        `<path class="future" d="M${polyline(line(mean))}"/>`;
      render();
    },
  };
}

/** How a visitor draws on the pad. @param channel Index of the channel that is drawn over time. */
export function howToDraw(channels: readonly string[], channel: number, isForecast: boolean): string {
  const pointer = channels.length === 2 && !isForecast
    ? `Draw with the pointer; right is ${channels[0]}, up is ${
      channels[1]
    }. The colours are the model's decisions ` +
      "about the next observation."
    : `Draw a curve of ${channels[channel]} from left to right with the pointer; right is the time.`;
  return `${pointer} By keyboard: arrow keys move the pen (with Shift, by small steps), the space bar adds an observation, ` +
    "Escape starts a new series.";
}

/** Red, green and blue of a colour such as `#2f6fde` or `#fff`. */
function hexBytes(text: string): number[] {
  const digits = text.length === 4 ? text.replace(/[^#]/g, "$&$&") : text;
  return [1, 3, 5].map((at) => Number.parseInt(digits.slice(at, at + 2), 16));
}
