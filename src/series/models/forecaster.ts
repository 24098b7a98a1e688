/** Forecasting models of windows: what they read, how they are fitted, and their sizes. */
import type { Series } from "../../data/series.ts";
import type { Layer, ParameterOptions } from "../../nn/layer.ts";
import type { Key } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { ModelKind } from "./model_settings.ts";
import type { SeriesModelKind } from "./whole_series.ts";
import type { DataRecord } from "../record/data_record.ts";
import type { ForecastWindow } from "../read/forecast_windows.ts";
import type { SeriesInputs, SeriesNetwork } from "./series_network.ts";

/** Past of some series, and values known ahead of time. */
export type WindowInputs = {
  /**
   * Past values on a grid that ends at the forecast origin, each channel with mean 0 and standard deviation 1. Shape
   * (batch, context, channels).
   */
  readonly grid: Tensor;
  /** Observations in the form of a model for irregular series, if the model contains one. */
  readonly inputs?: SeriesInputs;
  /**
   * Values of the following steps that are known ahead of time, scaled, if there are any. Shape
   * (batch, horizon, channels known ahead).
   */
  readonly futureCovariates?: Tensor;
  /**
   * Forecasts of a model that computes on the host, in the units of the grid. Shape
   * (batch, horizon, channels).
   */
  readonly steps?: Tensor;
};

/** Data to fit a model to. */
export interface FitData {
  /** Series up to the end of the period to learn from. */
  readonly series: readonly Series[];
  /** Windows whose targets are in that period. */
  readonly windows: readonly ForecastWindow[];
  /** Windows of the training set, to choose penalties on, whatever the period is. */
  readonly tuning: readonly ForecastWindow[];
}

/** Forecast of the steps 1, 2, ... of a channel, in the units of the data. */
export interface HostForecast {
  /** Expected value of each step. */
  readonly steps: Float64Array;
  /** Standard deviation of the error of each step, if the model computes it. */
  readonly standardDeviations?: Float64Array;
}

/** A model that forecasts on the host, in the units of the data. */
export interface HostModel {
  /** Whether the model reads the grid of a window, or the whole history up to the forecast origin. */
  readonly reads: "windows" | "histories";
  /** Reads the parameters from the device. Needed after they were loaded from a file. */
  load(): Promise<void>;
  /** Forecasts each channel after the past of a window. */
  forecast(window: ForecastWindow): readonly HostForecast[];
}

/** Maps the past to the values at the next steps `(batch, horizon, channels)`, in the units of the grid. */
export type WindowModel = Layer<[inputs: WindowInputs, key?: Key]> & {
  /** Computes the parameters in closed form, in place. Without it the model is trained with gradients. */
  readonly fit?: (data: FitData) => Promise<void>;
  /** Set if the model forecasts on the host. It needs `WindowInputs.steps`. */
  readonly host?: HostModel;
};

/** Sizes of a forecasting model. */
export interface WindowModelSizes extends Pick<ParameterOptions, "key"> {
  /** Number of channels. */
  channels: number;
  /** Means and standard deviations of the channels in the training set. */
  statistics: DataRecord["channels"];
  /** Positions of the channels to forecast. */
  targetChannels: readonly number[];
  /** Kind and calendar of the times. */
  time: Pick<DataRecord["time"], "kind" | "calendar">;
  /** Time step. */
  gap: number;
  /** Length of a season in steps; 1 for no season. */
  season: number;
  /** Whether a model of histories interpolates the steps of a season that were never observed. */
  fillsSeason?: boolean;
  /** Names of the training series. */
  names: readonly string[];
  /** Number of channels known ahead of time. */
  futureCovariates: number;
  /** Number of past steps. */
  context: number;
  /** Number of steps to forecast. */
  horizon: number;
  /** Features of each hidden layer of WARP's root network. */
  hidden: number;
  /** Makes a model of whole series, which reads the observations of the past, with a number of outputs. */
  network(kind: SeriesModelKind, outputs: number): SeriesNetwork;
}

/** A kind of forecasting model. */
export interface WindowModelKind extends ModelKind {
  /** Makes the model. */
  make(sizes: WindowModelSizes): WindowModel;
  /** Default number of past steps for a season. By default, it depends on the horizon. */
  contextOf?(season: number): number;
  /** Whether the model can be used with channels that are known ahead of time. Without it they are rejected. */
  readonly takesKnown?: boolean;
}
