/** Panels of forecasts: observations, predictions and prediction intervals. */
import type { Mark, Panel } from "./chart.ts";
import type { Axis } from "./scale.ts";

/** A channel of a forecast. */
interface ForecastChannel {
  /** Name of the channel, the title of the vertical axis. */
  readonly name: string;
  /** Unit of the values. */
  readonly unit?: string;
  /** Observed values. */
  readonly observed?: Points;
  /** Predicted values. */
  readonly predicted: Points;
  /** Interval of the predictions, with its name in the legend. */
  readonly interval?: {
    readonly name: string;
    readonly low: ArrayLike<number>;
    readonly high: ArrayLike<number>;
  };
  /** Predictions of a baseline, with its name in the legend. */
  readonly baseline?: Points & { readonly name: string };
}

/** Values `y` at the times `x`. */
interface Points {
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
}

/**
 * Panel of a forecast. Predictions, their interval and the baseline begin at the last observation before them, where the
 * interval has no width.
 *
 * @param context First and last time of the observations that the model reads.
 */
export function forecastPanel(
  time: Axis,
  { name, unit, observed, predicted, interval, baseline }: ForecastChannel,
  context?: readonly [from: number, to: number],
): Panel {
  const [lastTime, last] = observed ? lastBefore(observed, predicted.x[0]) : [];
  const after = (first: number | undefined, values: ArrayLike<number>) =>
    first === undefined ? values : [first, ...Array.from(values)];
  const joined = ({ x, y }: Points): Points => ({ x: after(lastTime, x), y: after(last, y) });
  const { x, y } = joined(predicted);
  const marks: (Mark | undefined | false)[] = [
    observed && { kind: "line", name: "observed", ...observed },
    { kind: "line", name: "predicted", x, y, style: observed ? "dashed" : "solid" },
    interval && {
      ...{ kind: "band", of: "predicted", name: interval.name, x },
      ...{ low: after(last, interval.low), high: after(last, interval.high) },
    },
    baseline && { kind: "line", style: "reference", name: baseline.name, ...joined(baseline) },
    context && context[0] < context[1] &&
    { kind: "region", name: "read by the model", from: context[0], to: context[1] },
  ];
  return {
    x: time,
    y: { title: name, unit },
    marks: marks.filter((mark) => mark !== undefined && mark !== false),
  };
}

/** Time and value of the last known observation before a time; empty without one. */
function lastBefore({ x, y }: Points, time: number): [time: number, value: number] | [] {
  for (let i = x.length - 1; i >= 0; i--) {
    if (x[i] < time && Number.isFinite(y[i])) return [x[i], y[i]];
  }
  return [];
}
