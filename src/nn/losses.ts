/** Losses and metrics. Each returns a scalar tensor, the mean over all elements. */
import { isFloat } from "../device/dtype.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { treeLeaves } from "../tensor/tree.ts";
import type { ParameterTree } from "./layer.ts";
import { checkTensor } from "../tensor/checks.ts";
import { arange, scalar } from "../tensor/creation.ts";
import { checkWithin } from "../tensor/host.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { formatShape, refuseShape, sameShape, ShapeError } from "../device/shape.ts";

/** Options of {@linkcode l2Penalty}. */
export interface L2PenaltyOptions {
  /**
   * Whether to add the norms of the tensors instead of their squares.
   *
   * @default {false}
   */
  norms?: boolean;
}

const l2PenaltyOptionNames = namesOf<L2PenaltyOptions>()("norms?");

/** Throws unless predictions are a tensor of floats. */
function checkPredictions(loss: string, name: string, x: Tensor) {
  checkTensor(`${loss}: ${name}`, x);
  if (!isFloat(x.dtype)) {
    throw new TypeError(`${loss}: ${name} are ${x.dtype}, expected float32 or float64; cast them first`);
  }
}

function checkShape(loss: string, name: string, actual: Tensor, expected: readonly number[]) {
  checkTensor(`${loss}: ${name}`, actual);
  if (!sameShape(actual.shape, expected)) {
    refuseShape(`${loss}: ${name}`, actual.shape, formatShape(expected));
  }
}

/**
 * Throws if labels have the wrong shape or type, or are out of range.
 *
 * @returns Zero. NaN if the labels are known only to the device and one is out of range.
 */
function checkLabels(loss: string, logits: Tensor, labels: Tensor): Tensor {
  checkTensor(`${loss}: logits`, logits);
  if (logits.rank === 0) throw new ShapeError(`${loss}: logits have no axis of classes`);
  checkShape(loss, "labels", labels, logits.shape.slice(0, -1));
  if (labels.dtype !== "int32") throw new TypeError(`${loss}: labels must be int32, got ${labels.dtype}`);
  const classes = logits.shape.at(-1)!;
  const what = `logits of shape ${formatShape(logits.shape)} have classes 0 to ${
    classes - 1
  }, and -1 marks a missing label`;
  const zero = scalar(0, logits.dtype);
  if (checkWithin(loss, "labels", labels, [-1, classes - 1], what)) return zero;
  return labels.greaterEqual(-1).and(labels.less(classes)).where(zero, NaN).sum();
}

/** Options of {@linkcode crossEntropy}. */
export interface CrossEntropyOptions {
  /** Weight of each class, of shape (classes). */
  weights?: Tensor;
}

const crossEntropyOptionNames = namesOf<CrossEntropyOptions>()("weights?");

/**
 * The negative log-probability of the labels, as PyTorch's `cross_entropy`: a mean over the labels, weighted
 * by `weights` if given.
 *
 * @example
 * ```ts
 * import { crossEntropy, tensor } from "@weft/weft";
 *
 * crossEntropy(tensor([[2, -1, 0.5]]), tensor([0], { dtype: "int32" })); // 0.2413
 * ```
 *
 * @param logits Shape (..., classes), before the softmax.
 * @param labels int32 of shape (...), from 0. -1 excludes its element. Other values outside the classes
 * throw; in a compiled loop, and on a GPU that computed the labels, they make the loss NaN.
 * @throws {RangeError} If a label is below -1 or not below the number of classes.
 */
export function crossEntropy(logits: Tensor, labels: Tensor, options: CrossEntropyOptions = {}): Tensor {
  checkOptions("crossEntropy", options, crossEntropyOptionNames);
  const valid = checkLabels("crossEntropy", logits, labels);
  const classes = logits.shape.at(-1)!;
  if (options.weights) checkShape("crossEntropy", "weights", options.weights, [classes]);
  const isLabel = labels.expandDims(-1).equal(arange(classes, { dtype: "int32" }));
  const shares = options.weights ? isLabel.where(options.weights, 0) : isLabel.cast(logits.dtype);
  // `where` drops the other classes before the sum: a logit of -Infinity would give NaN when multiplied by
  // zero.
  return isLabel.where(logits.logSoftmax(), 0).mul(shares).sum().div(shares.sum().add(valid)).neg();
}

/** Options of {@linkcode binaryCrossEntropy}. */
export interface BinaryCrossEntropyOptions {
  /**
   * Weight of the positive class relative to the negative class, 1 by default. Use more than 1 if positives
   * are rare.
   *
   * @default {1}
   */
  positiveWeight?: number;
}

const binaryCrossEntropyOptionNames = namesOf<BinaryCrossEntropyOptions>()("positiveWeight?");

/**
 * The negative log-probability of independent binary targets, as PyTorch's
 * `binary_cross_entropy_with_logits`, whose `pos_weight` is `positiveWeight`. The mean is over all targets
 * and is not divided by their weights.
 *
 * @param logits Any shape, before the sigmoid.
 * @param targets Of the same shape: probabilities from 0 to 1, or bool. Values out of range make the loss
 * NaN.
 * @throws {RangeError} If `positiveWeight` is not positive.
 */
export function binaryCrossEntropy(
  logits: Tensor,
  targets: Tensor,
  options: BinaryCrossEntropyOptions = {},
): Tensor {
  checkOptions("binaryCrossEntropy", options, binaryCrossEntropyOptionNames);
  const { positiveWeight = 1 } = options;
  checkPredictions("binaryCrossEntropy", "logits", logits);
  checkShape("binaryCrossEntropy", "targets", targets, logits.shape);
  if (!(positiveWeight > 0 && Number.isFinite(positiveWeight))) {
    throw new RangeError(
      `binaryCrossEntropy: positiveWeight is ${positiveWeight}, expected a finite number above 0`,
    );
  }
  const yes = targets.cast(logits.dtype);
  const no = yes.greaterEqual(0).and(yes.lessEqual(1)).where(yes.neg().add(1), NaN);
  const surprise = logits.neg().softplus();
  const weighted = positiveWeight === 1 ? surprise : surprise.mul(yes.mul(positiveWeight - 1).add(1));
  return logits.mul(no).add(weighted).mean();
}

/**
 * L2 regularization: the sum of the squares of all parameters, to be added to a loss (Kidger et al., 2020,
 * appendix D.1, for the vector field of a Neural CDE and a GRU-ODE, and for all parameters of recurrent
 * models). With `norms`, the sum of the tensors' norms instead, as in the authors' code, which uses a factor
 * of 0.03.
 *
 * @example
 * ```ts
 * import { key, Linear, l2Penalty } from "@weft/weft";
 *
 * const layer = Linear({ inputs: 3, outputs: 2, key: key(0) });
 * l2Penalty(layer.parameters).mul(0.01); // to be added to a loss
 * ```
 *
 * @throws {TypeError} If there are no parameters.
 */
export function l2Penalty(parameters: ParameterTree, options: L2PenaltyOptions = {}): Tensor {
  checkOptions("l2Penalty", options, l2PenaltyOptionNames);
  const { norms = false } = options;
  const all = treeLeaves(parameters);
  if (all.length === 0) {
    throw new TypeError("l2Penalty: no tensors among the parameters; pass model.parameters");
  }
  const squares = all.map((x) => x.square().sum());
  // The gradient of a norm is undefined at zero.
  const terms = norms ? squares.map((square) => square.add(1e-24).sqrt()) : squares;
  return terms.reduce((sum, term) => sum.add(term));
}

/**
 * The mean of squared differences.
 *
 * @param targets Of the same shape as `predictions`.
 */
export function meanSquaredError(predictions: Tensor, targets: Tensor): Tensor {
  checkPredictions("meanSquaredError", "predictions", predictions);
  checkShape("meanSquaredError", "targets", targets, predictions.shape);
  return predictions.sub(targets).square().mean();
}

/**
 * The mean of absolute differences.
 *
 * @param targets Of the same shape as `predictions`.
 */
export function meanAbsoluteError(predictions: Tensor, targets: Tensor): Tensor {
  checkPredictions("meanAbsoluteError", "predictions", predictions);
  checkShape("meanAbsoluteError", "targets", targets, predictions.shape);
  return predictions.sub(targets).abs().mean();
}

/**
 * The mean of absolute differences divided by the targets; 1 means 100 %. A target of zero makes it infinite
 * or NaN.
 *
 * @param targets Of the same shape as `predictions`.
 */
export function meanAbsolutePercentageError(predictions: Tensor, targets: Tensor): Tensor {
  checkPredictions("meanAbsolutePercentageError", "predictions", predictions);
  checkShape("meanAbsolutePercentageError", "targets", targets, predictions.shape);
  return predictions.sub(targets).div(targets).abs().mean();
}

/**
 * The negative log-likelihood of independent normal distributions in nats, constant included: `log deviation
 * + (target - mean)^2 / (2 deviation^2) + log(2 pi) / 2`. Without the constant, which has no gradient, it is
 * the loss of WARP (Nzoyem et al., 2025, equation 3).
 *
 * @example
 * ```ts
 * import { gaussianNLL, tensor } from "@weft/weft";
 *
 * gaussianNLL(tensor([0, 1]), tensor([1, 1]), tensor([0, 1])); // 0.9189
 * ```
 *
 * @param deviations Standard deviations above zero. All three tensors have the same shape.
 */
export function gaussianNLL(means: Tensor, deviations: Tensor, targets: Tensor): Tensor {
  checkPredictions("gaussianNLL", "means", means);
  checkShape("gaussianNLL", "deviations", deviations, means.shape);
  checkShape("gaussianNLL", "targets", targets, means.shape);
  const error = targets.sub(means).div(deviations);
  return deviations.log().add(error.square().mul(0.5)).mean().add(Math.log(2 * Math.PI) / 2);
}

/**
 * Bits per dimension: {@linkcode gaussianNLL} in bits instead of nats. The density is in the
 * units of the targets, so the value may be negative, and scaling the targets adds a constant.
 */
export function bitsPerDimension(means: Tensor, deviations: Tensor, targets: Tensor): Tensor {
  return gaussianNLL(means, deviations, targets).div(Math.LN2);
}

/**
 * The share of labels whose class has the largest logit, float32. NaN if a logit is NaN.
 *
 * @param logits Shape (..., classes).
 * @param labels int32 of shape (...), from 0. As in {@linkcode crossEntropy}, -1 excludes its element.
 * @throws {RangeError} If a label is below -1 or not below the number of classes.
 */
export function accuracy(logits: Tensor, labels: Tensor): Tensor {
  const valid = checkLabels("accuracy", logits, labels);
  const isRight = logits.argmax(-1).equal(labels).cast(logits.dtype);
  const share = isRight.sum().div(labels.notEqual(-1).cast(logits.dtype).sum());
  return share.add(valid).add(logits.isNaN().where(scalar(NaN, logits.dtype), 0).sum()).cast("float32");
}
