/**
 * Deep deterministic policy gradient (DDPG; Lillicrap et al., "Continuous control with deep reinforcement learning",
 * 2016), with the time gaps of a semi-Markov decision process.
 */
import {
  concatenate,
  type Key,
  MLP,
  type Optimizer,
  type ParameterTree,
  splitKey,
  stopGradient,
  type Tensor,
  tidy,
  treeLeaves,
} from "@weft/weft";
import { meanOfDecisions, type Transition } from "./environment_model.ts";
import type { Environment } from "./environments.ts";
import { discountAfter, rewardOf } from "./rewards.ts";

/** An actor and a critic. States are `(..., states)`, actions and values `(..., 1)`. */
export interface ActorCritic {
  readonly parameters: { readonly actor: ParameterTree; readonly critic: ParameterTree };
  /** The actor's actions, from -1 to 1. */
  act(state: Tensor): Tensor;
  /** The critic's estimate of all discounted rewards after an action, if the actor decides from then on. */
  value(state: Tensor, action: Tensor): Tensor;
}

/** Features of the hidden layers. */
const width = 64;

/** Options of {@linkcode ActorCritic}. */
export interface ActorCriticOptions extends Pick<Environment, "features" | "featuresOf"> {
  /** Values of an action, 1 by default. */
  readonly actions?: number;
  /** Activation of the hidden layers, tanh by default. */
  readonly activation?: "tanh" | "relu";
}

/**
 * Makes an actor and a critic.
 *
 * @param scale Factor of the critic's network. With 1 / (1 - discount) the network estimates the mean reward r, since a
 * constant reward has the value r / (1 - discount).
 */
export function ActorCritic(
  { features, featuresOf, actions = 1, activation = "tanh" }: ActorCriticOptions,
  scale: number,
  key: Key,
): ActorCritic {
  const [actorKey, criticKey] = splitKey(key);
  const layers = { width, depth: 2, activation } as const;
  const actor = MLP({
    ...layers,
    inputs: features,
    outputs: actions,
    finalActivation: "tanh",
    key: actorKey,
  });
  const critic = MLP({ ...layers, inputs: features + actions, outputs: 1, key: criticKey });
  return {
    parameters: { actor: actor.parameters, critic: critic.parameters },
    act: (state) => actor(featuresOf(state)),
    value: (state, action) => critic(concatenate([featuresOf(state), action], -1)).mul(scale),
  };
}

/** Real decisions `(..., channels)` with their rewards. */
export interface RewardedDecision extends Pick<Transition, "state" | "action" | "gap" | "next"> {
  readonly reward: Tensor;
  /** Discount factor of the value of the next state. Zero if the decision ended the episode. */
  readonly future: Tensor;
}

/** A transition with the reward of an environment. @param discount Discount factor for the time unit. */
export function rewarded(
  environment: Environment,
  discount: number,
  transition: Transition,
): RewardedDecision {
  return {
    ...transition,
    reward: rewardOf(environment, transition),
    future: discountAfter(transition.gap, discount),
  };
}

/**
 * Losses of real decisions, divided by the scale of the critic. The critic's is the squared error of Bellman's
 * equation, Q(s, a) = r + future Q'(s', actor'(s')), with Q' and actor' of the target. The actor's has the gradient of
 * -Q(s, actor(s)) with respect to the actor alone, and the value zero. A gap of zero is no decision.
 *
 * @param scale Scale of the critics.
 * @param target Networks without gradients, which follow the learned ones.
 */
export function actorCriticErrors(
  scale: number,
  { learned, target }: { learned: ActorCritic; target: ActorCritic },
  { state, action, gap, next, reward, future }: RewardedDecision,
): { actor: Tensor; critic: Tensor } {
  const rest = target.value(next, target.act(next)).mul(future);
  const chosen = learned.act(state);
  const error = learned.value(state, action).sub(reward).sub(rest);
  return {
    critic: meanOfDecisions(error.div(scale).square(), gap),
    actor: meanOfDecisions(
      // The difference cancels the gradient of the critic's parameters.
      learned.value(state, stopGradient(chosen)).sub(learned.value(state, chosen)).div(scale),
      gap,
    ),
  };
}

/** Makes an optimiser whose steps also move the target's parameters by a fraction toward the learned ones. */
export function withTarget(
  optimizer: Optimizer,
  { learned, target }: { learned: ActorCritic; target: ActorCritic },
  fraction: number,
): Optimizer {
  const from = treeLeaves(learned.parameters);
  const to = treeLeaves(target.parameters);
  const step = optimizer.step.bind(optimizer);
  optimizer.step = (gradients) => {
    step(gradients);
    tidy(() => to.forEach((x, i) => x.assign(x.add(from[i].sub(x).mul(fraction)))));
  };
  return optimizer;
}
