/** The solution of an equation as a function of time. */
import { formatShape, ShapeError } from "../device/shape.ts";
import { tensor } from "../tensor/creation.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { readAt, type Trajectory } from "./adaptive/trajectory.ts";
import type { PackedState } from "./packed_state.ts";

/** Times: one, a vector, or times of each sample `(batch, times)`. */
export type DenseTimes = Tensor | number | ArrayLike<number> | readonly (readonly number[])[];

/**
 * A solution at any time. Gradients flow to the times, the first state and all that the vector field closes over. Before and after
 * the interval the polynomials of the first and the last step continue. States after a failed step are NaN.
 */
export interface DenseSolution<S extends Tree> {
  /** The states: of the shape of the first state for one time, otherwise with the times as first axis. */
  evaluate(t: DenseTimes): S;
  /** The derivatives of {@linkcode evaluate} by time. They are about one order less accurate. */
  derivative(t: DenseTimes): S;
  /**
   * The interpolants.
   *
   * @internal
   */
  readonly support: Tensor;
}

/** The solution along a trajectory whose times are relative to an origin. */
export function denseSolution<S extends Tree>(
  trajectory: Trajectory,
  state: PackedState<S>,
  origin: number,
): DenseSolution<S> {
  const { y0 } = state;
  const read = (times: DenseTimes, isDerivative: boolean): S => {
    const t = timesOf(times, y0, origin);
    const y = readAt(trajectory, y0, t.rank === 0 ? t.reshape([1]) : t, isDerivative);
    return t.rank === 0 ? state.unpack(y.select(0, 0)) : state.unpack(y, 1);
  };
  return {
    evaluate: (t) => read(t, false),
    derivative: (t) => read(t, true),
    support: trajectory.support,
  };
}

/** @throws {ShapeError} If times of each sample do not fit the state. */
function timesOf(times: DenseTimes, { shape, dtype }: Tensor, origin: number): Tensor {
  const shifted = (t: number) => t - origin;
  const isNested = !(times instanceof Tensor) && Array.isArray((times as readonly unknown[])[0]);
  const t = times instanceof Tensor
    ? origin === 0 ? times.cast(dtype) : times.sub(origin).cast(dtype)
    : typeof times === "number"
    ? tensor(shifted(times), { dtype })
    : isNested
    ? tensor((times as readonly number[][]).map((row) => row.map(shifted)), { dtype })
    : tensor(Float64Array.from(times as ArrayLike<number>, shifted), { dtype });
  if (t.rank < 2 || t.rank === 2 && shape.length > 0 && t.shape[0] === shape[0]) return t;
  throw new ShapeError(
    `solve: dense times have shape ${
      formatShape(t.shape)
    }, expected one time, a vector, or (batch, times) for a state of ${formatShape(shape)}`,
  );
}
