/** Model predictive control with plans that an actor draws. */
import { concatenate, type Key, normal, scan, type Tensor, topK, treeMap } from "@weft/weft";
import type { ActorCritic } from "../actor_critic.ts";
import type { Latent, LatentModel } from "./latent_model.ts";
import type { Normalizer } from "./normalizer.ts";
import { predictedAlive, predictedReward, type Problem } from "./problem.ts";
import { mujoco } from "../../recipes/mujoco.ts";
import { valuesOf } from "../../recipes/recipe.ts";

/** Options of {@linkcode SamplingPlanner}. */
export interface SamplingPlannerOptions {
  readonly problem: Problem;
  readonly model: Pick<LatentModel, "next" | "decode" | "gapAfter">;
  readonly agent: Pick<ActorCritic, "act" | "value">;
  /** The input of the actor and the critic, from a normalized observation and a latent state. */
  policyInput(state: Tensor, latent: Latent): Tensor;
  readonly normalizer: Pick<Normalizer, "restore">;
  /** Number of decisions of a plan. */
  readonly horizon: number;
  /** Number of plans of a decision. */
  readonly candidates: number;
  /** Discount factor for a time step. */
  readonly discount: number;
}

/** The action `(1, actions)` for a normalized observation `(1, values)` and the latent state of the episode. */
export type SamplingPlanner = (state: Tensor, latent: Latent, key: Key) => Tensor;

/** Standard deviation of the noise of the actor's actions, and fraction of the plans whose first actions are averaged. */
const { actionNoise, eliteShare } = valuesOf(mujoco.rules);

/**
 * Makes a planner, `mpc_search` of the authors' code. In the model, each plan follows the actor with noise. Its worth
 * is the sum of the predicted rewards up to the end of the episode, discounted by the time after each decision, and the
 * critic's value of the last observation. The action is the mean of the first actions of the best plans.
 */
export function SamplingPlanner(
  { problem, model, agent, policyInput, normalizer, horizon, candidates, discount }: SamplingPlannerOptions,
): SamplingPlanner {
  const elites = Math.max(1, Math.round(candidates * eliteShare));
  const discountAfter = (time: Tensor) => time.mul(Math.log(discount)).exp();
  type Carry = { state: Tensor; latent: Latent; alive: Tensor; time: Tensor; worth: Tensor };
  return (state, latent, key) => {
    const repeated = (x: Tensor) => x.broadcastTo([candidates, ...x.shape.slice(1)]);
    const noise = normal(key, [horizon, candidates, problem.actions]).mul(actionNoise);
    const follow = ({ state, latent, alive, time, worth }: Carry, noise: Tensor): [Carry, Tensor] => {
      const action = agent.act(policyInput(state, latent)).add(noise).clip(-1, 1);
      const input = concatenate([state, action], -1);
      const gap = model.gapAfter(latent, input);
      const after = model.next(latent, input, gap);
      const next = model.decode(after, state);
      const real = { state: normalizer.restore(state), next: normalizer.restore(next) };
      const stillAlive = alive.mul(predictedAlive(problem, real.next));
      const end = time.add(gap);
      const gained = predictedReward(problem, { ...real, action, gap }).mul(discountAfter(end)).mul(
        stillAlive,
      );
      return [
        { state: next, latent: after, alive: stillAlive, time: end, worth: worth.add(gained) },
        action,
      ];
    };
    const zero = noise.select(0, 0).slice(-1, 0, 1).zerosLike();
    const start: Carry = {
      ...{ state: repeated(state), latent: treeMap(latent, repeated) },
      ...{ alive: zero.add(1), time: zero, worth: zero },
    };
    const [end, actions] = scan(follow, start, noise);
    const input = policyInput(end.state, end.latent);
    const last = agent.value(input, agent.act(input)).mul(discountAfter(end.time)).mul(end.alive);
    const best = topK(end.worth.add(last).reshape([1, candidates]), elites).indices.reshape([elites]);
    return (actions as Tensor).select(0, 0).take(best).mean(0, { keepDims: true });
  };
}
