import { checkOptions, namesOf } from "../../device/options.ts";
import type { ParameterTree } from "../../nn/layer.ts";
import { checkWord } from "../../tensor/checks.ts";
import type { Tree } from "../../tensor/tree.ts";
import {
  Forecaster,
  forecasterBaseOptionNames,
  type ForecasterBaseOptions,
  type ForecasterModel,
} from "../forecaster.ts";
import { lruLayers } from "./lru.ts";
import { mambaLayers } from "./mamba.ts";
import { s4dLayers } from "./s4d.ts";
import { s5Layers } from "./s5.ts";
import {
  stack,
  type StackParameters,
  type StateSpaceModel,
  stateSpaceSizeNames,
  type StateSpaceSizes,
} from "./stack.ts";

/** Options of {@linkcode StateSpaceForecaster}. */
export interface StateSpaceForecasterOptions extends ForecasterBaseOptions, StateSpaceSizes {
  /** The kind of layers: those of `S4D`, `LRU`, `S5` or `Mamba`. */
  cell: "s4d" | "lru" | "s5" | "mamba";
  /** State size, as the chosen kind of layer defines it. */
  stateSize?: number;
}

const stateSpaceForecasterOptionNames = namesOf<StateSpaceForecasterOptions>()(
  forecasterBaseOptionNames,
  stateSpaceSizeNames,
  "cell stateSize?",
);

const kinds = { s4d: s4dLayers, lru: lruLayers, s5: s5Layers, mamba: mambaLayers };

/**
 * State space models with a diagonal transition that forecast a sequence value by value, like
 * `RecurrentForecaster`. If all values are given (`forcing: 1`, or a context of the full length), a parallel
 * scan reads them at once.
 *
 * @example
 * ```ts
 * import { key, normal, StateSpaceForecaster } from "@weft/weft";
 *
 * const model = StateSpaceForecaster({ cell: "s4d", channels: 2, modelDim: 16, key: key(0) });
 * const x = normal(key(1), [32, 50, 2]);
 * model(x, { context: 10 }).shape; // (32, 50, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer, `cell` is unknown, or `context` is out of range.
 */
export function StateSpaceForecaster(
  forecasterOptions: StateSpaceForecasterOptions,
): ForecasterModel<Omit<StateSpaceModel["parameters"], "readout">> {
  const name = "StateSpaceForecaster";
  checkOptions(name, forecasterOptions, stateSpaceForecasterOptionNames);
  const { cell, modelDim, layers, stateSize, ...options } = forecasterOptions;
  checkWord(name, "cell", cell, Object.keys(kinds));
  const sizes = { modelDim, layers, stateSize, dtype: options.dtype };
  return Forecaster<readonly Tree[], StackParameters & Record<string, ParameterTree | undefined>>(
    name,
    (inputs, key) => stack(name, { ...sizes, inputs, key }, kinds[cell](sizes)),
    options,
  );
}
