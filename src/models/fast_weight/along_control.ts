import { checkOptions, type OptionNames } from "../../device/options.ts";
import { refuseShape } from "../../device/shape.ts";
import { type Layer, layer, type ParameterOptions, type ParameterTree } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { checkPath, type Path } from "../../paths/path.ts";
import { type CdeSolveOptions, type Control, solveAlong } from "../../solvers/controlled.ts";
import type { Key } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { modelSolver } from "../model_solver.ts";
import { checkSlopeScale, scaled, type SlopeScale } from "../along_path.ts";
import {
  ModelStream,
  type ModelStreamOptions,
  type StreamableModel,
  streamCallNames,
  streamSolver,
} from "../stream.ts";
import { checkStaticFeatures, type StaticFeaturesCallOptions } from "../static_features.ts";
import { checkReadout, pathCallNames, type ReadoutOptions, statesAtEnd } from "../readout_states.ts";
import type { WeightEquation } from "./layers.ts";
import type { FastWeightOptions } from "./options.ts";
import type { Reading } from "./slow_network.ts";

/** Options of a call. */
export interface FastWeightCallOptions extends ReadoutOptions, StaticFeaturesCallOptions {
  /**
   * The fast weights at the first time, instead of those that the model computes: `(batch, heads, values,
   * keys)`, or `(batch, layers, heads, values, keys)` with several layers.
   */
  initial?: Tensor;
  /** Random key of dropout. Giving a key turns dropout on, for training. */
  key?: Key;
}

const fastWeightCallNames: OptionNames<FastWeightCallOptions> = {
  ...pathCallNames,
  initial: "optional",
  key: "optional",
};

/**
 * A model of fast weights along a control: a layer that reads a whole control, or observations one by one.
 */
export type FastWeightModel = Layer<[X: Path, options?: FastWeightCallOptions]> & StreamableModel & {
  /**
   * Starts a stream that predicts at each observation as it arrives, with the current parameters. If the
   * model reads the derivative of the control, the first prediction uses a derivative of zero, because no
   * change has been observed yet.
   *
   * @throws {RangeError} For a path that is not causal, or a model whose method is not a fixed-step method.
   */
  stream(options?: ModelStreamOptions & StaticFeaturesCallOptions): ModelStream;
};

/** Solves dW/ds = slope(x(s), W): `(length(times), ...w0.shape)`. */
export type WeightSolve = (
  X: Path,
  slope: WeightEquation["slope"],
  w0: Tensor,
  times: ArrayLike<number>,
  options: CdeSolveOptions,
  model: string,
) => Tensor;

const solveByStages: WeightSolve = (X, slope, w0, times, options, model) =>
  solveAlong(X, (control, _t, w) => slope(reading(control), w), w0, times, options, model);

/** Options of {@linkcode alongControl}. */
interface AlongControlOptions
  extends
    ParameterOptions,
    Pick<FastWeightOptions, "inputChannels" | "outputChannels" | "modelDim" | "staticFeatures"> {
  /** The model's name, for messages. */
  name: string;
  solver: CdeSolveOptions & SlopeScale;
  /** The solver of the equation. By default it evaluates the control at the times of the stages. */
  solve?: WeightSolve;
}

/**
 * Solves an equation of fast weights along a control, queries the weights and applies the readout: W'(t) =
 * F(W(t), x(t)), as equation 8 of Irie et al., 2022, for any state.
 */
export function alongControl(equation: WeightEquation, options: AlongControlOptions): FastWeightModel {
  const { name, inputChannels, outputChannels, modelDim, staticFeatures } = options;
  const { slopeScale = 1, ...given } = options.solver;
  checkSlopeScale(name, slopeScale);
  const solver = modelSolver(given);
  const slope: WeightEquation["slope"] = (read, w) => scaled(equation.slope(read, w), slopeScale);
  const { solve: solveEquation = solveByStages, key, dtype } = options;
  const readout = Linear({ inputs: modelDim, outputs: outputChannels, key, dtype });
  const predict = (read: Reading, w: Tensor, key?: Key, first?: Reading) =>
    readout(equation.output(read, w, key, first));
  const solve = (X: Path, w: Tensor, times: ArrayLike<number>, chosen: CdeSolveOptions) =>
    solveEquation(X, slope, w, times, {
      ...chosen,
      check: chosen.check === true ? equation.axes : chosen.check,
    }, name);

  const parameters: ParameterTree = { ...equation.parameters, readout: readout.parameters };
  const model = layer(parameters, (X: Path, call: FastWeightCallOptions = {}) => {
    checkOptions(name, call, fastWeightCallNames);
    checkReadout(name, call);
    checkPath(name, X);
    const { states = "final", lengths, initial, staticFeatures: features, key } = call;
    const [start, end] = [X.times[0], X.times[X.times.length - 1]];
    const x0 = X.evaluate(start);
    if (x0.rank !== 2 || x0.shape[1] !== inputChannels) {
      refuseShape(`${name}: the control has values`, x0.shape, `(batch, ${inputChannels})`);
    }
    if (!initial) checkStaticFeatures(name, features, staticFeatures, x0.shape.slice(0, -1));
    const w0 = initial ?? equation.start(at(X, start), features);
    const everywhere = states === "all" || lengths !== undefined;
    const w = solve(X, w0, everywhere ? X.times : [start, end], solver);
    if (!everywhere) return predict(at(X, end), w.select(0, -1), key, at(X, start));
    const all = w.transpose(0, 1);
    const everyPoint = at(X, X.times);
    if (!lengths) return predict(everyPoint, all, key, at(X, [start]));
    const atEnd = (states: Tensor) => statesAtEnd(name, states, lengths);
    const last = atEnd(all.flatten(2)).reshape(w0.shape);
    return predict((source) => atEnd(everyPoint(source)), last, key, at(X, start));
  });

  const streamed = {
    ...{ name, inputChannels, dtype: dtype ?? "float32", method: solver.method },
    advance: (X: Path, w: Tensor, from: number, to: number) =>
      solve(X, w, [from, to], streamSolver(solver)).select(0, 1),
    predict: (w: Tensor, X: Path, t: number) => predict(at(X, t), w),
  };
  const startOf = (features?: Tensor) => (X: Path, t: number) => {
    checkStaticFeatures(name, features, staticFeatures, X.evaluate(t).shape.slice(0, -1));
    return equation.start(at(X, t), features);
  };
  return Object.assign(model, {
    stream(call: ModelStreamOptions & StaticFeaturesCallOptions = {}) {
      checkOptions(`${name}.stream`, call, streamCallNames);
      const { staticFeatures: features, ...options } = call;
      return new ModelStream({ ...streamed, start: startOf(features) }, options);
    },
    streamed: { ...streamed, start: startOf() },
  });
}

/** Reads a control at the time of a solver stage. */
function reading(control: Control): Reading {
  return (source) => source === "value" ? control.evaluate() : control.derivative();
}

/** Reads a control at some times. */
function at(X: Path, t: number | ArrayLike<number>): Reading {
  return (source) => source === "value" ? X.evaluate(t) : X.derivative(t);
}
