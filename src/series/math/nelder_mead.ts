/** Minimum of a function of a few variables without a gradient. */

/** Size of the first simplex, relative tolerance of the values, and maximum number of evaluations. */
const [size, tolerance, maxEvaluations] = [1, 1e-6, 150];

/**
 * Minimises a function by the simplex method (Nelder and Mead, "A Simplex Method for Function Minimization",
 * 1965) from the best of some starting points.
 */
export function minimise(
  f: (point: readonly number[]) => number,
  starts: readonly (readonly number[])[],
): { point: readonly number[]; value: number } {
  type Vertex = { point: readonly number[]; value: number };
  let evaluations = 0;
  const at = (point: readonly number[]): Vertex => {
    evaluations++;
    const value = f(point);
    return { point, value: Number.isFinite(value) ? value : Infinity };
  };
  const begun = starts.map(at).sort((a, b) => a.value - b.value);
  const origin = begun[0];
  const simplex = [
    origin,
    ...origin.point.map((_, i) => at(origin.point.map((x, j) => i === j ? x + size : x))),
  ];
  while (evaluations < maxEvaluations) {
    simplex.sort((a, b) => a.value - b.value);
    const [best, worst] = [simplex[0], simplex.at(-1)!];
    if (worst.value - best.value <= tolerance * Math.abs(best.value)) break;
    const others = simplex.slice(0, -1);
    const centre = best.point.map((_, j) =>
      others.reduce((sum, { point }) => sum + point[j], 0) / others.length
    );
    const towards = (share: number) => at(centre.map((x, j) => x + share * (worst.point[j] - x)));
    const reflected = towards(-1);
    let next = reflected;
    if (reflected.value < best.value) {
      const expanded = towards(-2);
      if (expanded.value < reflected.value) next = expanded;
    } else if (reflected.value >= others.at(-1)!.value) {
      const contracted = towards(reflected.value < worst.value ? -0.5 : 0.5);
      if (contracted.value < Math.min(reflected.value, worst.value)) next = contracted;
      else {
        simplex.splice(
          1,
          others.length,
          ...simplex.slice(1).map(({ point }) => at(point.map((x, j) => (x + best.point[j]) / 2))),
        );
        continue;
      }
    }
    simplex[simplex.length - 1] = next;
  }
  return simplex.reduce((best, one) => one.value < best.value ? one : best);
}
