import { OptionError } from "../../device/errors.ts";
import { type Layer, layer, type ParameterTree } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { tensor } from "../../tensor/creation.ts";
import { foldIn, type Key, splitKey } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { autoregressionModel } from "./local/autoregression_model.ts";
import { fitLinear } from "./fit_linear.ts";
import { fitSmoothing } from "./local/fit_smoothing.ts";
import { forecastModel, forecastModels } from "./forecast_models.ts";
import { historyLength } from "../read/histories.ts";
import { isWarp, type ModelKind } from "./model_kind.ts";
import { seriesModels } from "./series_models.ts";
import type { SeriesNetwork } from "./series_network.ts";
import { seasonalNaiveForm, smoothingModel } from "./local/smoothing_model.ts";
import type { FitData, WindowInputs, WindowModel, WindowModelSizes } from "./window_model.ts";

/** A kind of forecasting model. */
interface WindowModelKind extends ModelKind {
  /** Makes the model. */
  make(sizes: WindowModelSizes): WindowModel;
  /** Default number of past steps for a season. By default, it depends on the horizon. */
  contextOf?(season: number): number;
}

/**
 * Models that forecast step by step, feeding back their predictions. WARP is one of these, since its state
 * would otherwise contain weights for every forecast value. The others are the forecasting models without a
 * series model of the same name.
 */
const rollouts = Object.entries(forecastModels).filter(([name, { needsPhysics }]) =>
  !needsPhysics && (isWarp(name) || !Object.hasOwn(seriesModels, name))
);

/** Options that have no effect on a model that is fitted in closed form, and its number of epochs. */
const closedForm = {
  takes: [],
  rejects: ["epochs", "learningRate", "patience"],
  defaults: { epochs: 1 },
} as const;

/** All models that forecast users' own series, by the name for `--model`. */
export const windowModels: Readonly<Record<string, WindowModelKind>> = {
  "linear": { ...closedForm, make: linearModel },
  "seasonal-naive": {
    ...closedForm,
    contextOf: historyLength,
    make: (sizes) => smoothingModel(sizes, (_, season) => seasonalNaiveForm(season)),
  },
  "exponential-smoothing": {
    ...closedForm,
    contextOf: historyLength,
    make(sizes) {
      requireNothingAhead("exponential-smoothing", sizes.ahead);
      return smoothingModel(sizes, fitSmoothing);
    },
  },
  "autoregression": {
    ...closedForm,
    contextOf: historyLength,
    make(sizes) {
      requireNothingAhead("autoregression", sizes.ahead);
      return autoregressionModel(sizes);
    },
  },
  ...Object.fromEntries(
    Object.entries(seriesModels).map(([name, { takes }]) => [name, {
      takes: takes.filter((setting) => setting !== "online" && setting !== "condense"),
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

/** Parameters of the linear maps, and of the optional sequence model. */
type LinearParameters = {
  readonly linear: { readonly weight: Tensor; readonly bias?: Tensor };
  readonly ahead?: { readonly weight: Tensor };
  readonly network?: ParameterTree;
};

/** The linear maps alone, fitted by least squares. */
function linearModel(sizes: WindowModelSizes): WindowModel {
  const model = besideLinear(sizes);
  const { linear, ahead } = model.parameters;
  return Object.assign(model, {
    fit({ windows, tuning }: FitData): Promise<void> {
      const { weight, shared } = fitLinear(windows, sizes, tuning);
      const { context, horizon } = sizes;
      tidy(() => {
        const both = tensor(Float32Array.from(weight), { shape: [horizon, context + 1] });
        linear.weight.assign(both.slice(1, 0, context));
        linear.bias!.assign(both.select(1, context));
        ahead?.weight.assign(tensor(Float32Array.from(shared), { shape: ahead.weight.shape }));
      });
      return Promise.resolve();
    },
  });
}

/**
 * A linear map from the past steps to the following steps, the same for each channel, plus a linear map of
 * the values known ahead of time. With a sequence model, its outputs are added.
 */
function besideLinear(
  { channels, ahead, context, horizon, key }: WindowModelSizes,
  network?: SeriesNetwork,
): Layer<[inputs: WindowInputs, key?: Key], LinearParameters> {
  const linear = Linear({ inputs: context, outputs: horizon, key: splitKey(key)[0] });
  const ofAhead = ahead > 0
    ? Linear({ inputs: ahead, outputs: channels, key: foldIn(key, 1), bias: false })
    : undefined;
  const parameters: LinearParameters = {
    linear: linear.parameters,
    ...(ofAhead ? { ahead: ofAhead.parameters } : {}),
    ...(network ? { network: network.parameters } : {}),
  };
  return layer(parameters, ({ grid, inputs, ahead }: WindowInputs, key?: Key) => {
    let steps = linear(grid.transpose()).transpose();
    if (ofAhead) steps = steps.add(ofAhead(ahead!));
    if (!network) return steps;
    return steps.add(network.outputs(inputs!, key).reshape([grid.shape[0], horizon, channels]));
  });
}

/** @throws {OptionError} If there are channels that are known ahead of time. */
function requireNothingAhead(name: string, ahead: number): void {
  if (ahead === 0) return;
  throw new OptionError(
    "unusable-option",
    `${name} uses no values known ahead of time`,
    {
      option: "known",
      fixes: [(write) => `choose another model, or leave out ${write("known")}`],
    },
  );
}

/** A forecasting model that feeds back its predictions after the past. */
function stepByStep(
  name: string,
  { channels, ahead, context, horizon, hidden, key }: WindowModelSizes,
): WindowModel {
  requireNothingAhead(name, ahead);
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
