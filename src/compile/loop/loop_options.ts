/** The results of a step of a loop, and the options of loops. */
import type { Tensor } from "../../tensor/tensor.ts";
import type { Tree } from "../../tensor/tree.ts";
import type { Ending } from "./ending.ts";
import { namesOf } from "../../device/options.ts";

/** Results of a step. */
export interface Step<C extends Tree, Y extends Tree, S extends Tree> {
  /** The state after the step, with the structure and shapes of the state before the step. */
  readonly carry: C;
  /** Values of every step. */
  readonly outputs?: Y;
  /** Values summed over the steps. */
  readonly sums?: S;
}

/** Options of {@linkcode scan}. */
export interface ScanOptions {
  /** Whether to compile the loop. Default: `true`. If `false`, each operation of each step runs separately. */
  compile?: boolean;
  /**
   * Whether to keep only some states for the gradient and compute the others again. Memory grows with the square root of the
   * number of steps, and the loop runs once more. Default: `false`.
   */
  checkpoint?: boolean;
  /**
   * Limit in bytes for the values of all steps: values that do not depend on the state and are computed before the loop,
   * outputs and, for a gradient, states. A loop that needs more runs in segments of time, and once more for its gradient.
   * `"constant"`: a constant of the device, for loops whose memory must not grow with the number of steps. Default: a share of
   * the device's memory.
   */
  memory?: number | "constant";
  /**
   * Executor of a compiled loop. `"fused"`: one kernel computes many steps of a few samples; fast if the weights fit into a
   * cache. `"stepped"`: each operation of a step is a kernel for all samples; fast for larger weights. Default: chosen from the
   * shapes; {@linkcode explain} prints the choice and the reason.
   */
  executor?: "fused" | "stepped";
}

export const scanOptionNames = namesOf<ScanOptions>()("compile? checkpoint? memory? executor?");

/**
 * The origin of a body. Bodies with the same key are the same function of their arguments and of the tensors, in order. So the trace of
 * one body serves for all.
 */
export interface Closure {
  readonly key: string;
  readonly tensors: readonly Tensor[];
}

/** Options of a {@linkcode Loop}. */
export interface LoopOptions<C extends Tree, X extends Tree> extends ScanOptions {
  /**
   * Returns the tensors of the state and the row that are gradients. The sums must be linear in them: they are zero in the
   * padding lanes of a tile.
   */
  readonly gradients?: (carry: C, row: X) => readonly Tensor[];
  /**
   * Returns the tensors of the state that end the loop when no sample changes any more. The loop then takes at most the given
   * number of steps, also fewer to limit its memory, and the outputs have a row for each step. Outputs of settled samples are
   * undefined. Where the values cannot be read without waiting, as inside `jit`, the loop takes all steps.
   */
  readonly ending?: (carry: C) => Ending;
  /** Whether matrix products of each sample stay in the loop even if they could be hoisted. Default: chosen by device. */
  readonly keepsProducts?: boolean;
  /** The origin of the body, if a loop with the same body may follow. */
  readonly closure?: Closure;
}
