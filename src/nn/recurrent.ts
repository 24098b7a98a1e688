/** Options, parameters and initialization that recurrent layers share. */
import { scan } from "../compile/loop/scan.ts";
import { namesOf } from "../device/options.ts";
import { refuseShape } from "../device/shape.ts";
import { zeros } from "../tensor/creation.ts";
import { splitKey, uniform } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { checkCount, parameterOf, parameterOptionNames, type ParameterOptions } from "./layer.ts";

/** Options of recurrent layers. */
export interface RecurrentOptions extends ParameterOptions {
  /** Features of an input row. */
  inputs: number;
  /** Features of the state. */
  hidden: number;
}

export const recurrentOptionNames = namesOf<RecurrentOptions>()("inputs hidden", parameterOptionNames);

/** Weights and biases of all gates, stacked along the first axis. The names are PyTorch's. */
export type GateParameters = {
  /** Shape (gates * hidden, inputs). */
  readonly weight_ih: Tensor;
  /** Shape (gates * hidden, hidden). */
  readonly weight_hh: Tensor;
  /** Shape (gates * hidden). */
  readonly bias_ih: Tensor;
  /** Shape (gates * hidden). */
  readonly bias_hh: Tensor;
};

/** Makes the initial parameters of a cell. */
export function gateParameters(name: string, gates: number, options: RecurrentOptions): GateParameters {
  const { inputs, hidden, key, dtype = "float32" } = options;
  checkCount(name, "inputs", inputs);
  checkCount(name, "hidden", hidden);
  const keys = splitKey(key, 4);
  const bound = 1 / Math.sqrt(hidden);
  const make = (i: number, shape: number[]) =>
    parameterOf(() => uniform(keys[i], shape, { low: -bound, high: bound, dtype }));
  return {
    weight_ih: make(0, [gates * hidden, inputs]),
    weight_hh: make(1, [gates * hidden, hidden]),
    bias_ih: make(2, [gates * hidden]),
    bias_hh: make(3, [gates * hidden]),
  };
}

/**
 * Returns W x + b and U h + c, each `(..., gates * hidden)`. They are separate so that the compiler can hoist
 * the first, which depends only on the input, out of the loop.
 */
export function gatedProducts(parameters: GateParameters, x: Tensor, h: Tensor): [Tensor, Tensor] {
  const { weight_ih, weight_hh, bias_ih, bias_hh } = parameters;
  return [x.matmul(weight_ih.mT).add(bias_ih), h.matmul(weight_hh.mT).add(bias_hh)];
}

/** A state of zeros for sequences `(batch, length, inputs)`. */
export function zeroState(x: Tensor, hidden: number): Tensor {
  return zeros([x.shape[0], hidden], { dtype: x.dtype });
}

/**
 * Scans sequences `(batch, length, inputs)` with a recurrent step, from an initial state. Returns the outputs,
 * `(batch, length, ...)`.
 */
export function scanSequences<C extends Tree>(
  name: string,
  x: Tensor,
  state: C,
  step: (input: Tensor, state: C) => [state: C, output: Tensor],
): Tensor {
  if (x.rank !== 3 || x.shape[1] === 0) {
    refuseShape(`${name}: x`, x.shape, "(batch, length, inputs) with a length of at least 1");
  }
  const [, outputs] = scan<C, Tensor, Tensor>(
    (carry, input) => step(input, carry),
    state,
    x.transpose(0, 1),
  );
  return outputs.transpose(0, 1);
}
