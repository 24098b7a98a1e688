import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { lastRows } from "../paths/columns.ts";
import type { Path } from "../paths/path.ts";
import { checkTensor, checkWord } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** The choice of states that a model reads out. */
export interface ReadoutOptions {
  /** `"final"`, the default: the state at the end. `"all"`: those at every grid point of the control. */
  states?: "final" | "all";
  /**
   * Number of observations of each series, int32 of the control's batch shape, from 1 to the length of the grid: for
   * series of different lengths that were padded to one. The final state is then the one at each series' own end; a
   * length out of range gives NaN. Only with `states: "final"`.
   */
  lengths?: Tensor;
}

/** Refuses readout options that contradict each other. */
export function checkReadout(model: string, { states = "final", lengths }: ReadoutOptions): void {
  checkWord(model, "states", states, ["final", "all"]);
  if (states === "all" && lengths) {
    throw new TypeError(`${model}: lengths choose a final state; leave them out with states: "all"`);
  }
}

/**
 * Solves an equation along a control, as far as states are wanted, and reads them out.
 *
 * @param solve The states at some times, `(...batch, times, features)`.
 */
export function solveAndRead(
  model: string,
  X: Path,
  reading: ReadoutOptions,
  readout: (states: Tensor) => Tensor,
  solve: (times: ArrayLike<number>) => Tensor,
): Tensor {
  checkReadout(model, reading);
  const { states = "final", lengths } = reading;
  const everywhere = states === "all" || lengths !== undefined;
  const all = solve(everywhere ? X.times : [X.times[0], X.times[X.times.length - 1]]);
  return readout(chooseStates(model, all, reading));
}

/** The states that a call asks for, of those `(..., length, features)` of all steps, or of the first and the last. */
export function chooseStates(
  model: string,
  all: Tensor,
  { states = "final", lengths }: ReadoutOptions,
): Tensor {
  if (states === "all") return all;
  return lengths ? statesAtEnd(model, all, lengths) : all.at(-2, -1);
}

/**
 * The state of each series at its last observation.
 *
 * @param states `(...batch, length, features)`.
 * @param lengths int32 `(...batch)`.
 * @returns `(...batch, features)`.
 * @throws {ShapeError} If the lengths are not int32 of the batch's shape.
 */
export function statesAtEnd(model: string, states: Tensor, lengths: Tensor): Tensor {
  checkTensor(`${model}: lengths`, lengths);
  const batch = states.shape.slice(0, -2);
  if (lengths.dtype !== "int32" || !sameShape(lengths.shape, batch)) {
    throw new ShapeError(
      `${model}: lengths are ${lengths.dtype} ${formatShape(lengths.shape)}, expected int32 ${
        formatShape(batch)
      }, one for each series`,
    );
  }
  return lastRows(states, lengths);
}
