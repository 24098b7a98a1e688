/** Checks of user-defined tableaus. */
import type { ButcherTableau, EmbeddedMethod, EmbeddedTableau, RungeKutta } from "./tableaus.ts";

/** Largest error of sums of coefficients. Published coefficients are rounded. */
const tolerance = 1e-6;

/**
 * Checks and completes a tableau. A complete embedded tableau has a last stage at the end of the step, whose slope is the first of
 * the next step, and weights for the state in the middle.
 *
 * @throws {RangeError} If the rows have wrong lengths or sums: the method would not have order one.
 */
export function checkTableau(tableau: ButcherTableau): ButcherTableau;
export function checkTableau(tableau: EmbeddedTableau): EmbeddedMethod;
export function checkTableau(tableau: ButcherTableau | EmbeddedTableau): ButcherTableau | EmbeddedMethod;
export function checkTableau(tableau: ButcherTableau | EmbeddedTableau): ButcherTableau | EmbeddedMethod {
  const fail = (problem: string): never => {
    throw new RangeError(`method: the tableau "${tableau.name}" ${problem}`);
  };
  if (tableau.kind !== "explicit" && tableau.kind !== "embedded") {
    fail(`has kind "${(tableau as RungeKutta & { kind?: string }).kind}", expected "explicit" or "embedded"`);
  }
  checkStages(tableau, fail);
  if (tableau.kind === "explicit") return tableau;
  const { error, middle, b } = tableau;
  checkWeights("error", error, b.length, 0, fail);
  if (middle) checkWeights("middle", middle, b.length, 0.5, fail);
  return withMiddle(withLastStage(tableau));
}

function checkStages({ name, order, c, a, b }: RungeKutta, fail: (problem: string) => never): void {
  if (typeof name !== "string" || name === "") fail("needs a name");
  if (!Number.isInteger(order) || order < 1) fail(`has order ${order}, expected a whole number from 1`);
  if (c.length !== b.length || a.length !== b.length - 1) {
    fail(
      `has ${b.length} weights b, ${c.length} times c and ${a.length} rows a; expected as many c as b, and one row less`,
    );
  }
  if (c[0] !== 0) fail(`has c[0] = ${c[0]}, expected 0: the first stage is at the step's start`);
  checkWeights("b", b, b.length, 1, fail);
  a.forEach((row, i) => checkWeights(`a[${i}]`, row, i + 1, c[i + 1], fail));
}

/** @throws {RangeError} If the number or the sum of weights is wrong. */
function checkWeights(
  name: string,
  weights: readonly number[],
  count: number,
  total: number,
  fail: (problem: string) => never,
): void {
  if (weights.length !== count) fail(`has ${weights.length} weights in ${name}, expected ${count}`);
  const sum = weights.reduce((sum, weight) => sum + weight, 0);
  if (!(Math.abs(sum - total) <= tolerance)) {
    fail(`has weights ${name} that add up to ${sum}, expected ${total}`);
  }
}

/** Adds a last stage at the end of the step, whose slope is the first of the next step (first same as last). */
function withLastStage(tableau: EmbeddedTableau): EmbeddedTableau {
  const { c, a, b, error, middle } = tableau;
  const isLast = b.at(-1) === 0 && a.at(-1)?.every((weight, i) => weight === b[i]);
  if (isLast) return tableau;
  return {
    ...tableau,
    c: [...c, 1],
    a: [...a, b],
    b: [...b, 0],
    error: [...error, 0],
    middle: middle && [...middle, 0],
  };
}

/** Adds default weights for the state in the middle: the cubic polynomial through both ends and their slopes. */
function withMiddle(tableau: EmbeddedTableau): EmbeddedMethod {
  const last = tableau.b.length - 1;
  const cubic = tableau.b.map((weight, i) => weight / 2 + (i === 0 ? 1 / 8 : i === last ? -1 / 8 : 0));
  return { ...tableau, middle: tableau.middle ?? cubic };
}
