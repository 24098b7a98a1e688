import { checkOptions, namesOf } from "../../device/options.ts";
import type { DType } from "../../device/dtype.ts";
import { checkCount, parameterOf, type ParameterTree } from "../../nn/layer.ts";
import { checkWord } from "../../tensor/checks.ts";
import { eye, ones, tensor, zeros } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { type Key, normal } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";

const transitionOptionNames = namesOf<
  { blocks?: number; rank?: number; initialization?: WARPTransitionInitialization }
>()("blocks? rank? initialization?");

const planesPlusLowRankNames = namesOf<{ diagonal: "planes"; rank: number }>()("diagonal rank");

/**
 * The initial A. `"identity"` (default) is the paper's. `"rotation"` extends the paper: plane rotations by
 * angles that are spread evenly over (0, pi). With A = I all elements A^l B of the convolution kernel are
 * equal, so the states cannot tell the steps of a series apart until training spreads the eigenvalues of A.
 * With rotations all eigenvalues lie on the unit circle from the start, at D different points, so the state
 * keeps its norm and each step has its own direction.
 */
export type WARPTransitionInitialization = "identity" | "rotation";

/**
 * The form of the D by D state transition A:
 *
 * - `"dense"` or `{ initialization }`: any matrix, initially the identity.
 * - `"diagonal"`: D numbers, initially ones.
 * - `"planes"`: a rotation and a scale in each of D / 2 planes, initially rotations by angles that are spread
 *   evenly over (0, pi). This is a complex diagonal matrix. It has D parameters, and a step costs 2 D
 *   multiplications. The paper does not have this form.
 * - `{ blocks, initialization }`: this number of equal blocks on the diagonal, initially identities. The
 *   number must divide D.
 * - `{ rank, initialization }`: P A~ Q with P (D, rank), A~ (rank, rank) and Q (rank, D). Initially P = Q^T,
 *   the rows of Q are orthonormal, and A~ is the identity, so A is the projection onto `rank` random
 *   directions.
 * - `{ diagonal: "planes", rank }`: planes plus P Q with P (D, rank) and Q (rank, D). Initially P is zero. A
 *   step costs 2 D (1 + rank) multiplications. The paper does not have this form.
 *
 * `initialization` is that of A, of each block, or of A~.
 */
export type WARPTransitionOptions =
  | "dense"
  | "diagonal"
  | "planes"
  | { initialization: WARPTransitionInitialization }
  | { blocks: number; initialization?: WARPTransitionInitialization }
  | { rank: number; initialization?: WARPTransitionInitialization }
  | { diagonal: "planes"; rank: number };

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
  if (form === "dense") return makeDense("identity", size, dtype);
  if (form === "planes") return makePlanes(size, dtype);
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
      `WARP: transition is "${form}", expected "dense", "diagonal", "planes", { initialization }, ` +
        "{ blocks }, { rank } or { diagonal, rank }",
    );
  }
  if (form !== null && "diagonal" in form) {
    checkOptions("WARP: transition", form, planesPlusLowRankNames);
    checkWord("WARP", "transition.diagonal", form.diagonal, ["planes"]);
    return makePlanesPlusLowRank(form.rank, size, key, dtype);
  }
  checkOptions("WARP: transition", form, transitionOptionNames);
  const { initialization = "identity" } = form;
  checkWord("WARP", "transition.initialization", initialization, ["identity", "rotation"]);
  if ("blocks" in form) return makeBlockDiagonal(form.blocks, initialization, size, dtype);
  if ("rank" in form) return makeLowRank(form.rank, initialization, size, key, dtype);
  return makeDense(initialization, size, dtype);
}

function makeDense(initialization: WARPTransitionInitialization, size: number, dtype: DType): Transition {
  const A = parameterOf(() => initialBlocks(initialization, 1, size, dtype).squeeze(0));
  return {
    parameters: A,
    first: A,
    apply: (rows, power) => rows.matmul(power.mT),
    square: (power) => power.matmul(power),
    applyCost: size ** 2,
    squareCost: size ** 3,
  };
}

/** Initial blocks, `(blocks, side, side)`. */
function initialBlocks(
  initialization: WARPTransitionInitialization,
  blocks: number,
  side: number,
  dtype: DType,
): Tensor {
  if (initialization === "identity") return eye(side, { dtype }).broadcastTo([blocks, side, side]);
  const half = Math.floor(side / 2);
  const angles = planeAngles(blocks * half);
  const values = new Float64Array(blocks * side * side);
  for (let block = 0; block < blocks; block++) {
    const put = (row: number, column: number, value: number) => {
      values[(block * side + row) * side + column] = value;
    };
    for (let i = 0; i < half; i++) {
      // Neighbouring angles go to different blocks, so that each block covers (0, pi).
      const angle = angles[i * blocks + block];
      put(i, i, Math.cos(angle));
      put(i, half + i, -Math.sin(angle));
      put(half + i, i, Math.sin(angle));
      put(half + i, half + i, Math.cos(angle));
    }
    if (side % 2 === 1) put(side - 1, side - 1, 1);
  }
  return tensor(values, { shape: [blocks, side, side], dtype });
}

/** Angles at equal distances in (0, pi). */
function planeAngles(count: number): number[] {
  return Array.from({ length: count }, (_, i) => Math.PI * (i + 0.5) / count);
}

/**
 * A complex diagonal matrix. Plane i has the weights i and i + half with half = floor(D / 2). If D is odd, the
 * last weight is multiplied by a real number. A power is a vector `(D)`: the real parts, then the imaginary
 * parts.
 */
function makePlanes(size: number, dtype: DType): Transition {
  const half = Math.floor(size / 2);
  const angles = planeAngles(half);
  const last = size % 2 === 1 ? [1] : [];
  const a = parameterOf(() => tensor([...angles.map(Math.cos), ...last, ...angles.map(Math.sin)], { dtype }));
  const partsOf = (power: Tensor) => [power.slice(0, 0, size - half), power.slice(0, size - half)];
  return {
    parameters: a,
    first: a,
    apply(rows, power) {
      const [real, imaginary] = partsOf(power);
      const [x, y] = [rows.slice(1, 0, half), rows.slice(1, half, 2 * half)];
      const kept = rows.mul(concatenate([real.slice(0, 0, half), real]));
      const turned = concatenate([y.mul(imaginary).neg(), x.mul(imaginary)], 1);
      return kept.add(turned.pad([[0, 0], [0, size % 2]]));
    },
    square(power) {
      const [real, imaginary] = partsOf(power);
      const squares = real.square().sub(imaginary.square().pad([[0, size % 2]]));
      return concatenate([squares, real.slice(0, 0, half).mul(imaginary).mul(2)]);
    },
    applyCost: 2 * size,
    squareCost: 2 * size,
  };
}

function makeBlockDiagonal(
  blocks: number,
  initialization: WARPTransitionInitialization,
  size: number,
  dtype: DType,
): Transition {
  checkCount("WARP", "transition.blocks", blocks);
  if (size % blocks !== 0) {
    throw new RangeError(
      `WARP: transition.blocks is ${blocks}, which does not divide the state's ${size} weights; ` +
        `${divisorsNear(blocks, size).join(" and ")} do`,
    );
  }
  const side = size / blocks;
  const A = parameterOf(() => initialBlocks(initialization, blocks, side, dtype));
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

function makeLowRank(
  rank: number,
  initialization: WARPTransitionInitialization,
  size: number,
  key: Key,
  dtype: DType,
): Transition {
  checkCount("WARP", "transition.rank", rank);
  if (rank > size) {
    throw new RangeError(`WARP: transition.rank is ${rank}, expected at most the state's ${size} weights`);
  }
  const Q = parameterOf(() => orthonormalRows(rank, size, key, dtype));
  const P = parameterOf(() => Q.mT);
  const core = parameterOf(() => initialBlocks(initialization, 1, rank, dtype).squeeze(0));
  return {
    parameters: { P, core, Q },
    first: core,
    apply: (rows, power) => rows.matmul(Q.mT).matmul(power.mT).matmul(P.mT),
    square: (power) => power.matmul(Q.matmul(P)).matmul(power),
    applyCost: 2 * rank * size + rank ** 2,
    squareCost: rank ** 2 * size + 2 * rank ** 3,
  };
}

/** Rows of a cosine transform whose columns have random signs: `(rows, columns)`. */
function orthonormalRows(rows: number, columns: number, key: Key, dtype: DType): Tensor {
  const values = Float64Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    return Math.sqrt(2 / columns) * Math.cos(Math.PI * (row + 0.5) * (column + 0.5) / columns);
  });
  return tensor(values, { shape: [rows, columns], dtype }).mul(normal(key, [columns], { dtype }).sign());
}

/**
 * L + P Q with planes L. A power of rank R is a tensor `(D, 1 + 2 R)`: the numbers of the planes, the columns of P
 * and the rows of Q. (L + P Q)^2 = L^2 + (L P + P Q P) Q + P (Q L), so each squaring doubles the rank.
 */
function makePlanesPlusLowRank(rank: number, size: number, key: Key, dtype: DType): Transition {
  checkCount("WARP", "transition.rank", rank);
  const planes = makePlanes(size, dtype);
  const a = parameterOf(() =>
    concatenate([
      planes.first.expandDims(1),
      zeros([size, rank], { dtype }),
      normal(key, [size, rank], { standardDeviation: size ** -0.5, dtype }),
    ], 1)
  );
  const partsOf = (power: Tensor) => {
    const end = (power.shape[1] + 1) / 2;
    return [power.select(1, 0), power.slice(1, 1, end), power.slice(1, end)];
  };
  const reals = Math.ceil(size / 2);
  return {
    parameters: a,
    first: a,
    apply(rows, power) {
      const [L, P, Q] = partsOf(power);
      return planes.apply(rows, L).add(rows.matmul(Q).matmul(P.mT));
    },
    square(power) {
      const [L, P, Q] = partsOf(power);
      const transposed = concatenate([L.slice(0, 0, reals), L.slice(0, reals).neg()]);
      const LP = planes.apply(P.mT, L).mT;
      const QL = planes.apply(Q.mT, transposed).mT;
      return concatenate([planes.square(L).expandDims(1), LP.add(P.matmul(Q.mT.matmul(P))), P, Q, QL], 1);
    },
    applyCost: 2 * size * (1 + rank),
    // Repeated application of A is cheaper than any power of larger rank. Costs multiply this by 0, so it is finite.
    squareCost: Number.MAX_VALUE,
  };
}

/** The nearest divisors of `size` below and above `count`. */
function divisorsNear(count: number, size: number): number[] {
  const divisors = Array.from({ length: size }, (_, i) => i + 1).filter((divisor) => size % divisor === 0);
  const above = divisors.find((divisor) => divisor > count);
  return [divisors.filter((divisor) => divisor < count).at(-1), above].filter((n) => n !== undefined);
}
