import { scan } from "../../compile/loop/scan.ts";
import { full } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { advance, type Dynamics } from "./dynamics.ts";
import type { Readout } from "./readout.ts";

/** Inputs of an autoregressive run. */
export interface Feeding {
  /** theta_0, `(batch, D)`. */
  readonly start: Tensor;
  /** Observations, `(batch, T, channels)`. Observations where `usesObservation` is false are ignored. */
  readonly x: Tensor;
  /** Whether each observation from the second on is fed, bool `(batch, T - 1, 1)`. */
  readonly usesObservation: Tensor;
  /**
   * Standard normal numbers `(batch, T - 1, channels)` for samples of predictions. If undefined, means are
   * fed back.
   */
  readonly noise?: Tensor;
  /** Times at which the root network is evaluated, `(T)`, one for each step. */
  readonly tau: Tensor;
  /** Increment of the time channel per step, if the model has a time channel. */
  readonly tauStep?: number;
  /** Whether a root network with `previousInput` reads p_(t-1), as in the authors' code, instead of u_t. */
  readonly readsPrediction?: boolean;
}

/** Results of an autoregressive run. */
export interface RollOut {
  /** Predictions, `(batch, T, outputs)`. */
  readonly y: Tensor;
  /** The last state, `(batch, D)`. */
  readonly final: Tensor;
}

/**
 * The recurrent mode of section 2.3 that feeds back predictions, with p_0 = x_0 and t from 1 to T - 1:
 *
 *     theta_t = A theta_(t-1) + B (u_t - p_(t-1)),   u_t = x_t if it is given, otherwise p_t,
 *     y_t = theta_t(tau_t),                          p_(t+1) = y_t, or a sample of the normal distribution y_t.
 *
 * The input difference always subtracts the model's prediction, even if the previous observation was given.
 */
export function rollOut(dynamics: Dynamics, readout: Readout, feeding: Feeding): RollOut {
  const { last, later, y0 } = run(dynamics, readout, feeding, (_, y) => y);
  return { y: concatenate([y0.expandDims(0), later]).transpose(0, 1), final: last.theta };
}

/** The states of the same run, `(batch, T, D)`. */
export function rollOutStates(dynamics: Dynamics, readout: Readout, feeding: Feeding): Tensor {
  const { later } = run(dynamics, readout, feeding, (theta) => theta);
  return concatenate([feeding.start.expandDims(0), later]).transpose(0, 1);
}

/** p_t, which is fed back at step t, and the output y_t. */
export type StepOutput = {
  readonly prediction: Tensor;
  readonly y: Tensor;
};

/** Inputs of one step. */
export type FeedingRow = {
  readonly tau: Tensor;
  readonly x: Tensor;
  readonly usesObservation: Tensor;
  readonly noise: readonly Tensor[];
};

/** The inputs of all steps of a run, and the functions of a step. */
interface FeedingSteps {
  readonly rows: FeedingRow;
  /** Returns y_0 of the first states. */
  first(start: Tensor): StepOutput;
  /** Returns the inputs of the next step: the change of the input, and p_t. */
  nextInputs(before: StepOutput, row: FeedingRow): { change: Tensor; input: Tensor; prediction: Tensor };
  /** Returns y_t. */
  decode(theta: Tensor, row: FeedingRow, before: StepOutput, input: Tensor): Tensor;
}

/** Makes the functions that compute the steps of an autoregressive run. */
export function feedingSteps(readout: Readout, feeding: Omit<Feeding, "start">): FeedingSteps {
  const { x, usesObservation, noise, tau, tauStep, readsPrediction = false } = feeding;
  const [batch, , channels] = x.shape;
  const first = x.select(1, 0);
  const decodeAt = (theta: Tensor, tau: Tensor, input: Tensor) =>
    readout.decode(theta, { tau: tau.reshape([1, 1]).broadcastTo([batch, 1]), input, first });
  const time = tauStep === undefined ? undefined : full([batch, 1], tauStep, { dtype: x.dtype });
  return {
    rows: {
      tau: tau.slice(0, 1),
      x: x.slice(1, 1).transpose(0, 1),
      usesObservation: usesObservation.transpose(0, 1),
      noise: noise ? [noise.transpose(0, 1)] : [],
    },
    first: (start) => ({ prediction: first, y: decodeAt(start, tau.select(0, 0), first) }),
    nextInputs(before, row) {
      const mean = before.y.slice(-1, 0, channels);
      const isSampled = row.noise.length > 0;
      const prediction = isSampled ? mean.add(before.y.slice(-1, channels).mul(row.noise[0])) : mean;
      const input = row.usesObservation.where(row.x, prediction);
      const change = input.sub(before.prediction);
      return { change: time ? concatenate([change, time], -1) : change, input, prediction };
    },
    decode: (theta, row, before, input) =>
      decodeAt(theta, row.tau, readsPrediction ? before.prediction : input),
  };
}

function run(
  dynamics: Dynamics,
  readout: Readout,
  feeding: Feeding,
  select: (theta: Tensor, y: Tensor) => Tensor,
) {
  const steps = feedingSteps(readout, feeding);
  const start = steps.first(feeding.start);
  type Carry = { theta: Tensor; previous: StepOutput };
  const step = ({ theta, previous }: Carry, row: FeedingRow): [Carry, Tensor] => {
    const { change, input, prediction } = steps.nextInputs(previous, row);
    const next = advance(dynamics, theta, change);
    const y = steps.decode(next, row, previous, input);
    return [{ theta: next, previous: { prediction, y } }, select(next, y)];
  };
  const [last, later] = scan(step, { theta: feeding.start, previous: start }, steps.rows);
  return { last, later, y0: start.y };
}
