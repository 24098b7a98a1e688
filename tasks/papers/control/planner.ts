/** Model predictive control by the cross-entropy method. */
import { type Key, normal, splitKey, type Tensor, tensor, topK, zeros } from "@weft/weft";
import type { ActorCritic } from "./actor_critic.ts";
import type { EnvironmentModel } from "./environment_model.ts";
import type { Environment } from "./environments.ts";
import { discountAfter, returnOf } from "./rewards.ts";

/** Options of {@linkcode Planner}. */
export interface PlannerOptions {
  readonly environment: Environment;
  readonly model: EnvironmentModel;
  readonly agent: Pick<ActorCritic, "act" | "value">;
  /** Number of decisions of a plan. */
  readonly horizon: number;
  /** Number of plans of a round. */
  readonly candidates: number;
  /** Discount factor for the time unit. */
  readonly discount: number;
}

/** Plans `(batch, horizon)` for states `(batch, states)`. The first action of a plan is the next decision. */
export type Planner = (state: Tensor, key: Key) => Tensor;

/** Number of rounds of a decision. */
const rounds = 3;
/** Fraction of the candidates that determine the next distribution. */
const eliteShare = 1 / 8;
/** Fraction of the candidates of the first round that are independent of the actor. */
const freshShare = 1 / 4;
/** Standard deviations of candidates: around the actor's plan, around zeros, and the least one later. */
const deviations = { plan: 0.7, fresh: 1, least: 0.02 };
/** Correlation of the noise of successive decisions. */
const correlation = 0.8;

/**
 * Makes a planner. A candidate is a sequence of actions. The first candidates are around the plan that the actor
 * follows in the model. The worth of a candidate is the discounted reward of the model's rollout, with the critic's
 * value of the last state. The best candidates of a round are the distribution of the next. The noise is correlated
 * in time (Pinneri et al., "Sample-efficient cross-entropy method for real-time planning", 2020).
 */
export function Planner(
  { environment, model, agent, horizon, candidates, discount }: PlannerOptions,
): Planner {
  const elites = Math.max(1, Math.round(candidates * eliteShare));
  const fresh = Math.round(candidates * freshShare);

  /** Worth `(batch, 1)` of action sequences `(batch, horizon)`. */
  const worthOf = (state: Tensor, actions: Tensor) => {
    const transitions = model.rollout(state, actions.transpose(0, 1).expandDims(-1));
    const { rewards, time } = returnOf(environment, transitions, discount);
    const end = transitions.next.select(0, -1);
    const last = agent.value(end, agent.act(end));
    return rewards.add(last.mul(discountAfter(time, discount)));
  };

  return (state, key) => {
    const [batch, count] = state.shape;
    const all = batch * candidates;
    const states = state.expandDims(1).broadcastTo([batch, candidates, count]).reshape([all, count]);
    const firstOf = tensor(Int32Array.from({ length: batch }, (_, i) => i * candidates), {
      ...{ shape: [batch, 1], dtype: "int32" },
    });
    /** A number for each candidate of the first round. */
    const byOrigin = (ofFresh: number, ofPlan: number) =>
      tensor(Float32Array.from({ length: candidates }, (_, i) => i < fresh ? ofFresh : ofPlan), {
        shape: [candidates, 1],
      });
    // The model reads the actor's actions. The rows only give the length.
    const rows = zeros([horizon, batch, 1]);
    const { action } = model.rollout(state, rows, agent.act);
    let means = action.squeeze(-1).transpose(0, 1).expandDims(1).mul(byOrigin(0, 1));
    let spread = byOrigin(deviations.fresh, deviations.plan);
    for (const roundKey of splitKey(key, rounds)) {
      const noise = normal(roundKey, [batch, candidates, horizon]).matmul(correlate(horizon));
      const actions = means.add(noise.mul(spread)).clip(-1, 1).reshape([all, horizon]);
      const worth = worthOf(states, actions).reshape([batch, candidates]);
      const best = topK(worth, elites).indices.add(firstOf).reshape([batch * elites]);
      const chosen = actions.take(best).reshape([batch, elites, horizon]);
      means = chosen.mean(1, { keepDims: true });
      spread = chosen.std(1, { keepDims: true }).maximum(deviations.least);
    }
    return means.squeeze(1);
  };
}

/** A matrix that correlates rows of independent noise: n_t = c n_(t-1) + sqrt(1 - c^2) e_t, of variance 1. */
function correlate(length: number): Tensor {
  const fresh = Math.sqrt(1 - correlation ** 2);
  const factor = (from: number, to: number) =>
    from > to ? 0 : correlation ** (to - from) * (from === 0 ? 1 : fresh);
  return tensor(
    Float32Array.from({ length: length ** 2 }, (_, i) => factor(Math.floor(i / length), i % length)),
    { shape: [length, length] },
  );
}
