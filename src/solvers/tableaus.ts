/** Butcher tableaus: the coefficients of Runge-Kutta methods, as data. */

/**
 * The coefficients of a Runge-Kutta method. (Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", section
 * II.1.)
 */
export interface RungeKutta<Name extends string = string> {
  /** The name, for messages. */
  readonly name: Name;
  /** The order of convergence. */
  readonly order: number;
  /** Times of the stages as fractions of the step. The first is 0. */
  readonly c: readonly number[];
  /** Row i holds the weights of the stages before stage i + 1. */
  readonly a: readonly (readonly number[])[];
  /** Weights of the stages in the step. */
  readonly b: readonly number[];
}

/**
 * An explicit Runge-Kutta method with fixed steps: k_i = f(t + c_i dt, y + dt sum_j a_ij k_j), y' = y + dt sum_i b_i k_i. The
 * option `method` of a solve accepts a user-defined tableau.
 *
 * @example
 * ```ts
 * import { type ButcherTableau, odeint, tensor } from "@weft/weft";
 *
 * // The strong-stability-preserving method of order 3 by Shu and Osher.
 * const ssp3: ButcherTableau = {
 *   kind: "explicit",
 *   name: "ssp3",
 *   order: 3,
 *   c: [0, 1, 1 / 2],
 *   a: [[1], [1 / 4, 1 / 4]],
 *   b: [1 / 6, 1 / 6, 2 / 3],
 * };
 * const y = odeint((_t, y) => y.neg(), tensor([1]), [0, 1], { method: ssp3, stepSize: 0.1 });
 * console.log(`${y}`);
 * ```
 */
export interface ButcherTableau<Name extends string = string> extends RungeKutta<Name> {
  /** The kind of method. */
  readonly kind: "explicit";
}

/**
 * A pair of explicit Runge-Kutta methods of different orders with the same stages. Their difference estimates the error, from
 * which the next step size follows. The option `method` of a solve accepts a user-defined tableau.
 *
 * @example
 * ```ts
 * import { type EmbeddedTableau, odeint, tensor } from "@weft/weft";
 *
 * // Ralston's method of order 2 with Euler's method for the error.
 * const ralston21: EmbeddedTableau = {
 *   kind: "embedded",
 *   name: "ralston21",
 *   order: 2,
 *   c: [0, 2 / 3],
 *   a: [[2 / 3]],
 *   b: [1 / 4, 3 / 4],
 *   error: [-3 / 4, 3 / 4],
 * };
 * const y = odeint((_t, y) => y.neg(), tensor([1]), [0, 1], { method: ralston21, rtol: 1e-3 });
 * console.log(`${y}`);
 * ```
 */
export interface EmbeddedTableau<Name extends string = string> extends RungeKutta<Name> {
  /** The kind of method. */
  readonly kind: "embedded";
  /** Weights of the stages in the error: `b` minus the weights of the second method. */
  readonly error: readonly number[];
  /**
   * Weights of the stages in the state at the middle of a step, for interpolation. Without them, a step ends at each output
   * time and at an event. Solves with `steps` found for other output times then interpolate with the cubic polynomial through
   * both ends of a step and their slopes.
   */
  readonly middle?: readonly number[];
}

/** A complete embedded tableau. Its last stage is at the end of the step, so that its slope is the first of the next step. */
export type EmbeddedMethod<Name extends string = string> = EmbeddedTableau<Name> & {
  readonly middle: readonly number[];
};

/**
 * A singly diagonally implicit Runge-Kutta method with an explicit first stage (ESDIRK). The last stage is the end of the step.
 * (Hairer, Wanner, "Solving Ordinary Differential Equations II", section IV.6.)
 */
export interface ImplicitTableau<Name extends string = string> extends RungeKutta<Name> {
  readonly kind: "implicit";
  /** Weights of the stages in the error, as of an {@linkcode EmbeddedTableau}. */
  readonly error: readonly number[];
  /** Weights of the stages in the state at the middle of a step, as of an {@linkcode EmbeddedTableau}. */
  readonly middle: readonly number[];
  /** The weight of the slope of each stage, except the first, in the state of the stage. */
  readonly diagonal: number;
  /** The power of the step size in the error. Default: `order`. */
  readonly errorOrder?: number;
}
