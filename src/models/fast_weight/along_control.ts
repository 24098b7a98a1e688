import { formatShape, ShapeError } from "../../device/shape.ts";
import type { DType } from "../../device/dtype.ts";
import { type Layer, layer, type ParameterTree } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import type { Path, Side } from "../../paths/path.ts";
import { type CdeSolveOptions, type Control, solveAlong } from "../../solvers/controlled.ts";
import type { Key } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { Stream, type StreamOptions } from "../stream.ts";
import { checkReadout, type ReadoutOptions, statesAtEnd } from "../terminal.ts";
import type { WeightEquation } from "./layers.ts";
import type { Reading } from "./slow_network.ts";

/** Options of a call. */
export interface FastWeightCall extends ReadoutOptions {
  /**
   * The fast weights at the first time, `(batch, heads, values, keys)` (of several layers `(batch, layers, heads, values,
   * keys)`), instead of the model's own: from static features, say by a `Linear` of as many outputs, reshaped.
   */
  initial?: Tensor;
  /** Turns dropout on, and draws it: for training. */
  key?: Key;
}

/** A model of fast weights along a control: a layer that takes the control, or observations one by one. */
export type FastWeightModel = Layer<[X: Path, options?: FastWeightCall]> & {
  /**
   * Predicts while observations arrive, at each of them, with what the model has learned up to now. Where the model reads
   * the derivative of the control, the first prediction takes it to be zero, since no change was seen yet.
   *
   * @throws {RangeError} For a path that looks ahead, or a model whose method has no fixed steps.
   */
  stream(options?: StreamOptions): Stream;
};

/** What makes a {@linkcode FastWeightModel}. */
export interface AlongControlOptions {
  /** The model's name, for messages. */
  name: string;
  inputChannels: number;
  outputChannels: number;
  modelDim: number;
  solver: CdeSolveOptions;
  /** From which side of its grid points a solve reads the control's derivative, `"left"` by default. */
  side?: Side;
  /** What the readout is drawn from. */
  key: Key;
  dtype?: DType;
}

/** Solves an equation of fast weights along a control, queries them and reads out what they answer. */
export function alongControl(equation: WeightEquation, options: AlongControlOptions): FastWeightModel {
  const { name, inputChannels, outputChannels, modelDim, solver, side, key, dtype } = options;
  const readout = Linear({ inputs: modelDim, outputs: outputChannels, key, dtype });
  const predict = (read: Reading, w: Tensor, key?: Key) => readout(equation.answer(read, w, key));
  const solve = (X: Path, w: Tensor, times: ArrayLike<number>, chosen: CdeSolveOptions) =>
    solveAlong(X, (control, _t, w) => equation.slope(reading(control, side), w), w, times, {
      ...chosen,
      check: chosen.check === true ? equation.axes : chosen.check,
    }, name);

  const parameters: ParameterTree = { ...equation.parameters, readout: readout.parameters };
  const model = layer(parameters, (X: Path, call: FastWeightCall = {}) => {
    checkReadout(name, call);
    const { states = "final", lengths, initial, key } = call;
    const [start, end] = [X.times[0], X.times[X.times.length - 1]];
    const x0 = X.evaluate(start);
    if (x0.rank !== 2 || x0.shape[1] !== inputChannels) {
      throw new ShapeError(
        `${name}: the control has values of shape ${
          formatShape(x0.shape)
        }, expected (batch, ${inputChannels})`,
      );
    }
    const w0 = initial ?? equation.start(at(X, start));
    const everywhere = states === "all" || lengths !== undefined;
    const w = solve(X, w0, everywhere ? X.times : [start, end], solver);
    if (!everywhere) return predict(at(X, end), w.at(0, -1), key);
    // (length, batch, ...) to (batch, length, ...)
    const all = w.permute([1, 0, ...w.shape.slice(2).map((_, axis) => axis + 2)]);
    const everyPoint = at(X, X.times);
    if (!lengths) return predict(everyPoint, all, key);
    const own = (states: Tensor) => statesAtEnd(name, states, lengths);
    return predict((source) => own(everyPoint(source)), own(all.flatten(2)).reshape(w0.shape), key);
  });

  // Operation by operation, since a loop of few steps is not worth compiling.
  const { stepSize, stepsPerPiece = stepSize === undefined ? 1 : undefined } = solver;
  const streamed = {
    ...{ name, inputChannels, dtype: dtype ?? "float32", method: solver.method },
    start: (X: Path, t: number) => equation.start(at(X, t)),
    advance: (X: Path, w: Tensor, from: number, to: number) =>
      solve(X, w, [from, to], { ...solver, stepsPerPiece, compile: false }).at(0, 1),
    predict: (w: Tensor, X: Path, t: number) => predict(at(X, t), w),
  };
  return Object.assign(model, { stream: (options?: StreamOptions) => new Stream(streamed, options) });
}

/** A control at a time of a solve. */
function reading(control: Control, side?: Side): Reading {
  return (source) => source === "value" ? control.evaluate() : control.derivative(side);
}

/** A control at some times. */
function at(X: Path, t: number | ArrayLike<number>): Reading {
  return (source) => source === "value" ? X.evaluate(t) : X.derivative(t);
}
