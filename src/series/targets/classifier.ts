/** Predicts classes of series. */
import type { Series } from "../../data/series.ts";
import { accuracy, binaryCrossEntropy, crossEntropy, l2Penalty } from "../../nn/losses.ts";
import { tensor } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { ParameterTree } from "../../nn/layer.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { ClassPrediction } from "../record/predictions.ts";
import { balancedWeights, countLabels } from "../math/class_counts.ts";
import { argmax } from "../math/argmax.ts";
import { coolest, fitTemperature, hottest, probabilitiesOf } from "../math/temperature.ts";
import type { Calibration, Task } from "../../train/task.ts";
import { type CheckedSeries, rangeWarnings, withWarnings } from "./range_warnings.ts";
import { meanLogit, meanOutput, meanProbability } from "../models/ensemble.ts";
import { networkStreams } from "./streams/network_streams.ts";
import {
  groupsOfOneLength,
  samplesOf,
  type SeriesInputs,
  seriesNetwork,
  type SeriesNetworkOptions,
  type SeriesPredictor,
} from "../models/series_network.ts";

/** Labelled series in the form that the model reads. */
export type SeriesBatch = SeriesInputs & {
  /** Class of each series, int32 (batch). */
  readonly labels: Tensor;
};

/** A model that classifies series with the classes of its record. */
export interface Classifier extends SeriesPredictor<SeriesBatch, ClassPrediction> {
  /** Scores of the classes for each series, before the softmax. */
  classScores(series: readonly Series[]): Promise<ArrayLike<number>[]>;
  /** Scores of the linear model, if the network adds to such a model. */
  linearScores?(series: Series): ArrayLike<number>;
  /**
   * Fits the softmax temperature on labelled series; after a closed-form fit, on its leave-one-out outputs. A
   * temperature in the record is kept.
   */
  calibrate(validation: readonly Series[], train: readonly Series[]): Promise<Calibration>;
}

/** Values fitted after training. */
interface ClassCalibration {
  /** Softmax temperature: the scores are divided by it. */
  readonly temperature: number;
  /** Fraction of each class in the training set. */
  readonly shares: readonly number[];
}

/** Training rules of a classifier that differ from those for users' own series. */
export interface ClassificationRules {
  /** Whether two classes have a single output: the logit of the second class. */
  readonly isBinary?: boolean;
  /** Factor of the norms of the regularised parameters in the training loss; no penalty by default. */
  readonly l2Penalty?: number;
  /** Measure that decides which epoch is the best. */
  readonly metric: Task["metric"];
  /** Optimiser, schedule and stopping rule. @param steps Number of steps per epoch. */
  learning(parameters: ParameterTree, steps: number): Pick<
    Task,
    "optimizer" | "schedule" | "plateau" | "plateauOf" | "clipNorm" | "clipValue" | "stop"
  >;
}

/** Options of {@linkcode classifier}. */
export interface ClassifierOptions extends SeriesNetworkOptions {
  /** Training rules of the problem; those for users' own series by default. */
  rules?: ClassificationRules;
}

/** Makes a model with one score per class of the record. */
export function classifier(options: ClassifierOptions): Classifier {
  const { record: { classes, channels }, settings, rules } = options;
  const { positiveWeight } = settings;
  if (positiveWeight !== undefined && classes.length !== 2) {
    throw new RangeError(`positiveWeight needs two classes, but the data have ${classes.length}`);
  }
  const isBinary = classes.length === 2 && (rules?.isBinary || positiveWeight !== undefined);
  const average = isBinary ? meanLogit : meanProbability;
  const network = seriesNetwork(options, isBinary ? 1 : classes.length, average);
  const { parameters } = network;
  const asLogits = (output: Tensor) => isBinary ? concatenate([output.zerosLike(), output], -1) : output;
  const logits = (batch: SeriesBatch) => asLogits(network.outputs(batch));
  const weights = settings.balance ? tensor(balancedWeights(options.record.counts!)) : undefined;
  const lossOf = (predicted: Tensor, labels: Tensor) =>
    isBinary && !weights
      ? binaryCrossEntropy(predicted.select(-1, 1), labels.equal(1), { positiveWeight })
      : crossEntropy(predicted, labels, { weights });
  const scores = (outputs: ArrayLike<number>) => isBinary ? [0, outputs[0]] : outputs;
  /** Outputs for the series of the last closed-form fit, each fitted to the other series. */
  let leftOut: { label: number; outputs: ArrayLike<number> }[] | undefined;
  let calibration: ClassCalibration = { temperature: 1, shares: classes.map(() => 1 / classes.length) };
  const predictionOf = (series: string, outputs: ArrayLike<number>): ClassPrediction => {
    const probabilities = probabilitiesOf(scores(outputs), calibration.temperature);
    const top = argmax(probabilities);
    return {
      series,
      label: classes[top],
      probability: probabilities[top],
      probabilities: Object.fromEntries(classes.map((name, label) => [name, probabilities[label]])),
    };
  };
  /** Outputs that can be far outside of those in training. */
  const regressed = (outputs: ArrayLike<number>) => {
    const { outputRange: range } = network;
    return range ? classes.map((column, k) => ({ column, values: [outputs[k]], range })) : [];
  };
  const checkedPrediction = (series: CheckedSeries, outputs: ArrayLike<number>) =>
    withWarnings(
      predictionOf(series.name, outputs),
      rangeWarnings(options.record, series, regressed(outputs)),
    );
  const predict: Classifier["predict"] = async (series) => {
    const rows = await network.read(series);
    return series.map((one, i) => checkedPrediction(one, rows[i]));
  };
  const classScores: Classifier["classScores"] = async (series) => (await network.read(series)).map(scores);
  const toBatch = (series: readonly Series[]): SeriesBatch => ({
    ...network.inputs(series),
    labels: tensor(Int32Array.from(series, ({ label }) => label), { dtype: "int32" }),
  });
  const toSamples = (series: readonly Series[]) => samplesOf(series, toBatch, network);
  return {
    parameters,
    toBatch,
    toSamples,
    toGroups: (series) => groupsOfOneLength(series, network.lengthOf).map(toSamples),
    evaluate(batch, key) {
      const members = network.memberOutputs(batch, key);
      const predicted = asLogits(average(members));
      // Members are trained independently: the loss is the mean of their losses.
      const loss = key && members.length > 1
        ? meanOutput(members.map((output) => lossOf(asLogits(output), batch.labels)))
        : lossOf(predicted, batch.labels);
      // Only in training: validation and test measure the loss of the predictions, without the penalty.
      const penalty = key && rules?.l2Penalty &&
        l2Penalty(network.regularised, { norms: true }).mul(rules.l2Penalty);
      return { loss: penalty ? loss.add(penalty) : loss, accuracy: accuracy(predicted, batch.labels) };
    },
    weights: weights && (({ labels }) => ({ loss: weights.take(labels).mean() })),
    scores: classes.length === 2
      ? (batch) => {
        const predicted = logits(batch);
        return { scores: predicted.select(-1, 1).sub(predicted.select(-1, 0)), labels: batch.labels };
      }
      : undefined,
    predict,
    classScores,
    linearScores: network.linearOf && ((one) => scores(network.linearOf!(one))),
    stream: networkStreams(network, options.record, checkedPrediction),
    onLoad: network.onLoad,
    fit: network.fit && (async (series) => {
      const targets = series.flatMap(({ label }) => classes.map((_, k) => k === label ? 1 : -1));
      const outputs = await network.fit!(series, Float64Array.from(targets));
      leftOut = series.map(({ label }, i) => ({
        label,
        outputs: outputs.subarray(i * classes.length, (i + 1) * classes.length),
      }));
    }),
    async calibrate(validation, train) {
      const predictions = leftOut ??
        (await network.read(validation)).map((outputs, i) => ({ label: validation[i].label, outputs }));
      calibration = {
        temperature: options.record.training?.found?.temperature ?? fitTemperature(
          predictions.map(({ outputs }) => scores(outputs)),
          predictions.map(({ label }) => label),
        ),
        shares: countLabels(train, classes.length).map((count) => count / train.length),
      };
      return { ...calibration };
    },
    useCalibration: (stored) => calibration = requireClassCalibration(stored, classes.length),
    async evaluatePredictions(series) {
      const { evaluateClasses } = await import("./evaluate_classes.ts");
      return await evaluateClasses({
        ...{ series, classes, predict, shares: calibration.shares },
        channels: channels.map(({ name }) => name),
        times: options.record.time.kind,
        validated: options.record.training?.validated,
        model: options.settings.model,
      });
    },
  };
}

/** @throws {Error} If the stored value is not a calibration for this number of classes. */
function requireClassCalibration(stored: Calibration, classes: number): ClassCalibration {
  const { temperature, shares } = stored as unknown as ClassCalibration;
  const isShare = (share: unknown) => typeof share === "number" && share >= 0 && share <= 1;
  const isRight = typeof temperature === "number" && temperature >= coolest && temperature <= hottest &&
    Array.isArray(shares) && shares.length === classes && shares.every(isShare);
  if (isRight) return { temperature, shares };
  throw new Error(
    `damaged calibration in the weights: expected a temperature from ${coolest} to ${hottest} and, for each of ${classes} ` +
      "classes, a share from 0 to 1; restore the file, or train again",
  );
}
