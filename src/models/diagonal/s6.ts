import { checkOptions, namesOf } from "../../device/options.ts";
import { gatedLayers, GatedLinearUnit } from "./gated_layer.ts";
import { selectiveSystem, selectiveSystemNames, type SelectiveSystemSizes } from "./selective_system.ts";
import {
  type StateSpaceModel,
  stateSpaceModel,
  stateSpaceOptionNames,
  type StateSpaceOptions,
} from "./stack.ts";

/** Options of {@linkcode S6}. */
export interface S6Options extends StateSpaceOptions, SelectiveSystemSizes {}

const s6OptionNames = namesOf<S6Options>()(stateSpaceOptionNames, selectiveSystemNames);

/**
 * Layers of S6 (Gu and Dao, "Mamba: Linear-Time Sequence Modeling with Selective State Spaces", 2023, algorithm
 * 2): the selective state space of a {@linkcode Mamba} without its convolution and gate, in layers like those of an
 * {@linkcode S5}, as Walker et al., 2024, compare S6 with Mamba:
 *
 *     u + GLU(GELU(S6(norm(u)))),   h_t = exp(d_t A) h_(t-1) + d_t B_t x_t,   y_t = C_t h_t + D x_t
 *
 * with a diagonal A, and d, B and C that are functions of x_t.
 *
 * @example
 * ```ts
 * import { key, normal, S6 } from "@weft/weft";
 *
 * const model = S6({ inputChannels: 3, modelDim: 16, outputChannels: 10, layers: 2, key: key(0) });
 * model(normal(key(1), [32, 100, 3])).shape; // (32, 10)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer.
 */
export function S6(options: S6Options): StateSpaceModel {
  checkOptions("S6", options, s6OptionNames);
  const makeSystem = (key: typeof options.key) => selectiveSystem("S6", options.modelDim, options, key);
  return stateSpaceModel("S6", options, gatedLayers(makeSystem, GatedLinearUnit, options));
}
