/**
 * The agent of appendix C.3 of Irie et al., 2022: a latent model of the environment, a planner, an actor and a critic
 * (DDPG). The actor and the critic take a training step after each decision. The loop is that of the authors' code.
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
import type { Latent, LatentModel, LatentModelOptions, Windows } from "./latent_model.ts";
import { Normalizer } from "./normalizer.ts";
import type { PhysicsState, Simulation } from "./physics.ts";
import { observedValues, type Problem, timeGap } from "./problem.ts";
import { SamplingPlanner } from "./sampling_planner.ts";
import { WindowMemory } from "./windows.ts";
import { mujoco } from "../../recipes/mujoco.ts";
import { valuesOf } from "../../recipes/recipe.ts";

const rules = valuesOf(mujoco.rules);

/** Inputs of the actor and the critic: the normalized observation, or also the features of the latent state. */
export const policyInputs = ["observation", "latent"] as const;

/** Options of {@linkcode Agent}. */
export interface AgentOptions extends Pick<LatentModelOptions, "hidden" | "method" | "decodes" | "heads"> {
  readonly problem: Problem;
  readonly simulation: Simulation;
  readonly model: keyof typeof latentModels;
  readonly feedForward: number;
  readonly rule: LatentModelOptions["rule"];
  readonly policyReads: (typeof policyInputs)[number];
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
  /** Fills windows with random stored ones, to train the model. */
  drawWindows(windows: Windows, key: Key): Promise<void>;
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
  /** Number of features of the latent state that the actor and the critic read. */
  const features = options.policyReads === "latent" ? options.hidden : 0;
  const policyInput = (state: Tensor, latent: Latent) =>
    features === 0 ? state : concatenate([state, model.read(latent)], -1);
  const observationOf = (stored: Tensor) => normalizer.normalize(stored.slice(-1, 0, values));
  /** The input of the actor and the critic from stored values: an observation, then features. */
  const storedInput = (stored: Tensor) =>
    features === 0
      ? observationOf(stored)
      : concatenate([observationOf(stored), stored.slice(-1, values)], -1);
  const total = (randomIterations + iterations) * decisions;
  const memory = WindowMemory({
    ...{ length: horizon, values: values + features, actions },
    // The last window of an episode may be incomplete.
    capacity: Math.ceil(1.5 * total / horizon),
  });

  const [learned, target] = [0, 1].map(() =>
    ActorCritic(
      { features: values + features, featuresOf: (x) => x, actions, activation: "relu" },
      1,
      agentKey,
    )
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
    const inputs = { ...batch, state: storedInput(batch.state), next: storedInput(batch.next) };
    const gradients = grad(() => {
      const { actor, critic } = actorCriticErrors(1, { learned, target }, inputs);
      return actor.add(critic);
    })(learned.parameters);
    optimizer.step(gradients);
  });

  const plan = SamplingPlanner({
    ...{ problem, model, agent: learned, policyInput, normalizer, horizon, candidates, discount },
  });
  const latent = treeMap(model.start(1, modelKey), (x) => parameter(x));
  const assignLatent = (next: Latent) => {
    const leaves = treeLeaves(next);
    treeLeaves(latent).forEach((x, i) => x.assign(leaves[i]));
  };
  const chosen = parameter(zeros([1, actions]));
  /** Compiles a decision: assigns the action, and the latent state after it. */
  const deciding = (choose: (state: Tensor, random: Tensor | Key) => Tensor) =>
    jit((observation: Tensor, gap: Tensor, random: Tensor | Key) => {
      const state = normalizer.normalize(observation);
      const action = choose(state, random);
      assignLatent(model.next(latent, concatenate([state, action], -1), gap));
      chosen.assign(action);
    });
  const choosePlanned = deciding((state, key) => plan(state, latent, key as Key));
  const chooseActor = deciding((state, noise) =>
    learned.act(policyInput(state, latent)).add((noise as Tensor).mul(rules.actionNoise)).clip(-1, 1)
  );
  const row = (numbers: readonly number[]) => tensor([numbers]);
  const readFeatures = async () => features === 0 ? [] : [...await tidy(() => model.read(latent)).data()];
  /** Features of the latent state before and after the last decision. */
  let [before, after]: number[][] = [[], []];

  /** Decisions of the planner, or of the actor with noise, from a random latent state. */
  const decideWith = async (kind: "planner" | "actor", key: Key): Promise<Decide> => {
    tidy(() => assignLatent(model.start(1, foldIn(key, 0))));
    after = await readFeatures();
    const noise = normal(key, [rules.episodeLimit, 1, actions]);
    return async (observation, i) => {
      tidy(() => {
        const [seen, gap] = [row(observation), row([timeGap(problem, observation)])];
        if (kind === "planner") choosePlanned(seen, gap, foldIn(key, i + 1));
        else chooseActor(seen, gap, noise.select(0, i));
      });
      before = after;
      const [action, features] = await Promise.all([chosen.data(), readFeatures()]);
      after = features;
      return [...action];
    };
  };
  /** Random decisions, without a latent state: its features are zeros. */
  const decideRandomly = async (key: Key): Promise<Decide> => {
    before = after = Array(features).fill(0);
    return await randomActions(problem, rules.episodeLimit, key);
  };

  return {
    model,
    drawWindows: (windows, key) => memory.draw(windows, observationOf, key),
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
          decide: isRandom ? await decideRandomly(actionKey) : await decideWith("planner", actionKey),
          onDecision(decision, isLast) {
            normalizer.add(decision.observation);
            const { observation, next } = decision;
            const stored = {
              ...decision,
              observation: [...observation, ...before],
              next: [...next, ...after],
            };
            memory.add(stored, isLast);
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
          decide: kind === "actor" ? await decideWith("actor", testKey) : await decideRandomly(testKey),
        });
        returns.push(total);
      }
      return returns;
    },
  };
}
