import { OptionError } from "../device/errors.ts";
import { type Layer, layer, type ParameterTree } from "../nn/layer.ts";
import { Linear } from "../nn/linear.ts";
import { foldIn, type Key, split } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { forecastModel, forecastModels } from "./forecast_models.ts";
import type { ModelKind } from "./model_kind.ts";
import { seriesModels } from "./series_models.ts";
import type { SeriesInputs, SeriesNetwork } from "./series_network.ts";

/** Past of some series, and values known ahead of time. */
export type Given = {
  /**
   * Past values on a grid that ends at the present, each channel with mean 0 and standard deviation 1. Shape
   * (batch, context, channels).
   */
  readonly grid: Tensor;
  /** Observations in the form of a model for irregular series, if the model contains one. */
  readonly inputs?: SeriesInputs;
  /**
   * Values of the following steps that are known ahead of time, scaled, if there are any. Shape
   * (batch, horizon, channels known ahead).
   */
  readonly ahead?: Tensor;
};

/** Maps the past to the values at the next steps `(batch, horizon, channels)`, in the units of the grid. */
export type WindowModel = Layer<[given: Given, key?: Key]>;

/** Sizes of a forecasting model. */
interface WindowModelSizes {
  channels: number;
  /** Number of channels known ahead of time. */
  ahead: number;
  context: number;
  horizon: number;
  /** Features of each hidden layer of WARP's root network. */
  hidden: number;
  /** Random key of the initial parameters. */
  key: Key;
  /** Makes a model for irregular series with a number of outputs. */
  network(outputs: number): SeriesNetwork;
}

/** A kind of forecasting model. */
interface WindowModelKind extends ModelKind {
  /** Makes the model. */
  make(sizes: WindowModelSizes): WindowModel;
}

/**
 * Models that forecast step by step, feeding back their predictions. WARP is one of these, since its state
 * would otherwise contain weights for every forecast value. The others are the forecasting models without a
 * series model of the same name.
 */
const rollouts = Object.entries(forecastModels).filter(([name, { needsPhysics }]) =>
  !needsPhysics && (name === "warp" || !Object.hasOwn(seriesModels, name))
);

/** All models that forecast users' own series, by the name for `--model`. */
export const windowModels: Readonly<Record<string, WindowModelKind>> = {
  "linear": { takes: [], make: (sizes) => besideLinear(sizes) },
  ...Object.fromEntries(
    Object.entries(seriesModels).map(([name, { takes }]) => [name, {
      takes: takes.filter((setting) => setting !== "online"),
      make: (sizes: WindowModelSizes) => besideLinear(sizes, sizes.network(sizes.horizon * sizes.channels)),
    }]),
  ),
  ...Object.fromEntries(
    rollouts.map(([name]) => [name, {
      takes: ["hidden"] as const,
      // WARP applies A at every step: with a larger learning rate its state diverges.
      defaults: { learningRate: 0.001, hidden: 8 },
      make: (sizes: WindowModelSizes) => stepByStep(name, sizes),
    }]),
  ),
};

/**
 * A linear map from the past steps to the following steps, the same for each channel, plus a linear map of
 * the values known ahead of time. With a sequence model, its outputs are added.
 */
function besideLinear(
  { channels, ahead, context, horizon, key }: WindowModelSizes,
  network?: SeriesNetwork,
): WindowModel {
  const linear = Linear({ inputs: context, outputs: horizon, key: split(key)[0] });
  const ofAhead = ahead > 0
    ? Linear({ inputs: ahead, outputs: channels, key: foldIn(key, 1), bias: false })
    : undefined;
  const parameters: ParameterTree = {
    linear: linear.parameters,
    ...(ofAhead ? { ahead: ofAhead.parameters } : {}),
    ...(network ? { network: network.parameters } : {}),
  };
  return layer(parameters, ({ grid, inputs, ahead }: Given, key?: Key) => {
    let steps = linear(grid.transpose()).transpose();
    if (ofAhead) steps = steps.add(ofAhead(ahead!));
    if (!network) return steps;
    return steps.add(network.outputs(inputs!, key).reshape([grid.shape[0], horizon, channels]));
  });
}

/** A forecasting model that feeds back its predictions after the past. */
function stepByStep(
  name: string,
  { channels, ahead, context, horizon, hidden, key }: WindowModelSizes,
): WindowModel {
  if (ahead > 0) {
    throw new OptionError(
      "unusable-option",
      (write) => `${name} reads nothing ahead of time: choose another model, or leave out ${write("known")}`,
      { option: "known" },
    );
  }
  const model = forecastModel(name, {
    channels,
    length: context + horizon,
    hidden,
    root: { depth: 1, activation: "silu", frequencies: 6 },
    time: true,
    key,
  });
  return layer(model.parameters, ({ grid }: Given, key?: Key) => {
    const x = grid.pad([[0, 0], [0, horizon], [0, 0]]);
    return model(x, { context, key }).slice(1, context - 1, context + horizon - 1);
  });
}
