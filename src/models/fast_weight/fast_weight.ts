import type { DType } from "../../device/dtype.ts";
import { formatShape, ShapeError } from "../../device/shape.ts";
import { checkCount, type Layer, layer, type ParameterTree } from "../../nn/layer.ts";
import { Dropout } from "../../nn/dropout.ts";
import { LayerNorm } from "../../nn/layer_norm.ts";
import { Linear } from "../../nn/linear.ts";
import type { Path } from "../../paths/path.ts";
import { smallestGap } from "../../solvers/cdeint.ts";
import { odeint, type SolveOptions } from "../../solvers/odeint.ts";
import { type Key, split } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { checkReadout, type ReadoutOptions, statesAtEnd } from "../terminal.ts";
import { hebb, type LearningRule, type Signals } from "./rules.ts";

/** What of the control a signal is computed from: its value x(s) or its derivative x'(s). */
export type ControlSource = "value" | "derivative";

/** Options of {@linkcode FastWeight}; the solver's are among them. */
export interface FastWeightOptions extends SolveOptions {
  /** Channels of the control, time included. */
  inputChannels: number;
  /** Features of the model, all heads together: a multiple of `heads`. */
  modelDim: number;
  /** The number of fast weight matrices, each of `modelDim / heads` values by as many keys. */
  heads: number;
  /** Features that are read out. */
  outputChannels: number;
  /** Features inside the feed-forward block, `4 * modelDim` by default. */
  feedForward?: number;
  /** How the fast weights change, {@linkcode hebb} by default. */
  rule?: LearningRule;
  /** Where keys and rates come from, and the query: `"value"` by default. */
  keysFrom?: ControlSource;
  /**
   * Where values come from: `"keys"`, the default, from the same network as the keys (the direct neural ODE); else from
   * the control by a projection of their own (the CDEs).
   */
  valuesFrom?: "keys" | ControlSource;
  /** Whether W is transposed when it is queried: where keys are x and values x' (the paper's section 3.2). */
  transposeQuery?: boolean;
  /** The probability that dropout zeroes a feature in training, 0 by default. */
  dropout?: number;
  /** What the initial parameters are drawn from. */
  key: Key;
  /** `"float32"` by default. */
  dtype?: DType;
}

/** Options of a call. */
export interface FastWeightCall extends ReadoutOptions {
  /** The fast weights at the first time, `(batch, heads, values, keys)`, instead of the rule's own: from static features. */
  initial?: Tensor;
  /** Turns dropout on, and draws it: for training. */
  key?: Key;
}

/**
 * A continuous-time fast weight programmer (Irie et al., 2022, section 3): a slow network reads the control and emits
 * keys, values and a learning rate; a learning rule integrates them into the weights of a fast network,
 * dW/ds = rule(k(s), v(s), beta(s), W), which is queried at the end. The result passes through a projection, a Transformer
 * feed-forward block and a linear readout.
 *
 * All of the paper's models are choices of `rule`, `keysFrom` and `valuesFrom`; {@linkcode FastWeightODE} and
 * {@linkcode FastWeightCDE} make them. What depends on the control alone is computed for all times at once; the solve
 * itself holds the rule.
 *
 * The model takes a control with values `(batch, inputChannels)` and returns `(batch, outputChannels)`, or
 * `(batch, length, outputChannels)` for all states.
 *
 * @throws {RangeError} If a size is not a whole number above zero, or `modelDim` is not a multiple of `heads`.
 */
export function FastWeight(options: FastWeightOptions): Layer<[X: Path, options?: FastWeightCall]> {
  const { inputChannels, modelDim, heads, outputChannels, feedForward = 4 * modelDim, rule = hebb() } =
    options;
  const {
    keysFrom = "value",
    valuesFrom = "keys",
    transposeQuery = false,
    dropout = 0,
    key,
    dtype,
    ...solver
  } = options;
  for (
    const [name, value] of Object.entries({ inputChannels, modelDim, heads, outputChannels, feedForward })
  ) {
    checkCount("FastWeight", name, value);
  }
  if (modelDim % heads !== 0) {
    throw new RangeError(`FastWeight: modelDim ${modelDim} is not a multiple of heads ${heads}`);
  }
  const headDim = modelDim / heads;
  const keys = split(key, 9);
  const linear = (i: number, inputs: number, outputs: number) =>
    Linear({ inputs, outputs, key: keys[i], dtype });
  const normalized = () => LayerNorm({ features: modelDim, dtype });

  const input = linear(0, inputChannels, modelDim);
  const inputNorm = normalized();
  const signalsPerHead = (valuesFrom === "keys" ? 2 : 1) * headDim + 1;
  const slow = linear(1, modelDim, heads * signalsPerHead);
  const values = valuesFrom === "keys" ? undefined : linear(2, inputChannels, modelDim);
  const query = linear(3, modelDim, modelDim);
  const output = linear(4, modelDim, modelDim);
  const blockNorm = normalized();
  const block = [linear(5, modelDim, feedForward), linear(6, feedForward, modelDim)];
  const readout = linear(7, modelDim, outputChannels);
  const drop = Dropout({ rate: dropout });

  /** Features of the control that keys and queries share: `(..., modelDim)`. */
  const features = (X: Path, t: Tensor | number) => inputNorm(input(read(X, keysFrom, t)));
  const inHeads = (x: Tensor) => x.reshape([...x.shape.slice(0, -1), heads, x.shape.at(-1)! / heads]);
  const signalsAt = (X: Path, t: Tensor | number): Signals => {
    const emitted = inHeads(slow(features(X, t)));
    const part = (start: number, end: number) => emitted.slice(-1, start, end);
    return {
      keys: part(0, headDim),
      values: valuesFrom === "keys" ? part(headDim, 2 * headDim) : inHeads(values!(read(X, valuesFrom, t))),
      rate: part(signalsPerHead - 1, signalsPerHead),
    };
  };

  /** W `(..., heads, values, keys)` queried with what the control is at some times. */
  const answer = (w: Tensor, X: Path, t: Tensor | number, dropKeys: readonly (Key | undefined)[]) => {
    const q = inHeads(query(features(X, t))).softmax();
    const found = (transposeQuery ? w.mT : w).matmul(q.expandDims(-1)).squeeze(-1);
    const projected = drop(output(found.flatten(-2)), dropKeys[0]);
    const inner = drop(block[0](blockNorm(projected)).relu(), dropKeys[1]);
    return readout(drop(block[1](inner), dropKeys[2]).add(projected));
  };

  const parameters = {
    input: input.parameters,
    inputNorm: inputNorm.parameters,
    slow: slow.parameters,
    ...(values ? { values: values.parameters } : {}),
    query: query.parameters,
    output: output.parameters,
    feedForward: { norm: blockNorm.parameters, layers: block.map((own) => own.parameters) },
    readout: readout.parameters,
  } satisfies ParameterTree;

  return layer(parameters, (X: Path, call: FastWeightCall = {}) => {
    checkReadout("FastWeight", call);
    const { states = "final", lengths, initial } = call;
    const [start, end] = [X.times[0], X.times[X.times.length - 1]];
    const x0 = X.evaluate(start);
    if (x0.rank !== 2 || x0.shape[1] !== inputChannels) {
      throw new ShapeError(
        `FastWeight: the control has values of shape ${
          formatShape(x0.shape)
        }, expected (batch, ${inputChannels})`,
      );
    }
    const w0 = initial ?? rule(signalsAt(X, start));
    const field = (t: Tensor, w: Tensor) => rule(signalsAt(X, t), w);
    const everywhere = states === "all" || lengths !== undefined;
    const times = everywhere ? X.times : [start, end];
    const w = odeint(field, w0, times, { ...solver, stepSize: solver.stepSize ?? smallestGap(X.times) });
    const dropKeys = call.key ? split(call.key, 3) : [];
    if (!everywhere) return answer(w.at(0, -1), X, end, dropKeys);
    // (length, batch, heads, values, keys) to (batch, length, ...)
    const all = w.permute([1, 0, 2, 3, 4]);
    if (!lengths) return answer(all, X, X.gridPoints, dropKeys);
    return answer(statesAtEnd("FastWeight", all.flatten(2), lengths).reshape(w0.shape), X, end, dropKeys);
  });
}

function read(X: Path, source: ControlSource, t: Tensor | number): Tensor {
  return source === "value" ? X.evaluate(t) : X.derivative(t);
}

/** The options of {@linkcode FastWeight} that a model of the paper leaves open. */
export type FastWeightModelOptions = Omit<FastWeightOptions, "keysFrom" | "valuesFrom" | "transposeQuery">;

/**
 * The direct neural ODE (section 3.1): keys, values and rates all come from x(s).
 *
 * @example
 * ```ts
 * import { CubicSpline, delta, FastWeightODE, key, naturalCubicCoeffs, normal } from "@weft/weft";
 *
 * const X = new CubicSpline(naturalCubicCoeffs(normal(key(0), [8, 50, 3])));
 * const sizes = { inputChannels: 3, modelDim: 16, heads: 4, outputChannels: 2 };
 * const model = FastWeightODE({ ...sizes, rule: delta(), key: key(1) });
 * model(X).shape; // (8, 2)
 * ```
 */
export function FastWeightODE(options: FastWeightModelOptions): Layer<[X: Path, options?: FastWeightCall]> {
  return FastWeight(options);
}

/**
 * The controlled differential equations, section 3.2. `"value"`: keys from x and values from x', W transposed when
 * queried (Hebb and Oja). `"derivative"`: keys and the query from x', values from x (Delta,
 * and Hebb with the roles exchanged). `"derivative only"`: everything from x'.
 */
export function FastWeightCDE(
  options: FastWeightModelOptions & { keys?: "value" | "derivative" | "derivative only" },
): Layer<[X: Path, options?: FastWeightCall]> {
  const { keys = "derivative", ...rest } = options;
  return FastWeight({
    ...rest,
    keysFrom: keys === "value" ? "value" : "derivative",
    valuesFrom: keys === "derivative" ? "value" : "derivative",
    transposeQuery: keys === "value",
  });
}
