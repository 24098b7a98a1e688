/** Scores of predictions for series with known targets. */
import type { Series } from "../../data/series.ts";
import type { Task } from "../../train/task.ts";
import { argmax } from "../math/argmax.ts";
import { fitTemperature, probabilitiesOf } from "../math/temperature.ts";

/** A task whose model can predict the validation set. */
export interface SeriesTask extends Task {
  /** Class scores, or predicted numbers in the units of the data, for each series of the validation set. */
  predictValidation(): Promise<ArrayLike<number>[]>;
  /** As `predictValidation`, by the linear model that a network adds to. Undefined without such a model. */
  predictLinear?(): ArrayLike<number>[];
}

/** Loss and measures of predictions. */
export interface Score {
  /**
   * Classes: the mean negative log-probability of the true class, at the temperature below. Numbers: the mean
   * squared error divided by the variance of the target.
   */
  readonly loss: number;
  /**
   * Error of each series. Classes: the Brier score, the sum of the squared differences of the probabilities from 1
   * for the true class and 0 for the others. Numbers: the squared error divided by the variance of the target.
   */
  readonly errors: readonly number[];
  /** Errors of the best constant prediction: the fractions of the classes, or the means of the targets. */
  readonly baseline: readonly number[];
  /** Fraction of the series whose class is predicted, from 0 to 1; only of classes. */
  readonly accuracy?: number;
  /** Coefficient of determination, 1 - loss, at most 1; only of numbers. */
  readonly r2?: number;
  /** Softmax temperature with the smallest loss; 1 for numbers. */
  readonly temperature: number;
}

/** Minimum probability whose logarithm is taken: an infinite loss could not be compared. */
const minProbability = 1e-12;

/**
 * Scores predictions.
 *
 * @param outputs Class scores, or numbers in the units of the data, for each series.
 * @param options `classes`: number of classes, 0 for numbers; `balance`: whether each class has the same total
 * weight in the loss.
 */
export function scoreOutputs(
  series: readonly Pick<Series, "label" | "targets">[],
  outputs: readonly ArrayLike<number>[],
  { classes, balance = false }: { classes: number; balance?: boolean },
): Score {
  return classes > 0 ? scoreClasses(series, outputs, { classes, balance }) : scoreNumbers(series, outputs);
}

function scoreClasses(
  series: readonly Pick<Series, "label">[],
  outputs: readonly ArrayLike<number>[],
  { classes, balance }: { classes: number; balance: boolean },
): Score {
  const labels = series.map(({ label }) => label);
  const temperature = fitTemperature(outputs, labels);
  const counts = new Array<number>(classes).fill(0);
  for (const label of labels) counts[label]++;
  const classesWithSeries = counts.filter((count) => count > 0).length;
  const weights = labels.map((label) => balance ? labels.length / (classesWithSeries * counts[label]) : 1);
  const probabilities = outputs.map((scores) => probabilitiesOf(scores, temperature));
  const losses = probabilities.map((row, i) =>
    -weights[i] * Math.log(Math.max(row[labels[i]], minProbability))
  );
  const brier = (row: readonly number[], i: number) =>
    weights[i] * row.reduce((sum, p, k) => sum + (p - (k === labels[i] ? 1 : 0)) ** 2, 0);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const shares = counts.map((_, k) =>
    weights.reduce((sum, weight, i) => sum + (labels[i] === k ? weight : 0), 0) / total
  );
  const wrong = outputs.filter((scores, i) => argmax(scores) !== labels[i]);
  return {
    loss: meanOf(losses),
    errors: probabilities.map(brier),
    baseline: labels.map((_, i) => brier(shares, i)),
    temperature,
    accuracy: 1 - wrong.length / labels.length,
  };
}

function scoreNumbers(
  series: readonly Pick<Series, "targets">[],
  outputs: readonly ArrayLike<number>[],
): Score {
  const targets = Array.from(outputs[0], (_, target) => target);
  const scaled = targets.map((target) => {
    const values = series.map(({ targets }) => targets?.[target] ?? NaN);
    const observed = values.filter((value) => !Number.isNaN(value));
    const mean = meanOf(observed);
    // A constant target has variance 0: divide by 1.
    return { values, mean, variance: meanOf(observed.map((value) => (value - mean) ** 2)) || 1 };
  });
  /** Mean squared error of each series with a known target. */
  const errorsOf = (predicted: (i: number, target: number) => number) =>
    series.flatMap((_, i) => {
      const errors = scaled.flatMap(({ values, variance }, target) =>
        Number.isNaN(values[i]) ? [] : [(predicted(i, target) - values[i]) ** 2 / variance]
      );
      return errors.length > 0 ? [meanOf(errors)] : [];
    });
  const errors = errorsOf((i, target) => outputs[i][target]);
  const loss = meanOf(errors);
  return {
    loss,
    errors,
    baseline: errorsOf((_, target) => scaled[target].mean),
    r2: 1 - loss,
    temperature: 1,
  };
}

/**
 * Mean of some numbers, and its standard error; 0 for a single number.
 *
 * @param independent Number of independent numbers; by default all of them.
 */
export function meanWithError(
  values: readonly number[],
  independent = values.length,
): { mean: number; standardError: number } {
  const mean = meanOf(values);
  const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / Math.max(1, values.length - 1);
  return { mean, standardError: Math.sqrt(variance / independent) };
}

/** Mean of some numbers. */
export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Shares to choose from. */
const shares = [1, 0.75, 0.5, 0.25, 0];

/** A score with the share that has it. */
export interface ShareScore extends Score {
  /** Share of the network in the outputs, from 0 to 1. Undefined without a linear model. */
  readonly share?: number;
}

/**
 * Scores outputs; those of a network that adds to a linear model with the share of the smallest loss. A network of few
 * series can be worse than the linear model.
 *
 * @param outputs Class scores or numbers of each series.
 * @param linear Scores or numbers of the linear model; undefined for a series of a fold without a linear model.
 */
export function scoreWithShare(
  series: Parameters<typeof scoreOutputs>[0],
  outputs: readonly ArrayLike<number>[],
  linear: readonly (ArrayLike<number> | undefined)[],
  options: Parameters<typeof scoreOutputs>[2],
): ShareScore {
  if (linear.every((row) => row === undefined)) return scoreOutputs(series, outputs, options);
  return shares.map((share) => {
    const mixed = outputs.map((row, i) =>
      Float64Array.from(row, (output, k) => share * output + (1 - share) * (linear[i] ?? row)[k])
    );
    return { ...scoreOutputs(series, mixed, options), share };
  }).reduce((best, one) => one.loss < best.loss ? one : best);
}
