/** Ridge regression on the features that correlate with the targets. */
import type { LinearModel } from "./linear_model.ts";
import { fitRidge } from "./ridge.ts";

/** Maximum number of features of a fit: those with the largest correlations. */
const maxFeatures = 200;
/** Smallest standard deviation of a feature that is not constant up to rounding. */
const minDeviation = 1e-6;

/**
 * Fits a linear model by ridge regression, to the features that correlate with the targets (sure independence
 * screening: Fan and Lv, 2008). A feature with the correlation r is scaled by |r|^power, as the adaptive lasso of Zou
 * (2006) does with other weights: with many features, those that say little then have small weights.
 *
 * @param rows Features of each series.
 * @param targets Targets `(series, outputs)`, without NaN.
 * @param power Power of the correlations, at least 0.
 */
export function fitScreenedRidge(
  rows: readonly ArrayLike<number>[],
  targets: Float64Array,
  power: number,
): LinearModel {
  const outputs = targets.length / rows.length;
  const columns = Array.from(
    { length: outputs },
    (_, k) => standardised(rows.length, (i) => targets[i * outputs + k]),
  );
  const correlated = Array.from(rows[0], (_, feature) => {
    const { z, deviation } = standardised(rows.length, (i) => rows[i][feature]);
    const correlations = columns.map((column) =>
      Math.abs(z.reduce((sum, one, i) => sum + one * column.z[i], 0))
    );
    return { feature, deviation, correlation: Math.max(...correlations) / rows.length };
  }).filter(({ correlation }) => correlation > 0)
    .sort((a, b) => b.correlation - a.correlation)
    .slice(0, maxFeatures);
  const bias = columns.map(({ mean }) => mean);
  if (correlated.length === 0) return { places: [], mean: [], weight: [], bias };
  const powers = correlated.map(({ correlation }) => correlation ** power);
  // The penalties of `fitRidge` are those of features with a mean square of about 1.
  const norm = Math.hypot(...powers) / Math.sqrt(powers.length);
  const scale = Float64Array.from(correlated, ({ deviation }, f) => powers[f] / (norm * deviation));
  const places = correlated.map(({ feature }) => feature);
  const fit = fitRidge({
    features: rows.map((row) => Float32Array.from(places, (f) => row[f])),
    scale,
    targets,
  });
  return {
    places,
    mean: Array.from(fit.mean),
    weight: Array.from(fit.weight, (weight, i) => weight * scale[Math.floor(i / outputs)]),
    bias,
  };
}

/** Standardised numbers: 0 if they are constant up to rounding. */
function standardised(count: number, valueOf: (i: number) => number) {
  const values = Float64Array.from({ length: count }, (_, i) => valueOf(i));
  const mean = values.reduce((sum, value) => sum + value, 0) / count;
  const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / count);
  const isConstant = !(deviation > minDeviation * Math.max(1, Math.abs(mean)));
  return { mean, deviation, z: values.map((value) => isConstant ? 0 : (value - mean) / deviation) };
}
