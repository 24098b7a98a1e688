import { checkOptions, namesOf } from "../../device/options.ts";
import { formatShape, sameShape, ShapeError } from "../../device/shape.ts";
import type { Initialization } from "../../nn/initialization.ts";
import {
  checkCount,
  type Layer,
  layer,
  parameterOf,
  parameterOptionNames,
  type ParameterOptions,
  type ParameterTree,
} from "../../nn/layer.ts";
import { checkWord } from "../../tensor/checks.ts";
import { eye, full, zeros } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import { splitKey } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { rollOutStates } from "./autoregressive.ts";
import {
  checkSeries,
  feedingOf,
  feedsPredictions,
  times,
  timeStep,
  warpCallNames,
  type WARPCallOptions,
  type WARPIndexing,
  weightsCallNames,
} from "./call.ts";
import { refuseDivergence } from "./divergence.ts";
import { advance, type Dynamics } from "./dynamics.ts";
import { makeInitialNetwork, makeLearnedInitial, type WARPInitialParameters } from "./initial_network.ts";
import type { WARPMode } from "./cost.ts";
import { allStates, checkMode, feed, finalState } from "./modes.ts";
import type { PhysicalForm } from "./physics.ts";
import {
  decodingNames,
  type DynamicTanhParameters,
  makeReadout,
  type WARPDecoding,
  type WARPOutput,
  type WARPPredictionBound,
} from "./readout.ts";
import type { WARPRootOptions } from "./root.ts";
import { makeTransition, type WARPTransitionOptions } from "./transition.ts";

/** Options of {@linkcode WARP}. */
export interface WARPOptions extends ParameterOptions {
  /** Channels of the series. */
  inputChannels: number;
  /** Number of predicted channels, or of classes. */
  outputChannels: number;
  /**
   * The network whose weights are the state. `"none"` is the ablation without a network (section 3.4): the
   * state then holds the parameters of `physics` directly.
   */
  root: WARPRootOptions | "none";
  /**
   * Kind of the predictions of the root network: values, normal distributions, or logits of classes.
   *
   * @default {"values"}
   */
  output?: WARPOutput;
  /** A formula whose parameters the root network predicts (WARP-Phys, section 3.2). */
  physics?: PhysicalForm;
  /**
   * Source of theta_0: `"network"` (default), phi(x_0); `"learned"`, a learned vector for all series, without
   * phi (section 2.2; an ablation in section 3.4).
   *
   * @default {"network"}
   */
  initial?: "network" | "learned";
  /**
   * Initialization of phi's layers, `"torch"` by default, as in the authors' code; or of the learned theta_0,
   * `"glorotUniform"` by default, as in the paper (the code uses `"torch"` there too).
   */
  initialization?: Initialization;
  /**
   * T of tau = t / (T - 1), the length of the training series (equation 1). In longer series tau exceeds 1.
   * By default T is the length of each call's series, so that tau ends at 1.
   */
  trainingLength?: number;
  /**
   * Whether to append tau as an input channel, whose differences B also reads. `false` by default. The
   * authors' code does so in the experiments on electricity; the paper does not mention it. phi reads x_0
   * without this channel.
   *
   * @default {false}
   */
  time?: boolean;
  /**
   * `"paper"` (default): equation 1, theta_0 = phi(x_0) and y_t = theta_t(tau_t). `"code"` follows the
   * authors' code: it applies one transition before the first observation, so A phi(x_0) replaces theta_0. If
   * predictions are fed back, y_t = theta_t(tau_(t+1)) from t = 1 on, and a root network with `previousInput`
   * reads p_(t-1).
   *
   * @default {"paper"}
   */
  indexing?: WARPIndexing;
  /**
   * The form of A.
   *
   * @default {"dense"}
   */
  transition?: WARPTransitionOptions;
  /**
   * The algorithm for the states of a known series: `"recurrent"`, `"convolutional"`, `"chunked"`, or `"auto"`
   * (default), the one with the fewest operations. Results agree up to rounding. A run that feeds back
   * predictions is recurrent or convolutional.
   *
   * @default {"auto"}
   */
  mode?: WARPMode | "auto";
  /** Bounds of the predictions, or of the means of a normal output (appendix A.3). */
  bound?: WARPPredictionBound;
  /**
   * Clips weights to plus and minus this value after each step, w_lim of appendix A.3. The authors use 0.5
   * for MNIST.
   */
  clipWeights?: number;
  /**
   * The largest absolute value of a weight. Beyond it the model throws a {@linkcode DivergenceError} that
   * names the step. 1e6 by default on the CPU. On a GPU a check would wait for the device, so there is no
   * default limit; if a limit is given, the next call that reads values throws the error, which names the last
   * step. `Infinity` turns the check off.
   *
   * @default {1e6}
   */
  limit?: number;
  /**
   * sigma_min: the lower bound of a standard deviation max(softplus(.), sigma_min) (equation 2). 1e-4 by
   * default. The paper uses 0.5 for MNIST.
   *
   * @default {1e-4}
   */
  leastDeviation?: number;
}

const warpOptionNames = namesOf<WARPOptions>()(
  "inputChannels outputChannels root output? physics? initial? initialization? trainingLength? time?",
  "indexing? transition? mode? bound? clipWeights? limit? leastDeviation?",
  parameterOptionNames,
);

/** Parameters of a {@linkcode WARP}. */
export type WARPParameters = {
  /** The state transition: a matrix, or the parts of another form. */
  readonly A: ParameterTree;
  /** The input's transition, `(D, inputChannels)`, with an additional last column if `time` is set. */
  readonly B: Tensor;
  /** Source of theta_0. */
  readonly initial: WARPInitialParameters;
  /** The dynamic tanh, if it bounds predictions. */
  readonly tanh?: DynamicTanhParameters;
};

/** A WARP: a layer of series that also gives access to its states. */
export type WARPModel = Layer<[x: Tensor, call?: WARPCallOptions], WARPParameters> & {
  /** D, the number of weights of the root network and the length of a state. */
  readonly stateSize: number;
  /** The states along series whose observations are all given: `(batch, T, channels)` to `(batch, T, D)`. */
  weights(x: Tensor, call?: Pick<WARPCallOptions, "start">): Tensor;
  /** The matrix A `(D, D)` for any form of transition, for inspection as in the paper's heat map. */
  transitionMatrix(): Tensor;
  /**
   * Decodes states at given times: states from {@linkcode WARPModel.weights}, their averages, or any others.
   *
   * @param theta `(..., D)`.
   * @param tau From 0 to 1: a number, or `(..., 1)` that broadcasts against the leading axes of `theta`.
   * @param seen Further inputs: the latest input that updated the state, if `root.previousInput` is set, and
   * the first observation, if a formula uses it. Both are `(..., inputChannels)`.
   */
  decode(theta: Tensor, tau: Tensor | number, seen?: Partial<Omit<WARPDecoding, "tau">>): Tensor;
};

/**
 * A weight-space linear recurrent network (Nzoyem et al., "Weight-Space Linear Recurrent Neural Networks",
 * 2025, arXiv 2506.01153). The state of a linear recurrence is the weight vector of a small root network,
 * which computes the output (equation 1): theta_t = A theta_(t-1) + B (x_t - x_(t-1)) and y_t = root(theta_t;
 * tau) with tau = t / (T - 1). Initially A is the identity, B is zero, and theta_0 = phi(x_0). If the model
 * feeds back predictions, the difference subtracts the model's prediction of x_(t-1) (section 2.3). Where the
 * paper and its authors' code differ, the paper is the default.
 *
 * The model takes series `(batch, T, inputChannels)`. It returns `(batch, T, outputs)`, or `(batch, outputs)`
 * for the final state, where `outputs` is `outputChannels`, doubled for a normal output. A missing
 * observation (NaN) makes all later states NaN: fill missing values first, for example with
 * {@linkcode forwardFill}.
 *
 * @example
 * ```ts
 * import { key, normal, WARP } from "@weft/weft";
 *
 * const root = { width: 16, depth: 1 };
 * const model = WARP({ inputChannels: 2, outputChannels: 2, root, key: key(0) });
 * const x = normal(key(1), [8, 50, 2]);
 * model(x).shape; // (8, 50, 2)
 * model(x.slice(1, 0, 10), { context: 10, length: 50 }).shape; // (8, 50, 2), a forecast after ten observations
 * ```
 *
 * @throws {RangeError} If a size is not a positive integer (`root.depth` may be zero), or an option is out of
 * range. The model itself throws a {@linkcode DivergenceError} if a weight exceeds `limit`.
 */
export function WARP(options: WARPOptions): WARPModel {
  checkOptions("WARP", options, warpOptionNames);
  const { inputChannels, outputChannels, output = "values", initial = "network", clipWeights, limit } =
    options;
  const { initialization = initial === "network" ? "torch" : "glorotUniform" } = options;
  const { transition: form = "dense", trainingLength, time = false, dtype = "float32" } = options;
  checkCount("WARP", "inputChannels", inputChannels);
  checkCount("WARP", "outputChannels", outputChannels);
  if (trainingLength !== undefined) checkCount("WARP", "trainingLength", trainingLength, 2);
  for (const [name, value] of Object.entries({ clipWeights, limit })) {
    if (!(value === undefined || value > 0)) {
      throw new RangeError(`WARP: ${name} is ${value}, expected a number above 0`);
    }
  }
  const { leastDeviation = 1e-4, mode = "auto", indexing = "paper" } = options;
  checkWord("WARP", "output", output, ["values", "logits", "normal"]);
  checkWord("WARP", "initial", initial, ["network", "learned"]);
  checkWord("WARP", "indexing", indexing, ["paper", "code"]);
  const readout = makeReadout({ ...options, output, leastDeviation, dtype });
  const { root } = readout;
  const [initialKey, transitionKey] = splitKey(options.key);
  const phi = initial === "network"
    ? makeInitialNetwork(inputChannels, root, initialization, initialKey, dtype)
    : makeLearnedInitial(root, initialization, initialKey, dtype);
  const transition = makeTransition(form, root.size, transitionKey, dtype);
  const inputs = inputChannels + Number(time);
  const B = parameterOf(() => zeros([root.size, inputs], { dtype }));
  const dynamics: Dynamics = { transition, input: B, clip: clipWeights };
  checkMode(mode, dynamics);

  const startOf = (x: Tensor, start?: Tensor) => {
    const expected = [x.shape[0], root.size];
    if (start && !sameShape(start.shape, expected)) {
      throw new ShapeError(
        `WARP: start of shape ${formatShape(start.shape)}, expected ${
          formatShape(expected)
        }, a state for each series`,
      );
    }
    const theta = start ?? phi(x.select(1, 0));
    if (start || indexing !== "code") return theta;
    return advance(dynamics, theta, zeros([theta.shape[0], inputs], { dtype }));
  };
  const changesOf = (x: Tensor) => {
    const changes = x.slice(1, 1).sub(x.slice(1, 0, -1));
    if (!time) return changes;
    const passed = full([1, 1, 1], timeStep(trainingLength ?? x.shape[1]), { dtype });
    return concatenate([changes, passed.broadcastTo([...changes.shape.slice(0, 2), 1])], 2);
  };
  const watch = (final: Tensor, start: Tensor, changes: Tensor) => {
    const again = () => allStates("recurrent", dynamics, start, changes);
    refuseDivergence({ final, steps: changes.shape[1], again }, limit);
  };
  const weightsFrom = (x: Tensor, start?: Tensor) => {
    checkSeries(x, inputChannels);
    const [theta, changes] = [startOf(x, start), changesOf(x)];
    const states = allStates(mode, dynamics, theta, changes);
    watch(states.select(1, -1), theta, changes);
    return states;
  };

  const weights = (x: Tensor, call: Pick<WARPCallOptions, "start"> = {}) => {
    checkOptions("WARP.weights", call, weightsCallNames);
    return weightsFrom(x, call.start);
  };

  const parameters = { A: transition.parameters, B, initial: phi.parameters, ...readout.parameters };
  const model = layer(parameters satisfies WARPParameters, (x: Tensor, call: WARPCallOptions = {}) => {
    checkOptions("WARP", call, warpCallNames);
    checkSeries(x, inputChannels);
    if (feedsPredictions(call)) {
      const start = startOf(x, call.start);
      const feeding = { ...feedingOf(x, call, options), start };
      const { y, final } = feed(mode, dynamics, readout, feeding);
      const all = { ...feeding, start: start.broadcastTo([x.shape[0], root.size]) };
      const again = () => rollOutStates(dynamics, readout, all);
      refuseDivergence({ final, steps: feeding.tau.shape[0] - 1, again }, limit);
      return y;
    }
    const { states = output === "logits" ? "final" : "all" } = call;
    checkWord("WARP", "states", states, ["final", "all"]);
    const length = x.shape[1];
    const first = x.slice(1, 0, 1);
    if (states === "all") {
      const tau = times(length, dtype, trainingLength).expandDims(1);
      return readout.decode(weightsFrom(x, call.start), { tau, input: x, first });
    }
    const [start, changes] = [startOf(x, call.start), changesOf(x)];
    const final = finalState(mode, dynamics, start, changes);
    watch(final, start, changes);
    const tau = times(length, dtype, trainingLength).slice(0, -1).expandDims(1);
    return readout.decode(final, { tau, input: x.select(1, -1), first: first.squeeze(1) });
  });
  const decode = (theta: Tensor, tau: Tensor | number, seen: Partial<Omit<WARPDecoding, "tau">> = {}) => {
    checkOptions("WARP.decode", seen, decodingNames);
    const unknown = full([1], NaN, { dtype }).broadcastTo([...theta.shape.slice(0, -1), inputChannels]);
    const { input = unknown, first = unknown } = seen;
    const time = typeof tau === "number" ? full([1], tau, { dtype }) : tau;
    return readout.decode(theta, { tau: time, input, first });
  };
  const transitionMatrix = () => tidy(() => transition.apply(eye(root.size, { dtype }), transition.first).mT);
  return Object.assign(model, { stateSize: root.size, weights, transitionMatrix, decode });
}
