/**
 * Models along log-signatures of windows: an initial condition, an equation that each window drives, and a
 * readout.
 */
import { checkOptions, type OptionNames } from "../../device/options.ts";
import { refuseShape } from "../../device/shape.ts";
import { hiddenLayerNames, type HiddenLayers } from "../../nn/mlp.ts";
import { checkCount, layer, type ParameterTree } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { checkPath, type Path } from "../../paths/path.ts";
import { moveTimeAxis } from "../../solvers/controlled.ts";
import { rdeint } from "../../solvers/rdeint.ts";
import type { Key } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import {
  type AlongPathModel,
  checkSlopeScale,
  controlledOptionNames,
  type ControlledOptions,
  scaled,
} from "../along_path.ts";
import { modelSolver } from "../model_solver.ts";
import { pathCallNames, type ReadoutOptions, solveAndRead } from "../readout_states.ts";
import { type StaticFeaturesCallOptions, StaticState } from "../static_features.ts";

/** Options that models along windows share. The hidden layers are those of the vector field. */
export interface WindowedOptions extends ControlledOptions, HiddenLayers {}

export const windowedOptionNames: OptionNames<WindowedOptions> = {
  ...controlledOptionNames,
  ...hiddenLayerNames,
};

/**
 * A model along windows. It maps a path to `(batch, outputChannels)`, or to `(batch, windows + 1,
 * outputChannels)` for all states.
 */
export type WindowedModel = AlongPathModel;

/** The vector field of a model along windows. */
interface WindowedField {
  readonly parameters: ParameterTree;
  /** Number of values in a log-signature. */
  readonly words: number;
  /** dz/ds `(..., hidden)` of states `(..., hidden)` in a window with log-signature `(..., words)`. */
  slope(logsignature: Tensor, z: Tensor): Tensor;
}

/**
 * Makes a model along windows. z(t0) is linear in the first observation, and the output is linear in z.
 *
 * @param keys Random keys of the initial condition, of the network of static features, and of the readout.
 */
export function AlongWindows(
  name: string,
  { inputChannels, hiddenChannels, outputChannels, width: _, depth: __, ...rest }: WindowedOptions,
  keys: { initial: Key; staticFeatures: Key; readout: Key },
  vectorField: WindowedField,
): WindowedModel {
  const { staticFeatures, key: ___, dtype, slopeScale = 1, ...solver } = rest;
  checkSlopeScale(name, slopeScale);
  const slope: WindowedField["slope"] = (word, z) => scaled(vectorField.slope(word, z), slopeScale);
  checkCount(name, "hiddenChannels", hiddenChannels);
  const initial = Linear({ inputs: inputChannels, outputs: hiddenChannels, key: keys.initial, dtype });
  const ofStatic = StaticState(name, staticFeatures, {
    ...{ outputs: hiddenChannels, key: keys.staticFeatures, dtype },
  });
  const readout = Linear({ inputs: hiddenChannels, outputs: outputChannels, key: keys.readout, dtype });
  const parameters = {
    initial: initial.parameters,
    ...ofStatic.parameters,
    vectorField: vectorField.parameters,
    readout: readout.parameters,
  };
  return layer(parameters, (X: Path, call: ReadoutOptions & StaticFeaturesCallOptions = {}) => {
    checkPath(name, X);
    checkOptions(name, call, pathCallNames);
    const x0 = X.evaluate(X.times[0]);
    if (x0.shape.at(-1) !== vectorField.words) {
      const expected = `(..., ${vectorField.words}), the words of ${inputChannels} channels`;
      refuseShape(`${name}: the path has values`, x0.shape, expected);
    }
    const z0 = ofStatic.addTo(initial(x0.slice(-1, 0, inputChannels)), call.staticFeatures);
    return solveAndRead(name, X, call, readout, (times) => {
      const z = rdeint(X, slope, z0, times, modelSolver(solver));
      return moveTimeAxis(z, z.rank - 2);
    });
  });
}
