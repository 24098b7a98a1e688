import { broadcastShapes, formatShape, ShapeError, sizeOf } from "../../device/shape.ts";
import { liftTogether } from "../broadcast.ts";
import { checkTensor } from "../checks.ts";
import { apply } from "../primitive.ts";
import * as linear from "../primitives/linear_algebra.ts";
import type { Tensor } from "../tensor.ts";

/** The matrix product of {@linkcode Tensor}. */
export const linearAlgebraMethods = {
  matmul(other) {
    checkTensor("matmul: the right side", other);
    if (this.rank === 0 || other.rank === 0) throw new ShapeError("matmul: a scalar has no rows or columns");
    if (this.rank === 1) return this.expandDims(0).matmul(other).squeeze(other.rank === 1 ? 0 : -2);
    if (other.rank === 1) return this.matmul(other.expandDims(1)).squeeze(-1);
    const [m, k, n] = [...this.shape.slice(-2), other.shape.at(-1)!];
    if (k !== other.shape.at(-2)) {
      throw new ShapeError(
        `matmul: shapes ${formatShape(this.shape)} and ${formatShape(other.shape)} do not fit together: ` +
          `${k} columns on the left, ${other.shape.at(-2)} rows on the right`,
      );
    }
    if (other.rank === 2) {
      // One product for all leading axes. The gradient of the right matrix is then also one product.
      return apply(linear.matmul, [this.reshape([sizeOf(this.shape.slice(0, -1)), k]), other], undefined)
        .reshape([...this.shape.slice(0, -1), n]);
    }
    const batch = broadcastShapes([this.shape.slice(0, -2), other.shape.slice(0, -2)], "matmul");
    const [a, b] = liftTogether([this, other]);
    return apply(
      linear.matmul,
      [a.broadcastTo([...batch, m, k]), b.broadcastTo([...batch, other.shape.at(-2)!, n])],
      undefined,
    );
  },
} satisfies Partial<Tensor> & ThisType<Tensor>;
