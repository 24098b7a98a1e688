/** Models that classify series, by the names that `deno task train --model` knows them by. */
import { FastWeightCDE } from "../../models/fast_weight/cde.ts";
import { FastWeightODE } from "../../models/fast_weight/ode.ts";
import { delta, hebb, type LearningRule, oja } from "../../models/fast_weight/rules.ts";
import { NeuralCDE } from "../../models/neural_cde.ts";
import type { Layer } from "../../nn/layer.ts";
import type { Path } from "../../paths/path.ts";
import type { Key } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** What a model of series is made of. */
export interface SeriesModelSizes {
  inputChannels: number;
  outputChannels: number;
  /** Features of the state of a Neural CDE, or of all heads of a fast weight programmer together. */
  hidden: number;
  /** Features of each hidden layer of a Neural CDE's vector field. */
  width: number;
  /** The number of these layers. */
  depth: number;
  /** The solver's, `"rk4"` when left out. */
  method?: string;
  /** The length of its steps: the distance of observations when left out. */
  stepSize?: number;
  key: Key;
}

/** From a control and the length of each series int32 `(batch)` to `(batch, outputChannels)`. */
export type SeriesModel = Layer<[X: Path, reading: { lengths: Tensor; key?: Key }]>;

/** Heads of the fast weight programmers. */
const heads = 4;

function neuralCde({ hidden, ...sizes }: SeriesModelSizes): SeriesModel {
  return NeuralCDE({ ...sizes, hiddenChannels: hidden });
}

function direct(rule: LearningRule): (sizes: SeriesModelSizes) => SeriesModel {
  return ({ hidden, width: _, depth: __, ...sizes }) =>
    FastWeightODE({ ...sizes, modelDim: hidden, heads, rule });
}

function controlled(
  rule: LearningRule,
  keys: "value" | "derivative",
): (sizes: SeriesModelSizes) => SeriesModel {
  return ({ hidden, width: _, depth: __, ...sizes }) =>
    FastWeightCDE({ ...sizes, modelDim: hidden, heads, rule, keys });
}

/** Every model; a new one is a line. */
export const seriesModels: Readonly<Record<string, (sizes: SeriesModelSizes) => SeriesModel>> = {
  "neural-cde": neuralCde,
  "hebb-ode": direct(hebb()),
  "oja-ode": direct(oja()),
  "delta-ode": direct(delta()),
  "hebb-cde": controlled(hebb(), "value"),
  "oja-cde": controlled(oja(), "value"),
  "delta-cde": controlled(delta(), "derivative"),
};

/** Makes a model by its name. @throws {RangeError} With the names that there are. */
export function seriesModel(name: string, sizes: SeriesModelSizes): SeriesModel {
  if (!Object.hasOwn(seriesModels, name)) {
    throw new RangeError(`unknown model "${name}"; there are ${Object.keys(seriesModels).join(", ")}`);
  }
  return seriesModels[name](sizes);
}
