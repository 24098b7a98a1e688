/**
 * The skeleton of models along a control. A model gives the equation of its state. This file checks calls, solves
 * the equation, reads the states out, and streams predictions.
 */
import { checkOptions, type OptionNames, pickOptions } from "../device/options.ts";
import { refuseShape } from "../device/shape.ts";
import { checkCount, type Layer, layer, type ParameterOptions, type ParameterTree } from "../nn/layer.ts";
import { Linear } from "../nn/linear.ts";
import { checkPath, type Path } from "../paths/path.ts";
import {
  cdeSolveOptionNames,
  type CdeSolveOptions,
  type Control,
  moveTimeAxis,
  solveAlong,
} from "../solvers/controlled.ts";
import type { Key } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { modelSolver } from "./model_solver.ts";
import { checkReadout, pathCallNames, type ReadoutOptions, statesAtEnd } from "./readout_states.ts";
import type { StaticFeaturesCallOptions } from "./static_features.ts";
import {
  ModelStream,
  type ModelStreamOptions,
  type StreamableModel,
  streamCallNames,
  type StreamedModel,
  streamSolver,
} from "./stream.ts";

/** A quantity of a control: its value x(s) or its derivative x'(s). */
export type ControlSource = "value" | "derivative";

/** A control at fixed times. Returns its value or its derivative, `(..., channels)`. */
export type Reading = (source: ControlSource) => Tensor;

/** The equation dy/ds = slope(x(s), y) of a state y `(..., ...state)` along a control x, and the output of y. */
export interface Equation {
  /** Parameters by name. The readout has the name `readout`. */
  readonly parameters: { readonly [name: string]: ParameterTree };
  /** Channels of the control: those of the series, or the words of their log-signatures. */
  readonly channels: number;
  /** Features of the output. The model's output is linear in them. */
  readonly features: number;
  /** Random key of the readout. */
  readonly readoutKey: Key;
  /** Names of the axes of the state after the batch, for messages about states that are not finite. */
  readonly axes?: readonly string[];
  /** Names of the options of a call. By default, those of {@linkcode ReadoutOptions} and `staticFeatures`. */
  readonly callNames?: OptionNames<ReadoutOptions & StaticFeaturesCallOptions>;
  /** y(t0), from the control at t0 and static features `(..., channels)`. */
  start(read: Reading, staticFeatures?: Tensor): Tensor;
  /** dy/ds. */
  slope(read: Reading, y: Tensor): Tensor;
  /** Output `(..., features)` of y. `key` turns dropout on; `first` reads the control at t0. */
  output(read: Reading, y: Tensor, key?: Key, first?: Reading): Tensor;
}

/** Solves dy/ds = slope(x(s), y): `(length(times), ...y0.shape)`. */
export type SolveEquation = (
  X: Path,
  slope: Equation["slope"],
  y0: Tensor,
  times: ArrayLike<number>,
  options: CdeSolveOptions,
  model: string,
) => Tensor;

/** A model along a control that reads a whole control, or observations one by one. */
export type AlongControlModel<
  Call = ReadoutOptions & StaticFeaturesCallOptions,
  P extends ParameterTree = ParameterTree,
> = Layer<[X: Path, options?: Call], P> & StreamableModel & {
  /**
   * Starts a stream that predicts at each observation as it arrives, with the current parameters. If the
   * model reads the derivative of the control, the first prediction uses a derivative of zero, because no
   * change has been observed yet.
   *
   * @throws {RangeError} For a path that is not causal, or a model whose method is not a fixed-step method.
   */
  stream(options?: ModelStreamOptions & StaticFeaturesCallOptions): ModelStream;
};

/** Makes a model of an equation. The solver evaluates the control at the times of its stages. */
export function alongControl(
  name: string,
  options: AlongControlOptions,
  equation: Equation,
): AlongControlModel<EquationCallOptions> {
  const { model, streamed } = controlModel(name, options, equation, solveByStages);
  return Object.assign(model, {
    stream(call: ModelStreamOptions & StaticFeaturesCallOptions = {}) {
      checkOptions(`${name}.stream`, call, streamCallNames);
      const { staticFeatures, ...options } = call;
      return new ModelStream(streamed(staticFeatures), options);
    },
    streamed: streamed(),
  });
}

/** A model of an equation, and the functions of its streams for series with static features. */
export function controlModel(
  name: string,
  options: AlongControlOptions,
  equation: Equation,
  solveEquation: SolveEquation,
): {
  readonly model: Layer<[X: Path, options?: EquationCallOptions]>;
  streamed(staticFeatures?: Tensor): StreamedModel;
} {
  const { inputChannels, outputChannels, slopeScale = 1, dtype } = options;
  const { channels, axes = true, callNames = pathCallNames } = equation;
  checkSlopeScale(name, slopeScale);
  checkCount(name, "outputChannels", outputChannels);
  const solver = modelSolver(pickOptions<CdeSolveOptions>(options, cdeSolveOptionNames));
  const readout = Linear({
    ...{ inputs: equation.features, outputs: outputChannels, key: equation.readoutKey, dtype },
  });

  const start = (read: Reading, features?: Tensor) => {
    const { shape } = read("value");
    if (shape.at(-1) !== channels) {
      const meaning = channels === inputChannels
        ? "the inputChannels"
        : `the words of ${inputChannels} channels`;
      refuseShape(`${name}: the control has values`, shape, `(..., ${channels}), ${meaning}`);
    }
    return equation.start(read, features);
  };
  const slope: Equation["slope"] = (read, y) => scaled(equation.slope(read, y), slopeScale);
  const solve = (X: Path, y0: Tensor, times: ArrayLike<number>, chosen: CdeSolveOptions) => {
    const check = chosen.check === true ? axes : chosen.check;
    return solveEquation(X, slope, y0, times, { ...chosen, check }, name);
  };
  const predict: Equation["output"] = (...state) => readout(equation.output(...state));

  const parameters: ParameterTree = { ...equation.parameters, readout: readout.parameters };
  const model = layer(parameters, (X: Path, call: EquationCallOptions = {}) => {
    checkPath(name, X);
    checkOptions<ReadoutOptions & StaticFeaturesCallOptions>(name, call, callNames);
    checkReadout(name, call);
    const { states = "final", lengths, initial, staticFeatures, key } = call;
    const [begin, end] = [X.times[0], X.times[X.times.length - 1]];
    const first = at(X, begin);
    const y0 = initial ?? start(first, staticFeatures);
    const everywhere = states === "all" || lengths !== undefined;
    const y = solve(X, y0, everywhere ? X.times : [begin, end], solver);
    if (!everywhere) return predict(at(X, end), y.select(0, -1), key, first);
    const batchAxes = first("value").rank - 1;
    const [points, all] = [at(X, X.times), moveTimeAxis(y, batchAxes)];
    if (!lengths) return predict(points, all, key, at(X, [begin]));
    const atEnd = (rows: Tensor) => statesAtEnd(name, rows, lengths);
    const last = atEnd(all.flatten(batchAxes + 1)).reshape(y0.shape);
    return predict((source) => atEnd(points(source)), last, key, first);
  });
  const streamed = (features?: Tensor): StreamedModel => ({
    ...{ name, inputChannels, dtype: dtype ?? "float32", method: solver.method },
    start: (X, t) => start(at(X, t), features),
    advance: (X, y, from, to) => solve(X, y, [from, to], streamSolver(solver)).select(0, 1),
    predict: (y, X, t) => predict(at(X, t), y),
  });
  return { model, streamed };
}

const solveByStages: SolveEquation = (X, slope, y0, times, options, model) =>
  solveAlong(X, (control, _t, y) => slope(stageOf(control), y), y0, times, options, model);

/** Reads a control at the time of a solver stage. */
function stageOf(control: Control): Reading {
  return (source) => source === "value" ? control.evaluate() : control.derivative();
}

/** Reads a control at some times. */
function at(X: Path, t: number | ArrayLike<number>): Reading {
  return onceEach((source) => source === "value" ? X.evaluate(t) : X.derivative(t));
}

/** Caches the value and the derivative of a control. Each is computed on first use. */
export function onceEach(read: Reading): Reading {
  const cache = new Map<ControlSource, Tensor>();
  return (source) => {
    const value = cache.get(source) ?? read(source);
    cache.set(source, value);
    return value;
  };
}

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

/** Options of {@linkcode alongControl}. Options of the equation are ignored. */
export type AlongControlOptions = CdeSolveOptions & SlopeScale & Pick<ParameterOptions, "dtype"> & {
  inputChannels: number;
  outputChannels: number;
};

/** Options of a call. `initial` is y(t0), and `key` turns dropout on, in models whose `callNames` have them. */
export type EquationCallOptions = ReadoutOptions & StaticFeaturesCallOptions & {
  initial?: Tensor;
  key?: Key;
};
