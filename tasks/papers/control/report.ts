/** Sections of a report about episodes. */
import type { Chart, Mark, Section } from "@weft/weft/train";
import type { Environment } from "./environments.ts";

/** An episode on the host. Decision i is taken at `times[i]` in state `states[i]`. */
export interface HostEpisode {
  /** Times of the decisions in seconds, and the end. */
  readonly times: readonly number[];
  /** States at these times. */
  readonly states: readonly (readonly number[])[];
  /** Actions in [-1, 1], one for each decision. */
  readonly actions: readonly number[];
}

/** States that the model predicts from the state at the first of some times, given the real actions and time gaps. */
export interface Prediction {
  readonly times: readonly number[];
  readonly states: readonly (readonly number[])[];
}

/** Number of drawn instants of an episode. */
const instants = 12;

const time = { title: "time", unit: "s" };

/** Charts of the returns of training episodes, and of a reference that starts in the same states. */
export function drawReturns(agent: readonly number[], reference: readonly number[]): Section {
  const x = agent.map((_, i) => i + 1);
  return {
    kind: "charts",
    title: "Returns of training episodes",
    text:
      "The first episodes have random actions. Each later epoch has an episode with the planner and two with the " +
      "actor alone. The controller starts in the same states. The best return from a state near the goal is close to 0.",
    charts: [{
      title: "return of each episode",
      panels: [{
        x: { title: "episode", isWhole: true },
        y: { title: "return" },
        marks: [
          { kind: "line", name: "training", x, y: agent },
          { kind: "line", name: "hand-written controller", style: "dashed", x, y: reference },
        ],
      }],
    }],
  };
}

/** Pictures of the system at some instants of an episode. */
export function drawInstants({ draw }: Environment, { times, states }: HostEpisode, title: string): Section {
  const end = times.at(-1)!;
  const charts = Array.from({ length: instants }, (_, i): Chart => {
    // The first third of the time has most of the motion.
    const wanted = end * (i / (instants - 1)) ** 2;
    const at = times.findIndex((time) => time >= wanted - 1e-6);
    const points = draw(states[at]);
    const mark: Mark = { kind: "line", name: "rod", x: points.map(([x]) => x), y: points.map(([, y]) => y) };
    return {
      title: `${times[at].toFixed(2)} s`,
      size: "small",
      panels: [{
        x: { title: "x", unit: "m", includes: [-1.2, 1.2] },
        y: { title: "y", unit: "m", includes: [-1.2, 1.2] },
        isPlane: true,
        marks: [mark],
      }],
    };
  });
  return { kind: "charts", title, charts };
}

/** States, action and time gap over the time of an episode. */
export function drawTimes(
  { states: titles, action }: Environment,
  episode: HostEpisode,
  title: string,
): Section {
  const { times, states, actions } = episode;
  const decisionTimes = times.slice(0, -1);
  return {
    kind: "charts",
    title,
    text: "Points are decisions. The action is constant from one decision to the next.",
    charts: [{
      title: "states, action and time gap",
      panels: [
        ...titles.map((y, i) => ({
          x: time,
          y,
          marks: [
            { kind: "line", name: "state", x: times, y: states.map((state) => state[i]) },
            { kind: "points", name: "decision", x: times, y: states.map((state) => state[i]) },
          ] as Mark[],
        })),
        {
          x: time,
          y: { title: action.title, unit: action.unit },
          marks: [{
            ...{ kind: "line", name: "action" },
            x: decisionTimes.flatMap((at, i) => [at, times[i + 1]]),
            y: actions.flatMap((value) => [action.limit * value, action.limit * value]),
          }],
        },
        {
          x: time,
          y: { title: "time gap", unit: "s", includes: [0] },
          marks: [{
            ...{ kind: "points", name: "decision" },
            x: decisionTimes,
            y: decisionTimes.map((at, i) => times[i + 1] - at),
          }],
        },
      ],
    }],
  };
}

/** States of an episode and predictions of the model. */
export function drawPredictions(
  { states: titles }: Environment,
  { times, states }: HostEpisode,
  predictions: readonly Prediction[],
): Section {
  return {
    kind: "charts",
    title: "Predictions of the model",
    text:
      "Each dashed line starts in a true state. The model then reads its own predictions, and the real actions " +
      "and time gaps.",
    charts: [{
      title: "true and predicted states",
      panels: titles.map((y, i) => ({
        x: time,
        y,
        marks: [
          { kind: "line", name: "true", x: times, y: states.map((state) => state[i]) },
          ...predictions.map((predicted): Mark => ({
            ...{ kind: "line", name: "predicted", style: "dashed" },
            x: predicted.times,
            y: predicted.states.map((state) => state[i]),
          })),
        ],
      })),
    }],
  };
}
