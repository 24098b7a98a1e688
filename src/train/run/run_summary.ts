/** Results of a completed run. */
import type { DeviceInfo } from "../../device/device.ts";
import type { Evaluation } from "../task.ts";

/** Result of a completed run, the content of `summary.json`. */
export interface RunSummary {
  /** Name of the experiment. */
  readonly experiment: string;
  /** Means of the measures on the test set, with the best weights. */
  readonly test: Readonly<Record<string, number>>;
  /** Measures of each baseline by name, if the task has baselines. */
  readonly baselines?: Evaluation["baselines"];
  /** The main result in a sentence, if the task has one. */
  readonly verdict?: string;
  /** Lines about the data that a reader of the results must know. */
  readonly notices?: readonly string[];
  /** Lines about test inputs and predictions far outside the training data. */
  readonly warnings?: readonly string[];
  /** Epoch of the best weights, from 1. */
  readonly bestEpoch: number;
  /** Number of complete epochs. */
  readonly epochs: number;
  /** Number of parameters of the model. */
  readonly parameters: number;
  /** Training time in seconds. */
  readonly seconds: number;
  /** Peak memory of the process so far, in bytes. It includes the data, and about 60 MB of Deno. */
  readonly peakMemory?: number;
  /** Number of parts of a batch whose gradients are summed, if a whole batch takes too much memory. */
  readonly gradientParts?: number;
  /** Kind of device. */
  readonly device: DeviceInfo["kind"];
  /** Name of the processor or the GPU adapter. */
  readonly deviceDescription: string;
  /** Seed of the run. */
  readonly seed: number;
}
