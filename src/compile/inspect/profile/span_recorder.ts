/** Measured spans, and the interface of the recorders that measure them. */
import type { SpanKind } from "../../../device/profiler.ts";

/** A span: a part of a run. */
export interface ProfileSpan {
  /**
   * Kind of work: a compiled loop, the hoisted part of a loop, a matrix product, a copy, another kernel, or work of the host
   * between kernels.
   */
  readonly kind: SpanKind;
  /** Operations and their shapes. */
  readonly name: string;
  /** Seconds from the start of the run. */
  readonly start: number;
  /** Seconds, including inner spans. */
  readonly seconds: number;
  /** Seconds without inner spans. */
  readonly own: number;
}

/** Measures spans on a device while it runs. */
export interface SpanRecorder {
  readonly clock: "host" | "gpu timestamps" | "none";
  /** Name of the time outside of all spans. */
  readonly rest: string;
  /** Returns and clears the spans, after all kernels have ended. */
  take(): Promise<readonly ProfileSpan[]>;
}
