/** A memory of decisions in windows, the training data of a latent model, an actor and a critic. */
import { parameter, type Tensor, tensor, tidy, uniform, zeros } from "@weft/weft";
import type { Key, ParameterTree } from "@weft/weft";
import type { RewardedDecision } from "../actor_critic.ts";
import type { Windows } from "./latent_model.ts";

/** A decision in the physics engine. */
export interface Decision {
  readonly observation: readonly number[];
  readonly actions: readonly number[];
  /** Time gap in time steps. */
  readonly gap: number;
  readonly reward: number;
  /** The next observation. */
  readonly next: readonly number[];
  /** Whether the decision ended the episode. */
  readonly isTerminal: boolean;
}

/** Options of {@linkcode WindowMemory}. */
export interface WindowMemoryOptions {
  /** Number of windows. Later windows replace the first ones. */
  readonly capacity: number;
  /** Decisions of a window. */
  readonly length: number;
  /** Values of an observation, with the features that are stored beside it, and of an action. */
  readonly values: number;
  readonly actions: number;
}

/** Positions of decisions in the memory, `(count)`. */
export interface Places {
  readonly decision: Tensor;
  readonly state: Tensor;
}

/** A memory. Observations in it are not normalized. */
export interface WindowMemory {
  /** All decisions in tensors, for checkpoints. */
  readonly state: ParameterTree;
  /** Reads the positions of the stored decisions. Call it after the tensors changed, and before other functions. */
  load(): Promise<void>;
  /** Stores a decision. @param isLast Whether it is the last one of an episode: the next one starts a window. */
  add(decision: Decision, isLast: boolean): void;
  /** Number of stored decisions. */
  readonly size: number;
  /** Positions of stored decisions, for random numbers from 0 to 1. */
  places(drawn: ArrayLike<number>): Places;
  /** Decisions at some positions, `(count, channels)`. @param discount Discount factor for a time step. */
  take(places: Places, discount: number): RewardedDecision;
  /** Fills windows with random stored ones. @param normalize Applied to the stored observations. */
  draw(windows: Windows, normalize: (state: Tensor) => Tensor, key: Key): Promise<void>;
}

/** Windows of zeros, to be filled by {@linkcode WindowMemory.draw}. */
export function emptyWindows(
  count: number,
  { length, values, actions }: Omit<WindowMemoryOptions, "capacity">,
): Windows {
  return {
    states: parameter(zeros([count, length + 1, values])),
    actions: parameter(zeros([count, length, actions])),
    gaps: parameter(zeros([count, length, 1])),
  };
}

/** Makes an empty memory. An episode fills windows one after another. Unused places have a time gap of zero. */
export function WindowMemory(options: WindowMemoryOptions): WindowMemory {
  const { capacity, length, values, actions } = options;
  const windows = emptyWindows(capacity, options);
  const flags = () => parameter(zeros([capacity, length, 1]));
  const rewards = flags();
  /** One if the episode went on after the decision. */
  const continues = flags();
  const count = parameter(zeros([1]));
  let stored = 0;
  let places: number[] = [];
  let open: Decision[] = [];

  const write = () => {
    const slot = stored++ % capacity;
    if (stored > capacity) places = places.filter((place) => Math.floor(place / length) !== slot);
    for (let i = 0; i < open.length; i++) places.push(slot * length + i);
    const filled = (to: Tensor, rows: readonly (readonly number[])[]) => {
      const [, size, channels] = to.shape;
      const data = new Float32Array(size * channels);
      rows.forEach((row, i) => data.set(row, i * channels));
      to.slice(0, slot, slot + 1).assign(tensor(data, { shape: [1, size, channels] }));
    };
    tidy(() => {
      filled(windows.states, [...open.map(({ observation }) => observation), open.at(-1)!.next]);
      filled(windows.actions, open.map(({ actions }) => actions));
      filled(windows.gaps, open.map(({ gap }) => [gap]));
      filled(rewards, open.map(({ reward }) => [reward]));
      filled(continues, open.map(({ isTerminal }) => [isTerminal ? 0 : 1]));
      count.assign(tensor([stored]));
    });
    open = [];
  };

  return {
    state: { ...windows, rewards, continues, count },
    async load() {
      const [[loaded], gaps] = await Promise.all([count.data(), windows.gaps.data()]);
      stored = loaded;
      places = [...gaps.keys()].filter((i) => gaps[i] > 0);
      open = [];
    },
    add(decision, isLast) {
      open.push(decision);
      if (isLast || open.length === length) write();
    },
    get size() {
      return places.length;
    },
    places(drawn) {
      const decision = Int32Array.from(drawn, (part) => places[Math.floor(part * places.length)]);
      return {
        decision: tensor(decision, { dtype: "int32" }),
        // A window has one observation more than decisions.
        state: tensor(decision.map((i) => i + Math.floor(i / length)), { dtype: "int32" }),
      };
    },
    take({ decision, state }, discount) {
      const rows = (x: Tensor, channels: number, at: Tensor) => x.reshape([-1, channels]).take(at);
      const gap = rows(windows.gaps, 1, decision);
      return {
        state: rows(windows.states, values, state),
        next: rows(windows.states, values, state.add(1)),
        action: rows(windows.actions, actions, decision),
        gap,
        reward: rows(rewards, 1, decision),
        future: gap.mul(Math.log(discount)).exp().mul(rows(continues, 1, decision)),
      };
    },
    async draw(to, normalize, key) {
      const full = Math.min(stored, capacity);
      const drawn = await uniform(key, [to.gaps.shape[0]]).data();
      tidy(() => {
        const at = tensor(Int32Array.from(drawn, (part) => Math.floor(part * full)), { dtype: "int32" });
        to.states.assign(normalize(windows.states.take(at)));
        to.actions.assign(windows.actions.take(at));
        to.gaps.assign(windows.gaps.take(at));
      });
    },
  };
}
