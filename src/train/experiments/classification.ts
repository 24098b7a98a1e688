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
import type { ParameterTree } from "../../nn/layer.ts";
import { accuracy, binaryCrossEntropy, crossEntropy, weightPenalty } from "../../nn/losses.ts";
import { tensor } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Key } from "../../tensor/random.ts";
import { scope } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { DataRecord } from "../data_record.ts";
import type { Answer, Sample, Task, TrainedModel } from "../task.ts";
import type { Settings } from "./experiment.ts";
import { classificationLearning, type PaperRules } from "./classification_recipe.ts";
import { type SeriesControl, seriesControl, seriesModel } from "./series_models.ts";

/** Series as a model of continuous time reads them. */
export type SeriesBatch = {
  /** Coefficients of a path on the grid 0, 1, ..., (batch, ...): of natural cubic splines, or of log-signatures of windows. */
  readonly coeffs: Tensor;
  /** Grid points of each series, int32 (batch): its observations, or the ends of its windows. */
  readonly lengths: Tensor;
  /** Class of each series, int32 (batch). */
  readonly labels: Tensor;
};

/** Options of {@linkcode classifier}. */
export interface ClassifierOptions {
  /** Record of the data: channels, classes and scaling. */
  record: DataRecord;
  /** Settings of the run. */
  settings: Settings;
  /** Random key of the initial parameters. */
  key: Key;
  /** Features of each hidden layer of a Neural CDE's vector field. */
  width: number;
  /** Number of hidden layers of a Neural CDE's vector field. */
  depth: number;
}

/** A model that classifies series as its record says. */
export interface Classifier extends Pick<TrainedModel<SeriesBatch>, "parameters" | "evaluate" | "scores"> {
  /** Series of the record's channels, as they were observed, in the form that the model reads. */
  toBatch(series: readonly Series[]): SeriesBatch;
  /** The most probable class of each series of the record's channels, and its probability. */
  classify(series: readonly Series[]): Promise<Answer[]>;
}

/** Number of test samples in a report. */
const samplesShown = 12;

/**
 * The model of the settings, a Neural CDE by default, driven by natural cubic splines of the observations and of time.
 */
export function classifier({ record, settings, key, width, depth }: ClassifierOptions): Classifier {
  const { channels, classes, time } = record;
  const { model: name = "neural-cde", window, signatureDepth, positiveWeight, recipe } = settings;
  if (positiveWeight !== undefined && classes.length !== 2) {
    throw new RangeError(`a weight for positives needs two classes, and there are ${classes.length}`);
  }
  // One output for two classes, as the papers have it.
  const isBinary = classes.length === 2 && (recipe === "paper" || positiveWeight !== undefined);
  const control = seriesControl(name, { window, signatureDepth });
  const model = seriesModel(name, {
    inputChannels: channels.length + 1,
    outputChannels: isBinary ? 1 : classes.length,
    hidden: settings.hidden,
    width,
    depth,
    method: settings.method,
    stepSize: settings.stepSize,
    signatureDepth,
    key,
  });
  const logits = ({ coeffs, lengths }: SeriesBatch, key?: Key) => {
    const output = model(control.path(coeffs), { lengths, key });
    return isBinary ? concatenate([output.zerosLike(), output], -1) : output;
  };
  // A spline needs two observations.
  const minLength = Math.max(2, record.length);
  const commonLength = (series: readonly Series[]) =>
    Math.max(minLength, largest(series.map(({ times }) => times.length)));
  const toBatch = (series: readonly Series[]) =>
    tensors(
      stackSeries(normalise(series, channels), channels.length, commonLength(series), time.scale),
      control,
    );
  const lossOf = (predicted: Tensor, labels: Tensor) =>
    isBinary
      ? binaryCrossEntropy(predicted.at(-1, 1), labels.equal(1), { positiveWeight })
      : crossEntropy(predicted, labels);
  const { vectorField = model.parameters } = model.parameters as { vectorField?: ParameterTree };
  return {
    parameters: model.parameters,
    toBatch,
    evaluate(batch, key) {
      const predicted = logits(batch, key);
      const loss = lossOf(predicted, batch.labels);
      // While training alone: what is validated and tested is the loss of the answers.
      const penalty = key && recipe === "paper" && weightPenalty(vectorField, { norms: true }).mul(0.03);
      return { loss: penalty ? loss.add(penalty) : loss, accuracy: accuracy(predicted, batch.labels) };
    },
    scores: classes.length === 2
      ? (batch) => {
        const predicted = logits(batch);
        return { scores: predicted.at(-1, 1).sub(predicted.at(-1, 0)), labels: batch.labels };
      }
      : undefined,
    async classify(series) {
      const answers: Answer[] = [];
      // How long a series is held after its end shows in its spline, so that it must not depend on the others.
      const groups = Map.groupBy(series.keys(), (i) => commonLength([series[i]]));
      const batches = [...groups.values()].flatMap((own) =>
        inBatches(Int32Array.from(own), settings.batchSize)
      );
      for (const positions of batches) {
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
          answers[positions[i]] = { series: name, label: classes[own.indexOf(probability)], probability };
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
  /** Rules of the recipe `"paper"` for this problem. */
  paper?: PaperRules;
  /** Curves of a scaled series in a report. */
  draw: (series: Series) => Pick<Sample, "curves" | "isPlane">;
}

/** Learns to classify series with a {@linkcode classifier}. */
export function classification(options: ClassificationOptions): Task<SeriesBatch> {
  const { record, splits, settings, paper, draw } = options;
  const { parameters, evaluate, scores, toBatch, classify } = classifier(options);
  const data = mapSplits(splits, toBatch);
  return {
    record,
    parameters,
    ...classificationLearning({
      parameters,
      settings,
      steps: Math.ceil(splits.train.length / settings.batchSize),
      paper,
    }),
    data,
    evaluate,
    scores,
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

function tensors({ values, shape, lengths, labels }: SeriesArray, control: SeriesControl): SeriesBatch {
  return {
    coeffs: scope(() => control.coeffs(tensor(values, { shape }))),
    lengths: tensor(lengths.map((length) => control.gridPoints(length)), { dtype: "int32" }),
    labels: tensor(labels, { dtype: "int32" }),
  };
}
