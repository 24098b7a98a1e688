import { ettWindows, readLongSeries } from "../../data/ett.ts";
import { key } from "../../tensor/random.ts";
import { drawContinuation } from "./draw_continuation.ts";
import type { Experiment, Settings } from "./experiment.ts";
import { forecasting } from "./forecasting.ts";
import { forecastModel } from "./forecast_models.ts";

const context = 96;
const horizon = 96;
/** Hours from one window's beginning to the next: they begin at midnight, so that tau tells the time of day. */
const every = 24;

/** Forecasts four days of a transformer's load and oil temperature from the four days before, with uncertainty. */
export const etth1: Experiment = {
  name: "etth1",
  summary: "load and oil temperature of a transformer, 96 hours from the 96 before (ETTh1)",
  defaults: {
    epochs: 40,
    batchSize: 16,
    learningRate: 0.0003,
    hidden: 6,
    drop: 0,
    data: "data/ETTh1.csv",
    model: "warp",
  },
  async prepare(settings: Settings) {
    const series = await readLongSeries(settings.data!);
    const { splits, scales } = ettWindows(series, { context, horizon, every });
    const model = forecastModel(settings.model!, {
      channels: series.columns.length,
      length: context + horizon,
      hidden: settings.hidden,
      // Two of the frequencies are a day's and half a day's.
      root: { depth: 1, activation: "silu", frequencies: 6 },
      // In deviations of the training months.
      bound: { low: -4, high: 4 },
      leastDeviation: 0.05,
      key: key(settings.seed),
    });
    return forecasting({
      splits,
      model,
      settings,
      context,
      forcing: 0,
      trainFrom: context,
      deviations: true,
      drawn: 4,
      draw: drawContinuation("test window", series.columns, context, scales),
    });
  },
};
