/** Decides from the end of the test process whether the tests passed. */

/** State of the process at exit. */
interface Ended {
  /** Exit code. */
  readonly code: number;
  /** Signal that ended the process, if any. */
  readonly signal: string | null;
  /** Whether the process printed the summary, its last line. */
  readonly hasSummary: boolean;
  /** Number of failed tests in the summary. */
  readonly failed: number;
  /** Whether tests used WebGPU, and therefore a GPU driver. */
  readonly usedGpu: boolean;
}

/**
 * Returns the outcome of the tests. `"crashed at exit"`: all tests passed and the summary is complete, but a
 * signal then ended the process. Threads of GPU drivers, mainly of llvmpipe, can access memory that the process
 * has released. A crash without a GPU is a failure.
 */
export function outcomeOf(
  { code, signal, hasSummary, failed, usedGpu }: Ended,
): "passed" | "failed" | "crashed at exit" {
  if (failed > 0 || !hasSummary) return "failed";
  if (signal !== null) return usedGpu ? "crashed at exit" : "failed";
  return code === 0 ? "passed" : "failed";
}
