/**
 * Tables whose columns are constant, nearly constant, skewed, tiny or huge, and tables to predict that leave the range
 * of the training table in one way. Predictions far from the training targets must have a warning.
 */
import { DataError, OptionError } from "../../src/device/errors.ts";
import type { Series, SeriesSet } from "../../src/data/series.ts";
import { classify, forecast, regress } from "../../src/series/run/learn.ts";
import type { Prediction, TaskKind } from "../../src/series/record/predictions.ts";
import { forecastKinds, wholeSeriesKinds } from "../../src/series/models/model.ts";
import { seriesModels } from "../../src/series/models/series_models.ts";
import { threefry2x32 } from "../../src/tensor/random.ts";

/** Random numbers. */
interface Draw {
  /** Uniform from 0 to 1. */
  uniform(): number;
  /** Normal with mean 0 and standard deviation 1. */
  normal(): number;
  /** One of some choices. */
  of<T>(choices: readonly T[]): T;
}

function drawFrom(seed: number): Draw {
  let count = 0;
  const uniform = () => (threefry2x32([seed, 0x7ab1e5], [0, count++])[0] + 0.5) / 2 ** 32;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal, of: (choices) => choices[Math.floor(uniform() * choices.length)] };
}

/** Makes the values of a channel: for each series, a function of the row. `latent` decides the target. */
type Channel = (draw: Draw) => (latent: number) => () => number;

/** Kinds of channels. */
export const channelKinds: Readonly<Record<string, Channel>> = {
  ordinary: (draw) => (latent) => () => latent + draw.normal(),
  constant: (draw) => {
    const value = draw.of([0, 7, 0.1, 1e6, 1e30, 1e-30]);
    return () => () => value;
  },
  "constant within series": (draw) => (latent) => {
    const value = Math.round(50 + 5 * latent + draw.normal());
    return () => value;
  },
  "constant up to rounding": (draw) => {
    const value = draw.of([0.3, 1e6 / 3, 1e30 / 3]);
    return () => () => value * (1 + Math.floor(3 * draw.uniform()) * 2 ** -52);
  },
  "nearly constant": (draw) => (latent) => () => 7 + 1e-9 * (latent + draw.normal()),
  "nearly constant within series": (draw) => (latent) => {
    const value = 50 + 5 * latent;
    return () => value + 1e-7 * draw.normal();
  },
  normalised: (draw) => (latent) => {
    // Alternates, so that the mean of each series is 0 up to rounding in the eighth digit.
    let row = 0;
    return () => (row++ % 2 ? 1 : -1) * Math.exp(latent / 3) + 1e-8 * draw.normal();
  },
  skewed: (draw) => (latent) => () => Math.exp(latent + 2 * draw.normal()),
  tiny: (draw) => (latent) => () => 1e-30 * (latent + draw.normal()),
  huge: (draw) => (latent) => () => 1e30 * (latent + draw.normal()),
  "far from zero": (draw) => (latent) => () => 1e6 + latent + draw.normal(),
  "a few ones": (draw) => () => () => draw.uniform() < 0.02 ? 1 : 0,
  "with a trend": (draw) => (latent) => {
    let level = latent;
    return () => level += 0.3 + 0.1 * draw.normal();
  },
};

/** Maps from the latent number of a series to its target. */
const targetKinds: Readonly<Record<string, (latent: number, draw: Draw) => number>> = {
  ordinary: (latent, draw) => latent + 0.1 * draw.normal(),
  "far from zero": (latent) => 1e6 + latent,
  skewed: (latent) => Math.exp(2 * latent),
  tiny: (latent) => 1e-30 * latent,
  huge: (latent) => 1e30 * latent,
  "nearly constant": (latent) => 7 + 1e-9 * latent,
};

/** How a table leaves the range. The position is the row, divided by the number of rows. */
interface Departure {
  /** Changed value of a channel with a standard deviation. */
  readonly value?: (value: number, standardDeviation: number, position: number) => number;
  /** Changed time. */
  readonly time?: (time: number) => number;
  /** Whether the values or times are so far outside that a warning is due whatever the prediction is. */
  readonly isFar?: boolean;
}

/** Ways to leave the range of the training table. */
export const departures: Readonly<Record<string, Departure>> = {
  none: {},
  "rises by 1 halfway": { value: (value, _, position) => position >= 0.5 ? value + 1 : value },
  "rises by a standard deviation halfway": {
    value: (value, standardDeviation, position) => position >= 0.5 ? value + standardDeviation : value,
  },
  "shifted by 3 standard deviations": { value: (value, standardDeviation) => value + 3 * standardDeviation },
  "shifted by 8 standard deviations": { value: (value, standardDeviation) => value - 8 * standardDeviation },
  "shifted by 1000 standard deviations": {
    value: (value, standardDeviation) => value + 1000 * standardDeviation,
    isFar: true,
  },
  "multiplied by 1e6": { value: (value) => 1e6 * value },
  "multiplied by 1e-6": { value: (value) => 1e-6 * value },
  zero: { value: () => 0 },
  "the other sign": { value: (value) => -value },
  missing: { value: (value, _, position) => position > 0 && position < 0.9 ? NaN : value },
  "times shifted by 1e6": { time: (time) => 1e6 + time },
  "times stretched by 1000": { time: (time) => 1000 * time, isFar: true },
  "times compressed by 1000": { time: (time) => time / 1000, isFar: true },
};

/** A case: a training table, a table to predict, a task and a model. */
export interface TableCase {
  readonly seed: number;
  readonly task: TaskKind;
  readonly model: string;
  readonly channels: readonly string[];
  readonly target: string;
  readonly departure: string;
  readonly train: SeriesSet;
  readonly test: SeriesSet;
}

/** Names of the models of a task. */
export function modelsOf(task: TaskKind): string[] {
  return Object.keys(task === "forecast" ? forecastKinds(seriesModels) : wholeSeriesKinds(seriesModels));
}

const [trainSeries, testSeries, rows, horizon] = [24, 6, 12, 4];

/** Draws a case. @param given Parts that are not drawn. */
export function drawCase(
  seed: number,
  given: Partial<Pick<TableCase, "task" | "model" | "channels" | "departure" | "target">> = {},
): TableCase {
  const draw = drawFrom(seed);
  const task = given.task ?? draw.of(["classify", "regress", "forecast"] as const);
  const models = modelsOf(task);
  // Models in closed form are fast, and amplify small features most.
  const model = given.model ??
    draw.of(draw.uniform() < 0.4 ? models.filter((name) => isClosed(task, name)) : models);
  const kinds = Object.keys(channelKinds);
  const channels = given.channels ?? Array.from({ length: draw.of([1, 1, 2, 3]) }, () => draw.of(kinds));
  const target = given.target ?? draw.of(Object.keys(targetKinds));
  const departure = given.departure ?? draw.of(Object.keys(departures));
  const length = task === "forecast" ? 5 * rows : rows;
  const made = channels.map((kind) => channelKinds[kind](draw));
  const seriesOf = (name: string): Series => {
    const latent = draw.normal();
    const values = made.map((channel) => channel(latent));
    return {
      name,
      times: Float64Array.from({ length }, (_, row) => row),
      values: Float64Array.from(
        { length: length * channels.length },
        (_, i) => values[i % channels.length](),
      ),
      label: task === "classify" ? +(latent > 0) : -1,
      ...(task === "regress" ? { targets: Float64Array.of(targetKinds[target](latent, draw)) } : {}),
    };
  };
  const setOf = (name: string, series: readonly Series[]): SeriesSet => ({
    name,
    channels: channels.map((_, i) => `x${i}`),
    times: "number",
    classes: task === "classify" ? ["low", "high"] : [],
    ...(task === "regress" ? { targets: ["y"] } : {}),
    series,
  });
  const train = Array.from({ length: trainSeries }, (_, i) => seriesOf(`train${i}`));
  const changed = Math.floor(draw.uniform() * channels.length);
  const standardDeviation = standardDeviationOf(
    train.flatMap(({ values }) => Array.from(values).filter((_, i) => i % channels.length === changed)),
  );
  const { value = (value) => value, time = (time) => time } = departures[departure];
  const test = Array.from({ length: testSeries }, (_, i) => seriesOf(`test${i}`)).map((one): Series => ({
    ...one,
    times: one.times.map(time),
    values: one.values.map((old, i) =>
      i % channels.length === changed
        ? value(old, standardDeviation, Math.floor(i / channels.length) / length)
        : old
    ),
  }));
  return {
    ...{ seed, task, model, channels, target, departure },
    train: setOf("train", train),
    test: setOf("test", test),
  };
}

function standardDeviationOf(values: readonly number[]): number {
  const mean = values.reduce((sum, value) => sum + value / values.length, 0);
  const largest = Math.max(...values.map((value) => Math.abs(value - mean)));
  if (largest === 0) return 0;
  return largest *
    Math.sqrt(values.reduce((sum, value) => sum + ((value - mean) / largest) ** 2, 0) / values.length);
}

/** Result of a case. */
export interface TableOutcome {
  /** Number of predictions. */
  readonly predictions: number;
  /** Number of predictions with a warning. */
  readonly warned: number;
  /** The first fault; undefined without a fault. */
  readonly failure?: string;
  /** Whether the model rejected the table, or cannot have its number of channels. */
  readonly isRejected?: boolean;
}

/** Largest distance of a prediction without a warning from the training targets, in their standard deviations. */
const farthest = 10;

/** Trains the model of a case, and checks its predictions. */
export async function checkCase(one: TableCase): Promise<TableOutcome> {
  const { task, model, train, test, channels, departure } = one;
  const options = {
    ...{ model, seed: one.seed % 1000, device: "cpu" } as const,
    ...(isClosed(task, model) ? {} : { epochs: 2, batchSize: 16 }),
  };
  let answers: Prediction[];
  try {
    const learned = task === "forecast"
      ? await forecast(train, { ...options, horizon, context: 8, season: 1 })
      : task === "regress"
      ? await regress(train, { ...options, noRefit: true })
      : await classify(train, { ...options, noRefit: true });
    answers = await learned.predict(test);
  } catch (error) {
    // Some models do not support every number of channels.
    if (error instanceof DataError || error instanceof OptionError) {
      return { predictions: 0, warned: 0, isRejected: true };
    }
    return { predictions: 0, warned: 0, failure: `${(error as Error).stack}` };
  }
  const warned = answers.filter(({ warnings }) => warnings !== undefined).length;
  const failures = answers.flatMap((answer) => {
    const isWarned = answer.warnings !== undefined;
    const predicted = predictedOf(answer, one);
    const wrong = predicted.find(({ value }) => !Number.isFinite(value));
    if (wrong) return [`${answer.series}: predicted ${wrong.value}`];
    const far = predicted.find(({ value, targets }) => distanceOf(value, targets) > farthest);
    if (far && !isWarned) {
      const { value, targets } = far;
      return [
        `${answer.series}: ${value}, ${
          distanceOf(value, targets)
        } standard deviations away, without a warning`,
      ];
    }
    const isFar = departures[departure].isFar && (!departures[departure].value || channels.every(varies));
    return isFar && !isWarned ? [`${answer.series}: far outside without a warning`] : [];
  });
  return { predictions: answers.length, warned, failure: failures[0] };
}

/** Whether a channel has a standard deviation above rounding errors. */
function varies(kind: string): boolean {
  return kind !== "constant" && kind !== "constant up to rounding";
}

/** Whether a model is fitted in closed form. */
function isClosed(task: TaskKind, model: string): boolean {
  const kinds = task === "forecast" ? forecastKinds(seriesModels) : wholeSeriesKinds(seriesModels);
  return !!kinds[model].rejects?.includes("epochs");
}

/** Predicted numbers, each with the training targets. */
function predictedOf(
  answer: Prediction,
  { train }: TableCase,
): { value: number; targets: readonly number[] }[] {
  if ("label" in answer) {
    const shares = Object.values(answer.probabilities);
    const sum = shares.reduce((total, share) => total + share, 0);
    return [{ value: Math.abs(sum - 1) < 1e-9 ? 0 : NaN, targets: [0, 1] }];
  }
  if ("numbers" in answer) {
    return [{ value: answer.numbers.y, targets: train.series.map(({ targets }) => targets![0]) }];
  }
  return train.channels.flatMap((name, channel) => {
    const targets = train.series.flatMap(({ values }) =>
      Array.from(values).filter((_, i) => i % train.channels.length === channel)
    );
    return answer.channels[name].mean.map((value) => ({ value, targets }));
  });
}

/**
 * Distance of a prediction from the training targets, in their standard deviations: from the nearest and from the mean,
 * whichever is smaller. Constant targets have the standard deviation 1, or that of their rounding errors.
 */
function distanceOf(value: number, targets: readonly number[]): number {
  const [low, high] = [Math.min(...targets), Math.max(...targets)];
  const rounding = 1e-13 * Math.max(Math.abs(low), Math.abs(high));
  const deviation = high - low <= rounding ? Math.max(1, rounding) : standardDeviationOf(targets);
  return Math.max(0, low - value, value - high) / deviation;
}
