/** Returns of controllers in test episodes, and drawings of an episode. */
import { concatenate, key, type Tensor, tidy } from "@weft/weft";
import type { Evaluation, Section } from "@weft/weft/train";
import type { ActorCritic } from "./actor_critic.ts";
import type { EnvironmentModel, Segments } from "./environment_model.ts";
import type { Environment, GapKind } from "./environments.ts";
import { type Controller, explorer, Player, reactive } from "./episodes.ts";
import type { Planner } from "./planner.ts";
import type { Replay } from "./replay.ts";
import {
  drawInstants,
  drawPredictions,
  drawReturns,
  drawTimes,
  type HostEpisode,
  type Prediction,
} from "./report.ts";

/** Random key of test episodes. */
export const testKey = key(1);

/** Standard deviation of the noise of the planner's actions in training episodes. */
const plannerNoise = 0.1;

/** Factor of the noise of the actor's actions in training episodes, relative to random actions. */
const actorNoise = 0.2;

/** Number of decisions of a drawn prediction. */
const predictedDecisions = 20;

/** Players of episodes by controller. */
export type Players = Readonly<
  Record<
    "random" | "noisy planner" | "noisy actor" | "planner" | "actor" | "hand-written controller",
    Player
  >
>;

/** Makes the players of an environment. */
export function playersOf(
  environment: Environment,
  gaps: GapKind,
  { act, plan }: { act: ActorCritic["act"]; plan: Planner },
): Players {
  const playerOf = (controller: Controller) => Player(environment, gaps, controller);
  const planning = (standardDeviation: number) =>
    playerOf(
      reactive((state, { noise, key }) => plan(state, key).slice(1, 0, 1).add(noise.mul(standardDeviation))),
    );
  return {
    random: playerOf(explorer),
    "noisy planner": planning(plannerNoise),
    "noisy actor": playerOf({
      ...explorer,
      decide(state, memory, drawn) {
        const explored = explorer.decide(state, memory, drawn);
        return { ...explored, action: act(state).add(explored.action.mul(actorNoise)) };
      },
    }),
    planner: planning(0),
    actor: playerOf(reactive(act)),
    "hand-written controller": playerOf(reactive(environment.controller)),
  };
}

/** An environment with its learned model and its players. */
interface Controlled {
  readonly environment: Environment;
  readonly model: EnvironmentModel;
  readonly play: Players;
  readonly replay: Replay;
  /** Initial states of the test episodes. */
  readonly start: Tensor;
}

/** Measures the references. */
export async function measureControl(controlled: Controlled): Promise<Evaluation> {
  const { play, start } = controlled;
  const meanReturn = (name: keyof Players) => tidy(() => play[name](start, testKey).returns.mean()).item();
  const [reference, actor, random] = await Promise.all(
    (["hand-written controller", "actor", "random"] as const).map(meanReturn),
  );
  return {
    measures: { "return of the actor alone": actor },
    baselines: {
      "hand-written controller": { return: reference },
      "random actions": { return: random },
    },
    sections: () => sectionsOf(controlled),
  };
}

async function sectionsOf({ environment, model, play, replay, start }: Controlled): Promise<Section[]> {
  const episodes = tidy(() => play.planner(start, testKey));
  const returns = [...await episodes.returns.data()];
  const hardest = returns.indexOf(Math.min(...returns));
  const one = (x: Tensor) => x.slice(0, hardest, hardest + 1);
  const segments = { states: one(episodes.states), actions: one(episodes.actions), gaps: one(episodes.gaps) };
  const episode = await toHost(segments);
  const title = `test episode with the lowest return, ${returns[hardest].toFixed(1)}`;
  return [
    ...await returnsOfTraining(play, replay),
    drawInstants(environment, episode, `Instants of the ${title}`),
    drawTimes(environment, episode, `Course of the ${title}`),
    drawPredictions(environment, episode, await predictionsOf(model, segments, episode)),
  ];
}

/** The returns of the stored episodes. A run whose weights alone were loaded has none. */
async function returnsOfTraining(play: Players, replay: Replay): Promise<Section[]> {
  const lengths = await replay.gaps.sum([1, 2]).data();
  const count = lengths.filter((length) => length > 0).length;
  if (count === 0) return [];
  const starts = replay.states.slice(0, 0, count).select(1, 0);
  const reference = tidy(() => play["hand-written controller"](starts, testKey).returns);
  return [drawReturns([...(await replay.returns.data()).subarray(0, count)], [...await reference.data()])];
}

/** Copies the decisions of an episode `(1, ...)` to the host, without those after its end. */
async function toHost({ states, actions, gaps }: Segments): Promise<HostEpisode> {
  const [stateValues, actionValues, gapValues] = await Promise.all(
    [states, actions, gaps].map((x) => x.data()),
  );
  const count = states.shape[2];
  const length = gapValues.findIndex((gap) => gap <= 0);
  const decided = length < 0 ? gapValues.length : length;
  const times = [0];
  for (let i = 0; i < decided; i++) times.push(times[i] + gapValues[i]);
  return {
    times,
    states: times.map((_, i) => [...stateValues.subarray(i * count, (i + 1) * count)]),
    actions: [...actionValues.subarray(0, decided)],
  };
}

/** Predictions of successive parts of an episode `(1, ...)`. */
async function predictionsOf(
  model: EnvironmentModel,
  { states, actions, gaps }: Segments,
  { times }: HostEpisode,
): Promise<Prediction[]> {
  const parts = Math.floor((times.length - 1) / predictedDecisions);
  return await Promise.all(Array.from({ length: parts }, async (_, part): Promise<Prediction> => {
    const [from, to] = [part * predictedDecisions, (part + 1) * predictedDecisions];
    const segment = {
      ...{
        states: states.slice(1, from, to + 1),
        actions: actions.slice(1, from, to),
        gaps: gaps.slice(1, from, to),
      },
    };
    const predicted = await tidy(() =>
      concatenate([segment.states.slice(1, 0, 1), model.predict(segment)], 1)
    ).data();
    const count = states.shape[2];
    return {
      times: times.slice(from, to + 1),
      states: Array.from(
        { length: predictedDecisions + 1 },
        (_, i) => [...predicted.subarray(i * count, (i + 1) * count)],
      ),
    };
  }));
}
