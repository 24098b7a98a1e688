/** Scale of slopes by the pace of the series: how long they are, and how much they change. */
import { type Series, stackSeries } from "../../data/series.ts";
import type { ParameterTree } from "../../nn/layer.ts";
import { tensor } from "../../tensor/creation.ts";
import { tidy } from "../../tensor/scope.ts";
import { treeFlatten } from "../../tensor/tree.ts";
import { median } from "../math/median.ts";
import { selectEvenly } from "../math/select_evenly.ts";
import type { DataRecord, RecordedPace } from "../record/data_record.ts";
import { scaledSeries, scaledValue } from "../record/scaled_values.ts";
import type { ModelReading } from "./model_settings.ts";
import { seriesForm } from "./series_reading.ts";
import type { SeriesSettings } from "../record/settings.ts";

/** Duration of a typical series for a model, whatever its number of observations and its unit of time. */
export const typicalDuration = 5;
/** Sum of the absolute changes of a channel of a typical series, for a slope scale of 1. */
const typicalChange = 20;

/**
 * Scale of the slope for a pace. The state of a typical series then changes about as much as along a series of
 * duration 5, or along a series with changes that add up to 20.
 *
 * @param drive Source of the slope: the values of the series, over time, or the changes of the values.
 */
export function slopeScaleOf(pace: RecordedPace | undefined, drive: "values" | "changes"): number {
  if (!pace) return 1;
  const scale = drive === "values" ? typicalDuration / pace.gaps : typicalChange / pace.change;
  return Number.isFinite(scale) ? Math.min(1, scale) : 1;
}

/**
 * Pace of a typical series.
 *
 * @param channels Scaling of the channels.
 */
export function paceOf(series: readonly Series[], channels: DataRecord["channels"]): RecordedPace {
  const changes = series.map(({ values }) => {
    const sums = channels.map((scale, channel) => {
      let [sum, last] = [0, NaN];
      for (let i = channel; i < values.length; i += channels.length) {
        if (Number.isNaN(values[i])) continue;
        const value = scale.asinh ? scaledValue(values[i], scale) : values[i];
        if (!Number.isNaN(last)) sum += Math.abs(value - last);
        last = value;
      }
      return scale.asinh ? sum : sum / scale.standardDeviation;
    });
    return sums.reduce((total, sum) => total + sum, 0) / channels.length;
  });
  return { gaps: median(series.map(({ times }) => times.length - 1)), change: median(changes) };
}

/** Maximum number of series whose log-signatures are computed for the pace. */
const maxWindowed = 32;

/**
 * Pace of a typical series along log-signatures of windows. Areas within windows change a state as well as
 * increments do, and fast changes that cancel within a window do not.
 *
 * @param record Channels, times and condensing of the record.
 */
async function paceOfWindows(
  series: readonly Series[],
  { channels, time, condensing }: Pick<DataRecord, "channels" | "time" | "condensing">,
  { window = condensing?.rows, signatureDepth }: Pick<SeriesSettings, "window" | "signatureDepth">,
): Promise<RecordedPace> {
  const form = seriesForm("windows", { window, signatureDepth });
  const paces: RecordedPace[] = [];
  for (const one of selectEvenly(series, maxWindowed)) {
    const length = Math.max(2, one.times.length);
    const { values, shape } = stackSeries([scaledSeries(one, channels)], channels.length, length, time.scale);
    const change = tidy(() => {
      const path = form.read(tensor(values, { shape }));
      return path.slice(1, 1).sub(path.slice(1, 0, -1)).abs().sum().div(shape[2]);
    });
    paces.push({ gaps: form.gridPoints(length) - 1, change: (await change.data())[0] as number });
  }
  return { gaps: median(paces.map(({ gaps }) => gaps)), change: median(paces.map(({ change }) => change)) };
}

/** Pace of a typical series in the form that a kind of model reads. */
export async function paceFor(
  kind: ModelReading,
  series: readonly Series[],
  record: Parameters<typeof paceOfWindows>[1],
  settings: Parameters<typeof paceOfWindows>[2],
): Promise<RecordedPace> {
  if (kind.reads === "windows") return await paceOfWindows(series, record, settings);
  return paceOf(series, record.channels);
}

/**
 * Factor of the initial weights and biases of readouts. The first loss is then about that of guessing, although
 * the state of a model may be large.
 */
const readoutScale = 0.03;

/** Makes the initial weights of a model's readouts small, in place. */
export function shrinkReadouts(parameters: ParameterTree): void {
  for (const [name, x] of treeFlatten(parameters)) {
    if (/(^|\.)readout\./.test(name)) tidy(() => x.assign(x.mul(readoutScale)));
  }
}
