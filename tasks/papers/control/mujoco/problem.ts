/**
 * The control problems of appendix C.3 of Irie et al., 2022: systems of MuJoCo whose actions are held for irregular
 * times, as in Du, Futoma, Doshi-Velez, "Model-based reinforcement learning for semi-Markov decision processes with
 * neural ODEs", 2020.
 */
import type { Tensor } from "@weft/weft";
import type { PhysicsState } from "./physics.ts";
import { mujoco } from "../../recipes/mujoco.ts";

/** A system in a plane that is rewarded for its motion along x. */
export interface Problem {
  /** The system in MuJoCo's format MJCF, with the parameters of Gym's environment. Position 0 is that along x. */
  readonly xml: string;
  /** Time step of the engine in seconds, the unit of time gaps. */
  readonly timeStep: number;
  /** Number of generalized positions, velocities and motors. */
  readonly positions: number;
  readonly velocities: number;
  readonly actions: number;
  /** Largest random offset of each position and velocity at the start of an episode. */
  readonly startNoise: number;
  /** Observed velocities are clipped to this size. */
  readonly velocityLimit: number;
  /** Cost c of actions a, c |a|^2. */
  readonly controlCost: number;
  /** Reward of each decision that does not end the episode. */
  readonly aliveReward: number;
  /**
   * An episode ends when position 1, the height in meters, is not above the least one, when position 2, an angle in
   * radians, is not below the largest one, or when another value is not below the largest one. Undefined if episodes
   * only end by their number of decisions.
   */
  readonly upright?: {
    readonly leastHeight: number;
    readonly largestAngle: number;
    readonly largestValue: number;
  };
}

/** Shortest and longest time gaps, in time steps of the engine. Gaps are whole numbers. */
export const gapRange = {
  least: mujoco.rules.leastGap.value,
  largest: mujoco.rules.largestGap.value,
} as const;

/** Number of possible time gaps. */
export const gapClasses = gapRange.largest - gapRange.least + 1;

/** Numbers of an observation. */
export function observedValues({ positions, velocities }: Problem): number {
  return positions + velocities;
}

/**
 * The observation: the positions without x, the clipped velocities, and x. Gym's observation has no x: Du et al.
 * append it, so that a model can predict the reward.
 */
export function observe({ velocityLimit }: Problem, { positions, velocities }: PhysicsState): number[] {
  const [x, ...others] = positions;
  const clipped = velocities.map((v) => Math.max(-velocityLimit, Math.min(velocityLimit, v)));
  return [...others, ...clipped, x];
}

/**
 * The time gap after a decision, in time steps: 3 cos(20 pi |v|) + 4 with the observed velocities v, rounded. A small
 * change of the state changes the gap.
 */
export function timeGap({ positions }: Problem, observation: readonly number[]): number {
  const amplitude = (gapRange.largest - gapRange.least) / 2;
  const speed = Math.hypot(...observation.slice(positions - 1, -1));
  const gap = Math.round(amplitude * Math.cos(20 * Math.PI * speed) + amplitude + gapRange.least);
  return Math.max(gapRange.least, Math.min(gapRange.largest, gap));
}

/**
 * Reward of a decision: the mean velocity along x over the time gap, minus the cost of the actions, plus the reward of
 * being alive.
 *
 * @param distance Change of x in meters.
 * @param gap Time gap in time steps.
 */
export function reward(
  { timeStep, controlCost, aliveReward }: Problem,
  { distance, actions, gap }: { distance: number; actions: readonly number[]; gap: number },
): number {
  const effort = actions.reduce((sum, action) => sum + action ** 2, 0);
  return distance / (gap * timeStep) + aliveReward - controlCost * effort;
}

/** Whether a state ends the episode. */
export function isTerminal({ upright }: Problem, { positions, velocities }: PhysicsState): boolean {
  if (!upright) return false;
  const [, height, angle] = positions;
  const isBounded = [...positions.slice(2), ...velocities].every((value) =>
    Math.abs(value) < upright.largestValue
  );
  return !(isBounded && height > upright.leastHeight && Math.abs(angle) < upright.largestAngle);
}

/** Predicted decisions: observations `(..., values)` before and after, actions `(..., actions)`, gaps `(..., 1)`. */
export interface PredictedDecision {
  readonly state: Tensor;
  readonly next: Tensor;
  readonly action: Tensor;
  readonly gap: Tensor;
}

/** Rewards `(..., 1)` of predicted decisions: see {@linkcode reward}. */
export function predictedReward(
  { timeStep, controlCost, aliveReward }: Problem,
  { state, next, action, gap }: PredictedDecision,
): Tensor {
  const distance = next.slice(-1, -1).sub(state.slice(-1, -1));
  const effort = action.square().sum(-1, { keepDims: true });
  return distance.div(gap.mul(timeStep)).add(aliveReward).sub(effort.mul(controlCost));
}

/** Whether predicted observations `(..., values)` do not end the episode: ones and zeros `(..., 1)`. */
export function predictedAlive({ upright }: Problem, next: Tensor): Tensor {
  const [height, angle] = [next.slice(-1, 0, 1), next.slice(-1, 1, 2)];
  if (!upright) return height.zerosLike().add(1);
  const isBounded = next.slice(-1, 1).abs().max(-1, { keepDims: true }).less(upright.largestValue);
  return isBounded.and(height.greater(upright.leastHeight)).and(angle.abs().less(upright.largestAngle)).cast(
    next.dtype,
  );
}
