/** Commands of a GPU's queue as data. */
import type { Shape } from "../shape.ts";
import type { GpuMemory } from "./buffer_pool.ts";
import type { Kernel } from "./kernel.ts";

/** A kernel with its buffers, parameters and number of workgroups. */
export interface Launch {
  readonly kernel: Kernel;
  readonly buffers: readonly GpuMemory[];
  /** Parameters, words of 32 bits. */
  readonly words: ArrayLike<number>;
  readonly workgroups: number;
  /**
   * Operations that a fully occupied GPU computes in the same time. A launch of more than {@linkcode submissionBudget} runs as
   * several dispatches, in different submissions.
   */
  readonly operations: number;
  /** Shapes of the tensors, for messages. */
  readonly shapes: readonly Shape[];
}

/** A range of bytes. Offset and size are multiples of four. */
export interface Region {
  readonly memory: GpuMemory;
  readonly offset: number;
  readonly size: number;
}

/** Commands that run in order. */
export interface CommandQueue {
  /** Queues a kernel. */
  dispatch(launch: Launch): void;
  /** Writes bytes to the start of a buffer, after the commands queued so far. */
  write(memory: GpuMemory, bytes: Uint8Array<ArrayBuffer>): void;
  /** Copies bytes to another buffer, from byte `offset` on, after the commands queued so far. */
  copy(source: Region, target: GpuMemory, offset: number): void;
}
