/** Rewards of transitions. */
import type { Tensor } from "@weft/weft";
import type { Transition } from "./environment_model.ts";
import { type Environment, timeUnit } from "./environments.ts";

/** Discount factors gamma^(t / u) of times t in seconds, with gamma of the time unit u. */
export function discountAfter(time: Tensor, discount: number): Tensor {
  return time.mul(Math.log(discount) / timeUnit).exp();
}

/** Rewards `(..., 1)` of transitions: an action's reward per time unit, for the time gap. */
export function rewardOf(
  { reward }: Environment,
  { state, action, gap }: Pick<Transition, "state" | "action" | "gap">,
): Tensor {
  return reward(state, action).mul(gap.div(timeUnit));
}

/** Discounted rewards `(batch, 1)` of transitions `(length, batch, ...)`, and the time after the last one. */
export function returnOf(
  environment: Environment,
  transitions: Transition,
  discount: number,
): { rewards: Tensor; time: Tensor } {
  const ends = transitions.gap.cumsum(0);
  const discounts = discountAfter(ends.sub(transitions.gap), discount);
  return {
    rewards: rewardOf(environment, transitions).mul(discounts).sum(0),
    time: ends.select(0, -1),
  };
}
