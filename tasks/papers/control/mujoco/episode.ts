/** Episodes of a system in the physics engine. */
import { foldIn, type Key, uniform } from "@weft/weft";
import type { PhysicsState, Simulation } from "./physics.ts";
import { isTerminal, observe, type Problem, reward, timeGap } from "./problem.ts";
import type { Decision } from "./windows.ts";

/** Chooses the actions in [-1, 1] after an observation. */
export type Decide = (observation: readonly number[], decision: number) => Promise<readonly number[]>;

/** Options of {@linkcode playEpisode}. */
export interface EpisodeOptions {
  readonly problem: Problem;
  readonly simulation: Simulation;
  /** Offsets of the initial state. */
  readonly start: PhysicsState;
  /** Largest number of decisions. */
  readonly limit: number;
  readonly decide: Decide;
  /** Called after each decision. `isLast` is true for the last decision of the episode. */
  readonly onDecision?: (decision: Decision, isLast: boolean) => void;
}

/** Plays an episode. Returns the sum of the rewards, and the number of decisions. */
export async function playEpisode(
  { problem, simulation, start, limit, decide, onDecision }: EpisodeOptions,
): Promise<{ total: number; decisions: number }> {
  simulation.reset(start);
  let observation = observe(problem, simulation.state());
  let total = 0;
  for (let i = 0; i < limit; i++) {
    const actions = await decide(observation, i);
    const gap = timeGap(problem, observation);
    simulation.advance(actions, gap);
    const state = simulation.state();
    const next = observe(problem, state);
    const gained = reward(problem, { distance: next.at(-1)! - observation.at(-1)!, actions, gap });
    const hasEnded = isTerminal(problem, state);
    const isLast = hasEnded || i === limit - 1;
    total += gained;
    onDecision?.({ observation, actions, gap, reward: gained, next, isTerminal: hasEnded }, isLast);
    if (isLast) return { total, decisions: i + 1 };
    observation = next;
  }
  return { total, decisions: 0 };
}

/** Random offsets of initial states, uniform up to the problem's noise. */
export async function drawStarts(
  { positions, velocities, startNoise }: Problem,
  count: number,
  key: Key,
): Promise<PhysicsState[]> {
  const size = positions + velocities;
  const drawn = await uniform(key, [count, size], { low: -startNoise, high: startNoise }).data();
  return Array.from({ length: count }, (_, i) => {
    const offsets = [...drawn.subarray(i * size, (i + 1) * size)];
    return { positions: offsets.slice(0, positions), velocities: offsets.slice(positions) };
  });
}

/** Random actions, uniform in [-1, 1]. */
export async function randomActions({ actions }: Problem, limit: number, key: Key): Promise<Decide> {
  const drawn = await uniform(foldIn(key, 0), [limit, actions], { low: -1, high: 1 }).data();
  return (_observation, i) => Promise.resolve([...drawn.subarray(i * actions, (i + 1) * actions)]);
}
