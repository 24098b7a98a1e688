import { Adam, foldIn, key, parameter, splitKey, type Tensor, tensor, tidy, zeros } from "@weft/weft";
import { type ModelExperiment, type ModelKind, modelOptions, modelRules } from "@weft/weft/series";
import {
  choiceOption,
  type Measures,
  type OptionSchema,
  pickOptions,
  type RunSettings,
  sizeOption,
  type Task,
  trainingOptions,
} from "@weft/weft/train";
import { Agent, policyInputs } from "../control/mujoco/agent.ts";
import { drawStarts } from "../control/mujoco/episode.ts";
import { hopper } from "../control/mujoco/hopper.ts";
import {
  decodedValues,
  fastWeightRules,
  type LatentModelOptions,
  type latentModels,
  type Windows,
} from "../control/mujoco/latent_model.ts";
import { Simulation } from "../control/mujoco/physics.ts";
import { observedValues, type Problem } from "../control/mujoco/problem.ts";
import { swimmer } from "../control/mujoco/swimmer.ts";
import { emptyWindows } from "../control/mujoco/windows.ts";
import { mujoco } from "../recipes/mujoco.ts";
import { recipeDefaults } from "./recipe_defaults.ts";
import { plannerOptions } from "./control.ts";
import { recipe } from "./options.ts";
import type { Recipe } from "./recipe.ts";

/** Settings of an experiment with MuJoCo. */
interface MujocoSettings
  extends
    RunSettings,
    Pick<LatentModelOptions, "hidden" | "heads" | "feedForward" | "rule" | "method" | "decodes"> {
  readonly epochs: number;
  readonly model: keyof typeof latentModels;
  readonly recipe?: Recipe;
  readonly decisions: number;
  readonly planLength: number;
  readonly candidates: number;
  readonly windows: number;
  readonly policyReads: (typeof policyInputs)[number];
}

/** In training, windows. In the test, the numbers of the episodes. */
type Batch = { readonly windows: Windows } | { readonly episodes: Tensor };

/** Number of episodes of the test. Their initial states do not depend on the seed. */
const testEpisodes = mujoco.rules.testEpisodes.value;

const { weightDecay, gapWeight, divergenceWeight } = mujoco.rules;

const models: Readonly<Record<keyof typeof latentModels, ModelKind>> = {
  "latent-ode": { takes: ["hidden", "method"], rejects: ["rule"] },
  "latent-ode-rfwp": { takes: ["hidden", "method", "heads", "feedForward"] },
};

/** Sizes of fast weights, which the baseline does not have. */
const fastWeightSizes = {
  heads: mujoco.settings.heads.value,
  feedForward: mujoco.settings.feedForward.value,
};

const options: OptionSchema = {
  ...pickOptions(modelOptions, ["model", "hidden", "heads", "feedForward", "method"], {
    ...{ model: "latent-ode-rfwp", hidden: mujoco.settings.hidden.value, method: "rk4" },
  }),
  rule: choiceOption(
    { help: "learning rule of fast weights", default: "delta" },
    Object.keys(fastWeightRules) as (keyof typeof fastWeightRules)[],
  ),
  decodes: choiceOption(
    { help: "what the model predicts: the next observation or its change", default: "change" },
    decodedValues,
  ),
  decisions: sizeOption({
    group: "data",
    help: "decisions of an epoch; the first has three times as many",
    default: 5000,
  }),
  windows: sizeOption({ group: "data", help: "training windows of an epoch", default: 25_600 }),
  ...pickOptions(plannerOptions, ["planLength", "candidates"]),
  policyReads: choiceOption(
    {
      help: "what the actor and the critic read: the observation, or also the latent state",
      default: "observation",
    },
    policyInputs,
  ),
  recipe,
  ...trainingOptions({ epochs: 21, batchSize: 128, learningRate: 0.001 }),
};

function experiment(name: string, summary: string, problem: Problem): ModelExperiment {
  return modelRules({
    ...{ name, summary, options },
    models: () => models,
    prepare: (settings: MujocoSettings) => mujocoTask(problem, { ...fastWeightSizes, ...settings }),
  }, recipeDefaults(mujoco.settings));
}

async function mujocoTask(problem: Problem, settings: MujocoSettings): Promise<Task<Batch>> {
  const { planLength: length, windows: count } = settings;
  const [agentKey, drawKey] = splitKey(key(settings.seed));
  const simulation = await Simulation(problem.xml);
  const agent = Agent({ ...settings, problem, simulation, iterations: settings.epochs - 1, key: agentKey });
  const { model } = agent;
  const windows = emptyWindows(count, { length, values: observedValues(problem), actions: problem.actions });
  const starts = await drawStarts(problem, testEpisodes, key(0));
  /** Mean returns of the test episodes and of the collected ones. */
  const [testReturn, collectedReturn] = [0, 1].map(() => parameter(zeros([])));
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const assign = (to: Tensor, value: number) => tidy(() => to.assign(tensor(value)));
  const test = async () => assign(testReturn, mean(await agent.test(starts, "actor")));
  const parameters = { ...model.parameters, ...agent.parameters };
  return {
    parameters,
    state: { ...{ agent: agent.state, windows: { ...windows }, testReturn, collectedReturn } },
    optimizer: Adam(parameters, {
      ...{ learningRate: settings.learningRate, weightDecay: weightDecay.value },
      // The actor and the critic have their own optimizer, and the normalizer is measured.
      multipliers: { actor: 0, critic: 0, normalizer: 0 },
    }),
    data: { train: { windows }, test: { episodes: zeros([testEpisodes]) } },
    testSize: `${testEpisodes} episodes of at most ${mujoco.rules.episodeLimit.value} decisions`,
    metric: { name: "return", mode: "max" },
    async collect(epoch) {
      assign(collectedReturn, await agent.collect(epoch));
      await test();
      const windowKey = foldIn(drawKey, epoch);
      await agent.drawWindows(windows, windowKey);
    },
    onLoad: test,
    evaluate(batch, key): Measures {
      if ("episodes" in batch) return { loss: testReturn.neg(), return: testReturn.add(0) };
      const { states, gaps, divergence } = model.errors(batch.windows, key!);
      return {
        loss: states.add(gaps.mul(gapWeight.value)).add(divergence.mul(divergenceWeight.value)),
        "state error": states,
        "gap error": gaps,
        divergence,
        "training return": collectedReturn.add(0),
        return: testReturn.add(0),
      };
    },
    async evaluatePredictions() {
      const random = mean(await agent.test(starts, "random"));
      return {
        measures: {},
        baselines: { "random actions": { return: random } },
        sections: () => Promise.resolve([]),
      };
    },
  };
}

/** Moves a swimmer forward. */
export const swimmerControl: ModelExperiment = experiment(
  "swimmer",
  "move a swimmer of MuJoCo forward by planning",
  swimmer,
);

/** Moves a hopper forward. */
export const hopperControl: ModelExperiment = experiment(
  "hopper",
  "move a hopper of MuJoCo forward by planning",
  hopper,
);
