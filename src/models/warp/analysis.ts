/**
 * Analyses of WARP's states along series (Nzoyem et al., 2025, section 3.4 and appendices A.1 and D.3). They
 * return tensors to plot.
 */
import { describe } from "../../device/describe.ts";
import { checkTensor } from "../../tensor/checks.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { valueAndGrad } from "../../autodiff/grad.ts";
import { formatShape, ShapeError } from "../../device/shape.ts";
import { checkCount } from "../../nn/layer.ts";
import { meanSquaredError } from "../../nn/losses.ts";
import { concatenate, stack } from "../../tensor/functions.ts";
import { key, normal } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { times } from "./call.ts";
import type { WARPModel } from "./warp.ts";
import type { OptimizerOptions } from "../../optim/optimizer.ts";

const principalComponentsOptionNames = namesOf<{ count?: number; iterations?: number }>()(
  "count? iterations?",
);

/**
 * Pearson's correlation of each weight with time over all series and steps (figure 10), from -1 to 1. Zero
 * for a weight that does not change.
 *
 * @param states `(batch, T, D)`, as {@linkcode WARPModel.weights} returns them.
 * @returns `(D)`.
 * @throws {ShapeError} If the states do not have three axes.
 */
export function timeCorrelation(states: Tensor): Tensor {
  checkTensor("timeCorrelation: states", states);
  if (states.rank !== 3) {
    throw new ShapeError(
      `timeCorrelation: states of shape ${formatShape(states.shape)}, expected (batch, T, D)`,
    );
  }
  return tidy(() => {
    const [batch, length] = states.shape;
    const tau = times(length, states.dtype).sub(0.5).expandDims(1);
    const centred = states.sub(states.mean([0, 1], { keepDims: true }));
    const covariance = centred.mul(tau).sum([0, 1]);
    const deviations = centred.square().sum([0, 1]).mul(tau.square().sum().mul(batch)).sqrt();
    return deviations.equal(0).where(0, covariance.div(deviations.equal(0).where(1, deviations)));
  });
}

/**
 * The read-out matrix theta_t(tau'): each state decoded at each time. Its diagonal is the model's output.
 *
 * @param states States of one series, `(T, D)`.
 * @param first The first observation `(inputChannels)`, needed if a physical formula uses it.
 * @returns `(T, T, outputs)`: state t, decoded at time tau' = t' / (T - 1).
 * @throws {ShapeError} If the states do not have two axes.
 */
export function readoutMatrix(model: WARPModel, states: Tensor, first?: Tensor): Tensor {
  checkModel("readoutMatrix", model);
  checkTensor("readoutMatrix: states", states);
  if (states.rank !== 2) {
    throw new ShapeError(`readoutMatrix: states of shape ${formatShape(states.shape)}, expected (T, D)`);
  }
  return tidy(() => {
    const [length, size] = states.shape;
    const every = states.expandDims(1).broadcastTo([length, length, size]);
    return model.decode(every, times(length, states.dtype).expandDims(1), first ? { first } : {});
  });
}

/** Throws unless a model is a WARP. */
function checkModel(operation: string, model: WARPModel): void {
  if (typeof model?.decode === "function") return;
  throw new TypeError(`${operation}: the model is ${describe(model)}, expected a model made by WARP(...)`);
}

/** Principal components of points: the result of {@linkcode principalComponents}. */
export interface PrincipalComponents {
  /** Mean of all points, `(D)`. */
  readonly mean: Tensor;
  /** Unit vectors `(count, D)`, in descending order of variance. */
  readonly components: Tensor;
  /** The share of the total variance along each component, `(count)`. */
  readonly shares: Tensor;
  /** Returns the coordinates of points `(..., D)` along the components, `(..., count)`. */
  project(points: Tensor): Tensor;
}

/**
 * The principal components of points, by orthogonal iteration. Use them to plot the path of the weights in a
 * plane, next to that of {@linkcode gradientDescentPath} (appendix A.1). Concatenate the points of several
 * paths to plot them in the same plane.
 *
 * @example
 * ```ts
 * import { key, normal, principalComponents } from "@weft/weft";
 *
 * const points = normal(key(0), [100, 5]);
 * principalComponents(points).project(points).shape; // (100, 2)
 * ```
 *
 * @param points `(rows, D)`.
 * @param options `count`: the number of components, 2 by default, at most `rows` and D; `iterations`: 200 by
 * default, more if variances are nearly equal.
 * @throws {RangeError} If there are fewer rows or columns than components.
 */
export function principalComponents(
  points: Tensor,
  options: { count?: number; iterations?: number } = {},
): PrincipalComponents {
  checkOptions("principalComponents", options, principalComponentsOptionNames);
  const { count = 2, iterations = 200 } = options;
  checkCount("principalComponents", "count", count);
  checkCount("principalComponents", "iterations", iterations);
  checkTensor("principalComponents: points", points);
  const [rows, size] = points.shape;
  if (points.rank !== 2 || count > Math.min(rows, size)) {
    throw new RangeError(
      `principalComponents: ${count} components of points of shape ${
        formatShape(points.shape)
      }, expected (rows, D) ` +
        "with at least as many rows and columns as components",
    );
  }
  const mean = points.mean(0);
  const centred = points.sub(mean);
  // Avoids the covariance matrix of D by D elements.
  const moved = (basis: Tensor) => centred.mT.matmul(centred.matmul(basis));
  let basis = normal(key(0), [size, count], { dtype: points.dtype });
  for (let i = 0; i < iterations; i++) basis = tidy(() => orthonormal(moved(basis)));
  const components = basis.mT;
  const project = (x: Tensor) => x.sub(mean).matmul(basis);
  const shares = tidy(() => project(points).square().sum(0).div(centred.square().sum()));
  return { mean, components, shares, project };
}

/** Makes columns orthonormal one after another (Gram-Schmidt). */
function orthonormal(columns: Tensor): Tensor {
  const done: Tensor[] = [];
  for (let i = 0; i < columns.shape[1]; i++) {
    const rest = done.reduce((x, unit) => x.sub(unit.mul(unit.mul(x).sum())), columns.select(1, i));
    const length = rest.square().sum().sqrt();
    done.push(rest.div(length.equal(0).where(1, length)));
  }
  return stack(done, 1);
}

/** Options of {@linkcode gradientDescentPath}. */
export interface GradientDescentOptions extends Pick<OptimizerOptions, "learningRate"> {
  /** Number of steps. */
  steps: number;
  /** The first point, `(D)`. By default the model's theta_0 for the series. */
  start?: Tensor;
}

const gradientDescentOptionNames = namesOf<GradientDescentOptions>()("steps learningRate start?");

/**
 * The path of the weights when gradient descent fits only the root network to one series. The paper compares
 * WARP's path with it (appendix A.1). A step is theta - learningRate times the gradient of the mean squared
 * error of theta(tau_t) against x_(t+1).
 *
 * @param x `(T, channels)`, a series that serves as input and as target.
 * @returns `(steps + 1, D)`, beginning with the start.
 * @throws {RangeError} If `steps` is not a positive integer.
 */
export function gradientDescentPath(model: WARPModel, x: Tensor, options: GradientDescentOptions): Tensor {
  checkOptions("gradientDescentPath", options, gradientDescentOptionNames);
  const { steps, learningRate } = options;
  checkModel("gradientDescentPath", model);
  checkTensor("gradientDescentPath: x", x);
  checkCount("gradientDescentPath", "steps", steps);
  return tidy(() => {
    const [length, channels] = x.shape;
    const tau = times(length, x.dtype).slice(0, 0, -1).expandDims(1);
    const [first, input, targets] = [x.select(0, 0), x.slice(0, 0, -1), x.slice(0, 1)];
    const step = valueAndGrad((theta: Tensor) => {
      const every = theta.expandDims(0).broadcastTo([length - 1, theta.size]);
      return meanSquaredError(model.decode(every, tau, { first, input }).slice(-1, 0, channels), targets);
    });
    let theta = options.start ?? model.weights(x.slice(0, 0, 1).expandDims(0)).select(0, 0).select(0, 0);
    const path = [theta];
    for (let i = 0; i < steps; i++) {
      theta = theta.sub(step(theta)[1].mul(learningRate));
      path.push(theta);
    }
    return concatenate(path.map((point) => point.expandDims(0)));
  });
}
