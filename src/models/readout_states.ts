import { namesOf } from "../device/options.ts";
import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { lastRows } from "../paths/columns.ts";
import { checkTensor, checkWord } from "../tensor/checks.ts";
import type { Key } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { staticFeaturesCallNames, type StaticFeaturesCallOptions } from "./static_features.ts";

/** Which states a model reads out. */
export interface ReadoutOptions {
  /**
   * `"final"` (default): the state at the end. `"all"`: the states at every grid point of the control.
   *
   * @default {"final"}
   */
  states?: "final" | "all";
  /**
   * Number of observations of each series, int32 of the control's batch shape, from 1 to the length of the
   * grid, for series of different lengths that were padded to the same length. The final state is then the
   * state at the end of each series. A length out of range gives NaN. Only with `states: "final"`.
   */
  lengths?: Tensor;
}

export const readoutOptionNames = namesOf<ReadoutOptions>()("states? lengths?");

/** Options of a call of a model with dropout. */
export interface SequenceCallOptions extends ReadoutOptions {
  /** Random key of dropout. Giving a key turns dropout on, for training. */
  key?: Key;
}

export const sequenceCallNames = namesOf<SequenceCallOptions>()(readoutOptionNames, "key?");

export const pathCallNames = namesOf<ReadoutOptions & StaticFeaturesCallOptions>()(
  readoutOptionNames,
  staticFeaturesCallNames,
);

/** Throws if readout options contradict each other. */
export function checkReadout(model: string, { states = "final", lengths }: ReadoutOptions): void {
  checkWord(model, "states", states, ["final", "all"]);
  if (states === "all" && lengths) {
    throw new TypeError(`${model}: lengths choose a final state; leave them out with states: "all"`);
  }
}

/**
 * Selects the states that a call asks for from the states `(..., length, features)` at all steps.
 */
export function chooseStates(
  model: string,
  all: Tensor,
  { states = "final", lengths }: ReadoutOptions,
): Tensor {
  if (states === "all") return all;
  return lengths ? statesAtEnd(model, all, lengths) : all.select(-2, -1);
}

/**
 * Returns the state of each series at its last observation.
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
