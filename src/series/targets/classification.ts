/** Trains models that predict classes of series. */
import type { Panel } from "../../charts/chart.ts";
import type { Series, Splits } from "../../data/series.ts";
import type { Samples, Task } from "../../train/task.ts";
import { selectEvenly } from "../math/select_evenly.ts";
import { dataOf } from "../models/series_network.ts";
import { scaledSeries } from "../record/scaled_values.ts";
import { classifier, type ClassifierOptions, type SeriesBatch } from "./classifier.ts";
import { closedForm, gradientTraining } from "./learning.ts";
import type { SeriesTask } from "./score.ts";

/** Number of test samples in a report. */
const samplesShown = 12;

/** Options of {@linkcode classification}. */
export interface ClassificationOptions extends ClassifierOptions {
  /** Series of the record, unscaled. */
  splits: Splits<readonly Series[]>;
  /** Returns the curves of a scaled series for a report. */
  draw: (series: Series) => Panel;
}

/** Makes the task of training a {@linkcode classifier}. */
export function classification(
  options: ClassificationOptions,
): Task<SeriesBatch, Samples<SeriesBatch>> & SeriesTask {
  const { record, splits, settings, rules, draw } = options;
  const { toBatch: ___, toSamples, toGroups: _, stream: __, fit, ...rest } = classifier({
    ...options,
    train: splits.train,
  });
  const { predict, classScores, linearScores, calibrate, evaluatePredictions, ...model } = rest;
  const { parameters } = model;
  const { length: samples } = splits.train;
  return {
    record,
    ...model,
    ...(fit
      ? closedForm(fit, splits)
      : rules
      ? rules.learning(parameters, Math.ceil(samples / settings.batchSize))
      : gradientTraining({ parameters, settings, record, samples })),
    data: dataOf(splits, toSamples),
    metric: rules?.metric ?? { name: "loss", mode: "min" },
    predictValidation: () => classScores(splits.validation),
    predictLinear: linearScores && (() => splits.validation.map(linearScores)),
    calibrate: () => calibrate(splits.validation, splits.train),
    evaluatePredictions: () => evaluatePredictions(splits.test),
    async examples() {
      // Spread the choice evenly: the series are sorted by class.
      const shown = selectEvenly(splits.test, samplesShown);
      const predictions = await predict(shown);
      const scaled = shown.map((one) => scaledSeries(one, record.channels));
      const { classExamples } = await import("./report_sections.ts");
      return [
        classExamples(scaled.map((one, i) => ({
          panel: draw(one),
          label: record.classes[one.label],
          predicted: predictions[i].label,
        }))),
      ];
    },
  };
}
