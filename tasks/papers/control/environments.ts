/** Control problems: equations of motion, rewards and time gaps. */
import { type Key, odeint, type Tensor } from "@weft/weft";
import type { Axis } from "@weft/weft/train";

/** The unit of time of rewards and of regular gaps, in seconds: the time step of Gym's pendulum. */
export const timeUnit = 0.05;

/** Duration of an episode in seconds. */
export const duration = 10;

/** Number of decisions of an episode. The last one lasts until the end of the episode. */
export const decisions = duration / timeUnit;

/** A control problem. States are `(..., states)`; actions `(..., 1)` are in [-1, 1]. */
export interface Environment {
  /** Titles of the states with their units. */
  readonly states: readonly Axis[];
  /** Typical change of each state over the time unit, the scale of the model's errors. */
  readonly changes: readonly number[];
  /** Title of the action with its unit, and its value for an action of 1. */
  readonly action: Axis & { readonly limit: number };
  /** Number of features. */
  readonly features: number;
  /** The inputs of networks, bounded functions of the state: `(..., features)`. */
  featuresOf(state: Tensor): Tensor;
  /** The time derivative of the state. */
  field(state: Tensor, action: Tensor): Tensor;
  /** Reward per time unit, `(..., 1)`. */
  reward(state: Tensor, action: Tensor): Tensor;
  /** Angular velocity `(..., 1)` in rad/s, which determines irregular time gaps. */
  angularVelocity(state: Tensor): Tensor;
  /** Random initial states `(count, states)`. */
  start(count: number, key: Key): Tensor;
  /** The actions of a hand-written controller, which knows the equations of motion. */
  controller(state: Tensor): Tensor;
  /** The ends of the segments that a drawing shows, `[x, y]` in the plane, of the host. */
  draw(state: readonly number[]): readonly (readonly [x: number, y: number])[];
}

/** Component `i` of states, `(..., 1)`. */
export function component(state: Tensor, i: number): Tensor {
  return state.slice(-1, i, i + 1);
}

/** Maps angles to [-pi, pi]. */
export function wrapAngle(angle: Tensor): Tensor {
  return angle.sub(angle.div(2 * Math.PI).round().mul(2 * Math.PI));
}

/** Kinds of time gaps between decisions. */
export const gapKinds = ["regular", "irregular"] as const;

/** A kind of time gaps. */
export type GapKind = (typeof gapKinds)[number];

/**
 * Time in seconds from a decision to the next one, `(..., 1)`. Regular gaps are the time unit u. Irregular gaps are
 * a deterministic function of the state, as in the semi-Markov decision processes of Du et al. ("Model-based
 * reinforcement learning for semi-Markov decision processes with neural ODEs", 2020): u (1 + cos(w) / 2) with the
 * angular velocity w.
 */
export function timeGap({ angularVelocity }: Environment, kind: GapKind, state: Tensor): Tensor {
  const velocity = angularVelocity(state);
  const variation = kind === "regular" ? velocity.zerosLike() : velocity.cos().div(2);
  return variation.add(1).mul(timeUnit);
}

/** The state after an action was applied for a time gap `(batch, 1)` in seconds, by equal steps of `rk4`. */
export function advance(
  { field }: Pick<Environment, "field">,
  state: Tensor,
  action: Tensor,
  gap: Tensor,
  steps = 4,
): Tensor {
  // Scale every gap to length 1, so that one solve serves all states.
  const scaled = (_t: Tensor, y: Tensor) => field(y, action).mul(gap);
  return odeint(scaled, state, [0, 1], { method: "rk4", stepSize: 1 / steps }).select(0, 1);
}
