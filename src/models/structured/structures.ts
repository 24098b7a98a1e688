/** Structured square matrices that are linear in the increments of a control: A(dX) = sum_i dX_i A_i. */
import { checkOptions, namesOf } from "../../device/options.ts";
import type { DType } from "../../device/dtype.ts";
import { checkCount, parameterOf, type ParameterTree } from "../../nn/layer.ts";
import { eye, tensor } from "../../tensor/creation.ts";
import { concatenate, stack } from "../../tensor/functions.ts";
import { type Key, normal, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { sparseShifts } from "./sparse_pattern.ts";

/**
 * The structure of the d by d matrices A_i of Walker et al., 2025:
 *
 * - `"diagonal"`: d numbers. All matrices commute.
 * - `{ blockSize: b }`: d / b blocks of b by b on the diagonal.
 * - `{ rank: r }`: a diagonal plus U_i V_i^T with U_i and V_i of d by r.
 * - `"walsh-hadamard"`: H D_i with a diagonal D_i and the symmetric, orthogonal Hadamard matrix H; d is a power
 *   of two.
 * - `{ density: p }`: p d fixed cyclic diagonals, at random shifts: element (n, n + s mod d) for each shift s.
 *   One of the shifts is 1, so that all elements of the state are connected. The pattern depends on d and p
 *   alone.
 * - `"dense"`: any matrix.
 */
export type MatrixStructure =
  | "diagonal"
  | "walsh-hadamard"
  | "dense"
  | { blockSize: number }
  | { rank: number }
  | { density: number };

/** Matrices of a structure. Coefficients `(..., size)` are those of A(dX), and linear in dX `(..., c)`. */
export interface StructuredMatrices {
  readonly parameters: ParameterTree;
  /** Coefficients of A(dX) of increments `(..., c)`. */
  coefficients(increments: Tensor): Tensor;
  /** A(dX) v of coefficients `(..., size)` and vectors `(..., d)`. */
  apply(coefficients: Tensor, v: Tensor): Tensor;
  /** The blocks of A(dX) on the diagonal, `(..., d / b, b, b)`: one block of d by d if A has no blocks. */
  blocks(coefficients: Tensor): Tensor;
  /**
   * The coefficients of each A_i, `(c, size)`, and the coefficients of products of matrices, for structures that
   * products keep: those whose coefficients are the blocks.
   */
  readonly algebra?: { readonly basis: Tensor; product(a: Tensor, b: Tensor): Tensor };
}

/** Sizes of {@linkcode structuredMatrices}. */
interface Sizes {
  /** Number of increments, c. */
  readonly channels: number;
  /** Size of the matrices, d. */
  readonly size: number;
  /**
   * Standard deviation of the elements of A(dX) v for normal dX and v of variance one, so that `scale` does not
   * depend on sizes.
   */
  readonly scale: number;
  readonly key: Key;
  readonly dtype?: DType;
}

const structureNames = namesOf<{ blockSize?: number; rank?: number; density?: number }>()(
  "blockSize? rank? density?",
);

/**
 * Makes the matrices of a structure.
 *
 * @param name The name of the model, for messages.
 * @throws {RangeError} If the structure is unknown or does not fit the size.
 */
export function structuredMatrices(
  name: string,
  structure: MatrixStructure,
  sizes: Sizes,
): StructuredMatrices {
  const { size } = sizes;
  if (structure === "diagonal") return diagonal(sizes);
  if (structure === "dense") return blockDiagonal(size, sizes);
  if (structure === "walsh-hadamard") {
    if (!Number.isInteger(Math.log2(size))) {
      throw new RangeError(`${name}: stateSize is ${size}, expected a power of two for "walsh-hadamard"`);
    }
    return walshHadamard(sizes);
  }
  if (typeof structure !== "object" || structure === null) {
    throw new RangeError(
      `${name}: structure is "${structure}", expected "diagonal", "walsh-hadamard", "dense", { blockSize }, ` +
        "{ rank } or { density }",
    );
  }
  checkOptions(`${name}: structure`, structure, structureNames);
  if ("blockSize" in structure) {
    const { blockSize } = structure;
    checkCount(name, "structure.blockSize", blockSize);
    if (size % blockSize !== 0) {
      throw new RangeError(
        `${name}: structure.blockSize is ${blockSize}, expected a divisor of stateSize ${size}`,
      );
    }
    return blockSize === 1 ? diagonal(sizes) : blockDiagonal(blockSize, sizes);
  }
  if ("rank" in structure) {
    checkCount(name, "structure.rank", structure.rank);
    return diagonalPlusLowRank(structure.rank, sizes);
  }
  const { density } = structure;
  if (!(density > 0 && density <= 1)) {
    throw new RangeError(`${name}: structure.density is ${density}, expected a number above 0, at most 1`);
  }
  return cyclicDiagonals(sparseShifts(size, density), sizes);
}

/** Coefficients `(c, size)`. @param terms Number of products in the sum of an element of A(dX) v. */
function drawBasis(count: number, terms: number, { channels, scale, key, dtype }: Sizes): Tensor {
  const standardDeviation = scale / Math.sqrt(terms * channels);
  return parameterOf(() => normal(key, [channels, count], { standardDeviation, dtype }));
}

function diagonal(sizes: Sizes): StructuredMatrices {
  const { size: d } = sizes;
  const A = drawBasis(d, 1, sizes);
  return {
    parameters: { A },
    coefficients: (increments) => increments.matmul(A),
    apply: (a, v) => a.mul(v),
    blocks: (a) => a.reshape([...a.shape, 1, 1]),
    algebra: { basis: A, product: (a, b) => a.mul(b) },
  };
}

function blockDiagonal(b: number, sizes: Sizes): StructuredMatrices {
  const count = sizes.size / b;
  const A = drawBasis(count * b * b, b, sizes);
  const blocks = (a: Tensor) => a.reshape([...a.shape.slice(0, -1), count, b, b]);
  return {
    parameters: { A },
    coefficients: (increments) => increments.matmul(A),
    apply: (a, v) => blockProduct(blocks(a), v),
    blocks,
    algebra: { basis: A, product: (p, q) => blocks(p).matmul(blocks(q)).flatten(-3) },
  };
}

/** Products of blocks `(..., n, b, b)` and vectors `(..., n b)`. */
export function blockProduct(blocks: Tensor, v: Tensor): Tensor {
  const [n, b] = blocks.shape.slice(-3);
  const columns = v.reshape([...v.shape.slice(0, -1), n, 1, b]);
  return blocks.mul(columns).sum(-1).flatten(-2);
}

function diagonalPlusLowRank(r: number, sizes: Sizes): StructuredMatrices {
  const { size: d, channels: c, dtype } = sizes;
  const [diagonalKey, leftKey, rightKey] = splitKey(sizes.key, 3);
  const A = drawBasis(d, 2, { ...sizes, key: diagonalKey });
  const draw = (key: Key, variance: number) =>
    parameterOf(() => normal(key, [d, c * r], { standardDeviation: Math.sqrt(variance), dtype }));
  /** Columns of all channels, channel by channel. The product with V v has half of the variance of A(dX) v. */
  const U = draw(leftKey, sizes.scale ** 2 / (2 * c * r));
  const V = draw(rightKey, 1 / d);
  /** dX_i for each column. */
  const weights = (increments: Tensor) =>
    increments.expandDims(-1).broadcastTo([...increments.shape, r]).flatten(-2);
  const split = (a: Tensor) => [a.slice(-1, 0, d), a.slice(-1, d)];
  return {
    parameters: { A, U, V },
    coefficients: (increments) => concatenate([increments.matmul(A), weights(increments)], -1),
    apply(a, v) {
      const [diagonal, weight] = split(a);
      return diagonal.mul(v).add(v.matmul(V).mul(weight).matmul(U.mT));
    },
    blocks(a) {
      const [diagonal, weight] = split(a);
      const onDiagonal = diagonal.expandDims(-1).mul(eye(d, { dtype: a.dtype }));
      return onDiagonal.add(U.mul(weight.expandDims(-2)).matmul(V.mT)).expandDims(-3);
    },
  };
}

function walshHadamard(sizes: Sizes): StructuredMatrices {
  const { size: d } = sizes;
  const D = drawBasis(d, 1, sizes);
  return {
    parameters: { D },
    coefficients: (increments) => increments.matmul(D),
    apply: (a, v) => hadamardTransform(a.mul(v)),
    // H diag(a): column n of H is multiplied by a_n.
    blocks: (a) => hadamardTransform(eye(d, { dtype: a.dtype })).mul(a.expandDims(-2)).expandDims(-3),
  };
}

/** H v of vectors `(..., d)`, d a power of two, by Hadamard's recursion in d log2 d additions. H is orthogonal. */
export function hadamardTransform(v: Tensor): Tensor {
  const shape = v.shape;
  const d = shape.at(-1)!;
  let x = v;
  for (let half = 1; half < d; half *= 2) {
    const pairs = x.reshape([...shape.slice(0, -1), d / (2 * half), 2, half]);
    const [a, b] = [pairs.select(-2, 0), pairs.select(-2, 1)];
    x = stack([a.add(b), a.sub(b)], -2).reshape(shape);
  }
  return x.mul(1 / Math.sqrt(d));
}

function cyclicDiagonals(shifts: readonly number[], sizes: Sizes): StructuredMatrices {
  const { size: d } = sizes;
  const A = drawBasis(shifts.length * d, shifts.length, sizes);
  const roll = (v: Tensor, shift: number) =>
    shift === 0 ? v : concatenate([v.slice(-1, shift), v.slice(-1, 0, shift)], -1);
  const part = (a: Tensor, j: number) => a.slice(-1, j * d, (j + 1) * d);
  const sum = (terms: readonly Tensor[]) => terms.reduce((total, term) => total.add(term));
  /** Ones at the elements (n, n + shift mod d), zeros elsewhere. */
  const pattern = (shift: number, dtype: DType) =>
    tensor(
      Float64Array.from({ length: d * d }, (_, i) => i % d === (Math.floor(i / d) + shift) % d ? 1 : 0),
      {
        shape: [d, d],
        dtype,
      },
    );
  return {
    parameters: { A },
    coefficients: (increments) => increments.matmul(A),
    apply: (a, v) => sum(shifts.map((shift, j) => part(a, j).mul(roll(v, shift)))),
    blocks: (a) =>
      sum(shifts.map((shift, j) => part(a, j).expandDims(-1).mul(pattern(shift, a.dtype)))).expandDims(-3),
  };
}
