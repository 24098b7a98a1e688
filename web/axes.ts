/// <reference lib="dom" />
/** The axes of the pad: lines at round values as SVG, and their numbers beside the pad. */
import type { Tick } from "../src/charts/dates.ts";
import { escapeText } from "../src/charts/format.ts";
import { type Axis, scaleOf } from "../src/charts/scale.ts";
import type { TimeKind } from "../src/data/format.ts";

/** An axis of the pad. */
export interface PadAxis {
  readonly title: string;
  /** Values with labels. */
  readonly ticks: readonly Tick[];
  /** Place of a value in percent, from the left or from below. */
  place(value: number): number;
}

/** Ticks that fit beside the pad on a phone. */
const [across, upwards] = [6, 7];

/** Axis with equal distances of equal steps. */
export function evenAxis(axis: Axis, low: number, high: number, isVertical: boolean): PadAxis {
  const [from, to] = low < high ? [low, high] : [low - 1, low + 1];
  const { ticks } = scaleOf(axis, [from, to], isVertical ? upwards : across, true);
  return { title: axis.title, ticks, place: (value) => 100 * (value - from) / (to - from) };
}

/** Seconds of the units of a duration, the longest first. */
const units = [["days", 86_400], ["hours", 3600], ["minutes", 60], ["seconds", 1]] as const;

/** Axis of the time since the first observation. @param span Time at its end. */
export function durationAxis(kind: TimeKind, span: number): PadAxis {
  const [unit, seconds] = units.find(([, seconds]) => span >= 2 * seconds) ?? units.at(-1)!;
  if (kind === "date") return evenAxis({ title: unit }, 0, span / seconds, false);
  return evenAxis({ title: kind === "month" ? "months" : "time" }, 0, span, false);
}

/** Axis of the times of observations, which have equal distances. @param count Number of observations that fit. */
export function stepAxis(kind: TimeKind, times: readonly number[], count: number): PadAxis {
  const scale = kind === "number" ? "linear" : kind;
  const last = times.length - 1;
  const { ticks, start } = scaleOf({ title: "time", scale }, [times[0], times[last]], across, true);
  return {
    title: start === undefined ? "time" : `time from ${start}`,
    ticks: last > 0 ? ticks.filter(({ value }) => value >= times[0] && value <= times[last]) : [],
    place(value) {
      const after = Math.max(1, times.findIndex((time) => time >= value));
      const share = (value - times[after - 1]) / (times[after] - times[after - 1]);
      return 100 * (after - 1 + share) / Math.max(1, count - 1);
    },
  };
}

/** Lines of the pad at the ticks. */
export function gridLines(x: PadAxis, y: PadAxis): string {
  const lines = (axis: PadAxis, line: (at: number) => string) =>
    axis.ticks.map(({ value }) =>
      `<path class="${value === 0 ? "zero" : "grid"}" d="${line(axis.place(value))}"/>`
    )
      .join("");
  return lines(x, (at) => `M${at.toFixed(1)},0v100`) + lines(y, (at) => `M0,${(100 - at).toFixed(1)}h100`);
}

/** Writes the numbers of the axes beside the pad. */
export function showNumbers(pad: SVGSVGElement, x: PadAxis, y: PadAxis): void {
  const board = pad.parentElement!;
  const box = board.querySelector<HTMLElement>(".numbers") ??
    board.appendChild(document.createElement("div"));
  box.className = "numbers";
  box.ariaHidden = "true";
  const numbers = ({ ticks, place, title }: PadAxis, kind: string, side: string) =>
    ticks.map(({ value, label }) => {
      const at = place(value);
      // A number at an end of the horizontal axis stays on the board.
      const end = kind === "x" && at > 95 ? " end" : "";
      return `<span class="${kind}${end}" style="${side}: ${at.toFixed(1)}%">${escapeText(label)}</span>`;
    }).join("") + `<span class="title-${kind}">${escapeText(title)}</span>`;
  box.innerHTML = numbers(x, "x", "left") + numbers(y, "y", "bottom");
  const longest = Math.max(...y.ticks.map(({ label }) => label.length), 1);
  board.style.setProperty("--digits", `${longest}`);
}
