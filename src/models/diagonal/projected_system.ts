import type { ParameterTree } from "../../nn/layer.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { conjugate } from "../../tensor/complex.ts";
import type { DiagonalSystem } from "./system.ts";

/** The matrices of a system with `n` complex numbers of state that all features share. */
interface Projections {
  /** Diagonal of the transition, `(2, n)`. */
  readonly a: Tensor;
  /** Input matrix, `(features, 2, n)`. */
  readonly b: Tensor;
  /** Output matrix, `(features, 2, n)`. The output is the real part of its product with the state. */
  readonly c: Tensor;
  /** Direct factors from each input to its output, `(features)`. */
  readonly d: Tensor;
}

/**
 * x_t = a x_(t-1) + b u_t, y_t = Re(c x_t) + d u_t, with one state shared by all features, as in LRU and S5.
 */
export function projectedSystem(
  parameters: ParameterTree,
  n: number,
  project: () => Projections,
): DiagonalSystem {
  return {
    parameters,
    state: [2, n],
    complex: true,
    drive(u) {
      const { a, b, c, d } = project();
      return {
        a,
        b: u.matmul(b.flatten(1)).reshape([...u.shape.slice(0, -1), 2, n]),
        read: (x) =>
          x.reshape([...x.shape.slice(0, -2), 2 * n]).matmul(conjugate(c).flatten(1).mT).add(u.mul(d)),
      };
    },
  };
}
