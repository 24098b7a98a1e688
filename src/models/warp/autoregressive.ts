import { scan } from "../../compile/scan.ts";
import { full } from "../../tensor/creation.ts";
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
  /** Where the root network is evaluated at each step, `(T)`. */
  readonly tau: Tensor;
  /** What one step adds to the channel of time, where there is one. */
  readonly tauStep?: number;
  /** Whether a root network with `previousInput` reads p_(t-1), as in the authors' code, instead of u_t. */
  readonly readsPrediction?: boolean;
}

/** What an autoregressive run comes to. */
export interface RollOut {
  /** Predictions, `(batch, T, outputs)`. */
  readonly y: Tensor;
  /** The last state, `(batch, D)`. */
  readonly final: Tensor;
}

/**
 * The recurrent mode of section 2.3 that feeds on its own predictions, with p_0 = x_0 and t from 1 to T - 1:
 *
 *     theta_t = A theta_(t-1) + B (u_t - p_(t-1)),   u_t = x_t where it is given, otherwise p_t,
 *     y_t = theta_t(tau_t),                          p_(t+1) = y_t, or a sample of the normal distribution that y_t tells.
 *
 * The input difference always subtracts the model's own prediction, whether or not the observation before was given.
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

/** theta_t, p_t and y_t. */
type Carry = { theta: Tensor; prediction: Tensor; y: Tensor };

function run(dynamics: Dynamics, readout: Readout, feeding: Feeding, output: (carry: Carry) => Tensor) {
  const { start, x, given, noise, tau, tauStep, readsPrediction = false } = feeding;
  const [batch, , channels] = x.shape;
  const first = x.at(1, 0);
  const decode = (theta: Tensor, tau: Tensor, input: Tensor) =>
    readout.decode(theta, { tau: tau.reshape([1, 1]).broadcastTo([batch, 1]), input, first });
  const time = tauStep === undefined ? undefined : full([batch, 1], tauStep, { dtype: x.dtype });
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
    const change = input.sub(carry.prediction);
    const theta = advance(dynamics, carry.theta, time ? concatenate([change, time], -1) : change);
    const y = decode(theta, row.tau, readsPrediction ? carry.prediction : input);
    const next = { theta, prediction: own, y };
    return [next, output(next)];
  };
  const [last, later] = scan(step, { theta: start, prediction: first, y: y0 }, rows);
  return { last, later, y0 };
}
