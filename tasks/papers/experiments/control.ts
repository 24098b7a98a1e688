import { Adam, cosineDecay, foldIn, key, parameter, splitKey, type Tensor, tidy, zeros } from "@weft/weft";
import { kindNamed, type ModelExperiment, type ModelKind, modelOptions, modelRules } from "@weft/weft/series";
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
import { ActorCritic, actorCriticErrors, rewarded, withTarget } from "../control/actor_critic.ts";
import { cartPole } from "../control/cart_pole.ts";
import {
  environmentModels,
  type MakeEnvironmentModel,
  type Segments,
  type Transition,
} from "../control/environment_model.ts";
import { duration, type Environment, type GapKind, gapKinds } from "../control/environments.ts";
import { measureControl, type Players, playersOf, testKey } from "../control/evaluation.ts";
import { pendulum } from "../control/pendulum.ts";
import { Planner } from "../control/planner.ts";
import {
  drawSegments,
  drawTransitions,
  emptyReplay,
  emptySegments,
  emptyTransitions,
  store,
} from "../control/replay.ts";

/** Settings of a control experiment. */
interface ControlSettings extends RunSettings {
  readonly epochs: number;
  readonly model: string;
  readonly hidden: number;
  readonly gaps: GapKind;
  readonly planLength: number;
  readonly candidates: number;
  readonly segments: number;
}

/** Real decisions in training, for the model and for the actor and the critic. */
interface TrainingBatch {
  readonly segments: Segments;
  readonly transitions: Transition;
}

/** In the test, initial states of episodes. */
type Batch = TrainingBatch | { readonly start: Tensor };

/** Number of episodes of the test. Their initial states do not depend on the seed. */
const testEpisodes = 16;
/** Number of episodes with random actions before the first training. */
const randomEpisodes = 10;
/** Numbers of episodes with the planner and with the actor before each later training. */
const [plannerEpisodes, actorEpisodes] = [1, 2];
/** Number of decisions of a training segment. */
const segmentLength = 15;
/** Transitions of the actor and the critic for each training segment of the model. */
const transitionsPerSegment = 32;
/** Discount factor for the time unit. */
const discount = 0.98;
/** Scale of the critic, so that its network estimates mean rewards per time unit. */
const valueScale = 1 / (1 - discount);
/** Step size of the target networks: a fraction of the distance to the learned networks. */
const targetFraction = 0.01;

interface ControlModelKind extends ModelKind {
  readonly make: MakeEnvironmentModel;
}

const models: Readonly<Record<string, ControlModelKind>> = Object.fromEntries(
  Object.entries(environmentModels).map(([name, make]) => [name, { takes: ["hidden"], make }]),
);

/** Options of experiments that plan in a learned model. */
export const plannerOptions: OptionSchema = {
  gaps: choiceOption({ group: "data", help: "time gaps between decisions", default: "regular" }, gapKinds),
  segments: sizeOption({ group: "data", help: "training segments of an epoch", default: 3200 }),
  planLength: sizeOption({ help: "decisions of a plan", default: 10 }),
  candidates: sizeOption({ help: "plans of a round of the planner", default: 64 }),
};

/** @param epochs Default number of epochs. */
function control(name: string, summary: string, environment: Environment, epochs: number): ModelExperiment {
  return modelRules({
    name,
    summary,
    options: {
      ...pickOptions(modelOptions, ["model", "hidden"], { model: "ode-rfwp", hidden: 32 }),
      ...plannerOptions,
      ...trainingOptions({ epochs, batchSize: 8, learningRate: 0.001 }),
    },
    models: () => models,
    prepare: (settings: ControlSettings) => controlTask(environment, settings),
  });
}

function controlTask(environment: Environment, settings: ControlSettings): Task<Batch> {
  const { gaps, planLength: horizon, candidates, hidden } = settings;
  const [modelKey, episodeKey, segmentKey, agentKey] = splitKey(key(settings.seed), 4);
  const model = kindNamed(models, settings.model).make(environment, { hidden, key: modelKey });
  const [learned, target] = [0, 1].map(() => ActorCritic(environment, valueScale, agentKey));
  const parameters = { ...model.parameters, ...learned.parameters };
  const plan = Planner({ environment, model, agent: learned, horizon, candidates, discount });
  const play = playersOf(environment, gaps, { act: learned.act, plan });

  const count = environment.states.length;
  const replay = emptyReplay(count);
  const segments = emptySegments(settings.segments, segmentLength, count);
  const transitions = emptyTransitions(settings.segments, transitionsPerSegment, count);
  const episodeReturn = parameter(zeros([1]));
  const start = environment.start(testEpisodes, key(0));
  return {
    parameters,
    state: {
      ...{ replay: { ...replay }, segments: { ...segments }, transitions: { ...transitions } },
      ...{ target: target.parameters, episodeReturn },
    },
    optimizer: withTarget(
      Adam(parameters, { learningRate: settings.learningRate }),
      { learned, target },
      targetFraction,
    ),
    schedule: cosineDecay({ steps: settings.epochs * Math.ceil(settings.segments / settings.batchSize) }),
    data: { train: { segments, transitions }, test: { start } },
    testSize: `${testEpisodes} episodes of ${duration} s`,
    metric: { name: "return", mode: "max" },
    async collect(epoch) {
      const [startKey, noiseKey] = splitKey(foldIn(episodeKey, epoch));
      const players: [keyof Players, number][] = epoch === 1
        ? [["random", randomEpisodes]]
        : [["noisy planner", plannerEpisodes], ["noisy actor", actorEpisodes]];
      let stored = epoch === 1 ? 0 : randomEpisodes + (epoch - 2) * (plannerEpisodes + actorEpisodes);
      tidy(() => {
        for (const [i, [name, count]] of players.entries()) {
          const episodes = play[name](environment.start(count, foldIn(startKey, i)), foldIn(noiseKey, i));
          store(replay, episodes, stored);
          stored += count;
          if (i === 0) episodeReturn.assign(episodes.returns.mean(0, { keepDims: true }));
        }
      });
      const [drawKey, transitionKey] = splitKey(foldIn(segmentKey, epoch));
      await drawSegments(segments, replay, stored, drawKey);
      await drawTransitions(transitions, replay, stored, transitionKey);
    },
    evaluate(batch): Measures {
      if ("start" in batch) {
        const planned = play.planner(batch.start, testKey).returns.mean();
        return { loss: planned.neg(), return: planned };
      }
      const errors = model.errors(batch.segments);
      const decisions = rewarded(environment, discount, batch.transitions);
      const { actor, critic } = actorCriticErrors(valueScale, { learned, target }, decisions);
      return {
        loss: errors.states.add(errors.gaps).add(critic).add(actor),
        "state error": errors.states,
        "gap error": errors.gaps,
        "critic error": critic,
        return: episodeReturn.mean(),
      };
    },
    evaluatePredictions: () => measureControl({ environment, model, play, replay, start }),
  };
}

/** Swings a pendulum up. */
export const pendulumControl: ModelExperiment = control(
  "pendulum-control",
  "swing up a pendulum by planning",
  pendulum,
  40,
);

/** Balances a pole on a cart. */
export const cartPoleControl: ModelExperiment = control(
  "cart-pole-control",
  "balance a pole on a cart by planning",
  cartPole,
  20,
);
