import { mapSplits, type Series, type Splits, stackSeries } from "../../data/series.ts";
import { exponentialSpirals as options, spirals } from "../../data/spirals.ts";
import { takeSamples } from "../../data/batches.ts";
import { Recurrent } from "../../models/recurrent.ts";
import { WARP } from "../../models/warp/warp.ts";
import { NeuralCDE } from "../../models/neural_cde.ts";
import { type Layer, layer, parameterOf } from "../../nn/layer.ts";
import { accuracy, crossEntropy } from "../../nn/losses.ts";
import { CubicSpline } from "../../paths/cubic_spline.ts";
import { naturalCubicCoeffs } from "../../paths/natural_cubic.ts";
import { linspace, tensor } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { type Key, key, split } from "../../tensor/random.ts";
import { scope } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Task } from "../task.ts";
import type { Experiment, Settings } from "./experiment.ts";
import { kindNamed, type ModelKind } from "./model_kind.ts";
import { learning } from "./recipe.ts";
import { drawSpiral } from "./spirals.ts";

/** Numbers of spirals, of which the paper trains on 10,000. */
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
    const model = WARP({
      inputChannels: 2,
      outputChannels: 2,
      output: "logits",
      root: { width, depth: 1, activation: "silu" },
      key,
    });
    return layer(model.parameters, (x: Tensor) => model(x));
  }),
  // As many parameters as WARP of the same `hidden`, nearly.
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

/** Tells clockwise from counter-clockwise spirals that shrink exponentially, of 64 observations, with WARP. */
export const exponentialSpirals: Experiment = {
  name: "exponential-spirals",
  summary: "WARP's spirals, clockwise against counter-clockwise without noise, made from the seed",
  defaults: { epochs: 20, batchSize: 50, learningRate: 0.001, hidden: 24, model: "warp" },
  takes: ["model", "samples", "recipe"],
  models: () => models,
  prepare(settings: Settings): Task<Batch> {
    const [modelKey, ...dataKeys] = split(key(settings.seed), 4);
    const model = kindNamed(models, settings.model!).make(settings.hidden, modelKey);
    const { samples = series.train } = settings;
    const made: Splits<readonly Series[]> = {
      train: spirals(samples, dataKeys[0], options).series,
      validation: spirals(series.validation, dataKeys[1], options).series,
      test: spirals(series.test, dataKeys[2], options).series,
    };
    const data = mapSplits(made, (part): Batch => {
      const { values, shape, labels } = stackSeries(part, 2, options.length!);
      const x = parameterOf(() => tensor(values, { shape }).slice(2, 1)); // without the time
      return { x, labels: tensor(labels, { dtype: "int32" }) };
    });
    const steps = settings.epochs * Math.ceil(samples / settings.batchSize);
    return {
      parameters: model.parameters,
      ...learning({ parameters: model.parameters, settings, steps }),
      data,
      evaluate({ x, labels }) {
        const logits = model(x);
        return { loss: crossEntropy(logits, labels), accuracy: accuracy(logits, labels) };
      },
      metric: { name: "accuracy", mode: "max" },
      async samples() {
        const positions = Array.from({ length: 12 }, (_, i) => Math.floor(i * series.test / 12));
        const predicted = await scope(() => model(takeSamples(data.test, positions).x).argmax(-1)).data();
        const names = ["counter-clockwise", "clockwise"];
        return positions.map((position, i) => ({
          ...drawSpiral(made.test[position]),
          label: names[made.test[position].label],
          predicted: names[predicted[i]],
        }));
      },
    };
  },
};
