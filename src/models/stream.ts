/** Online prediction: a model that reads observations one by one. */
import { describe } from "../device/describe.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import type { DType } from "../device/dtype.ts";
import { formatShape, sameShape, type Shape, ShapeError } from "../device/shape.ts";
import { parameter, parameterOf } from "../nn/layer.ts";
import { CubicSpline } from "../paths/cubic_spline.ts";
import { hermiteCubicCoeffs } from "../paths/hermite_cubic.ts";
import { hasMissing } from "../paths/knots.ts";
import { linearCoeffs, LinearInterpolation } from "../paths/linear.ts";
import type { Path } from "../paths/path.ts";
import type { CdeSolveOptions } from "../solvers/controlled.ts";
import { modelMethod } from "./model_solver.ts";
import { fixedMethods, type MethodChoice, methodOf } from "../solvers/methods.ts";
import { tensor, type TensorData } from "../tensor/creation.ts";
import { stack } from "../tensor/functions.ts";
import { withoutRecording } from "../tensor/primitive.ts";
import { tidy } from "../tensor/scope.ts";
import { Tensor } from "../tensor/tensor.ts";
import { staticFeaturesCallNames, type StaticFeaturesCallOptions } from "./static_features.ts";

/** A causal control, which a stream can follow. */
export type CausalPath = "hermite" | "rectilinear";

/** Options of a model's `stream`. */
export interface ModelStreamOptions {
  /**
   * The control: `"hermite"` (default), as by `hermiteCubicCoeffs`, or `"rectilinear"`, as by `linearCoeffs`
   * with that option. Missing values are replaced by the last observed value, as by `forwardFill`.
   *
   * @default {"hermite"}
   */
  path?: CausalPath;
  /**
   * The channel that holds the time of a rectilinear path.
   *
   * @default {0}
   */
  timeChannel?: number;
  /** The result of {@linkcode ModelStream.save}. The stream continues from this state. */
  state?: ModelStreamState;
}

const streamOptionNames = namesOf<ModelStreamOptions>()("path? timeChannel? state?");

export const streamCallNames = namesOf<ModelStreamOptions & StaticFeaturesCallOptions>()(
  streamOptionNames,
  staticFeaturesCallNames,
);

/** State of a stream as plain numbers, which can be stored as JSON. */
export interface ModelStreamState {
  /** The control, as in {@linkcode ModelStreamOptions}. */
  path: CausalPath;
  /** The channel of the time, as in {@linkcode ModelStreamOptions}. */
  timeChannel: number;
  /** Times of the latest observations, oldest first. */
  times: number[];
  /** Axes before the channels: empty for a single series. */
  batch: number[];
  /** The latest observations. */
  observations: number[][];
  /** The model's state. */
  state: { shape: number[]; values: number[] };
}

/** The functions of a model that a stream needs. */
export interface StreamedModel {
  /** Name of the model, for messages. */
  readonly name: string;
  /** Channels of an observation. */
  readonly inputChannels: number;
  /** Type of observations and of the state. */
  readonly dtype: DType;
  /** Method of the solver. */
  readonly method?: MethodChoice;
  /** The state at the first time of a control with values `(batch, channels)`. */
  start(X: Path, t: number): Tensor;
  /** The state at the end of a control, from the state at one of its grid points. */
  advance(X: Path, state: Tensor, from: number, to: number): Tensor;
  /** The prediction from the state at a grid point. */
  predict(state: Tensor, X: Path, t: number): Tensor;
}

/** A model whose predictions can be streamed. */
export interface StreamableModel {
  /** The functions that a stream needs, for `seriesStreams`. */
  readonly streamed: StreamedModel;
}

/**
 * Solver options of a stream between two observations. The default is one step. The loop is not compiled,
 * because it has too few steps to benefit.
 */
export function streamSolver(solver: CdeSolveOptions): CdeSolveOptions {
  const { stepSize, stepsPerPiece = stepSize === undefined ? 1 : undefined } = solver;
  return { ...solver, stepsPerPiece, compile: false };
}

const causalPaths: readonly CausalPath[] = ["hermite", "rectilinear"];

/**
 * Number of earlier observations to keep. The last piece of a Hermite spline depends on three observations,
 * and the first stage of a step reads the slope from the left, which belongs to the previous piece.
 */
const observationsKept = 2;

/** State of a stream as tensors. Their first axis is the series. */
export type StreamTensors = {
  /** The latest one or two observations, without missing values, oldest first. */
  observations: Tensor[];
  /** The model's state. */
  state: Tensor;
};

/**
 * Advances several series by one observation.
 *
 * @param times Times of the known observations and of this observation.
 * @param x `(batch, inputChannels)`. NaN marks a missing value, not allowed in the first observation.
 * @param previous The state after earlier observations, if any.
 */
export function streamStep(
  model: StreamedModel,
  path: CausalPath,
  timeChannel: number,
  times: readonly number[],
  x: Tensor,
  previous?: StreamTensors,
): StreamTensors & { prediction: Tensor } {
  const t = times.at(-1)!;
  if (!previous) {
    // Use a constant control until the second observation.
    const X = LinearInterpolation(stack([x, x], -2), [t, t + 1]);
    const state = model.start(X, t);
    return { prediction: model.predict(state, X, t), observations: [x], state };
  }
  const seen = [...previous.observations, x.isNaN().where(previous.observations.at(-1)!, x)];
  const series = stack(seen, -2);
  const isRectilinear = path === "rectilinear";
  const X = isRectilinear
    ? LinearInterpolation(linearCoeffs(series, undefined, { rectilinear: timeChannel }))
    : CubicSpline(hermiteCubicCoeffs(series, times), times);
  const [from, to] = isRectilinear ? [2 * seen.length - 4, 2 * seen.length - 2] : times.slice(-2);
  // The initial state may depend on the slope, which is known only now.
  const before = previous.observations.length === 1 ? model.start(X, from) : previous.state;
  const state = model.advance(X, before, from, to);
  return { prediction: model.predict(state, X, to), observations: seen.slice(-observationsKept), state };
}

/**
 * Predicts as observations arrive: see `stream` of a model. Time and memory per observation are constant. The
 * predictions equal those of the model along the whole series with the same control, an output at every
 * observation (`states: "all"`) and steps that end at each observation: `stepsPerPiece`, or a `stepSize` that
 * divides all gaps. The first prediction differs if the initial state depends on the slope of the control,
 * which is unknown before the second observation.
 */
export class ModelStream {
  readonly #model: StreamedModel;
  readonly #path: CausalPath;
  readonly #timeChannel: number;
  #times: number[] = [];
  #batch: Shape | undefined;
  /** The latest observations without missing values, oldest first, and the state. Updated in place. */
  #observations: Tensor[] = [];
  #state: Tensor | undefined;

  /** @internal Use a model's `stream`. */
  constructor(model: StreamedModel, options: ModelStreamOptions = {}) {
    checkOptions(`${model.name}.stream`, options, streamOptionNames);
    const { state, path = state?.path ?? "hermite", timeChannel = state?.timeChannel ?? 0 } = options;
    const { name, method = modelMethod } = model;
    if (!causalPaths.includes(path)) {
      throw new RangeError(
        `${name}.stream: path is "${path}", expected a path that depends only on past observations: "hermite" or ` +
          '"rectilinear"',
      );
    }
    const { kind, name: methodName } = methodOf(method);
    if (kind !== "explicit") {
      throw new RangeError(
        `${name}.stream: ${methodName} carries more than the state from step to step; make the model with one of ` +
          fixedMethods.map((fixed) => fixed.name).join(", "),
      );
    }
    if (!Number.isInteger(timeChannel) || timeChannel < 0 || timeChannel >= model.inputChannels) {
      throw new RangeError(
        `${name}.stream: timeChannel is ${timeChannel}, expected a channel, 0 to ${model.inputChannels - 1}`,
      );
    }
    this.#model = model;
    this.#path = path;
    this.#timeChannel = timeChannel;
    if (state) this.#restore(state);
  }

  /** The time of the latest observation, or `undefined` before the first. */
  get time(): number | undefined {
    return this.#times.at(-1);
  }

  /**
   * Reads an observation and returns a prediction. If it throws, the stream is unchanged.
   *
   * @param t The time of the observation, later than the previous one. Gaps may have any length.
   * @param x `(inputChannels,)`, or `(batch, inputChannels)` for several series observed at once. NaN marks a
   * missing value. If the model was trained with a time channel, `x` includes it.
   *
   * @returns The prediction from all observations so far: `(outputChannels,)` or `(batch, outputChannels)`.
   * @throws {RangeError} If time does not increase, a value is infinite, or the first value of a channel is
   * missing.
   * @throws {ShapeError} If the shape of `x` differs from that of the previous observation.
   */
  push(t: number, x: Tensor | TensorData): Tensor {
    const { name, inputChannels, dtype } = this.#model;
    const last = this.time;
    if (!Number.isFinite(t) || (last !== undefined && !(t > last))) {
      throw new RangeError(
        `${name}.stream: push: t is ${describe(t)}, expected a time` +
          (last === undefined ? "" : ` later than ${last}`),
      );
    }
    const inputShape = x instanceof Tensor ? x.shape : undefined;
    return withoutRecording(() =>
      tidy(() => {
        const seen = x instanceof Tensor ? x : tensor(x, { dtype });
        const batch = seen.shape.slice(0, -1);
        if (seen.rank < 1 || seen.rank > 2 || seen.shape.at(-1) !== inputChannels || seen.dtype !== dtype) {
          throw new ShapeError(
            `${name}.stream: push: x is ${seen.dtype} ${formatShape(inputShape ?? seen.shape)}, ` +
              `expected ${dtype} (${inputChannels},) or (batch, ${inputChannels})`,
          );
        }
        if (this.#batch && !sameShape(batch, this.#batch)) {
          throw new ShapeError(
            `${name}.stream: push: x has shape ${formatShape(seen.shape)}, but before ` +
              formatShape([...this.#batch, inputChannels]),
          );
        }
        const row = seen.reshape([-1, inputChannels]);
        if (hasMissing(row, `${name}.stream: push`) && !this.#state) {
          throw new RangeError(
            `${name}.stream: push: the first observation has missing values; give each channel a value (such as its mean), since ` +
              "later values are not known yet",
          );
        }
        const previous = this.#state && { observations: this.#observations, state: this.#state };
        const next = streamStep(
          this.#model,
          this.#path,
          this.#timeChannel,
          [...this.#times, t],
          row,
          previous,
        );
        const prediction = next.prediction.reshape([...batch, ...next.prediction.shape.slice(1)]);
        // Update the stream only after everything that can throw.
        this.#keep(next);
        this.#times = [...this.#times, t].slice(-observationsKept);
        this.#batch = batch;
        return prediction;
      })
    );
  }

  #keep({ observations, state }: StreamTensors): void {
    if (this.#state) this.#state.assign(state);
    else this.#state = parameter(state);
    if (this.#observations.length < observations.length) {
      this.#observations.push(parameter(observations.at(-1)!));
    } else this.#observations.forEach((stored, i) => stored.assign(observations[i]));
  }

  /**
   * Returns the state of the stream.
   *
   * @throws {Error} Before the first observation.
   */
  async save(): Promise<ModelStreamState> {
    if (!this.#state) throw new Error(`${this.#model.name}.stream: save: there was no observation yet`);
    const [times, batch] = [[...this.#times], [...this.#batch!]];
    const [values, ...observations] = await Promise.all(
      [this.#state, ...this.#observations].map(async (x) => Array.from(await x.data())),
    );
    const state = { shape: [...this.#state.shape], values };
    return { path: this.#path, timeChannel: this.#timeChannel, times, batch, observations, state };
  }

  #restore({ path, times, batch, observations, state }: ModelStreamState): void {
    const { name, dtype, inputChannels } = this.#model;
    if (path !== this.#path) {
      throw new RangeError(`${name}.stream: the saved state follows a path "${path}", not "${this.#path}"`);
    }
    const toParameter = (values: number[], shape: Shape) =>
      parameterOf(() => tensor(Float64Array.from(values), { shape, dtype }));
    this.#times = [...times];
    this.#batch = [...batch];
    this.#observations = observations.map((values) =>
      toParameter(values, [values.length / inputChannels, inputChannels])
    );
    this.#state = toParameter(state.values, state.shape);
  }
}
