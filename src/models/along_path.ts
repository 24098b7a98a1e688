/**
 * Models of an equation dh/dt = f(h, X(t)) along a control: an initial condition, a vector field, and a
 * readout.
 */
import { checkOptions, type OptionNames } from "../device/options.ts";
import { refuseShape } from "../device/shape.ts";
import {
  checkCount,
  type Layer,
  layer,
  parameterOptionNames,
  type ParameterOptions,
  type ParameterTree,
} from "../nn/layer.ts";
import { Linear } from "../nn/linear.ts";
import { checkPath, type Path } from "../paths/path.ts";
import {
  cdeSolveOptionNames,
  type CdeSolveOptions,
  moveTimeAxis,
  solveAlong,
} from "../solvers/controlled.ts";
import type { Key } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { modelSolver } from "./model_solver.ts";
import { pathCallNames, type ReadoutOptions, solveAndRead } from "./readout_states.ts";
import {
  type StaticFeaturesCallOptions,
  type StaticFeaturesOptions,
  StaticState,
} from "./static_features.ts";

/** Scale of the slope of a model's state. */
export interface SlopeScale {
  /**
   * Factor of the slope of the state, above 0; 1 by default. With a factor below 1 the state changes less
   * along a long or rough control.
   *
   * @default {1}
   */
  slopeScale?: number;
}

/** Scales a slope. A scale of 1 returns the slope itself. */
export function scaled(slope: Tensor, scale: number): Tensor {
  return scale === 1 ? slope : slope.mul(scale);
}

/** @throws {RangeError} If a scale is not a number above 0. */
export function checkSlopeScale(name: string, scale: number): void {
  if (Number.isFinite(scale) && scale > 0) return;
  throw new RangeError(`${name}: slopeScale is ${scale}, expected a number above 0`);
}

/** Options that models along a control share, including those of the solver. */
export interface ControlledOptions extends CdeSolveOptions, ParameterOptions, SlopeScale {
  /**
   * Channels of the control, time included. For a path of log-signatures, the channels of the original
   * series.
   */
  inputChannels: number;
  /** Features of the state. */
  hiddenChannels: number;
  /** Features of the output. */
  outputChannels: number;
  /**
   * A network of static features, which do not change over time. Its output is added to the first state.
   * Calls then need `staticFeatures`.
   */
  staticFeatures?: StaticFeaturesOptions;
}

export const controlledOptionNames: OptionNames<ControlledOptions> = {
  ...cdeSolveOptionNames,
  ...parameterOptionNames,
  inputChannels: "required",
  hiddenChannels: "required",
  outputChannels: "required",
  staticFeatures: "optional",
  slopeScale: "optional",
};

/** Options of models of dh/dt = f(h, X(t)). */
export interface AlongPathOptions extends ControlledOptions {
  /**
   * Whether h(t0) is linear in X(t0) (default), the initial condition of theorem C.1 of Kidger et al., 2020.
   * If false, h(t0) is zero, as in their code.
   */
  initial?: boolean;
}

export const alongPathOptionNames: OptionNames<AlongPathOptions> = {
  ...controlledOptionNames,
  initial: "optional",
};

/**
 * A model along a control. It returns `(..., outputChannels)`, or `(..., length, outputChannels)` for all
 * states.
 */
export type AlongPathModel = Layer<[X: Path, options?: ReadoutOptions & StaticFeaturesCallOptions]>;

/**
 * Makes a model of dh/dt = f(h, X(t)). h(t0) is linear in X(t0), or zero; the output is linear in h.
 *
 * @param keys Random keys of the initial condition, of the network of static features, and of the readout.
 * @param vectorField Parameters, and a function that returns the slope of states `(..., hidden)` for a
 * control `(..., inputChannels)`.
 */
export function AlongPath(
  name: string,
  { inputChannels, hiddenChannels, outputChannels, initial: hasInitial = true, ...rest }: AlongPathOptions,
  keys: { initial: Key; staticFeatures: Key; readout: Key },
  vectorField: { parameters: ParameterTree; slope(x: Tensor, h: Tensor): Tensor },
): AlongPathModel {
  const { staticFeatures, key: _, dtype, slopeScale = 1, ...solver } = rest;
  checkSlopeScale(name, slopeScale);
  checkCount(name, "hiddenChannels", hiddenChannels);
  const fromControl = Linear({ inputs: inputChannels, outputs: hiddenChannels, key: keys.initial, dtype });
  const ofStatic = StaticState(name, staticFeatures, {
    ...{ outputs: hiddenChannels, key: keys.staticFeatures, dtype },
  });
  const readout = Linear({ inputs: hiddenChannels, outputs: outputChannels, key: keys.readout, dtype });
  const parameters = {
    vectorField: vectorField.parameters,
    ...(hasInitial ? { initial: fromControl.parameters } : {}),
    ...ofStatic.parameters,
    readout: readout.parameters,
  };
  return layer(parameters, (X: Path, call: ReadoutOptions & StaticFeaturesCallOptions = {}) => {
    checkPath(name, X);
    checkOptions(name, call, pathCallNames);
    const x0 = X.evaluate(X.times[0]);
    if (x0.shape.at(-1) !== inputChannels) {
      refuseShape(`${name}: the control has values`, x0.shape, `(..., ${inputChannels})`);
    }
    const first = fromControl(x0);
    const h0 = ofStatic.addTo(hasInitial ? first : first.zerosLike(), call.staticFeatures);
    return solveAndRead(name, X, call, readout, (times) => {
      const field = (control: { evaluate(): Tensor }, _t: Tensor, h: Tensor) =>
        scaled(vectorField.slope(control.evaluate(), h), slopeScale);
      return moveTimeAxis(solveAlong(X, field, h0, times, modelSolver(solver), name), h0.rank - 1);
    });
  });
}
