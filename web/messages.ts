/** Data that the page and its worker exchange. */
import type { TimeKind } from "../src/data/format.ts";
import type { EpochMetrics } from "../src/train/report/epoch_metrics.ts";
import type { ExampleName } from "./examples.ts";

/** Settings of a training that a visitor chooses. */
export interface Choice {
  readonly model: string;
  /** Control path: `"hermite"` depends on past observations only, `"natural"` on all observations. */
  readonly path: "hermite" | "natural";
  /** Method of the solver. */
  readonly method: string;
  readonly device: "cpu" | "webgpu";
  readonly epochs: number;
}

/** A channel with the range of values of the drawing pad. */
export interface Channel {
  readonly name: string;
  readonly low: number;
  readonly high: number;
}

/** Description of data, or of the data that a run was trained on. */
export interface DataInfo {
  readonly name: string;
  readonly channels: readonly Channel[];
  readonly classes: readonly string[];
  /** Name and class of each series. */
  readonly series: readonly { readonly name: string; readonly label: string }[];
  /** Time between two observations of a drawn series. */
  readonly gap: number;
  /** Remarks of the reader of the table. */
  readonly notices: readonly string[];
}

/** Class probabilities after an observation. */
export interface Answer {
  readonly label: string;
  readonly probabilities: Readonly<Record<string, number>>;
}

/** Inside of a model along a series. Values along time have the times `at`. */
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
  readonly at: readonly number[];
  /** The control path, or the rows that the model reads, for each channel. */
  readonly path: readonly (readonly number[])[];
  /** Name of the state, such as "hidden state". */
  readonly kind: string;
  /** The state at each time. */
  readonly states: readonly Float32Array[];
  /** Matrices in the state: their first entry in it, and their sizes. */
  readonly matrices: readonly Matrix[];
  /** Probability of each class at each time. */
  readonly probabilities: readonly (readonly number[])[];
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
  /** Fraction of the held-out series that the model classifies correctly. Undefined if training was stopped. */
  readonly accuracy?: number;
  /** Main result in a sentence. */
  readonly verdict?: string;
  /** Processor or adapter that trained. */
  readonly device: string;
}

/** An error for the page. */
export interface Fault {
  readonly code?: string;
  /** The fault, and ways to correct it. */
  readonly message: string;
}

/** Functions of the worker that the page calls. */
export interface Calls {
  /** Makes example data, or reads a table. */
  load(source: ExampleName | File): DataInfo;
  /** Trains until the last epoch or `stop`. */
  train(choice: Choice): Result;
  /** Pauses after the current epoch, or continues. */
  pause(isPaused: boolean): void;
  /** Trains one epoch of a paused training. */
  step(): void;
  /** Stops the training, and waits for its end. `load` and `open` do the same. */
  stop(): void;
  /** Looks inside the model along a series of the data, or along the drawn series. */
  look(series: string | undefined): View | undefined;
  /** Starts a new drawn series. */
  begin(): void;
  /** Adds an observation to the drawn series. A value that is NaN is missing. Undefined if another run was opened. */
  push(time: number, values: readonly number[]): Answer | undefined;
  /** Predicts the series of a table: a line of JSON for each, as `deno task predict` prints. */
  predict(table: File): string;
  /** The held-out series as CSV. */
  heldOut(): string;
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
  | { readonly epoch: EpochMetrics; readonly epochs: number };
