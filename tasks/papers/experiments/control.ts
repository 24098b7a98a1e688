import { cartPole } from "../control/cart_pole.ts";
import { environmentModels, type MakeEnvironmentModel, type Segments } from "../control/environment_model.ts";
import { duration, type Environment, type GapKind, gapKinds } from "../control/environments.ts";
import { measureControl, playersOf, testKey } from "../control/evaluation.ts";
import { pendulum } from "../control/pendulum.ts";
import { Planner } from "../control/planner.ts";
import { drawSegments, emptyReplay, emptySegments, store } from "../control/replay.ts";
import { parameterOf } from "../../../src/nn/layer.ts";
import { Adam } from "../../../src/optim/adam.ts";
import { cosineDecay } from "../../../src/optim/schedules.ts";
import {
  kindNamed,
  type ModelExperiment,
  type ModelKind,
  modelRules,
} from "../../../src/series/model_kind.ts";
import { modelOptions } from "../../../src/series/settings.ts";
import { zeros } from "../../../src/tensor/creation.ts";
import { foldIn, key, splitKey } from "../../../src/tensor/random.ts";
import { tidy } from "../../../src/tensor/scope.ts";
import type { Tensor } from "../../../src/tensor/tensor.ts";
import { type RunSettings, trainingOptions } from "../../../src/train/experiment.ts";
import { choiceOption, pickOptions, sizeOption } from "../../../src/train/option.ts";
import type { Measures, Task } from "../../../src/train/task.ts";

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

/** Real decisions in training, initial states of episodes in the test. */
type Batch = Segments | { readonly start: Tensor };

/** Number of episodes of the test. Their initial states do not depend on the seed. */
const testEpisodes = 16;
/** Number of episodes with random actions before the first training. */
const randomEpisodes = 10;
/** Number of decisions of a training segment. */
const segmentLength = 15;
/** Discount factor for the time unit. */
const discount = 0.98;

interface ControlModelKind extends ModelKind {
  readonly make: MakeEnvironmentModel;
}

const models: Readonly<Record<string, ControlModelKind>> = Object.fromEntries(
  Object.entries(environmentModels).map(([name, make]) => [name, { takes: ["hidden"], make }]),
);

function control(name: string, summary: string, environment: Environment): ModelExperiment {
  return modelRules({
    name,
    summary,
    options: {
      ...pickOptions(modelOptions, ["model", "hidden"], { model: "ode-rfwp", hidden: 32 }),
      gaps: choiceOption(
        { group: "data", help: "time gaps between decisions", default: "regular" },
        gapKinds,
      ),
      segments: sizeOption({ group: "data", help: "training segments of an epoch", default: 3200 }),
      planLength: sizeOption({ help: "decisions of a plan", default: 30 }),
      candidates: sizeOption({ help: "plans of a round of the planner", default: 64 }),
      ...trainingOptions({ epochs: 10, batchSize: 32, learningRate: 0.002 }),
    },
    models: () => models,
    prepare: (settings: ControlSettings) => controlTask(environment, settings),
  });
}

function controlTask(environment: Environment, settings: ControlSettings): Task<Batch> {
  const { gaps, planLength: horizon, candidates, hidden } = settings;
  const [modelKey, episodeKey, segmentKey] = splitKey(key(settings.seed), 3);
  const model = kindNamed(models, settings.model).make(environment, { hidden, key: modelKey });
  const { parameters } = model;
  const plan = Planner({ environment, model, horizon, candidates, discount });
  const play = playersOf(environment, gaps, { horizon, plan });

  const count = environment.states.length;
  const replay = emptyReplay(count);
  const train = emptySegments(settings.segments, segmentLength, count);
  const episodeReturn = parameterOf(() => zeros([1]));
  const start = environment.start(testEpisodes, key(0));
  return {
    parameters,
    state: { replay: { ...replay }, train: { ...train }, episodeReturn },
    optimizer: Adam(parameters, { learningRate: settings.learningRate }),
    schedule: cosineDecay({ steps: settings.epochs * Math.ceil(settings.segments / settings.batchSize) }),
    clipNorm: 10,
    data: { train, test: { start } },
    testSize: `${testEpisodes} episodes of ${duration} s`,
    metric: { name: "return", mode: "max" },
    async collect(epoch) {
      const [startKey, noiseKey] = splitKey(foldIn(episodeKey, epoch));
      const stored = randomEpisodes + epoch - 1;
      tidy(() => {
        const [player, count] = epoch === 1 ? [play.random, randomEpisodes] : [play.exploration, 1];
        const episodes = player(environment.start(count, startKey), noiseKey);
        store(replay, episodes, stored - count);
        episodeReturn.assign(episodes.returns.mean(0, { keepDims: true }));
      });
      await drawSegments(train, replay, stored, foldIn(segmentKey, epoch));
    },
    evaluate(batch): Measures {
      if ("start" in batch) {
        const planned = play.planner(batch.start, testKey).returns.mean();
        return { loss: planned.neg(), return: planned };
      }
      const errors = model.errors(batch);
      return {
        loss: errors.states.add(errors.gaps),
        "state error": errors.states,
        "gap error": errors.gaps,
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
);

/** Balances a pole on a cart. */
export const cartPoleControl: ModelExperiment = control(
  "cart-pole-control",
  "balance a pole on a cart by planning",
  cartPole,
);
