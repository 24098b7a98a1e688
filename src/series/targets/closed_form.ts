/** Fits of forecasters in closed form, to any period of the series. */
import { mapSplits, type Series, type Splits } from "../../data/series.ts";
import type { CalibrationFold } from "./calibrate_windows.ts";
import type { DataRecord } from "../record/data_record.ts";
import { type ForecastWindow, upTo, windowsOf } from "../read/forecast_windows.ts";
import { historyWindows } from "../read/histories.ts";
import type { WindowBatch } from "../models/window_batches.ts";
import type { WindowForecaster } from "./window_forecaster.ts";

/**
 * With at least `enoughWindows` windows, one fit is enough to calibrate intervals. With fewer windows, the model is
 * fitted `rollingFits` times.
 */
const [enoughWindows, rollingFits] = [50, 4];

/** Data of a run. */
interface RunData {
  record: DataRecord;
  series: readonly Series[];
  windows: Splits<readonly ForecastWindow[]>;
  batches: Splits<WindowBatch>;
}

/** A forecaster in closed form, with the data of a run. */
interface ClosedForm {
  /** Fits the forecaster to all rows up to a time. */
  fit(to: number): Promise<void>;
  /**
   * Windows with fits that have not seen their targets. If there are few windows for validation, the fits are
   * those of rolling origins, in a period twice as long as that of validation.
   */
  folds(): CalibrationFold[];
}

/** Returns undefined for a forecaster that is trained with gradients. */
export function closedFormOf(
  { model: { fit, host }, refresh }: WindowForecaster,
  { record, series, windows, batches }: RunData,
): ClosedForm | undefined {
  if (!fit) return undefined;
  const isHistory = host?.reads === "histories";
  const sizes = record.windows!;
  const { until } = sizes;
  const width = record.channels.length;
  let fitted = NaN;
  const fitTo = async (to: number) => {
    if (fitted === to) return;
    await fit({
      series: series.map((one) => upTo(to, one, width)),
      windows: isHistory ? [] : windowsOf(series, width, sizes, { from: -Infinity, to }),
      tuning: windows.train,
    });
    await refresh(batches, windows);
    fitted = to;
  };
  return {
    fit: fitTo,
    folds() {
      if (windows.validation.length >= enoughWindows) {
        return [{ fit: () => fitTo(until.train), windows: windows.validation }];
      }
      const first = Math.min(...series.map(({ times }) => times[0]));
      const start = Math.max(2 * until.train - until.validation, (first + until.train) / 2);
      const cuts = Array.from(
        { length: rollingFits },
        (_, i) => start + i * (until.validation - start) / rollingFits,
      );
      return cuts.map((cut, i) => ({
        fit: () => fitTo(cut),
        windows: windowsOf(
          series,
          width,
          sizes,
          { from: cut, to: until.validation },
          isHistory ? historyWindows.test : undefined,
        )
          .filter(({ origin }) => !(origin >= cuts[i + 1])),
      }));
    },
  };
}

/** Windows of each part: all of them up to a limit, and fewer for a model that reads whole histories. */
export function windowsOfParts(
  series: readonly Series[],
  { channels, windows }: DataRecord,
  isHistory: boolean,
): Splits<ForecastWindow[]> {
  const { until, ...sizes } = windows!;
  const spans = {
    train: { from: -Infinity, to: until.train, most: historyWindows.train },
    validation: { from: until.train, to: until.validation, most: historyWindows.test },
    test: { from: until.validation, to: Infinity, most: historyWindows.test },
  };
  return mapSplits(
    spans,
    ({ most, ...span }) => windowsOf(series, channels.length, sizes, span, isHistory ? most : undefined),
  );
}
