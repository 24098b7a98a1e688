/// <reference lib="dom" />
/** The drawing pad: a pen, moved by a pointer or by keys, adds observations of a series. */
import type { Channel } from "./messages.ts";

/** Channels and times of the drawn series. */
export interface PadRules {
  readonly channels: readonly Channel[];
  /** Index of the channel that is drawn over time; undefined to draw two channels as coordinates. */
  readonly channel?: number;
  /** Time between two observations. */
  readonly gap: number;
  /** Number of observations that fit on the horizontal axis, if it is the time. */
  readonly length: number;
}

/** The pad. */
export interface Pad {
  /** Starts a new series. */
  clear(): void;
  /** Changes what the pad draws, and starts a new series. */
  use(rules: PadRules): void;
}

type Point = readonly [x: number, y: number];

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

/**
 * Makes the pad in an SVG element.
 *
 * @param onStart Called before the first observation of a series.
 * @param onObservation Called with the time and the values of each observation.
 * @param onEnd Called when the pointer is lifted, and after each observation by a key.
 */
export function drawingPad(
  svg: SVGSVGElement,
  { onStart, onObservation, onEnd }: {
    onStart: () => void;
    onObservation: (time: number, values: number[]) => void;
    onEnd: () => void;
  },
): Pad {
  let rules: PadRules = { channels: [], gap: 1, length: 1 };
  let [points, pen, isDown]: [Point[], Point, boolean] = [[], [50, 50], false];

  const isPlane = () => rules.channel === undefined;
  /** Place of the next observation on the axis of the time. */
  const nextPlace = () => 100 * points.length / Math.max(1, rules.length - 1);
  const valueAt = ({ low, high }: Channel, place: number) => low + (high - low) * place / 100;

  const draw = () => {
    const line = points.map((point) => point.join()).join("L");
    const [x, y] = pen;
    svg.innerHTML = `<path class="zero" d="M0,50h100M50,0v100"/>` +
      (points.length > 1 ? `<path class="curve" d="M${line}"/>` : "") +
      points.map(([x, y]) => `<circle class="seen" cx="${x}" cy="${y}" r="1.4"/>`).join("") +
      `<path class="pen" d="M${x - 3},${y}h6M${x},${y - 3}v6"/>`;
  };
  const clear = () => {
    points = [];
    if (!isPlane()) pen = [0, pen[1]];
    draw();
    onStart();
  };
  const add = (point: Point) => {
    if (points.length === 0) onStart();
    const values = rules.channels.map((channel, c) =>
      isPlane()
        ? valueAt(channel, c === 0 ? point[0] : 100 - point[1])
        : c === rules.channel
        ? valueAt(channel, 100 - point[1])
        : NaN
    );
    onObservation(points.length * rules.gap, values);
    points.push(point);
    if (!isPlane()) pen = [Math.min(100, nextPlace()), pen[1]];
  };
  const placeOf = ({ clientX, clientY }: PointerEvent): Point => {
    const { left, top, width, height } = svg.getBoundingClientRect();
    const place = (value: number) => Math.min(100, Math.max(0, value));
    return [place(100 * (clientX - left) / width), place(100 * (clientY - top) / height)];
  };
  /** Adds the observations between the last one and the pen. */
  const follow = () => {
    if (isPlane()) {
      const last = points.at(-1);
      if (!last || Math.hypot(pen[0] - last[0], pen[1] - last[1]) >= spacing) add(pen);
      return;
    }
    const [x, y] = pen;
    while (points.length < rules.length && nextPlace() <= x) add([nextPlace(), y]);
    pen = [x, y];
  };

  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    clear();
    [isDown, pen] = [true, placeOf(event)];
    follow();
    draw();
  });
  svg.addEventListener("pointermove", (event) => {
    if (!isDown) return;
    pen = placeOf(event);
    follow();
    draw();
  });
  const lift = () => {
    if (isDown && points.length > 0) onEnd();
    isDown = false;
  };
  svg.addEventListener("pointerup", lift);
  svg.addEventListener("pointercancel", lift);
  svg.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (move) {
      const step = event.shiftKey ? 1 : keyStep;
      const place = (at: number) => Math.min(100, Math.max(0, pen[at] + step * move[at]));
      pen = [isPlane() ? place(0) : pen[0], place(1)];
    } else if (event.key === " " || event.key === "Enter") {
      if (isPlane() || points.length < rules.length) {
        add(isPlane() ? pen : [nextPlace(), pen[1]]);
        onEnd();
      }
    } else if (event.key === "Escape" || event.key === "Delete") clear();
    else return;
    event.preventDefault();
    draw();
  });
  draw();
  return {
    clear,
    use(given) {
      rules = given;
      pen = given.channel === undefined ? [50, 50] : [0, 50];
      clear();
    },
  };
}
