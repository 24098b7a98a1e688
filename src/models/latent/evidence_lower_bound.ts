/**
 * The distribution of a latent initial state, and the evidence lower bound used to train models with such a
 * state.
 */
import { type Key, normal } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** A normal distribution with independent features, `(batch, features)`. */
interface Posterior {
  readonly mean: Tensor;
  readonly logDeviation: Tensor;
}

/**
 * The distribution that an encoder predicts. The encoder's output holds means, then logarithms of standard
 * deviations.
 */
export function posteriorOf(encoded: Tensor): Posterior {
  const features = encoded.shape.at(-1)! / 2;
  return { mean: encoded.slice(-1, 0, features), logDeviation: encoded.slice(-1, features) };
}

/** A reparameterized sample: gradients flow to the distribution (Kingma, Welling, 2014). */
export function draw({ mean, logDeviation }: Posterior, key: Key): Tensor {
  return mean.add(logDeviation.exp().mul(normal(key, mean.shape, { dtype: mean.dtype })));
}

/**
 * The negative evidence lower bound, averaged over series, in nats: the negative log-likelihood of the
 * observations plus the Kullback-Leibler divergence of the initial state's distribution from a standard
 * normal.
 *
 * @param predicted `(batch, length, channels)`, predicted from a sample of the initial state.
 * @param x Observations of the same shape. NaN marks a missing value, which is ignored.
 * @param noise The standard deviation of observations around predictions.
 */
export function negativeEvidenceLowerBound(
  q: Posterior,
  predicted: Tensor,
  x: Tensor,
  noise: number,
): Tensor {
  const missing = x.isNaN();
  const error = missing.where(predicted, x).sub(predicted).div(noise);
  const constant = Math.log(noise) + Math.log(2 * Math.PI) / 2;
  const surprise = error.square().mul(0.5).add(constant).mul(missing.not().cast(x.dtype)).sum([-2, -1]);
  const { mean, logDeviation } = q;
  const variance = logDeviation.mul(2).exp();
  const divergence = variance.add(mean.square()).sub(1).mul(0.5).sub(logDeviation).sum(-1);
  return surprise.add(divergence).mean();
}

/** Throws unless `noise` is positive and finite. */
export function checkNoise(model: string, noise: number): void {
  if (!(noise > 0 && noise < Infinity)) {
    throw new RangeError(`${model}: noise is ${noise}, expected a positive number below infinity`);
  }
}
