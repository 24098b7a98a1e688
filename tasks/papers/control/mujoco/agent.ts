/**
 * The agent of appendix C.3 of Irie et al., 2022: a latent model of the environment, a planner that uses it, and an actor
 * and a critic that learn from each decision (DDPG). The loop is that of the authors' code.
 */
import {
  Adam,
  concatenate,
  foldIn,
  grad,
  jit,
  type Key,
  normal,
  parameter,
  splitKey,
  type Tensor,
  tensor,
  tidy,
  treeLeaves,
  treeMap,
  uniform,
  zeros,
} from "@weft/weft";
import type { ParameterTree } from "@weft/weft";
import { ActorCritic, actorCriticErrors, withTarget } from "../actor_critic.ts";
import { type Decide, drawStarts, playEpisode, randomActions } from "./episode.ts";
import { latentModels } from "./latent_model.ts";
import type { LatentModel, LatentModelOptions } from "./latent_model.ts";
import { Normalizer } from "./normalizer.ts";
import type { PhysicsState, Simulation } from "./physics.ts";
import { observedValues, type Problem, timeGap } from "./problem.ts";
import { SamplingPlanner } from "./sampling_planner.ts";
import { WindowMemory } from "./windows.ts";
import { mujoco } from "../../recipes/mujoco.ts";
import { valuesOf } from "../../recipes/recipe.ts";

const rules = valuesOf(mujoco.rules);

/** Options of {@linkcode Agent}. */
export interface AgentOptions extends Pick<LatentModelOptions, "hidden" | "method" | "decodes" | "heads"> {
  readonly problem: Problem;
  readonly simulation: Simulation;
  readonly model: keyof typeof latentModels;
  readonly feedForward: number;
  readonly rule: LatentModelOptions["rule"];
  /** Decisions of a plan and of a training window, and plans of a decision. */
  readonly planLength: number;
  readonly candidates: number;
  /** Decisions of an iteration, and number of iterations after the random one. */
  readonly decisions: number;
  readonly iterations: number;
  readonly key: Key;
}

/** An agent in an environment. */
export interface Agent {
  readonly model: LatentModel;
  readonly normalizer: Normalizer;
  readonly memory: WindowMemory;
  /** Learned tensors of the actor and the critic, and the normalizer. */
  readonly parameters: { readonly [name: string]: ParameterTree };
  /** Tensors that {@linkcode collect} changes. */
  readonly state: ParameterTree;
  /**
   * Plays episodes and stores their decisions. The first iteration has random actions. Later ones use the planner, and
   * train the actor and the critic after each decision. Returns the mean return of the episodes.
   */
  collect(iteration: number): Promise<number>;
  /** The return of an episode of the actor with noise, or of random actions, for each initial state. */
  test(starts: readonly PhysicsState[], kind: "actor" | "random"): Promise<number[]>;
}

/** Makes an agent. */
export function Agent(options: AgentOptions): Agent {
  const { problem, simulation, planLength: horizon, candidates, decisions, iterations } = options;
  const { discount, actorRate, criticRate, targetFraction, episodeLimit, randomIterations } = rules;
  const batchSize = rules.agentBatchSize;
  const [modelKey, agentKey, episodeKey] = splitKey(options.key, 3);
  const [values, actions] = [observedValues(problem), problem.actions];
  const model = latentModels[options.model]({ ...options, values, actions, key: modelKey });
  const normalizer = Normalizer(values);
  const total = (randomIterations + iterations) * decisions;
  const memory = WindowMemory({
    ...{ length: horizon, values, actions },
    // The last window of an episode may be incomplete.
    capacity: Math.ceil(1.5 * total / horizon),
  });

  const [learned, target] = [0, 1].map(() =>
    ActorCritic({ features: values, featuresOf: (x) => x, actions, activation: "relu" }, 1, agentKey)
  );
  const optimizer = withTarget(
    Adam(learned.parameters, { learningRate: criticRate, multipliers: { actor: actorRate / criticRate } }),
    { learned, target },
    targetFraction,
  );
  /** Number of training steps of the actor and the critic. */
  const updates = parameter(zeros([1]));
  const learn = jit((decision: Tensor, state: Tensor) => {
    const batch = memory.take({ decision, state }, discount);
    const normalized = {
      ...{ state: normalizer.normalize(batch.state), next: normalizer.normalize(batch.next) },
    };
    const gradients = grad(() => {
      const { actor, critic } = actorCriticErrors(1, { learned, target }, { ...batch, ...normalized });
      return actor.add(critic);
    })(learned.parameters);
    optimizer.step(gradients);
  });

  const plan = SamplingPlanner({ problem, model, agent: learned, normalizer, horizon, candidates, discount });
  const latent = treeMap(model.start(1, modelKey), (x) => parameter(x));
  const assignLatent = (next: typeof latent) => {
    const leaves = treeLeaves(next);
    treeLeaves(latent).forEach((x, i) => x.assign(leaves[i]));
  };
  const chosen = parameter(zeros([1, actions]));
  const choosePlanned = jit((observation: Tensor, gap: Tensor, key: Key) => {
    const state = normalizer.normalize(observation);
    const action = plan(state, latent, key);
    assignLatent(model.next(latent, concatenate([state, action], -1), gap));
    chosen.assign(action);
  });
  const chooseActor = jit((observation: Tensor, noise: Tensor) => {
    chosen.assign(
      learned.act(normalizer.normalize(observation)).add(noise.mul(rules.actionNoise)).clip(-1, 1),
    );
  });
  const row = (numbers: readonly number[]) => tensor([numbers]);
  const readChosen = async () => [...await chosen.data()];

  /** Decisions of the planner from a random latent state. */
  const planned = (key: Key): Decide => {
    tidy(() => assignLatent(model.start(1, foldIn(key, 0))));
    return (observation, i) => {
      const gap = timeGap(problem, observation);
      tidy(() => choosePlanned(row(observation), row([gap]), foldIn(key, i + 1)));
      return readChosen();
    };
  };
  const acting = (key: Key): Decide => {
    const noise = normal(key, [episodeLimit, 1, actions]);
    return (observation, i) => {
      tidy(() => chooseActor(row(observation), noise.select(0, i)));
      return readChosen();
    };
  };

  return {
    ...{ model, normalizer, memory },
    parameters: { ...learned.parameters, normalizer: normalizer.parameters },
    state: {
      ...{ memory: memory.state, normalizer: normalizer.state, target: target.parameters, updates },
      optimizer: Object.values(optimizer.state.tensors),
    },
    async collect(iteration) {
      const isRandom = iteration === 1;
      const wanted = isRandom ? randomIterations * decisions : decisions;
      await Promise.all([normalizer.load(), memory.load()]);
      let [steps] = await updates.data();
      optimizer.load({ ...optimizer.state, step: steps });
      const returns: number[] = [];
      for (let done = 0; done < wanted;) {
        const [startKey, actionKey, learningKey] = splitKey(
          foldIn(foldIn(episodeKey, iteration), returns.length),
          3,
        );
        const limit = Math.min(episodeLimit, wanted - done);
        const [start] = await drawStarts(problem, 1, startKey);
        const drawn = isRandom ? undefined : await uniform(learningKey, [limit, batchSize]).data();
        const played = await playEpisode({
          ...{ problem, simulation, start, limit },
          decide: isRandom ? await randomActions(problem, limit, actionKey) : planned(actionKey),
          onDecision(decision, isLast) {
            normalizer.add(decision.observation);
            memory.add(decision, isLast);
            tidy(() => {
              normalizer.update();
              if (!drawn) return;
              const at = steps++ % limit * batchSize;
              const places = memory.places(drawn.subarray(at, at + batchSize));
              learn(places.decision, places.state);
            });
          },
        });
        done += played.decisions;
        returns.push(played.total);
      }
      tidy(() => updates.assign(tensor([steps])));
      return returns.reduce((sum, value) => sum + value, 0) / returns.length;
    },
    async test(starts, kind) {
      const returns: number[] = [];
      for (const [i, start] of starts.entries()) {
        const testKey = foldIn(episodeKey, -1 - i >>> 0);
        const { total } = await playEpisode({
          ...{ problem, simulation, start, limit: episodeLimit },
          decide: kind === "actor" ? acting(testKey) : await randomActions(problem, episodeLimit, testKey),
        });
        returns.push(total);
      }
      return returns;
    },
  };
}
