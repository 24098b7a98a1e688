/** The interface of executors. */
import type { BufferView, KernelDevice } from "../../device/device.ts";
import type { Program } from "../program/program.ts";
import type { LoopLayout } from "./loop_layout.ts";

/** One run of a program. Results are row-major. Arrays have the program's type, except inputs with another type. */
export interface Run {
  readonly program: Program;
  readonly batch: number;
  readonly steps: number;
  /**
   * In the order of the program's inputs: `(batch, size)` for states and constants per sample, `(steps, batch, size)` for
   * rows per sample, `(size)` and `(steps, size)` for constants and rows that the samples share. Strides are arbitrary.
   */
  readonly inputs: readonly BufferView[];
  /**
   * Position of a state with one number per sample that becomes nonzero when the sample no longer changes. Later steps may be
   * skipped; their outputs are undefined.
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
  /** `(batch, size)` for sums over steps, `(size)` for sums over steps and samples. */
  readonly sums: readonly BufferView[];
  /** `(rows, columns)`. */
  readonly weightGradients: readonly BufferView[];
}

/** Runs programs on one kind of device. */
export interface Executor {
  (run: Run): RunResult;
  readonly device: KernelDevice;
  /** Whether matrix products stay in the loop, because large products before the loop would be no faster. */
  readonly keepsProducts: boolean;
  /** Whether independent parts of samples run as samples, because a device has more invocations than samples. */
  readonly splitsSamples: boolean;
  /** Limit in bytes for values of many steps. */
  readonly memory: number;
  /** The limit if memory must not grow with the number of steps. */
  readonly constantMemory: number;
  /** Describes a compiled program: executor, reason, source code, workgroups or threads. */
  readonly describe: (run: Run) => string;
  /** The layout of a fused loop on a GPU. Undefined on the CPU and for stepped loops. */
  readonly layout: (run: Run) => LoopLayout | undefined;
}
