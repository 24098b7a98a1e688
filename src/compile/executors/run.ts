/** The interface of executors. */
import type { BufferView, KernelDevice } from "../../device/device.ts";
import type { Batched } from "../../tensor/primitive.ts";
import type { HoistedLoop } from "../loop/hoisted_loop.ts";
import type { Choice, ExecutorName } from "../program/cost.ts";
import type { MapKernel, Program } from "../program/program.ts";
import type { LoopLayout } from "./loop_layout.ts";
import type { SplitProgram } from "../program/passes/split_samples.ts";
import type { Node } from "../trace/graph.ts";
import type { WorkgroupShape } from "./wgsl/choose_workgroup.ts";

/**
 * One run of a program. Results are row-major. An input can have another data type than the program; all other buffers have the
 * type of the program.
 */
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

/** How a program runs. */
export interface Schedule {
  readonly executor: ExecutorName;
  /** Workgroup of a fused loop on a GPU. Default: chosen from the shapes. */
  readonly workgroup?: WorkgroupShape;
}

/** A program, and kernels to run once before its loop. */
export interface HoistedFills {
  readonly program: Program;
  readonly fills: readonly MapKernel[];
}

/** Properties of a device that determine how loops are compiled for it. */
interface LoopLimits {
  /** Whether matrix products stay in the loop, because large products before the loop would be no faster. */
  readonly keepsProducts: boolean;
  /** Computes the hoisted operations of a loop for all steps. The values are added to those of the inputs. */
  readonly evaluateHoisted: (loop: HoistedLoop, values: Map<Node, Batched>, steps: number) => void;
  /** Makes independent parts of samples to samples, if the device has more invocations than samples. */
  readonly splitSamples: (program: Program) => SplitProgram;
  /** Limit in bytes for values of many steps. */
  readonly memory: number;
  /** The limit if memory must not grow with the number of steps. */
  readonly constantMemory: number;
}

/** Runs programs on one device. */
export interface Executor extends LoopLimits {
  (run: Run): RunResult;
  readonly device: KernelDevice;
  /** Chooses the schedule of a run and acts on it: a second time if the fused kernel exceeds limits of the GPU. */
  readonly decide: <T>(run: Run, act: (choice: Choice & Schedule) => T) => T;
}

/** Compiles programs of one device, each to one kernel for many steps, and runs them. */
export interface FusedLoops extends LoopLimits {
  /** Moves constant fills out of a stepped loop, if that is faster on the device. */
  readonly hoistFills: (program: Program) => HoistedFills;
  /** The reason that the device cannot run a program fused. Undefined if it can. */
  readonly whyNot: (program: Program) => string | undefined;
  /**
   * Runs a program.
   *
   * @param workgroup Default: chosen from the shapes. A CPU has none.
   * @throws {Uncompilable} If the loop exceeds limits of the GPU.
   */
  readonly run: (run: Run, workgroup?: WorkgroupShape) => RunResult;
  /** Describes the code and the layout of a run. */
  readonly describe: (run: Run, workgroup?: WorkgroupShape) => string;
  /** The layout of a run. Undefined on a CPU. */
  readonly layout: (run: Run, workgroup?: WorkgroupShape) => LoopLayout | undefined;
  /** Other workgroups for a run, for tuning. */
  readonly otherWorkgroups: (run: Run) => readonly WorkgroupShape[];
}
