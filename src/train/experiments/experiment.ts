import type { Task } from "../task.ts";

/** What a user chooses for a run. */
export interface Settings {
  /** Decides data, initial parameters and their order: the same seed gives the same run. */
  readonly seed: number;
  readonly epochs: number;
  readonly batchSize: number;
  readonly learningRate: number;
  /** Channels of the hidden state. */
  readonly hidden: number;
  /** A zip file or a folder, for experiments on real data. */
  readonly data?: string;
  /** The share of each series' observations that are made missing. */
  readonly drop: number;
  /** The model's name, where an experiment has several. */
  readonly model?: string;
  /** The solver's method, `"rk4"` when left out, where there is a solver. */
  readonly method?: string;
  /** The length of its steps, in observations: 1 when left out. */
  readonly stepSize?: number;
}

/** A problem and a model for it. */
export interface Experiment {
  readonly name: string;
  /** What it is about, in a line. */
  readonly summary: string;
  readonly defaults: Omit<Settings, "seed">;
  /** Reads or makes the data, and makes the model, on the current device. */
  prepare(settings: Settings): Promise<Task> | Task;
}
