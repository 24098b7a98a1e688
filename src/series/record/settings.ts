/** Settings of experiments on series, and their options. */
import type { Scaling } from "../../data/scaling.ts";
import { timeUnits } from "../../data/format.ts";
import {
  delimiters,
  duplicateRules,
  encodings,
  layouts,
  type TableOptions,
} from "../../data/table/options.ts";
import type { MethodName } from "../../solvers/methods.ts";
import type { RunSettings } from "../../train/experiment.ts";
import {
  choiceOption,
  listOption,
  numberOption,
  type Option,
  type OptionSchema,
  sizeOption,
  switchOption,
  textOption,
} from "../../train/option.ts";
import { type Horizon, horizonForms, isHorizon } from "./horizon.ts";
import { calendarForms, parseCalendar } from "./calendar_notation.ts";
import { secondsOfBudget } from "./budget.ts";
import type { SeriesSource } from "./series_source.ts";
import { type TaskKind, taskKinds } from "./predictions.ts";

/** Settings of a model that reads series. */
export interface SeriesModelSettings {
  /** Name of the model. */
  readonly model?: string;
  /** Number of channels of the hidden state, at least 1. */
  readonly hidden: number;
  /** Number of features of each hidden layer of a vector field that is a neural network, at least 1. */
  readonly width?: number;
  /**
   * Number of hidden layers of WARP's root network or of a vector field, or number of fast weight layers, at
   * least 1.
   */
  readonly depth?: number;
  /** Number of heads of fast weights, at least 1. It divides the number of hidden channels. */
  readonly heads?: number;
  /** Number of features of the feedforward block of fast weights, at least 1. */
  readonly feedForward?: number;
  /** Method of the solver, for models with a solver. */
  readonly method?: MethodName;
  /** Step size of the solver, in observations, above 0; 1 by default. */
  readonly stepSize?: number;
  /**
   * Number of observations per window, for models along log-signatures; by default 4, and more for series of
   * more than 2,048 observations.
   */
  readonly window?: number;
  /** Depth of log-signatures, from 1 to 4; 2 by default. */
  readonly signatureDepth?: number;
  /** Bound on the absolute values of WARP's weights, w_lim of its appendix A.3; 0 for no bound. */
  readonly clipWeights?: number;
  /**
   * Whether the model reads a path that never looks ahead, so that it can predict while observations arrive.
   */
  readonly online?: boolean;
  /**
   * Number of rows of a block that the model reads as one row, their mean; 1 leaves rows as they are. By
   * default, at most 512 blocks remain of a typical series.
   */
  readonly condense?: number;
  /** Whether the model reads the observational intensity of each channel, in addition to its values. */
  readonly intensity?: boolean;
}

/** Sources of the data of a run. */
export interface DataSources {
  /** Series to learn from. */
  readonly data?: SeriesSource;
  /** Separate validation set, in the form of `data`. */
  readonly validation?: SeriesSource;
  /** Separate test set, in the form of `data`. */
  readonly test?: SeriesSource;
}

/** Sources of the data of a run: paths, or data in memory. */
export function sourcesOf(
  { data, validation, test, inMemory }: Pick<SeriesSettings, keyof DataSources | "inMemory">,
): DataSources {
  return { data, validation, test, ...inMemory };
}

/** Settings of an experiment on series. */
export interface SeriesSettings extends SeriesModelSettings, RunSettings {
  /** Number of members of an ensemble, at least 1; by default 5 for up to 200 series, 3 for up
   * to 1,000, otherwise 1. */
  readonly ensemble?: number;
  /**
   * Whether the validation set stays outside the training set, and its loss decides which epoch is the best.
   */
  readonly noRefit?: boolean;
  /** Path of a table, zip file or folder. */
  readonly data?: string;
  /** Path of a separate validation set, in the form of `data`. */
  readonly validation?: string;
  /** Path of a separate test set, in the form of `data`. */
  readonly test?: string;
  /** Data in memory, which override the paths. Not an option of commands: only programs can set them. */
  readonly inMemory?: DataSources;
  /** Options for reading the table. */
  readonly table?: TableOptions;
  /** Scaling of channels; `"standard"` by default. */
  readonly scaling?: Scaling;
  /** Fraction of each series' observations to drop, from 0 to below 1. */
  readonly drop?: number;
  /** Number of series to generate or to select from the data; all of them by default. */
  readonly samples?: number;
  /**
   * Seed of data, split and dropped observations, so that different models and seeds share them. By default,
   * the seed of the run.
   */
  readonly dataSeed?: number;
  /**
   * Weight in the loss of a series of the second of two classes, above 0. The weight of the first class is 1.
   */
  readonly positiveWeight?: number;
  /** Kind of prediction; `"classify"` by default. */
  readonly task?: TaskKind;
  /** Horizon of a forecast; 24 steps by default. */
  readonly horizon?: Horizon;
  /** Number of past steps that a forecast reads, at least 2. */
  readonly context?: number;
  /** Season in steps; by default a day, or a week for daily series. */
  readonly season?: number;
  /**
   * Calendar of the steps of a forecast: `"auto"` recognises it, `"none"` has all days and hours; or days and hours, such
   * as `"weekdays"`, `"hours 8-17"` or `"mon-fri hours 9-17; sat hours 9-12"`; `"auto"` by default.
   */
  readonly calendar?: string;
  /**
   * Number of epochs without a better validation loss after which training stops, at least 1. By default, training
   * never stops early.
   */
  readonly patience?: number;
  /**
   * Work of a comparison of models or settings, in the time of a typical machine, such as `"90s"`, `"2m"` or `"1h"`; 2
   * minutes by default, 10 for a search. The work is estimated from the sizes of the data and of the models, so
   * that the result does not depend on the machine. After ten times the budget in real time, the comparison ends.
   */
  readonly budget?: string;
  /** Number of settings of the model that are compared, at least 2. */
  readonly search?: number;
  /** Whether classes have the same total weight in the loss. */
  readonly balance?: boolean;
  /** Number of folds of cross-validation, at least 2. */
  readonly folds?: number;
  /** Fold that is the test set, from 0. */
  readonly fold?: number;
}

const horizonOption: Option<Horizon> = {
  group: "data",
  help: "length of a forecast",
  placeholder: "steps",
  expected: `a ${horizonForms}`,
  range: horizonForms,
  accepts: isHorizon,
  parse: (text) => Number.isNaN(Number(text)) || text.trim() === "" ? text.trim() : Number(text),
};

/** Options of models that read series. */
export const modelOptions: OptionSchema = {
  model: textOption({ help: "model" }, "name"),
  hidden: sizeOption({ help: "channels of the hidden state" }),
  width: sizeOption({ help: "features of each hidden layer of a vector field" }),
  // Each layer is compiled, so thousands of layers would block the CPU.
  depth: numberOption({
    help: "hidden layers of a vector field or of WARP's root network, or layers of fast weights",
  }, { from: 1, below: 33, whole: true }),
  heads: sizeOption({ help: "heads of fast weights" }),
  feedForward: sizeOption({ help: "features of the feedforward block of fast weights" }),
  method: textOption({ help: "method of the solver, such as rk4 or dopri5" }, "name"),
  stepSize: numberOption({ help: "step size of the solver, in observations", implied: "1" }, { above: 0 }),
  window: sizeOption({
    help: "observations of a window, for models along log-signatures",
    implied: "4, or more for long series",
  }),
  signatureDepth: numberOption({ help: "depth of log-signatures", implied: "2" }, {
    from: 1,
    below: 5,
    whole: true,
  }),
  clipWeights: numberOption({ help: "bound of WARP's weights; 0 for no bound" }, { from: 0 }),
  intensity: switchOption({ help: "also read how often each channel was observed" }),
};

/** Options of data that are split into training, validation and test sets. */
export const dataOptions: OptionSchema = {
  data: textOption({ group: "data", help: "table, zip file or folder to learn from" }, "path"),
  validation: textOption(
    {
      group: "data",
      help: "separate validation set, in the form of --data; for forecasts, the rows that follow",
    },
    "path",
  ),
  test: textOption(
    { group: "data", help: "separate test set, in the form of --data; for forecasts, the rows that follow" },
    "path",
  ),
  drop: numberOption({ group: "data", help: "fraction of observations to make missing" }, {
    from: 0,
    below: 1,
  }),
  samples: sizeOption({ group: "data", help: "number of series to generate, or to use from the data" }),
  length: numberOption({ group: "data", help: "observations of each series" }, { from: 2, whole: true }),
  dataSeed: numberOption(
    { group: "data", help: "seed of data, split and dropped observations", implied: "--seed" },
    { from: 0, whole: true },
  ),
  positiveWeight: numberOption(
    { group: "training", help: "weight in the loss of the second of two classes" },
    { above: 0 },
  ),
};

/** Bound of the steps of a context or a season: each window has as many values. */
const maxSteps = 100_000;

/** Options of the task, for experiments on users' own series. */
export const taskOptions: OptionSchema = {
  task: choiceOption(
    { group: "data", help: "kind of prediction about each series", default: "classify" },
    taskKinds,
  ),
  horizon: horizonOption,
  context: {
    ...numberOption({ group: "data", help: "length of the past that a forecast reads" }, {
      from: 2,
      below: maxSteps,
      whole: true,
    }),
    placeholder: "steps",
  },
  season: {
    ...numberOption({ group: "data", help: "season of forecasts" }, {
      from: 1,
      below: maxSteps,
      whole: true,
    }),
    placeholder: "steps",
  },
  calendar: {
    ...textOption({ group: "data", help: "calendar of forecasts", implied: "auto" }, "days and hours"),
    expected: calendarForms,
    range: calendarForms,
    accepts: (value) => typeof value === "string" && parseCalendar(value) !== undefined,
  },
  search: numberOption({ group: "training", help: "number of settings of the model to compare" }, {
    from: 2,
    below: 10_000,
    whole: true,
  }),
  budget: {
    ...textOption(
      {
        group: "training",
        help: "work of --model auto or --search, as time of a typical machine",
        implied: "2m, or 10m for --search",
      },
      "time",
    ),
    expected: "a time such as 90s, 2m or 1h",
    range: "such as 90s, 2m or 1h",
    accepts: (value) => typeof value === "string" && secondsOfBudget(value) > 0,
  },
  patience: sizeOption({
    group: "training",
    help: "epochs without a better validation loss before training ends",
  }),
  ensemble: numberOption({
    group: "training",
    help: "models whose predictions are averaged",
    implied: "5 for small tables, 3 up to 1,000 series, else 1",
  }, { from: 1, below: 101, whole: true }),
  noRefit: switchOption({
    group: "training",
    help: "keep the validation set out of training: its loss chooses the epoch",
  }),
  balance: switchOption({ group: "training", help: "give classes the same total weight in the loss" }),
  online: switchOption({ help: "read series so that the model can predict while observations arrive" }),
  condense: sizeOption({
    help: "number of rows that are averaged into one step; 1 keeps all rows",
    implied: "chosen from the length: at most 512 steps",
  }),
  folds: numberOption({ group: "run", help: "folds of cross-validation" }, { from: 2, whole: true }),
  fold: numberOption(
    { group: "run", help: "index of the only fold to train and test" },
    { from: 0, whole: true },
  ),
  scaling: choiceOption(
    { group: "data", help: "scaling of channels; robust resists outliers", implied: "standard" },
    ["standard", "robust"],
  ),
};

/** Options for reading the table. The configuration stores them in `table`. */
export const tableOptions: OptionSchema = within("table", {
  series: column("column with the names of the series", "the column series"),
  time: column("column of times", "the column time"),
  target: columns("columns to predict", "the column label"),
  group: column("column of groups, such as patients; the splits never divide a group"),
  static: columns("columns with one value for a whole series"),
  known: columns("columns known ahead of time, such as holidays"),
  category: columns("columns of categories that look like numbers"),
  ignore: columns("columns to ignore"),
  missing: {
    ...listOption(
      { group: "data", help: "texts that mark a missing value, such as -999,none; '' for empty fields only" },
      "texts",
    ),
    // An empty item replaces the default words.
    parse: (text: string) => text.split(",").map((item) => item.trim()),
  },
  wide: switchOption({ group: "data", help: "a row is a time, and every other column a series" }),
  layout: choiceOption(
    {
      group: "data",
      help: "content of a row: an observation, or a series with its label and all values",
      implied: "observations",
    },
    layouts,
  ),
  timeUnit: choiceOption({ group: "data", help: "notation of times" }, timeUnits),
  zone: textOption({ group: "data", help: "time zone of dates without a zone", implied: "UTC" }, "name"),
  duplicates: choiceOption(
    { group: "data", help: "observations of one series at one time that differ", implied: "refuse" },
    duplicateRules,
  ),
  encoding: choiceOption({ group: "data", help: "encoding of a text table" }, encodings),
  delimiter: {
    ...choiceOption({ group: "data", help: "delimiter of fields" }, delimiters),
    placeholder: "character",
    range: ", ; | or tab",
    expected: "one of , ; | or tab",
    parse: (text) => text === "tab" || text === "\\t" ? "\t" : text,
  },
  decimal: {
    ...choiceOption({ group: "data", help: "decimal separator of numbers" }, [".", ","]),
    range: "'.' or ','",
  },
  query: textOption({ group: "data", help: "query on a SQLite file that returns the table" }, "sql"),
  maxUnpacked: {
    ...numberOption({
      group: "data",
      help: "largest size that a compressed file may unpack to",
      implied: "100 times its size, from 128 to 2048",
    }, { above: 0 }),
    placeholder: "MiB",
  },
});

function column(help: string, implied?: string): Option<string> {
  return textOption({ group: "data", help, implied }, "column");
}

function columns(help: string, implied?: string): Option<readonly string[]> {
  return listOption({ group: "data", help, implied }, "columns");
}

function within(group: string, schema: OptionSchema): OptionSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([name, option]) => [name, { ...option, within: group }]),
  );
}
