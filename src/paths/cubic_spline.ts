import { displaySymbol, type MimeBundle } from "../charts/display_symbol.ts";
import { refuseShape } from "../device/shape.ts";
import { checkTensor } from "../tensor/checks.ts";
import { concatenate } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Grid, locate, makeGrid, sharedTimes, timesSince } from "./piece_grid.ts";
import { checkPathOptions, isCausal, type Path, type PathOptions, type Side } from "./path.ts";
import { gapsOf, readTimeline, type Times } from "./times.ts";

/** A path of cubic pieces, from {@linkcode naturalCubicCoeffs} or {@linkcode hermiteCubicCoeffs}, as in torchcde. */
export interface CubicSpline extends Path {
  /**
   * The same curve on the grid 0, 1, ..., length - 1: each piece takes one unit of time. It gives a common grid to series with
   * different times. If the vector field of a controlled differential equation does not depend on time, the solution does not
   * change (Kidger et al., 2020: invariance under reparametrisation).
   */
  reparametrize(): CubicSpline;
  /** The same path with times relative to an origin. */
  since(origin: number): CubicSpline;
}

class CubicPieces implements CubicSpline {
  readonly causal: boolean;
  readonly #grid: Grid;
  readonly #coeffs: Tensor;

  constructor(coeffs: Tensor, t?: Times, options: PathOptions = {}) {
    checkTensor("CubicSpline: coefficients", coeffs);
    if (coeffs.rank < 2 || coeffs.shape.at(-1)! % 4 !== 0) {
      refuseShape("CubicSpline: coefficients", coeffs.shape, "(..., length - 1, 4 * channels)");
    }
    const lengths = [...coeffs.shape.slice(0, -2), coeffs.shape.at(-2)! + 1];
    this.#coeffs = coeffs;
    this.#grid = makeGrid(readTimeline(t, lengths, "CubicSpline"), coeffs.dtype);
    this.causal = isCausal(coeffs, options);
  }

  get gridPoints(): Tensor {
    return this.#grid.gridPoints;
  }

  get interval(): Tensor {
    return this.#grid.interval;
  }

  get times(): Float64Array {
    return sharedTimes(this.#grid);
  }

  evaluate(t: Tensor | number | ArrayLike<number>): Tensor {
    const { terms: [a, b, twoC, threeD], elapsed } = this.#piece(t, "left");
    return threeD.mul(elapsed).mul(1 / 3).add(twoC.mul(0.5)).mul(elapsed).add(b).mul(elapsed).add(a);
  }

  derivative(t: Tensor | number | ArrayLike<number>, side: Side = "left"): Tensor {
    const { terms: [_a, b, twoC, threeD], elapsed } = this.#piece(t, side);
    return threeD.mul(elapsed).add(twoC).mul(elapsed).add(b);
  }

  reparametrize(): CubicSpline {
    const gaps = gapsOf(this.#grid.timeline, this.#coeffs.dtype);
    const [a, b, twoC, threeD] = termsOf(this.#coeffs);
    const squared = gaps.square();
    const scaled = [a, b.mul(gaps), twoC.mul(squared), threeD.mul(squared).mul(gaps)];
    return new CubicPieces(concatenate(scaled, a.rank - 1), undefined, this);
  }

  since(origin: number): CubicSpline {
    return new CubicPieces(this.#coeffs, timesSince(this.#grid, origin), this);
  }

  async [displaySymbol](): Promise<MimeBundle> {
    const { displayPath } = await import("./display_path.ts");
    return await displayPath(this);
  }

  #piece(t: Tensor | number | ArrayLike<number>, side: Side) {
    const { pick, elapsed } = locate(this.#grid, t, this.#coeffs.shape.slice(0, -2), side);
    return { terms: termsOf(pick(this.#coeffs)), elapsed };
  }
}

/**
 * Makes a path of coefficients.
 *
 * @example
 * ```ts
 * import { CubicSpline, naturalCubicCoeffs, tensor } from "@weft/weft";
 *
 * const t = [0, 0.5, 2];
 * const X = CubicSpline(naturalCubicCoeffs(tensor([[0], [1], [4]]), t), t);
 * console.log(`${X.evaluate(1)} ${X.derivative(1)}`);
 * ```
 *
 * @param coeffs `(..., length - 1, 4 * channels)`.
 * @param t The times that the coefficients were computed with: `(length,)`, or a row per series `(..., length)`; 0, 1, ... by
 * default.
 * @throws {ShapeError} If the last axis is not a multiple of four, or there are not as many pieces as gaps between times.
 */
export function CubicSpline(coeffs: Tensor, t?: Times, options?: PathOptions): CubicSpline {
  checkPathOptions("CubicSpline", options);
  return new CubicPieces(coeffs, t, options);
}

/** [a, b, 2c, 3d]. */
function termsOf(rows: Tensor): Tensor[] {
  const channels = rows.shape.at(-1)! / 4;
  return [0, 1, 2, 3].map((i) => rows.slice(-1, i * channels, (i + 1) * channels));
}
