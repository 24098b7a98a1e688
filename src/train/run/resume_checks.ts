/** Checks before training resumes. */
import { epochOfWeights, type Position } from "./checkpoint.ts";
import type { RunFolder } from "./run_folder.ts";

/**
 * Rejects a position that is impossible for a training run of these sizes.
 *
 * @throws {Error} If the number of samples differs, there are too many epochs, or the steps are inconsistent.
 */
export function checkPosition(
  { epoch, batch, step, sums, samples: before }: Position,
  { last }: RunFolder,
  { epochs, batchSize, samples, isFitted }: {
    epochs: number;
    batchSize: number;
    samples: number;
    /** Whether the task is fitted in closed form, without optimiser steps. */
    isFitted: boolean;
  },
): void {
  if (before !== samples) {
    throw new Error(
      `${last}: saved while training on ${before} samples, but the training set now has ${samples}; ` +
        "expected the original data",
    );
  }
  if (epoch > epochs) {
    throw new Error(
      `${last}: ${epoch} epochs are complete, but the run has ${epochs} epochs`,
    );
  }
  const batches = Math.ceil(samples / batchSize);
  const steps = isFitted ? 0 : epoch * batches + batch;
  if (batch >= batches || step !== steps || sums.samples !== batch * batchSize) {
    throw new Error(
      `${last}: damaged: step ${step} and sums of ${sums.samples} samples do not match epoch ${epoch}, ` +
        `batch ${batch} of ${batches}`,
    );
  }
}

/**
 * Rejects best weights of another training run, since they are tested at the end.
 *
 * @throws {Error} If the weights are from another epoch.
 */
export async function checkBest({ epoch, best }: Position, folder: RunFolder): Promise<void> {
  if (!best) return;
  const epochOfBest = await epochOfWeights(folder.best);
  // The process may have been killed after saving an epoch's best weights and before its checkpoint.
  if (epochOfBest !== best.epoch && epochOfBest !== epoch + 1) {
    throw new Error(
      `${folder.best}: has the weights of epoch ${epochOfBest}, but the best epoch is ${best.epoch}`,
    );
  }
}
