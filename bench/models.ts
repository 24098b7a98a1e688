/** The models of the workloads. */
import {
  arange,
  cdeint,
  concatenate,
  CubicSpline,
  jit,
  key,
  MLP,
  naturalCubicCoeffs,
  normal,
  type ParameterTree,
  type SolveOptions,
  splitKey,
  type Tensor,
  valueAndGrad,
  vjp,
} from "../mod.ts";
import type { PreparedWorkload } from "./timing.ts";

/** A loss on one batch, and the parameters of its gradient. */
export interface Problem {
  readonly loss: () => Tensor;
  readonly parameters: ParameterTree;
}

/**
 * A training step under `jit`, as in the training loop: the loss and its gradient. The gradient is returned,
 * because `jit` drops operations whose results nothing reads.
 */
export function training({ loss, parameters }: Problem): PreparedWorkload {
  const lossAndGradients = valueAndGrad(loss);
  return { step: jit(() => lossAndGradients(parameters)), forward: () => vjp(loss, parameters) };
}

/** Random walks with time as the first channel, as a control: `(batch, length, channels)`. */
export function randomControl(batch: number, length: number, channels: number): CubicSpline {
  const time = arange(length).reshape([1, length, 1]).broadcastTo([batch, length, 1]);
  const walks = normal(key(0), [batch, length, channels - 1]).cumsum(1).div(Math.sqrt(length));
  return CubicSpline(naturalCubicCoeffs(concatenate([time, walks], 2)));
}

/** Sizes of a Neural CDE: of the control, of the state, and of the hidden layers of the vector field. */
export interface NeuralCdeSizes {
  batch: number;
  length: number;
  channels: number;
  hidden: number;
  width: number;
  depth: number;
}

/** The solve of a Neural CDE (Kidger et al., 2020), without its initial condition and readout. */
export function neuralCde(sizes: NeuralCdeSizes, solver: SolveOptions): Problem {
  const { batch, length, channels, hidden, width, depth } = sizes;
  const [fieldKey, stateKey] = splitKey(key(1));
  const X = randomControl(batch, length, channels);
  const z0 = normal(stateKey, [batch, hidden]);
  const mlp = MLP({
    inputs: hidden,
    outputs: hidden * channels,
    width,
    depth,
    finalActivation: "tanh",
    key: fieldKey,
  });
  const field = (_t: Tensor, z: Tensor) => mlp(z).reshape([batch, hidden, channels]);
  return {
    loss: () => cdeint(X, field, z0, X.interval, solver).select(1, -1).square().mean(),
    parameters: mlp.parameters,
  };
}
