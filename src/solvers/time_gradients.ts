/** Gradients of a solution with respect to the first time and the output times. */
import { stack, stopGradient } from "../tensor/functions.ts";
import { full } from "../tensor/creation.ts";
import { hostTimes } from "../tensor/host.ts";
import { derivativeOrder, isWatched, withoutRecording } from "../tensor/primitive.ts";
import { tidy } from "../tensor/scope.ts";
import { Tensor } from "../tensor/tensor.ts";

/** Output times on the host, and as a tensor if a gradient with respect to them is being computed. */
export interface SolveTimes {
  readonly host: Float64Array;
  readonly watched?: Tensor;
}

/**
 * Reads output times.
 *
 * @throws {Error} If gradients with respect to the times are of an order above one.
 */
export function solveTimes(t: Tensor | ArrayLike<number>, operation: string, name = "t"): SolveTimes {
  if (!(t instanceof Tensor) || !isWatched(t)) return { host: hostTimes(t, `${operation}: ${name}`) };
  const orders = derivativeOrder();
  if (orders > 1) {
    throw new Error(
      `${operation}: gradients of order ${orders} are requested, times have gradients of order 1; ` +
        `pass stopGradient(${name}), or do not nest gradients`,
    );
  }
  return { host: hostTimes(stopGradient(t), `${operation}: ${name}`), watched: t };
}

/**
 * Solves an equation dy/dt = f(t, y) so that gradients flow to its times. A later output time t_j moves the state by
 * f(t_j, y_j). A later first time t_0 starts the solution at a point that it left before: the state at the old t_0 is y_0 - f(t_0,
 * y_0) dt. So dL/dt_0 = -a . f(t_0, y_0) with a = dL/dy_0. This is equation 6 of Kidger et al., 2020, integrated by parts,
 * and needs no second derivative of a control.
 *
 * The values of the solution do not change. The gradients are those of the exact solution, with the accuracy of the
 * solution; those of the discrete steps differ by their error.
 *
 * @param times Times for the vector field, on the host: times since its origin.
 * @param watched The times with a gradient, `(length)`.
 * @param ownTimes Whether the vector field receives one time for each sample.
 * @param solve Returns the states `(length, ...y0.shape)`.
 */
export function withTimeGradients(
  f: (t: Tensor, y: Tensor) => Tensor,
  y0: Tensor,
  times: Float64Array,
  watched: Tensor,
  ownTimes: boolean,
  solve: (y0: Tensor) => Tensor,
): Tensor {
  const { dtype } = y0;
  const shape = ownTimes ? y0.shape.map((length, axis) => axis === 0 ? length : 1) : [];
  const slopeAt = (time: number, y: Tensor) => f(full(shape, time, { dtype }), y);
  // Zeros, whose gradient flows to the times.
  const moves = watched.sub(stopGradient(watched)).cast(dtype).reshape([
    times.length,
    ...y0.shape.map(() => 1),
  ]);
  const first = withoutRecording(() => tidy(() => slopeAt(times[0], y0)));
  const states = solve(y0.sub(first.mul(moves.select(0, 0))));
  const slopes = withoutRecording(() =>
    tidy(() => stack(Array.from(times, (time, j) => slopeAt(time, states.select(0, j)))))
  );
  return states.add(slopes.mul(moves));
}
