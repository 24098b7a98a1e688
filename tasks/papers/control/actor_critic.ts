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

/** Makes an actor and a critic. @param discount Discount factor for the time unit. */
export function ActorCritic(
  { features, featuresOf }: Pick<Environment, "features" | "featuresOf">,
  discount: number,
  key: Key,
): ActorCritic {
  const [actorKey, criticKey] = splitKey(key);
  const layers = { outputs: 1, width, depth: 2, activation: "tanh" } as const;
  const actor = MLP({ ...layers, inputs: features, finalActivation: "tanh", key: actorKey });
  const critic = MLP({ ...layers, inputs: features + 1, key: criticKey });
  return {
    parameters: { actor: actor.parameters, critic: critic.parameters },
    act: (state) => actor(featuresOf(state)),
    // The network estimates the mean reward, since a constant reward r has the value r / (1 - discount).
    value: (state, action) => critic(concatenate([featuresOf(state), action], -1)).div(1 - discount),
  };
}

/**
 * Losses of real transitions `(..., channels)`, in mean rewards per time unit. The critic's is the squared error of
 * Bellman's equation, Q(s, a) = r + discount^(gap / unit) Q'(s', actor'(s')), with Q' and actor' of the target. The
 * actor's has the gradient of -Q(s, actor(s)) with respect to the actor alone, and the value zero. A gap of zero is no
 * transition.
 *
 * @param target Networks without gradients, which follow the learned ones.
 */
export function actorCriticErrors(
  environment: Environment,
  discount: number,
  { learned, target }: { learned: ActorCritic; target: ActorCritic },
  { state, action, gap, next }: Transition,
): { actor: Tensor; critic: Tensor } {
  const rest = target.value(next, target.act(next)).mul(discountAfter(gap, discount));
  const chosen = learned.act(state);
  const error = learned.value(state, action).sub(rewardOf(environment, { state, action, gap })).sub(rest);
  return {
    critic: meanOfDecisions(error.mul(1 - discount).square(), gap),
    actor: meanOfDecisions(
      // The difference cancels the gradient of the critic's parameters.
      learned.value(state, stopGradient(chosen)).sub(learned.value(state, chosen)).mul(1 - discount),
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
