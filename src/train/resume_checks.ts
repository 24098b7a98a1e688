/** Checks before a training goes on. */
import { epochOfWeights, type Position } from "./checkpoint.ts";
import type { RunFolder } from "./run_folder.ts";

/**
 * Refuses a position that a training of these sizes cannot have.
 *
 * @throws {Error} If it has another number of samples, more epochs, or steps that do not fit.
 */
export function checkPosition(
  { epoch, batch, step, sums, samples: before }: Position,
  { last }: RunFolder,
  { epochs, batchSize, samples }: { epochs: number; batchSize: number; samples: number },
): void {
  if (before !== samples) {
    throw new Error(
      `${last}: saved while training on ${before} samples, and now there are ${samples}: ` +
        "a run goes on with the data that it was started with",
    );
  }
  if (epoch > epochs) {
    throw new Error(
      `${last}: ${epoch} epochs are complete, expected ${epochs} at most, as the run is to have`,
    );
  }
  const batches = Math.ceil(samples / batchSize);
  if (batch >= batches || step !== epoch * batches + batch || sums.samples !== batch * batchSize) {
    throw new Error(
      `${last}: damaged: step ${step} and sums of ${sums.samples} samples are not those of epoch ${epoch}, ` +
        `batch ${batch} of ${batches}`,
    );
  }
}

/**
 * Refuses best weights that are not those of the training: they would be tested at its end.
 *
 * @throws {Error} If they are of another epoch.
 */
export async function checkBest({ epoch, best }: Position, folder: RunFolder): Promise<void> {
  if (!best) return;
  const found = await epochOfWeights(folder.best);
  // A kill may have come between an epoch's best weights and its checkpoint.
  if (found !== best.epoch && found !== epoch + 1) {
    throw new Error(`${folder.best}: from epoch ${found}, and the best one was epoch ${best.epoch}`);
  }
}
