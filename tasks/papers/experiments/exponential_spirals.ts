import {
  accuracy,
  concatenate,
  crossEntropy,
  CubicSpline,
  type Key,
  key,
  type Layer,
  layer,
  linspace,
  naturalCubicCoeffs,
  NeuralCDE,
  parameter,
  Recurrent,
  splitKey,
  takeSamples,
  type Tensor,
  tensor,
  tidy,
  WARP,
} from "@weft/weft";
import {
  exponentialSpirals as options,
  mapSplits,
  type Series,
  spirals,
  type Splits,
  stackSeries,
} from "@weft/weft/data";
import { kindNamed, type ModelExperiment, type ModelKind, modelRules } from "@weft/weft/series";
import { type Chart, pickOptions, type Task } from "@weft/weft/train";
import { forecastOptions, type ForecastSettings } from "./options.ts";
import { recipeDefaults } from "./recipe_defaults.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { spirals as spiralsRecipe } from "../recipes/warp_uea.ts";
import { learning } from "./recipe.ts";
import { drawSpiral } from "./spirals.ts";

/** Default numbers of spirals. */
const series = { train: 2000, validation: 500, test: 1000 };

/** x and y `(batch, length, 2)`, and the class int32 `(batch)`. */
type Batch = { readonly x: Tensor; readonly labels: Tensor };

/** A kind of model that reads spirals. */
interface SpiralsModelKind extends ModelKind {
  make(hidden: number, key: Key): Layer<[x: Tensor]>;
}

function kind(make: SpiralsModelKind["make"]): SpiralsModelKind {
  return { takes: ["hidden"], make };
}

const models: Readonly<Record<string, SpiralsModelKind>> = {
  warp: kind((width, key) => {
    const { depth, activation, initial } = valuesOf(spiralsRecipe.rules);
    const model = WARP({
      ...{ inputChannels: 2, outputChannels: 2, output: "logits", initial, key },
      root: { width, depth, activation },
    });
    return layer(model.parameters, (x: Tensor) => model(x));
  }),
  // Chosen so that the number of parameters is close to WARP's with the same `hidden`.
  "neural-cde": kind((hidden, key) => {
    const model = NeuralCDE({
      ...{ inputChannels: 3, hiddenChannels: 2 * hidden, outputChannels: 2, key },
      ...{ width: 4 * hidden, depth: 1 },
    });
    return layer(model.parameters, (x: Tensor) => {
      const [batch, length] = x.shape;
      const time = linspace(0, 1, length).expandDims(-1).broadcastTo([batch, length, 1]);
      return model(CubicSpline(naturalCubicCoeffs(concatenate([time, x], -1))));
    });
  }),
  gru: kind((hidden, key) => recurrent("gru", hidden, key)),
  lstm: kind((hidden, key) => recurrent("lstm", hidden, key)),
};

function recurrent(cell: "gru" | "lstm", hiddenChannels: number, key: Key): Layer<[x: Tensor]> {
  const model = Recurrent({ cell, inputChannels: 2, hiddenChannels, outputChannels: 2, key });
  return layer(model.parameters, (x: Tensor) => model(x));
}

/**
 * Classifies exponentially shrinking spirals of 64 observations as clockwise or counter-clockwise, with WARP.
 */
export const exponentialSpirals: ModelExperiment = modelRules({
  name: "exponential-spirals",
  summary: "noise-free spirals of WARP's paper",
  options: pickOptions(
    forecastOptions(
      { epochs: 20, batchSize: 50, learningRate: 0.001, hidden: 24, model: "warp" },
      ["samples"],
    ),
    ["samples", "model", "hidden", "epochs", "batchSize", "learningRate", "recipe"],
  ),
  models: () => models,
  prepare(settings: ForecastSettings): Task<Batch> {
    const [modelKey, ...dataKeys] = splitKey(key(settings.seed), 4);
    const model = kindNamed(models, settings.model!).make(settings.hidden, modelKey);
    const { samples = series.train } = settings;
    const made: Splits<readonly Series[]> = {
      train: spirals(samples, dataKeys[0], options).series,
      validation: spirals(series.validation, dataKeys[1], options).series,
      test: spirals(series.test, dataKeys[2], options).series,
    };
    const data = mapSplits(made, (part): Batch => {
      const { values, shape, labels } = stackSeries(part, 2, options.length!);
      const x = parameter(tensor(values, { shape }).slice(2, 1)); // without the time
      return { x, labels: tensor(labels, { dtype: "int32" }) };
    });
    const steps = settings.epochs! * Math.ceil(samples / settings.batchSize);
    return {
      parameters: model.parameters,
      ...learning({ parameters: model.parameters, settings, steps }),
      data,
      evaluate({ x, labels }) {
        const logits = model(x);
        return { loss: crossEntropy(logits, labels), accuracy: accuracy(logits, labels) };
      },
      metric: { name: "accuracy", mode: "max" },
      async examples() {
        const positions = Array.from({ length: 12 }, (_, i) => Math.floor(i * series.test / 12));
        const predicted = await tidy(() => model(takeSamples(data.test, positions).x).argmax(-1)).data();
        const names = ["counter-clockwise", "clockwise"];
        return [{
          ...{ kind: "charts", title: "Test samples with their predicted classes" },
          charts: positions.map((position, i): Chart => ({
            title: names[predicted[i]],
            panels: [drawSpiral(made.test[position])],
            size: "small",
            outcome: made.test[position].label === predicted[i] ? "right" : "wrong",
          })),
        }];
      },
    };
  },
}, recipeDefaults(spiralsRecipe.settings));
