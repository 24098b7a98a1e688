/**
 * The work of a submission. Drivers reset a GPU whose submission runs for seconds, and the display of a desktop waits for it.
 * Times are estimates for a slow GPU with a peak of 1 TFLOP/s and memory of 20 GB/s. Kernels reach a sixth of the peak.
 */

/** Invocations that a slow GPU runs at the same time. */
export const concurrentInvocations = 8192;

/** Operations per second of one of {@linkcode concurrentInvocations}. */
export const invocationRate = 2e7;

/** Maximum seconds of a submission. */
const submissionSeconds = 0.4;

/** Maximum operations of a submission, 6.6e10. */
export const submissionBudget: number = submissionSeconds * concurrentInvocations * invocationRate;

/** Operations that take as long as reading or writing a word of memory. */
export const operationsPerWord = 32;

/** Invocations that hide the latency of each other's operations. Fewer invocations take as long as this number. */
const enoughInvocations = 2048;

/** Operations that a fully occupied GPU computes in the same time as some invocations compute `operations`. */
export function occupiedOperations(operations: number, invocations: number): number {
  return operations * Math.max(1, enoughInvocations / invocations);
}
