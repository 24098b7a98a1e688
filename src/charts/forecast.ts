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
 * Panel of a forecast.
 *
 * @param given First and last time of the observations that the model reads.
 */
export function forecastPanel(
  time: Axis,
  { name, unit, observed, predicted, interval, baseline }: ForecastChannel,
  given?: readonly [from: number, to: number],
): Panel {
  const marks: (Mark | undefined | false)[] = [
    observed && { kind: "line", name: "observed", ...observed },
    { kind: "line", name: "predicted", ...predicted, style: observed ? "dashed" : "solid" },
    interval && { kind: "band", of: "predicted", x: predicted.x, ...interval },
    baseline && { kind: "line", style: "reference", ...baseline },
    given && given[0] < given[1] &&
    { kind: "region", name: "read by the model", from: given[0], to: given[1] },
  ];
  return {
    x: time,
    y: { title: name, unit },
    marks: marks.filter((mark) => mark !== undefined && mark !== false),
  };
}
