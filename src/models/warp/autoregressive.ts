import { scan } from "../../compile/scan.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { advance, type Dynamics } from "./dynamics.ts";
import type { Readout } from "./readout.ts";

/** What an autoregressive run is given. */
export interface Feeding {
  /** theta_0, `(batch, D)`. */
  readonly start: Tensor;
  /** Observations, `(batch, T, channels)`; those that are not fed are not read. */
  readonly x: Tensor;
  /** Which observations are fed, bool `(batch, T - 1, 1)`, from the second one. */
  readonly given: Tensor;
  /** Standard normal numbers `(batch, T - 1, channels)` that make samples of predictions; without, means are fed. */
  readonly noise?: Tensor;
  /** `(T)`. */
  readonly tau: Tensor;
}

/** What an autoregressive run comes to. */
export interface RollOut {
  /** Predictions, `(batch, T, outputs)`. */
  readonly y: Tensor;
  /** The last state, `(batch, D)`. */
  readonly final: Tensor;
}

/**
 * Predictions of the next observation at each step, where those that are not given are the model's own: y_t predicts
 * x_(t+1), and step t takes up x_t where it is given, otherwise y_(t-1).
 */
export function rollOut(dynamics: Dynamics, readout: Readout, feeding: Feeding): RollOut {
  const { last, later, y0 } = run(dynamics, readout, feeding, ({ y }) => y);
  return { y: concatenate([y0.expandDims(0), later]).transpose(0, 1), final: last.theta };
}

/** The states of the same run, `(batch, T, D)`. */
export function rollOutStates(dynamics: Dynamics, readout: Readout, feeding: Feeding): Tensor {
  const { later } = run(dynamics, readout, feeding, ({ theta }) => theta);
  return concatenate([feeding.start.expandDims(0), later]).transpose(0, 1);
}

type Carry = { theta: Tensor; input: Tensor; y: Tensor };

function run(dynamics: Dynamics, readout: Readout, feeding: Feeding, output: (carry: Carry) => Tensor) {
  const { start, x, given, noise, tau } = feeding;
  const [batch, , channels] = x.shape;
  const first = x.at(1, 0);
  const decode = (theta: Tensor, tau: Tensor, input: Tensor) =>
    readout.decode(theta, { tau: tau.reshape([1, 1]).broadcastTo([batch, 1]), input, first });
  const y0 = decode(start, tau.at(0, 0), first);
  const rows = {
    tau: tau.slice(0, 1),
    x: x.slice(1, 1).transpose(0, 1),
    given: given.broadcastTo([batch, given.shape[1], channels]).transpose(0, 1),
    noise: noise ? [noise.transpose(0, 1)] : [],
  };
  const step = (carry: Carry, row: typeof rows): [Carry, Tensor] => {
    const mean = carry.y.slice(-1, 0, channels);
    const own = row.noise.length > 0 ? mean.add(carry.y.slice(-1, channels).mul(row.noise[0])) : mean;
    const input = row.given.where(row.x, own);
    const theta = advance(dynamics, carry.theta, input.sub(carry.input));
    const next = { theta, input, y: decode(theta, row.tau, input) };
    return [next, output(next)];
  };
  const [last, later] = scan(step, { theta: start, input: first, y: y0 }, rows);
  return { last, later, y0 };
}
