/**
 * Models that predict each value of a series from the values before it, by the names of the option `--model`.
 */
import { OptionError } from "../../device/errors.ts";
import type { ForecastCallOptions } from "../../models/forecaster.ts";
import { RecurrentForecaster } from "../../models/recurrent.ts";
import { TransformerForecaster } from "../../models/transformer.ts";
import { StateSpaceForecaster, type StateSpaceForecasterOptions } from "../../models/diagonal/forecaster.ts";
import type { WindowInputs, WindowModel, WindowModelSizes } from "./forecaster.ts";
import { kindNamed, type ModelKind } from "./model_settings.ts";
import { NeuralODE } from "../../models/neural_ode.ts";
import type { PhysicalForm } from "../../models/warp/physics.ts";
import type { WARPPredictionBound } from "../../models/warp/readout.ts";
import type { WARPRootOptions } from "../../models/warp/root.ts";
import type { WARPTransitionOptions } from "../../models/warp/transition.ts";
import { WARP } from "../../models/warp/warp.ts";
import { type Layer, layer, type ParameterOptions } from "../../nn/layer.ts";
import type { Key } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { parameterCount } from "../../nn/layer.ts";

/** Sizes and options of a forecaster. */
export interface ForecastModelSizes extends Pick<ParameterOptions, "key"> {
  /** Number of channels of the series. */
  channels: number;
  /** Number of observations per series. */
  length: number;
  /** Number of features of each hidden layer of WARP's root network. */
  hidden: number;
  /** Options of WARP's root network, except its width. */
  root: Omit<WARPRootOptions, "width"> | "none";
  /** Physical form of `warp-phys`. Its root network predicts the parameters of this form. */
  physics?: PhysicalForm;
  /** Origin of WARP's theta_0: a network of the first observation (default), or a learned constant. */
  initial?: "network" | "learned";
  /** Bound of WARP's predictions. */
  bound?: WARPPredictionBound;
  /** Bound on the absolute values of WARP's states, w_lim. 0 or undefined for no bound. */
  clipWeights?: number;
  /** Form of WARP's A. */
  transition?: WARPTransitionOptions;
  /** Whether WARP and the recurrent networks get the time as an additional input channel. */
  time?: boolean;
  /**
   * Minimum standard deviation, above 0, for models that predict one. Without it, no standard deviation is
   * predicted.
   */
  leastDeviation?: number;
  /**
   * Number of features of the state of a recurrent network or state space model; by default, the number with
   * as many parameters as WARP.
   */
  units?: number;
  /** Number of layers of a state space model, 2 by default. */
  layers?: number;
}

/**
 * Maps series `(batch, length, channels)` to predictions of the same shape, or with twice the channels if
 * standard deviations are predicted. Prediction s is for x_(s+1), from the inputs up to s.
 */
export type ForecastModel = Layer<[x: Tensor, feeding: ForecastCallOptions]>;

function warp(
  { channels, hidden, root, leastDeviation, length: _, units: __, layers: ___, clipWeights, ...rest }:
    ForecastModelSizes,
): ForecastModel {
  const model = WARP({
    ...rest,
    inputChannels: channels,
    outputChannels: channels,
    root: root === "none" ? root : { ...root, width: hidden },
    clipWeights: clipWeights || undefined,
    leastDeviation,
    output: leastDeviation === undefined ? "values" : "normal",
  });
  return layer(
    model.parameters,
    (x: Tensor, { forcing, ...call }: ForecastCallOptions) =>
      model(x, { context: 1, ...call, pForcing: forcing }),
  );
}

/**
 * A recurrent network. Its state size brings its number of parameters nearest to that of WARP of the same
 * sizes.
 */
function recurrent(cell: "gru" | "lstm"): (sizes: ForecastModelSizes) => ForecastModel {
  return (sizes) => {
    const { channels, leastDeviation, time, key } = sizes;
    const gates = cell === "gru" ? 3 : 4;
    const inputs = channels + Number(time ?? false);
    const outputs = leastDeviation === undefined ? channels : 2 * channels;
    const hiddenChannels = sizes.units ?? nearestSize(
      warpParameters(sizes),
      (hidden) => gates * hidden * (hidden + inputs + 2) + outputs * (hidden + 1),
    );
    return RecurrentForecaster({ cell, channels, hiddenChannels, leastDeviation, time, key });
  };
}

/** Number of weights and biases of a chain of linear layers with these widths. */
function countOf(widths: readonly number[]): number {
  return widths.slice(1).reduce((sum, out, i) => sum + out * (widths[i] + 1), 0);
}

/** D, the number of weights of WARP's root network. */
function warpStateSize({ channels, hidden, root, physics, leastDeviation }: ForecastModelSizes): number {
  if (root === "none") throw new TypeError("warpStateSize: of a WARP without a root network");
  const inputs = 1 + 2 * (root.frequencies ?? 0) + (root.positions?.channels ?? 0) +
    (root.previousInput ? channels : 0);
  const outputs = (physics?.parameters ?? channels) + (leastDeviation === undefined ? 0 : channels);
  return countOf([inputs, ...new Array<number>(root.depth).fill(hidden), outputs]);
}

/**
 * Largest number of blocks up to 16 that divides D, with more than one weight per block.
 *
 * @throws {OptionError} If no number fits.
 */
export function blocksOf(size: number): number {
  for (let blocks = Math.min(16, size - 1); blocks > 1; blocks--) if (size % blocks === 0) return blocks;
  throw new OptionError(
    "invalid-option",
    `WARP: no number of blocks from 2 to 16 divides the state's ${size} weights`,
    { option: "hidden", fixes: [(write) => `choose another ${write("hidden")}`] },
  );
}

/**
 * Number of parameters of a WARP with the given sizes, excluding those of a dynamic tanh. Other models choose their size by it:
 * see {@linkcode nearestSize}.
 *
 * @throws {TypeError} If the sizes have no root network.
 */
export function warpParameters(sizes: ForecastModelSizes): number {
  const { channels, initial = "network", time } = sizes;
  const size = warpStateSize(sizes);
  const between = (share: number) => channels + Math.trunc(share * (size - channels) / 3);
  const phi = initial === "network" ? countOf([channels, between(1), between(2), size]) : size;
  return size * (size + channels + Number(time ?? false)) + phi;
}

/**
 * Number of units, at least 1, with the parameter count nearest to `parameters`.
 *
 * @param parameters Number of parameters, at least 1.
 * @param count Number of parameters of a model with some units. It must grow with the units.
 */
export function nearestSize(parameters: number, count: (units: number) => number): number {
  let [units, tooMany] = [1, 2];
  while (count(tooMany) <= parameters) [units, tooMany] = [tooMany, 2 * tooMany];
  while (tooMany - units > 1) {
    const middle = (units + tooMany) >> 1;
    if (count(middle) <= parameters) units = middle;
    else tooMany = middle;
  }
  return parameters - count(units) <= count(tooMany) - parameters ? units : tooMany;
}

/** Heads of the Transformer, and layers of the Transformer and, by default, of the state space models. */
const [heads, defaultLayers] = [4, 2];

/**
 * A Transformer. Its number of features brings its number of parameters nearest to that of WARP of the same
 * sizes. In training it reads all true values in parallel, whatever the forcing probability: it cannot feed
 * back its predictions there.
 */
function transformer(sizes: ForecastModelSizes): ForecastModel {
  const { channels, leastDeviation, time, key } = sizes;
  const outputs = leastDeviation === undefined ? channels : 2 * channels;
  const unit = nearestSize(warpParameters(sizes), (units) => {
    const features = heads * units;
    const blocks = defaultLayers *
      (4 * features * (features + 1) + countOf([features, 4 * features, features]));
    return countOf([channels + Number(time ?? false), features]) + blocks + defaultLayers * 4 * features +
      countOf([features, outputs]);
  });
  const model = TransformerForecaster({
    ...{ channels, leastDeviation, time, key, modelDim: heads * unit, heads, layers: defaultLayers },
  });
  return layer(
    model.parameters,
    (x: Tensor, call: ForecastCallOptions) =>
      model(x, call.forcing === undefined ? call : { ...call, forcing: 1 }),
  );
}

/**
 * A state space model, of two layers by default. Its number of features brings its number of parameters nearest to that
 * of WARP.
 */
function stateSpace(cell: StateSpaceForecasterOptions["cell"]): (sizes: ForecastModelSizes) => ForecastModel {
  return (sizes) => {
    const { channels, leastDeviation, time, key, layers = defaultLayers } = sizes;
    const make = (modelDim: number) =>
      StateSpaceForecaster({
        ...{ cell, channels, leastDeviation, time, key, modelDim, layers, stateSize: 16 },
      });
    const count = (modelDim: number) => tidy(() => parameterCount(make(modelDim).parameters));
    return make(sizes.units ?? nearestSize(warpParameters(sizes), count));
  };
}

/** A neural ODE that starts from the first observation, for deterministic series. It ignores later inputs. */
function neuralOde({ channels, length, hidden, key, leastDeviation }: ForecastModelSizes): ForecastModel {
  if (leastDeviation !== undefined) {
    throw new RangeError("neural-ode predicts no standard deviations; choose another model");
  }
  // One channel more than observed, in addition to the time: a scalar differential equation cannot reverse
  // its direction.
  const model = NeuralODE({ features: channels + 2, width: hidden, depth: 2, key });
  const times = Float64Array.from({ length: length + 1 }, (_, i) => length / (length - 1) * i / length);
  return layer(model.parameters, (x: Tensor) => {
    const start = x.select(1, 0).pad([[0, 0], [0, 2]]);
    return model(start, times).slice(1, 1).slice(-1, 0, channels);
  });
}

function fixTau(root: ForecastModelSizes["root"]): ForecastModelSizes["root"] {
  return root === "none" ? root : { ...root, fixedTau: 0 };
}

/** A kind of forecasting model. */
export interface ForecastModelKind extends ModelKind {
  /** Makes the model. */
  make(sizes: ForecastModelSizes): ForecastModel;
  /** Whether the model needs the physical form of the experiment. Other models are made without it. */
  readonly needsPhysics?: boolean;
}

/** WARP with some of its sizes or options changed. */
function ofWarp(
  change: (sizes: ForecastModelSizes) => Partial<ForecastModelSizes>,
  kind: Partial<ForecastModelKind> = {},
): ForecastModelKind {
  return {
    takes: ["hidden", "depth", "clipWeights"],
    make: (sizes) => warp({ ...sizes, ...change(sizes) }),
    ...kind,
  };
}

/** A kind of model with as many parameters as WARP of the same sizes, unless the number is among the sizes. */
function asLargeAsWarp(
  make: (sizes: ForecastModelSizes) => ForecastModel,
  others: readonly ("units" | "layers")[] = [],
): ForecastModelKind {
  return { takes: ["hidden", "depth", ...others], make };
}

/** All forecasting models, by the name for `--model`. */
export const forecastModels: Readonly<Record<string, ForecastModelKind>> = {
  "warp": ofWarp(() => ({})),
  "warp-phys": ofWarp(() => ({}), { needsPhysics: true }),
  // Extensions of the paper.
  "warp-rotation": ofWarp(() => ({ transition: { initialization: "rotation" } })),
  "warp-planes": ofWarp(() => ({ transition: "planes" })),
  "warp-planes-low-rank": ofWarp(() => ({ transition: { diagonal: "planes", rank: 16 } })),
  // The ablations of the paper's section 3.4.
  "warp-no-initial": ofWarp(() => ({ initial: "learned" })),
  "warp-fixed-tau": ofWarp(({ root }) => ({ root: fixTau(root) })),
  "warp-diagonal": ofWarp(() => ({ transition: "diagonal" })),
  "warp-block-diagonal": ofWarp((sizes) => ({ transition: { blocks: blocksOf(warpStateSize(sizes)) } })),
  "warp-low-rank": ofWarp(() => ({ transition: { rank: 16 } })),
  "warp-phys-no-root": ofWarp(() => ({ root: "none" }), { needsPhysics: true, takes: ["clipWeights"] }),
  "gru": asLargeAsWarp(recurrent("gru"), ["units"]),
  "lstm": asLargeAsWarp(recurrent("lstm"), ["units"]),
  "transformer": asLargeAsWarp(transformer),
  "s4d": asLargeAsWarp(stateSpace("s4d"), ["units", "layers"]),
  "lru": asLargeAsWarp(stateSpace("lru"), ["units", "layers"]),
  "s5": asLargeAsWarp(stateSpace("s5"), ["units", "layers"]),
  "mamba": asLargeAsWarp(stateSpace("mamba"), ["units", "layers"]),
  "neural-ode": { takes: ["hidden"], make: neuralOde },
};

/**
 * Makes one of the {@linkcode forecastModels}.
 *
 * @param name Name of the model.
 * @param sizes Sizes of the model. `physics` is for models that need a physical form; others ignore it.
 * @throws {OptionError} If the name is unknown. The message lists the names.
 * @throws {RangeError} If the model needs a physical form and none is given.
 */
export function forecastModel(name: string, { physics, ...sizes }: ForecastModelSizes): ForecastModel {
  const { make, needsPhysics } = kindNamed(forecastModels, name);
  if (!needsPhysics) return make(sizes);
  if (physics) return make({ ...sizes, physics });
  throw new RangeError(`${name}: this experiment has no physical form`);
}

/** A forecasting model that feeds back its predictions after the past. */
export function rollout(
  name: string,
  { channels, context, horizon, hidden, key }: WindowModelSizes,
): WindowModel {
  const model = forecastModel(name, {
    channels,
    length: context + horizon,
    hidden,
    root: { depth: 1, activation: "silu", frequencies: 6 },
    time: true,
    key,
  });
  return layer(model.parameters, ({ grid }: WindowInputs, key?: Key) => {
    const x = grid.pad([[0, 0], [0, horizon], [0, 0]]);
    return model(x, { context, key }).slice(1, context - 1, context + horizon - 1);
  });
}
