/** How the process of the tests ended. */

/** State of the process at its end. */
export interface Ended {
  /** Exit code. */
  readonly code: number;
  /** Signal that ended the process, if any. */
  readonly signal: string | null;
  /** Whether the process printed its summary, which is its last line. */
  readonly hasSummary: boolean;
  /** Number of failed tests of the summary. */
  readonly failed: number;
  /** Whether tests used WebGPU, and so the driver of a GPU. */
  readonly usedGpu: boolean;
}

/**
 * The outcome of the tests. `"crashed at exit"`: all tests passed, and the summary says so, but a signal ended
 * the process after it. Drivers of GPUs, llvmpipe above all, have threads that can outlive what they use.
 * Without a GPU such an end is a failure.
 */
export function outcomeOf(
  { code, signal, hasSummary, failed, usedGpu }: Ended,
): "passed" | "failed" | "crashed at exit" {
  if (failed > 0 || !hasSummary) return "failed";
  if (signal !== null) return usedGpu ? "crashed at exit" : "failed";
  return code === 0 ? "passed" : "failed";
}
