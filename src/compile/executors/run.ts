/** Running a program: what the loop driver asks of each device. */
import type { BufferView, Device } from "../../device/device.ts";
import type { Program } from "../program/program.ts";

/** One run of a program. All results are row-major; all arrays are of the program's type unless an input says otherwise. */
export interface Run {
  readonly program: Program;
  readonly batch: number;
  readonly steps: number;
  /**
   * In the order of the program's inputs: `(batch, size)` for state and constants of a sample, `(steps, batch, size)` for
   * rows of a sample, `(size)` and `(steps, size)` for what the samples share. They may lie in memory in any order.
   */
  readonly inputs: readonly BufferView[];
  /**
   * The position among the states of a number for each sample that is zero until nothing of the sample will change any more.
   * The rest of its steps may then be left out; what they would have put out is undefined.
   */
  readonly settled?: number;
}

/** Results of a run. */
export interface RunResult {
  /** The states after the last step, `(batch, size)`. */
  readonly finals: readonly BufferView[];
  /** `(steps, batch, size)`. */
  readonly outputs: readonly BufferView[];
  /** `(steps, size)`. */
  readonly stepSums: readonly BufferView[];
  /** `(batch, size)` for sums over steps, `(size)` for those over samples too. */
  readonly sums: readonly BufferView[];
  /** `(rows, columns)`. */
  readonly weightGradients: readonly BufferView[];
}

/** Runs programs on one kind of device. */
export interface Executor {
  (run: Run): RunResult;
  readonly device: Device;
  /** Whether large matrix products are no faster than those inside a loop: then nothing is gained by taking them out. */
  readonly keepsProducts: boolean;
  /** Bytes that what is computed for many steps at once may take. */
  readonly memory: number;
  /** Describes a compiled program: its executor and why, its kernels' source, its workgroups or threads. */
  readonly describe: (run: Run) => string;
}
