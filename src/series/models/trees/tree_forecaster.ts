/** Forecasts by gradient boosted trees: the same trees for all series, channels and steps of the horizon. */
import { layer } from "../../../nn/layer.ts";
import { type BoostedTrees, predictTrees } from "../../math/predict_trees.ts";
import { finiteFloat32 } from "../../math/pack_trees.ts";
import { selectEvenly } from "../../math/select_evenly.ts";
import { followingSteps, type ForecastWindow } from "../../read/forecast_windows.ts";
import type {
  FitData,
  HostForecast,
  HostModel,
  WindowInputs,
  WindowModel,
  WindowModelSizes,
} from "../forecaster.ts";
import { standardDeviationsOf } from "../fit_linear.ts";
import { maxTreeRows } from "../fit_limits.ts";
import { type ChannelPast, channelPasts, forecastFeatures, naiveValue } from "./forecast_features.ts";
import { storedTrees } from "./stored_trees.ts";

/** Numbers of trees, and of the leaves of a tree. */
const sizes = { trees: 100, leaves: 31 };

/**
 * Trees on {@linkcode forecastFeatures}. Targets are differences from the naive forecast, in standard deviations of the
 * window. Rows have the weights of the linear forecaster: errors count in the unit of the measures, and each series
 * counts as much as others.
 */
export function treeForecaster(windowSizes: WindowModelSizes): WindowModel {
  const { channels, targetChannels, horizon, season, statistics } = windowSizes;
  const features = forecastFeatures(windowSizes);
  const stored = storedTrees(1, sizes);
  /** Trees on the host. Before they are loaded, forecasts are naive. */
  let trees: BoostedTrees | undefined;
  let forecasts = new WeakMap<ForecastWindow, readonly HostForecast[]>();

  /** Features of all steps of some pasts, in float32 as the thresholds. */
  const columnsOf = (pasts: readonly ChannelPast[]): Float64Array[] =>
    features.map((feature) => {
      const column = new Float64Array(pasts.length * horizon);
      pasts.forEach((past, i) => {
        const steps = column.subarray(i * horizon, (i + 1) * horizon);
        if ("ofPast" in feature) steps.fill(finiteFloat32(feature.ofPast(past)));
        else steps.forEach((_, h) => steps[h] = finiteFloat32(feature.ofStep(past, h + 1)));
      });
      return column;
    });

  const host: HostModel = {
    reads: "windows",
    async load() {
      trees = await stored.load();
      forecasts = new WeakMap();
    },
    forecast(window) {
      const cached = forecasts.get(window);
      if (cached) return cached;
      const forecast = Array.from({ length: channels }, () => ({ steps: new Float64Array(horizon) }));
      const pasts = channelPasts(window, windowSizes);
      const outputs = trees && predictTrees(trees, columnsOf(pasts));
      pasts.forEach((past, i) => {
        const { channel, mean, standardDeviation } = past;
        const { steps } = forecast[channel];
        steps.forEach((_, h) => {
          const scaled = naiveValue(past, h + 1, season) + (outputs?.[i * horizon + h] ?? 0);
          steps[h] = mean + standardDeviation * scaled;
        });
      });
      forecasts.set(window, forecast);
      return forecast;
    },
  };

  async function fit({ windows }: FitData): Promise<void> {
    const most = Math.max(1, Math.floor(maxTreeRows / (horizon * targetChannels.length)));
    const used = selectEvenly(windows, most);
    const unitOf = standardDeviationsOf(used, statistics);
    const pasts = used.flatMap((window) => channelPasts(window, windowSizes));
    const targets = new Float64Array(pasts.length * horizon);
    const weights = new Float64Array(pasts.length * horizon);
    pasts.forEach((past, i) => {
      const { window, channel, mean, standardDeviation } = past;
      const weight = (standardDeviation / unitOf(window.series, channel)) ** 2;
      followingSteps(window, channel, statistics, horizon).forEach((value, h) => {
        targets[i * horizon + h] = (value - mean) / standardDeviation - naiveValue(past, h + 1, season);
        weights[i * horizon + h] = weight;
      });
    });
    const labelled = Int32Array.from(targets.keys()).filter((row) => !Number.isNaN(targets[row]));
    const labelledRows = (column: Float64Array) => Float64Array.from(labelled, (row) => column[row]);
    // Without a known target, the forecast is naive: trees learn a difference of 0 from one row without features.
    const isEmpty = labelled.length === 0;
    const { fitBoostedTrees } = await import("../../math/boosted_trees.ts");
    const fitted = await fitBoostedTrees(
      isEmpty ? features.map(() => Float64Array.of(NaN)) : columnsOf(pasts).map(labelledRows),
      isEmpty ? Float64Array.of(0) : labelledRows(targets),
      { loss: "squared", ...sizes, ...(isEmpty ? {} : { weights: labelledRows(weights) }) },
    );
    trees = stored.store([fitted]);
    forecasts = new WeakMap();
  }
  return Object.assign(layer(stored.parameters, ({ steps }: WindowInputs) => steps!), { fit, host });
}
