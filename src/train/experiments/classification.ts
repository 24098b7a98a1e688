import {
  mapSplits,
  normalise,
  type Series,
  type SeriesArray,
  type Splits,
  stackSeries,
} from "../../data/series.ts";
import { inBatches } from "../../data/batches.ts";
import { largest } from "../../device/extremes.ts";
import { accuracy, crossEntropy } from "../../nn/losses.ts";
import { Adam } from "../../optim/adam.ts";
import { CubicSpline } from "../../paths/cubic_spline.ts";
import { naturalCubicCoeffs } from "../../paths/natural_cubic.ts";
import { tensor } from "../../tensor/creation.ts";
import type { Key } from "../../tensor/random.ts";
import { scope } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { DataRecord } from "../data_record.ts";
import type { Answer, Sample, Task, TrainedModel } from "../task.ts";
import type { Settings } from "./experiment.ts";
import { seriesModel } from "./series_models.ts";

/** Series as a model of continuous time reads them. */
export type SeriesBatch = {
  /** Natural cubic splines on the grid 0, 1, ...: (batch, length - 1, 4 * channels). */
  readonly coeffs: Tensor;
  /** Observations of each series, int32 (batch). */
  readonly lengths: Tensor;
  /** int32 (batch). */
  readonly labels: Tensor;
};

/** Options of {@linkcode classifier}. */
export interface ClassifierOptions {
  /** Channels, classes, scaling. */
  record: DataRecord;
  settings: Settings;
  /** What the parameters are drawn from. */
  key: Key;
  /** Features of each hidden layer of a Neural CDE's vector field. */
  width: number;
  /** The number of these layers. */
  depth: number;
}

/** A model that classifies series as its record says. */
export interface Classifier extends Pick<TrainedModel<SeriesBatch>, "parameters" | "evaluate"> {
  /** Series of the record's channels, as they were observed, in the form that the model reads. */
  toBatch(series: readonly Series[], length?: number): SeriesBatch;
  /** The classes of series of the record's channels, and how probable they are. */
  classify(series: readonly Series[]): Promise<Answer[]>;
}

const samplesShown = 12;

/**
 * The model of the settings, a Neural CDE by default, driven by natural cubic splines of the observations and of time.
 */
export function classifier({ record, settings, key, width, depth }: ClassifierOptions): Classifier {
  const { channels, classes, time } = record;
  const model = seriesModel(settings.model ?? "neural-cde", {
    inputChannels: channels.length + 1,
    outputChannels: classes.length,
    hidden: settings.hidden,
    width,
    depth,
    method: settings.method,
    stepSize: settings.stepSize,
    key,
  });
  const logits = ({ coeffs, lengths }: SeriesBatch, key?: Key) =>
    model(new CubicSpline(coeffs), { lengths, key });
  const toBatch = (series: readonly Series[], length = commonLength(series)) =>
    tensors(stackSeries(normalise(series, channels), channels.length, length, time.scale));
  return {
    parameters: model.parameters,
    toBatch,
    evaluate(batch, key) {
      const predicted = logits(batch, key);
      return { loss: crossEntropy(predicted, batch.labels), accuracy: accuracy(predicted, batch.labels) };
    },
    async classify(series) {
      const all = Int32Array.from(series, (_, i) => i);
      const answers: Answer[] = [];
      for (const positions of inBatches(all, settings.batchSize)) {
        const part = Array.from(positions, (i) => series[i]);
        const probabilities = scope(() => logits(toBatch(part)).softmax(-1));
        const values = await probabilities.data();
        part.forEach(({ name }, i) => {
          const own = values.subarray(i * classes.length, (i + 1) * classes.length);
          const probability = largest(own);
          if (!Number.isFinite(probability)) {
            throw new Error(
              `series "${name}": the model's answer is not a number; its values or its times are too far from those that ` +
                "the model learned from",
            );
          }
          answers.push({ series: name, label: classes[own.indexOf(probability)], probability });
        });
      }
      return answers;
    },
  };
}

/** Options of {@linkcode classification}. */
export interface ClassificationOptions extends ClassifierOptions {
  /** The record's series, as they were observed. */
  splits: Splits<readonly Series[]>;
  /** How a report draws a series, scaled. */
  draw: (series: Series) => Pick<Sample, "curves" | "isPlane">;
}

/** Learns to classify series with a {@linkcode classifier}. */
export function classification(options: ClassificationOptions): Task<SeriesBatch> {
  const { record, splits, settings, draw } = options;
  const { parameters, evaluate, toBatch, classify } = classifier(options);
  const length = largest(Object.values(mapSplits(splits, commonLength)));
  const data = mapSplits(splits, (part) => toBatch(part, length));
  return {
    record,
    parameters,
    optimizer: Adam(parameters, { learningRate: settings.learningRate }),
    clipNorm: 1,
    data,
    evaluate,
    metric: { name: "accuracy", mode: "max" },
    async samples() {
      // Evenly spread, since the classes follow one another.
      const count = Math.min(samplesShown, splits.test.length);
      const shown = Array.from(
        { length: count },
        (_, i) => splits.test[Math.floor(i * splits.test.length / count)],
      );
      const answers = await classify(shown);
      const scaled = normalise(shown, record.channels);
      return scaled.map((one, i) => ({
        ...draw(one),
        label: record.classes[one.label],
        predicted: answers[i].label,
      }));
    },
  };
}

/** The number of observations that series are brought to: those of the longest, and as many as a spline needs. */
function commonLength(series: readonly Series[]): number {
  return Math.max(2, largest(series.map(({ times }) => times.length)));
}

function tensors({ values, shape, lengths, labels }: SeriesArray): SeriesBatch {
  return {
    coeffs: scope(() => naturalCubicCoeffs(tensor(values, { shape }))),
    lengths: tensor(lengths, { dtype: "int32" }),
    labels: tensor(labels, { dtype: "int32" }),
  };
}
