/** A replay memory of episodes in tensors of fixed size, and training segments from it. */
import { foldIn, type Key, parameter, type Tensor, tensor, tidy, uniform, zeros } from "@weft/weft";
import type { Segments, Transition } from "./environment_model.ts";
import { decisions } from "./environments.ts";
import type { Episodes } from "./episodes.ts";

/** Maximum number of episodes. Later episodes replace the first ones. */
export const capacity = 200;

/** Stored episodes, along the first axis. */
export type Replay = Episodes;

/** Segments of zeros, to be filled by {@linkcode drawSegments}. */
export function emptySegments(count: number, length: number, states: number): Segments {
  return {
    states: parameter(zeros([count, length + 1, states])),
    actions: parameter(zeros([count, length, 1])),
    gaps: parameter(zeros([count, length, 1])),
  };
}

/** An empty replay memory. */
export function emptyReplay(states: number): Replay {
  return { ...emptySegments(capacity, decisions, states), returns: parameter(zeros([capacity])) };
}

/**
 * Stores episodes. The last possible decision lasts until the end, not for its time gap, and is not learned from.
 *
 * @param at Number of episodes before them.
 */
export function store(replay: Replay, episodes: Episodes, at: number): void {
  tidy(() => {
    for (let i = 0; i < episodes.returns.shape[0]; i++) {
      const slot = (at + i) % capacity;
      for (const name of ["states", "actions", "gaps", "returns"] as const) {
        replay[name].slice(0, slot, slot + 1).assign(episodes[name].slice(0, i, i + 1));
      }
      replay.gaps.slice(0, slot, slot + 1).slice(1, decisions - 1).assign(zeros([1, 1, 1]));
    }
  });
}

/** Transitions of zeros, `(count, perSample, ...)`, to be filled by {@linkcode drawTransitions}. */
export function emptyTransitions(count: number, perSample: number, states: number): Transition {
  const empty = (channels: number) => parameter(zeros([count, perSample, channels]));
  return { state: empty(states), action: empty(1), gap: empty(1), next: empty(states) };
}

/**
 * Fills segments with random parts of the stored episodes.
 *
 * @param stored Number of episodes stored so far.
 */
export async function drawSegments(
  segments: Segments,
  replay: Replay,
  stored: number,
  key: Key,
): Promise<void> {
  const [count, length] = segments.actions.shape;
  const drawn = await drawDecisions(count, decisions - length + 1, stored, key);
  tidy(() => {
    for (const name of ["states", "actions", "gaps"] as const) fill(segments[name], replay[name], drawn);
  });
}

/**
 * Fills transitions with random decisions of the stored episodes.
 *
 * @param stored Number of episodes stored so far.
 */
export async function drawTransitions(
  transitions: Transition,
  replay: Replay,
  stored: number,
  key: Key,
): Promise<void> {
  const [count, perSample] = transitions.action.shape;
  const drawn = await drawDecisions(count * perSample, decisions, stored, key);
  const one = (to: Tensor) => to.reshape([count * perSample, 1, to.shape[2]]);
  tidy(() => {
    fill(one(transitions.state), replay.states, drawn);
    fill(one(transitions.action), replay.actions, drawn);
    fill(one(transitions.gap), replay.gaps, drawn);
    fill(one(transitions.next), replay.states, { ...drawn, first: drawn.first.map((i) => i + 1) });
  });
}

/** Episodes, and decisions in them before a limit. */
interface Drawn {
  readonly episode: Int32Array;
  readonly first: Int32Array;
}

async function drawDecisions(count: number, limit: number, stored: number, key: Key): Promise<Drawn> {
  const draw = async (n: number, limit: number) =>
    Int32Array.from(await uniform(foldIn(key, n), [count]).data(), (part) => Math.floor(part * limit));
  const [episode, first] = await Promise.all([draw(0, Math.min(stored, capacity)), draw(1, limit)]);
  return { episode, first };
}

/** Copies rows `(count, rows, channels)` of stored episodes that start at the drawn decisions. */
function fill(to: Tensor, from: Tensor, { episode, first }: Drawn): void {
  const [count, rows, channels] = to.shape;
  const perEpisode = from.shape[1];
  const places = Int32Array.from({ length: count * rows }, (_, i) => {
    const sample = Math.floor(i / rows);
    return episode[sample] * perEpisode + first[sample] + i % rows;
  });
  const all = from.reshape([capacity * perEpisode, channels]);
  to.assign(all.take(tensor(places, { dtype: "int32" })).reshape(to.shape));
}
