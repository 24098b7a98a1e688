/** Episodes of an environment, in batches. */
import { foldIn, jit, type Key, normal, stack, type Tensor, tidy, zeros } from "@weft/weft";
import { rewardOf } from "./rewards.ts";
import type { Segments } from "./environment_model.ts";
import { advance, decisions, duration, type Environment, type GapKind, timeGap } from "./environments.ts";

/** Chooses the next actions. */
export interface Controller {
  /** Length of the memory between decisions, such as a plan. */
  readonly memory: number;
  /**
   * Actions `(batch, 1)` in states `(batch, states)`, and the memory for the next decision.
   *
   * @param memory Zeros at the first decision, `(batch, memory)`.
   * @param drawn Random numbers of the decision.
   */
  decide(
    state: Tensor,
    memory: Tensor,
    drawn: { noise: Tensor; key: Key },
  ): { action: Tensor; memory: Tensor };
}

/** A controller without memory. */
export function reactive(act: (state: Tensor, drawn: { noise: Tensor; key: Key }) => Tensor): Controller {
  return { memory: 1, decide: (state, memory, drawn) => ({ action: act(state, drawn), memory }) };
}

/** Finished episodes, with the return of each, `(batch)`. */
export interface Episodes extends Segments {
  readonly returns: Tensor;
}

/** The state, the time and the controller's memory at a decision: tensors `(batch, ...)`. */
type Now = { readonly state: Tensor; readonly time: Tensor; readonly memory: Tensor };

/** Plays episodes from initial states `(batch, states)`. */
export type Player = (start: Tensor, key: Key) => Episodes;

/**
 * Makes a function that plays episodes of {@linkcode duration} with a controller. The return is the sum of the rewards
 * per time unit, so it does not depend on the number of decisions. The last possible decision lasts until the end, and
 * the time gap after the end is zero.
 */
export function Player(environment: Environment, gaps: GapKind, controller: Controller): Player {
  const step = jit((now: Now, noise: Tensor, key: Key, isLast: boolean) => {
    const { state, time } = now;
    const decided = controller.decide(state, now.memory, { noise, key });
    const remaining = time.neg().add(duration);
    const gap = isLast ? remaining : timeGap(environment, gaps, state).minimum(remaining);
    const action = decided.action.clip(-1, 1);
    return {
      now: {
        ...{ memory: decided.memory, time: time.add(gap) },
        // The last gap can be seconds long.
        state: advance(environment, state, action, gap, isLast ? decisions : undefined),
      },
      ...{ action, gap, reward: rewardOf(environment, { state, action, gap }) },
    };
  });
  return (start, key) =>
    tidy(() => {
      const batch = start.shape[0];
      const noise = normal(foldIn(key, 0), [decisions, batch, 1]);
      let now: Now = { state: start, time: zeros([batch, 1]), memory: zeros([batch, controller.memory]) };
      const states = [start];
      const steps = Array.from({ length: decisions }, (_, i) => {
        const taken = step(now, noise.select(0, i), foldIn(key, i + 1), i === decisions - 1);
        now = taken.now;
        states.push(now.state);
        return taken;
      });
      return {
        states: stack(states, 1),
        actions: stack(steps.map(({ action }) => action), 1),
        gaps: stack(steps.map(({ gap }) => gap), 1),
        returns: stack(steps.map(({ reward }) => reward), 1).sum([1, 2]),
      };
    });
}

/** Random actions that change slowly: the Ornstein-Uhlenbeck noise of Lillicrap et al., 2016. */
export const explorer: Controller = {
  memory: 1,
  decide(_state, memory, { noise }) {
    const action = memory.mul(0.8).add(noise.mul(0.6));
    return { action, memory: action };
  },
};
