import { type Layer, layer, type ParameterTree } from "../nn/layer.ts";
import { Linear } from "../nn/linear.ts";
import { foldIn, type Key, split } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { forecastModel, forecastModels } from "./forecast_models.ts";
import type { ModelKind } from "./model_kind.ts";
import { seriesModels } from "./series_models.ts";
import type { SeriesInputs, SeriesNetwork } from "./series_network.ts";

/** Given part of some series. */
export type Given = {
  /** Values on a grid that ends at the present, each channel of mean 0 and deviation 1. Shape (batch, context, channels). */
  readonly grid: Tensor;
  /** The observations as a sequence model of irregular series reads them, where the model has one. */
  readonly inputs?: SeriesInputs;
  /** Values known of the steps that follow, scaled, where there are any. Shape (batch, horizon, channels known ahead). */
  readonly ahead?: Tensor;
};

/** From what is given to the values at the next steps `(batch, horizon, channels)`, in the units of the grid. */
export type WindowModel = Layer<[given: Given, key?: Key]>;

/** Sizes of a model that continues series. */
interface WindowModelSizes {
  channels: number;
  /** Number of channels that are known ahead of time. */
  ahead: number;
  context: number;
  horizon: number;
  /** Features of each hidden layer of WARP's root network. */
  hidden: number;
  /** Random key of the initial parameters. */
  key: Key;
  /** Makes a model of irregular series of so many outputs. */
  network(outputs: number): SeriesNetwork;
}

/** A kind of model that continues series. */
interface WindowModelKind extends ModelKind {
  /** Makes the model. */
  make(sizes: WindowModelSizes): WindowModel;
}

/**
 * Models that step by step are fed their own predictions: WARP, whose state would otherwise need weights for each of the values
 * that follow, and those that no model of irregular series has the name of.
 */
const rollouts = Object.entries(forecastModels).filter(([name, { needsPhysics }]) =>
  !needsPhysics && (name === "warp" || !Object.hasOwn(seriesModels, name))
);

/** Every model that continues series of one's own, by the name that `--model` takes. */
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
      // WARP's A multiplies its state at every step: larger rates let it grow without bounds.
      defaults: { learningRate: 0.001, hidden: 8 },
      make: (sizes: WindowModelSizes) => stepByStep(name, sizes),
    }]),
  ),
};

/**
 * A linear map from the steps that are given to those that follow, the same for each channel, and one from what is known ahead;
 * with a sequence model, whose reading of the observations is added.
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

/** A model of forecasts that is fed its own predictions after what is given. */
function stepByStep(
  name: string,
  { channels, ahead, context, horizon, hidden, key }: WindowModelSizes,
): WindowModel {
  if (ahead > 0) {
    throw new RangeError(`${name} reads nothing ahead of time: choose another model, or leave out --known`);
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
