import type { ParameterTree } from "../../nn/layer.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { conjugate } from "../../tensor/complex.ts";
import type { DiagonalSystem } from "./system.ts";

/** The matrices of a system that all features drive and read together: `n` complex numbers. */
export interface Projections {
  /** Diagonal of the transition, `(2, n)`. */
  readonly a: Tensor;
  /** Factors of the inputs, `(features, 2, n)`. */
  readonly b: Tensor;
  /** Rows of the output, `(features, 2, n)`, of which the real part is read. */
  readonly c: Tensor;
  /** Factors of an input in its own output, `(features)`. */
  readonly d: Tensor;
}

/** x_t = a x_(t-1) + b u_t, y_t = Re(c x_t) + d u_t with one state of all features, as in LRU and S5. */
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
