/** Fits autoregressions to a history by least squares, and chooses their lags and differences. */
import { correctedAkaike } from "../../math/akaike.ts";
import { type Autoregression, effectsOf, scaledHistory } from "./autoregression.ts";
import { cholesky, solveInPlace } from "../../math/least_squares.ts";
import { log } from "../../math/elementary.ts";

/** Maximum number of successive lags. */
const maxOrder = 12;

/** Maximum fraction of a history that is only read as lags, and minimum number of seasons for seasonal lags. */
const [maxLagShare, minSeasons] = [1 / 3, 4];

/** Relative squared errors that are rounding errors, and penalty of the squared coefficients. */
const [leastSquares, ridge] = [1e-12, 1e-10];

/** Lags and differences of an autoregression. */
interface Lags {
  readonly lags: readonly number[];
  readonly hasConstant: boolean;
}

/** Number of coefficients of the autoregressions of {@linkcode fitAutoregression}. */
export function autoregressionOrder(season: number): number {
  return Math.max(maxOrder, season + 1) + 1 + season;
}

/**
 * Fits autoregressions with up to 12 successive lags and up to two seasonal lags, with and without differences and
 * seasonal differences, of the values or, if all are positive, of their logarithms. Returns the one with the
 * smallest corrected Akaike information criterion (AICc). All are fitted to the same values, so the criteria
 * are comparable: a difference is an autoregression with fixed coefficients. Autoregressions whose errors
 * grow faster than linearly with time are left out.
 *
 * @param y Values at equal time steps `(steps)`; NaN is missing.
 * @param season Number of steps of a season; 1 for none.
 * @param order Number of coefficients of the result, at least {@linkcode autoregressionOrder}.
 */
export function fitAutoregression(
  y: Float64Array,
  season: number,
  order: number = autoregressionOrder(season),
): Autoregression {
  const observed = y.filter((value) => !Number.isNaN(value));
  const isPositive = observed.every((value) => value > 0);
  const isSeasonal = season > 1 && y.length >= minSeasons * season;
  const most = Math.floor(maxLagShare * y.length);
  const first = Math.min(most, isSeasonal ? autoregressionOrder(season) : maxOrder + 1);
  const candidates = (isPositive ? [false, true] : [false]).flatMap((isLog) => {
    const { values, unit } = scaledHistory(y, isLog);
    return (isSeasonal ? [0, season] : [0]).flatMap((seasonal) =>
      [0, 1].flatMap((difference) => {
        const differences = differencesOf(difference, seasonal);
        const left = first - (differences.length - 1);
        if (left < 0) return [];
        return fitLags(
          { y, values, differences, first, unit, isLog, order },
          lagsOf(left, isSeasonal ? season : 1),
        );
      })
    );
  });
  const finite = candidates.filter(({ criterion }) => Number.isFinite(criterion))
    .sort((a, b) => a.criterion - b.criterion);
  const stable = finite.find(({ form }) => isStable(form.coefficients, y.length));
  return stable?.form ?? randomWalk(order);
}

/** Coefficients of the powers of the lag in (1 - B)^difference (1 - B^seasonal). */
function differencesOf(difference: number, seasonal: number): Float64Array {
  const product = new Float64Array(1 + difference + seasonal);
  product[0] = 1;
  if (difference > 0) product[1] -= 1;
  if (seasonal > 0) {
    product[seasonal] -= 1;
    if (difference > 0) product[seasonal + 1] += 1;
  }
  return product;
}

/** Sets of lags up to a maximum. */
function lagsOf(most: number, season: number): Lags[] {
  const successive = Array.from(
    { length: Math.min(maxOrder, most) + 1 },
    (_, p) => Array.from({ length: p }, (_, i) => i + 1),
  );
  const seasonal = season > 1 ? [[], [season], [season, season + 1]] : [[]];
  const sets = successive.flatMap((lags) =>
    seasonal.filter((seasonalLags) =>
      (seasonalLags.at(-1) ?? 0) <= most && (seasonalLags.length === 0 || lags.length < season)
    )
      .map((seasonalLags) => [...lags, ...seasonalLags])
  );
  return sets.flatMap((lags) => [true, false].map((hasConstant) => ({ lags, hasConstant })));
}

/** Data of the autoregressions with the same differences. */
interface LagData {
  y: Float64Array;
  /** Scaled values, and the unit of their scale. */
  values: Float64Array;
  unit: number;
  isLog: boolean;
  /** Coefficients of the differences. */
  differences: Float64Array;
  /** First value to fit to. */
  first: number;
  order: number;
}

function fitLags(
  { y, values, differences, first, unit, isLog, order }: LagData,
  sets: readonly Lags[],
): { form: Autoregression; criterion: number }[] {
  const w = values.map((_, t) =>
    t < differences.length - 1 ? NaN : differences.reduce(
      (sum, factor, lag) => factor === 0 ? sum : sum + factor * values[t - lag],
      0,
    )
  );
  const isDifference = differences.length > 1;
  // Columns: the value, each lag, the constant.
  const lags = [...new Set(sets.flatMap(({ lags }) => lags))];
  const width = lags.length + 2;
  const products = new Float64Array(width * width);
  const row = new Float64Array(width).fill(1);
  let [count, jacobian] = [0, 0];
  for (let t = first; t < w.length; t++) {
    row[0] = w[t];
    lags.forEach((lag, i) => row[i + 1] = w[t - lag]);
    if (row.some(Number.isNaN)) continue;
    count++;
    // Densities are compared in the unit of the values: d(log y) / dy = 1 / y.
    jacobian += log(unit) + (isLog ? log(y[t]) : 0);
    for (let i = 0; i < width; i++) {
      for (let j = i; j < width; j++) products[i * width + j] += row[i] * row[j];
    }
  }
  return sets.filter(({ hasConstant }) => hasConstant || isDifference).map((set) => {
    const columns = [...set.lags.map((lag) => lags.indexOf(lag) + 1), ...set.hasConstant ? [width - 1] : []];
    const { solution, squares } = solve(products, width, columns);
    const residualSquares = Math.max(squares, leastSquares * products[0]);
    const criterion = correctedAkaike(residualSquares, count, columns.length + 1) + 2 * jacobian;
    const lagPolynomial = new Float64Array(order + 1);
    lagPolynomial[0] = 1;
    set.lags.forEach((lag, i) => lagPolynomial[lag] = -solution[i]);
    const product = new Float64Array(order + 1);
    differences.forEach((factor, shift) => {
      if (factor === 0) return;
      for (let lag = 0; lag + shift <= order; lag++) product[lag + shift] += factor * lagPolynomial[lag];
    });
    const form = {
      coefficients: product.subarray(1).map((value) => value === 0 ? 0 : -value),
      constant: set.hasConstant ? solution[set.lags.length] : 0,
      relativeDeviation: Math.sqrt(squares / Math.max(1, count - columns.length)),
      isLog,
    };
    return { form, criterion };
  });
}

/** Least squares of the first column on others, from the products of all columns. */
function solve(
  products: Float64Array,
  width: number,
  columns: readonly number[],
): { solution: Float64Array; squares: number } {
  const size = columns.length;
  const matrix = new Float64Array(size * size);
  const right = Float64Array.from(columns, (column) => products[column]);
  for (let i = 0; i < size; i++) {
    for (let j = i; j < size; j++) {
      const [a, b] = [columns[i], columns[j]];
      matrix[i * size + j] = products[Math.min(a, b) * width + Math.max(a, b)];
    }
    // A column of zeros has the coefficient 0.
    matrix[i * size + i] = matrix[i * size + i] * (1 + ridge) || 1;
  }
  const solution = right.slice();
  solveInPlace(cholesky(matrix, size), size, solution);
  const explained = solution.reduce((sum, value, i) => sum + value * right[i], 0);
  return { solution, squares: Math.max(0, products[0] - explained) };
}

/** Whether the effect of an error grows at most linearly over a number of steps. */
function isStable(coefficients: Float64Array, steps: number): boolean {
  return Math.abs(effectsOf(coefficients, steps + 1)[steps]) <= steps;
}

/** Repeats the last value. */
function randomWalk(order: number): Autoregression {
  const coefficients = new Float64Array(order);
  coefficients[0] = 1;
  return { coefficients, constant: 0, isLog: false, relativeDeviation: 1 };
}
