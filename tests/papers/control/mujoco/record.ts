/**
 * Writes 1,000 random decisions of each problem for compare.py:
 *
 *     deno run --quiet -P=train --no-lock tests/papers/control/mujoco/record.ts FILE
 */
import { key } from "../../../../mod.ts";
import { drawStarts, playEpisode, randomActions } from "../../../../tasks/papers/control/mujoco/episode.ts";
import { hopper } from "../../../../tasks/papers/control/mujoco/hopper.ts";
import {
  type PhysicsState,
  physicsVersion,
  Simulation,
} from "../../../../tasks/papers/control/mujoco/physics.ts";
import { swimmer } from "../../../../tasks/papers/control/mujoco/swimmer.ts";
import type { Decision } from "../../../../tasks/papers/control/mujoco/windows.ts";

/** A recorded decision, with the state after it. */
type Recorded = Decision & { readonly after: PhysicsState };

/** A problem and the number of decisions of its episodes. The motion is chaotic, so that errors grow in an episode. */
const problems = { swimmer: [swimmer, 100], hopper: [{ ...hopper, upright: undefined }, 20] } as const;

const total = 1000;
const record: Record<string, unknown> = {};
for (const [name, [problem, limit]] of Object.entries(problems)) {
  const simulation = await Simulation(problem.xml);
  const starts = await drawStarts(problem, total / limit, key(1));
  const episodes = await Promise.all(starts.map(async (start, i) => {
    const decide = await randomActions(problem, limit, key(2 + i));
    return { start, decide, decisions: [] as Recorded[] };
  }));
  for (const { start, decide, decisions } of episodes) {
    const onDecision = (decision: Decision) => decisions.push({ ...decision, after: simulation.state() });
    await playEpisode({ problem, simulation, start, limit, decide, onDecision });
  }
  const { xml, timeStep } = problem;
  record[name] = { xml, timeStep, episodes: episodes.map(({ start, decisions }) => ({ start, decisions })) };
}
await Deno.writeTextFile(Deno.args[0], JSON.stringify({ version: physicsVersion, problems: record }));
