/** What training makes small, and what it reports. Each is a tensor of no axes, the mean over all elements. */
import { arange } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";

function checkShape(loss: string, name: string, found: Tensor, expected: readonly number[]) {
  if (!sameShape(found.shape, expected)) {
    throw new ShapeError(
      `${loss}: ${name} of shape ${formatShape(found.shape)}, expected ${formatShape(expected)}`,
    );
  }
}

function checkLabels(loss: string, logits: Tensor, labels: Tensor) {
  checkShape(loss, "labels", labels, logits.shape.slice(0, -1));
  if (logits.rank === 0) throw new ShapeError(`${loss}: logits have no axis of classes`);
  if (labels.dtype !== "int32") throw new TypeError(`${loss}: labels must be int32, got ${labels.dtype}`);
}

/** Options of {@linkcode crossEntropy}. */
export interface CrossEntropyOptions {
  /** How much each class counts, shape (classes). */
  weights?: Tensor;
}

/**
 * The negative log-probability of the labels, as PyTorch's `cross_entropy`: a mean over the labels, weighted by `weights`
 * where they are given.
 *
 * @example
 * ```ts
 * import { crossEntropy, tensor } from "@weft/weft";
 *
 * crossEntropy(tensor([[2, -1, 0.5]]), tensor([0], { dtype: "int32" })); // 0.2413
 * ```
 *
 * @param logits Shape (..., classes), before the softmax.
 * @param labels int32 of shape (...), from 0. One outside the classes, as -1, leaves its element out.
 */
export function crossEntropy(logits: Tensor, labels: Tensor, options: CrossEntropyOptions = {}): Tensor {
  checkLabels("crossEntropy", logits, labels);
  const classes = logits.shape.at(-1)!;
  if (options.weights) checkShape("crossEntropy", "weights", options.weights, [classes]);
  const isLabel = labels.expandDims(-1).equal(arange(classes, { dtype: "int32" }));
  const shares = options.weights ? isLabel.where(options.weights, 0) : isLabel.cast(logits.dtype);
  return logits.logSoftmax().mul(shares).sum().div(shares.sum()).neg();
}

/**
 * The negative log-probability of independent yes or no targets, as PyTorch's `binary_cross_entropy_with_logits`.
 *
 * @param logits Any shape, before the sigmoid.
 * @param targets The same shape, probabilities of yes from 0 to 1, or bool.
 */
export function binaryCrossEntropy(logits: Tensor, targets: Tensor): Tensor {
  checkShape("binaryCrossEntropy", "targets", targets, logits.shape);
  const no = targets.cast(logits.dtype).neg().add(1);
  return logits.mul(no).add(logits.neg().softplus()).mean();
}

/** The mean of squared differences. @param targets The same shape as `predictions`. */
export function meanSquaredError(predictions: Tensor, targets: Tensor): Tensor {
  checkShape("meanSquaredError", "targets", targets, predictions.shape);
  return predictions.sub(targets).square().mean();
}

/** The mean of absolute differences. @param targets The same shape as `predictions`. */
export function meanAbsoluteError(predictions: Tensor, targets: Tensor): Tensor {
  checkShape("meanAbsoluteError", "targets", targets, predictions.shape);
  return predictions.sub(targets).abs().mean();
}

/**
 * The mean of absolute differences relative to the targets, 1 for 100 %. A target of zero makes it infinite or NaN.
 *
 * @param targets The same shape as `predictions`.
 */
export function meanAbsolutePercentageError(predictions: Tensor, targets: Tensor): Tensor {
  checkShape("meanAbsolutePercentageError", "targets", targets, predictions.shape);
  return predictions.sub(targets).div(targets).abs().mean();
}

/**
 * The negative log-likelihood of independent normal distributions, its constant included, in nats:
 * log deviation + (target - mean)^2 / (2 deviation^2) + log(2 pi) / 2.
 *
 * @example
 * ```ts
 * import { normalNegativeLogLikelihood, tensor } from "@weft/weft";
 *
 * normalNegativeLogLikelihood(tensor([0, 1]), tensor([1, 1]), tensor([0, 1])); // 0.9189
 * ```
 *
 * @param deviations Standard deviations above zero. All three have one shape.
 */
export function normalNegativeLogLikelihood(means: Tensor, deviations: Tensor, targets: Tensor): Tensor {
  checkShape("normalNegativeLogLikelihood", "deviations", deviations, means.shape);
  checkShape("normalNegativeLogLikelihood", "targets", targets, means.shape);
  const error = targets.sub(means).div(deviations);
  return deviations.log().add(error.square().mul(0.5)).mean().add(Math.log(2 * Math.PI) / 2);
}

/**
 * Bits per dimension: {@linkcode normalNegativeLogLikelihood} in bits instead of nats. It is of a density in the units of the
 * targets, and may be negative; another scale of the targets adds a constant.
 */
export function bitsPerDimension(means: Tensor, deviations: Tensor, targets: Tensor): Tensor {
  return normalNegativeLogLikelihood(means, deviations, targets).div(Math.LN2);
}

/**
 * The share of labels whose class has the largest logit, float32.
 *
 * @param logits Shape (..., classes).
 * @param labels int32 of shape (...).
 */
export function accuracy(logits: Tensor, labels: Tensor): Tensor {
  checkLabels("accuracy", logits, labels);
  return logits.argmax(-1).equal(labels).cast("float32").mean();
}
