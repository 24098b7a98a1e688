import { checkOptions, type OptionNames } from "../../device/options.ts";
import type { DType } from "../../device/dtype.ts";
import { checkCount, parameterOf, type ParameterTree } from "../../nn/layer.ts";
import { eye, ones } from "../../tensor/creation.ts";
import { type Key, normal } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";

const transitionOptionNames: OptionNames<{ blocks?: number; rank?: number }> = {
  blocks: "optional",
  rank: "optional",
};

/**
 * The form of the D by D state transition A:
 *
 * - `"dense"`: any matrix, initially the identity.
 * - `"diagonal"`: D numbers, initially ones.
 * - `{ blocks }`: this number of equal blocks on the diagonal, initially identities. The number must divide
 *   D.
 * - `{ rank }`: P A~ Q with P (D, rank), A~ (rank, rank) and Q (rank, D), initially close to the projection
 *   onto `rank` random directions.
 */
export type WARPTransitionOptions = "dense" | "diagonal" | { blocks: number } | { rank: number };

/**
 * A linear map of states, and its powers. Each form has a tensor that represents a power A^p, so algorithms
 * on powers work for every form.
 */
export interface Transition {
  readonly parameters: ParameterTree;
  /** The representation of A. */
  readonly first: Tensor;
  /** Returns A^p theta for each row theta of `(rows, D)`. */
  apply(rows: Tensor, power: Tensor): Tensor;
  /** Returns the representation of A^2p. */
  square(power: Tensor): Tensor;
  /** Multiplications of `apply` for one row. */
  readonly applyCost: number;
  /** Multiplications of `square`. */
  readonly squareCost: number;
}

/** The initial transition. @throws {RangeError} If the number of blocks does not divide the state's size. */
export function makeTransition(
  form: WARPTransitionOptions,
  size: number,
  key: Key,
  dtype: DType,
): Transition {
  if (form === "dense") {
    const A = parameterOf(() => eye(size, { dtype }));
    return {
      parameters: A,
      first: A,
      apply: (rows, power) => rows.matmul(power.mT),
      square: (power) => power.matmul(power),
      applyCost: size ** 2,
      squareCost: size ** 3,
    };
  }
  if (form === "diagonal") {
    const a = parameterOf(() => ones([size], { dtype }));
    return {
      parameters: a,
      first: a,
      apply: (rows, power) => rows.mul(power),
      square: (power) => power.square(),
      applyCost: size,
      squareCost: size,
    };
  }
  if (typeof form !== "object") {
    throw new RangeError(
      `WARP: transition is "${form}", expected "dense", "diagonal", { blocks } or { rank }`,
    );
  }
  checkOptions("WARP: transition", form, transitionOptionNames);
  if ("blocks" in form) return makeBlockDiagonal(form.blocks, size, dtype);
  return makeLowRank(form.rank, size, key, dtype);
}

function makeBlockDiagonal(blocks: number, size: number, dtype: DType): Transition {
  checkCount("WARP", "transition.blocks", blocks);
  if (size % blocks !== 0) {
    throw new RangeError(
      `WARP: transition.blocks is ${blocks}, which does not divide the state's ${size} weights; ` +
        `${divisorsNear(blocks, size).join(" and ")} do`,
    );
  }
  const side = size / blocks;
  const A = parameterOf(() => eye(side, { dtype }).broadcastTo([blocks, side, side]));
  return {
    parameters: A,
    first: A,
    apply: (rows, power) =>
      power.matmul(rows.reshape([rows.shape[0], blocks, side, 1])).reshape([rows.shape[0], size]),
    square: (power) => power.matmul(power),
    applyCost: blocks * side ** 2,
    squareCost: blocks * side ** 3,
  };
}

function makeLowRank(rank: number, size: number, key: Key, dtype: DType): Transition {
  checkCount("WARP", "transition.rank", rank);
  if (rank > size) {
    throw new RangeError(`WARP: transition.rank is ${rank}, expected at most the state's ${size} weights`);
  }
  // Random directions are nearly orthogonal, so Q P is close to the identity.
  const Q = parameterOf(() => normal(key, [rank, size], { standardDeviation: size ** -0.5, dtype }));
  const P = parameterOf(() => Q.mT);
  const core = parameterOf(() => eye(rank, { dtype }));
  return {
    parameters: { P, core, Q },
    first: core,
    apply: (rows, power) => rows.matmul(Q.mT).matmul(power.mT).matmul(P.mT),
    square: (power) => power.matmul(Q.matmul(P)).matmul(power),
    applyCost: 2 * rank * size + rank ** 2,
    squareCost: rank ** 2 * size + 2 * rank ** 3,
  };
}

/** The nearest divisors of `size` below and above `count`. */
function divisorsNear(count: number, size: number): number[] {
  const divisors = Array.from({ length: size }, (_, i) => i + 1).filter((divisor) => size % divisor === 0);
  const above = divisors.find((divisor) => divisor > count);
  return [divisors.filter((divisor) => divisor < count).at(-1), above].filter((n) => n !== undefined);
}
