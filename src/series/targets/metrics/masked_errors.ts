/** Errors of predicted numbers. Unknown targets are left out. */
import type { Tensor } from "../../../tensor/tensor.ts";
import type { Measures } from "../../../train/task.ts";

/** Mean squared and mean absolute error over the known targets. NaN is unknown. */
export function maskedErrors(predicted: Tensor, truth: Tensor): Measures & { mae: Tensor } {
  const isUnknown = truth.isNaN();
  const error = isUnknown.where(0, predicted.sub(isUnknown.where(0, truth)));
  const count = isUnknown.not().cast(error.dtype).sum().maximum(1);
  return { loss: error.square().sum().div(count), mae: error.abs().sum().div(count) };
}

/**
 * Mean number of known targets per sample, the weight of both errors. It is not the fraction of known
 * targets: batches may be padded to different numbers of targets.
 */
export function maskedCounts({ targets }: { readonly targets: Tensor }): { loss: Tensor; mae: Tensor } {
  const count = targets.isNaN().not().cast("float32").sum().div(targets.shape[0]);
  return { loss: count, mae: count };
}
