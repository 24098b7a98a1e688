import { largest } from "../../device/extremes.ts";
import {
  mapSplits,
  type Series,
  type SeriesArray,
  type SeriesSet,
  type Splits,
  stackSeries,
} from "../../data/series.ts";
import { takeSamples } from "../../data/batches.ts";
import { accuracy, crossEntropy } from "../../nn/losses.ts";
import { Adam } from "../../optim/adam.ts";
import { CubicSpline } from "../../paths/cubic_spline.ts";
import { naturalCubicCoeffs } from "../../paths/natural_cubic.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Key } from "../../tensor/random.ts";
import { scope } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Sample, Task } from "../task.ts";
import type { Settings } from "./experiment.ts";
import { seriesModel } from "./series_models.ts";

/** Series as a model of continuous time reads them. */
type Batch = {
  /** Natural cubic splines on the grid 0, 1, ...: (batch, length - 1, 4 * channels). */
  readonly coeffs: Tensor;
  /** Observations of each series, int32 (batch). */
  readonly lengths: Tensor;
  /** int32 (batch). */
  readonly labels: Tensor;
};

/** Options of {@linkcode classification}. */
export interface ClassificationOptions {
  set: SeriesSet;
  /** The set's series, normalised. */
  splits: Splits<readonly Series[]>;
  settings: Settings;
  /** What the parameters are drawn from. */
  key: Key;
  /** Features of each hidden layer of a Neural CDE's vector field. */
  width: number;
  /** The number of these layers. */
  depth: number;
  /** What times are multiplied with before they become a channel. */
  timeScale: number;
  /** Brings series as they were observed to the form of `splits`. */
  normalise: (series: readonly Series[]) => readonly Series[];
  /** How a report draws a series. */
  draw: (series: Series) => Pick<Sample, "curves" | "isPlane">;
}

const samplesShown = 12;

/**
 * Classifies series with the model of the settings, a Neural CDE by default, driven by natural cubic splines of the
 * observations and of time.
 */
export function classification(options: ClassificationOptions): Task<Batch> {
  const { set, splits, settings, key, width, depth, timeScale, normalise, draw } = options;
  const length = Math.max(2, largest(set.series.map(({ times }) => times.length)));
  const model = seriesModel(settings.model ?? "neural-cde", {
    inputChannels: set.channels.length + 1,
    outputChannels: set.classes.length,
    hidden: settings.hidden,
    width,
    depth,
    method: settings.method,
    stepSize: settings.stepSize,
    key,
  });
  const logits = ({ coeffs, lengths }: Batch, key?: Key) => model(new CubicSpline(coeffs), { lengths, key });
  const data = mapSplits(
    splits,
    (part) => toBatch(stackSeries(part, set.channels.length, length, timeScale)),
  );
  return {
    parameters: model.parameters,
    optimizer: Adam(model.parameters, { learningRate: settings.learningRate }),
    clipNorm: 1,
    data,
    evaluate(batch, key) {
      const predicted = logits(batch, key);
      return { loss: crossEntropy(predicted, batch.labels), accuracy: accuracy(predicted, batch.labels) };
    },
    metric: { name: "accuracy", mode: "max" },
    async classify({ channels, series }) {
      if (channels.length !== set.channels.length) {
        throw new Error(
          `${channels.length} channels, expected ${set.channels.length} as the model was trained on`,
        );
      }
      const longest = Math.max(2, largest(series.map(({ times }) => times.length)));
      const probabilities = scope(() =>
        logits(toBatch(stackSeries(normalise(series), channels.length, longest, timeScale))).softmax(-1)
      );
      const values = await probabilities.data();
      return series.map((_, i) => {
        const own = Array.from(values.subarray(i * set.classes.length, (i + 1) * set.classes.length));
        const probability = largest(own);
        return { label: set.classes[own.indexOf(probability)], probability };
      });
    },
    async samples() {
      // Evenly spread, since the classes follow one another.
      const count = Math.min(samplesShown, splits.test.length);
      const positions = Array.from({ length: count }, (_, i) => Math.floor(i * splits.test.length / count));
      const classes = scope(() => logits(takeSamples(data.test, positions)).argmax(-1));
      const predicted = await classes.data();
      return positions.map((position, i) => ({
        ...draw(splits.test[position]),
        label: set.classes[splits.test[position].label],
        predicted: set.classes[predicted[i]],
      }));
    },
  };
}

function toBatch({ values, shape, lengths, labels }: SeriesArray): Batch {
  return {
    coeffs: scope(() => naturalCubicCoeffs(tensor(values, { shape }))),
    lengths: tensor(lengths, { dtype: "int32" }),
    labels: tensor(labels, { dtype: "int32" }),
  };
}
