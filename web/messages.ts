/** Data that the page and its worker exchange. */
import type { TimeKind } from "../src/data/format.ts";
import type { TableOptions } from "../src/data/table/options.ts";
import type { Prediction } from "../src/series/record/predictions.ts";
import type { EpochMetrics } from "../src/train/report/epoch_metrics.ts";
import type { ExampleName } from "./examples.ts";

/** Name of data that come with the page. */
export type DataName = ExampleName | "future";

/** Settings of a training that a visitor chooses. */
export interface Choice {
  readonly model: string;
  /** Control path: `"hermite"` depends on past observations only, `"natural"` on all observations. */
  readonly path: "hermite" | "natural";
  /** Method of the solver. */
  readonly method: string;
  readonly device: "cpu" | "webgpu";
  readonly epochs: number;
  /** Number of epochs after which training stops earlier, to repeat a training that was stopped. */
  readonly stopAfter?: number;
}

/** A channel with the range of values of the drawing pad. */
export interface Channel {
  readonly name: string;
  readonly low: number;
  readonly high: number;
}

/** A series as a drawing. */
export interface Line {
  /** Index of the class; -1 if it is unknown. */
  readonly label: number;
  /** Times as fractions of the typical duration. */
  readonly times: readonly number[];
  /** Values of each observation. */
  readonly rows: readonly (readonly number[])[];
}

/** Description of data, and of the run that is open. */
export interface DataInfo {
  readonly name: string;
  readonly channels: readonly Channel[];
  readonly classes: readonly string[];
  /** Name and class of each series. */
  readonly series: readonly { readonly name: string; readonly label: string }[];
  /** Some of the series. */
  readonly lines: readonly Line[];
  /** Time between two observations of a drawn series. */
  readonly gap: number;
  /** Remarks of the reader of the table. */
  readonly notices: readonly string[];
  /** Notation of the times. */
  readonly timeKind: TimeKind;
  /** Number of steps of a forecast; undefined for data that are classified. */
  readonly futureSteps?: number;
  /** The model of the run that is open, and its accuracy on the test set. */
  readonly trained?: { readonly model: string; readonly accuracy?: number };
}

/** Purpose of a model: to predict the class of a series, or its next values. */
export type Task = "classify" | "forecast";

/** Purpose of a table, and the roles of its columns. */
export interface Roles {
  readonly task: Task;
  /** Content of a row: an observation, or a whole series. */
  readonly layout: "observations" | "rows";
  readonly series?: string;
  readonly time?: string;
  readonly label?: string;
}

/** The columns of a table, its first rows as texts, and the roles that the columns probably have. */
export interface Columns {
  readonly names: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly roles: Roles;
}

/** An observation of a drawn series. A value that is NaN is missing. */
export interface Row {
  readonly time: number;
  readonly values: readonly number[];
}

/** The series that the page shows: the name of a series of the data, or drawn observations. */
export type Shown = string | readonly Row[];

/** Inside of a model along a series. Predictions and states are those at each observation. */
export interface View {
  readonly name: string;
  /** Class of the series; undefined if it is unknown. */
  readonly label?: string;
  /** Notation of the times: dates are in seconds, and months in months since 1970. */
  readonly timeKind: TimeKind;
  /** Times of the observations. */
  readonly times: readonly number[];
  /** Values of each channel at the observations; NaN is missing. */
  readonly observed: readonly (readonly number[])[];
  /** Times of the control path. */
  readonly curveTimes: readonly number[];
  /** The control path, or the rows that the model reads, for each channel. */
  readonly curve: readonly (readonly number[])[];
  /** Name of the state, such as "hidden state". */
  readonly kind: string;
  /** The states; empty for a model whose states cannot be seen. */
  readonly states: readonly Float32Array[];
  /** Matrices in the state: their first entry in it, and their sizes. */
  readonly matrices: readonly Matrix[];
  /** Probabilities of each class. */
  readonly probabilities: readonly (readonly number[])[];
}

/** Predictions for each place of the next observation in the plane of two channels. */
export interface Plane {
  /** Number of places of a side. */
  readonly side: number;
  /** Probabilities of the classes at each place, row by row from the top. */
  readonly probabilities: readonly (readonly number[])[];
}

/** Forecast of a channel: means, and intervals that contain 80 % of the values. */
export interface Forecast {
  readonly times: readonly number[];
  readonly mean: readonly number[];
  readonly low: readonly number[];
  readonly high: readonly number[];
}

/** Predictions after a moment: the decisions of a classifier in the plane, or a forecast of each channel. */
export interface Next {
  readonly plane?: Plane;
  readonly forecasts?: readonly Forecast[];
}

/** Predictions of a model along the shown series, and after the shown moment. */
export interface Look {
  readonly view: View;
  readonly next: Next;
}

/** A matrix in the state of a model, row by row. */
export interface Matrix {
  readonly name: string;
  readonly start: number;
  readonly rows: number;
  readonly columns: number;
}

/** Result of a training. */
export interface Result {
  /** Fraction of the test series that the model classifies correctly. */
  readonly accuracy?: number;
  /** Main result in a sentence. */
  readonly verdict?: string;
  /** Whether training was stopped before its last epoch. */
  readonly isStopped: boolean;
  /** Processor or adapter that trained. */
  readonly device: string;
  /** Command of this training on the visitor's table. */
  readonly command?: string;
}

/** An error for the page. */
export interface Fault {
  readonly code?: string;
  /** The fault, and ways to correct it. */
  readonly message: string;
  /** The option of the page that corrects it. */
  readonly option?: string;
}

/** Functions of the worker that the page calls. */
export interface Calls {
  /**
   * Makes example data, or reads a table.
   *
   * @param options `trained`: archive of a run on the example data, which is opened. `steps`: number of steps of a forecast. `table`
   * and `task`: columns and purpose of a table.
   */
  load(
    source: DataName | File,
    options?: { trained?: File; steps?: number; table?: TableOptions; task?: Task },
  ): DataInfo;
  /** Reads the columns and the first rows of a table. */
  columns(table: File): Columns;
  /** Trains until the last epoch or `stop`. */
  train(choice: Choice): Result;
  /** Pauses after the current epoch, or continues. */
  pause(isPaused: boolean): void;
  /** Chooses whether training waits after each epoch, so that the page can draw it. */
  watch(isWatched: boolean): void;
  /** Trains one epoch of a paused training. */
  step(): void;
  /** Stops the training, and waits for its end. `load` and `open` do the same. */
  stop(): void;
  /** Chooses the series that is shown, and looks inside the model along it. Undefined without a model or a series. */
  look(shown: Shown, moment: number): Look | undefined;
  /** Predictions after a moment of the shown series. */
  next(moment: number): Next | undefined;
  /** Predicts the series of a table. */
  predict(table: File): readonly Prediction[];
  /** The series of the test set as CSV. */
  testSeries(): string;
  /** The run's folder as a zip archive. */
  save(): Uint8Array<ArrayBuffer>;
  /** Opens the files of a run's folder, or a zip archive of it. */
  open(files: readonly File[], device: Choice["device"]): DataInfo;
  /** The reason that WebGPU is missing, or undefined. */
  whyNoGpu(): string | undefined;
}

/** A call of the page. */
export type Request = {
  [Name in keyof Calls]: {
    readonly id: number;
    readonly name: Name;
    readonly given: Parameters<Calls[Name]>;
  };
}[keyof Calls];

/** A message of the worker: the result of a call, or an event of the training. */
export type Reply =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly fault: Fault }
  | { readonly epoch: EpochMetrics; readonly look?: Look };
