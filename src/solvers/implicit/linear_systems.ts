/** Inverses of small matrices, in operations that compiled loops support. */
import type { DType } from "../../device/dtype.ts";
import { arange, eye, full } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Constants of a size of matrices, made once for all matrices of a step. */
export interface Basis {
  /** `(n, n)`. */
  readonly identity: Tensor;
  /** 0, 1, ... n - 1, `(1, n, 1)`. */
  readonly positions: Tensor;
}

/** Makes the constants for matrices `(samples, n, n)`. */
export function basisOf(n: number, dtype: DType): Basis {
  return { identity: eye(n, { dtype }), positions: arange(n, { dtype }).reshape([1, n, 1]) };
}

/**
 * The inverses of matrices `(samples, n, n)`, by Gauss-Jordan elimination with partial pivoting. (Golub, Van Loan, "Matrix
 * Computations", section 3.4.) Rows are not exchanged: a mask has the rows that were pivots. Singular matrices give infinite or NaN
 * elements.
 */
export function invert(matrices: Tensor, { identity, positions }: Basis): Tensor {
  const { shape: [samples, n], dtype } = matrices;
  if (n < 2) return matrices.pow(-1);
  const pivots: Tensor[] = [];
  let isFree = full([samples, n, 1], 1, { dtype: "bool" });
  // The columns that are not yet eliminated, and the columns of the inverse.
  let all = concatenate([matrices, identity.expandDims(0).broadcastTo([samples, n, n])], 2);
  for (let k = 0; k < n; k++) {
    const column = all.slice(2, 0, 1);
    const size = isFree.where(column.abs(), -1);
    // The first of the largest elements.
    const position = size.equal(size.max(1, { keepDims: true })).where(positions, n).min(1, {
      keepDims: true,
    });
    const isPivot = positions.equal(position);
    const pivot = isPivot.cast(dtype);
    const rest = all.slice(2, 1);
    const row = pivot.mT.matmul(rest).div(column.mul(pivot).sum(1, { keepDims: true }));
    all = isPivot.where(row, rest.sub(column.mul(row)));
    isFree = isFree.and(isPivot.not());
    pivots.push(pivot);
  }
  return concatenate(pivots, 2).mT.matmul(all);
}

/** Products of matrices `(samples, n, n)` and vectors `(samples, n)`. */
export function multiply(matrices: Tensor, vectors: Tensor): Tensor {
  return matrices.matmul(vectors.expandDims(-1)).squeeze(-1);
}
