import type { Key } from "@weft/weft";
import { unitPair } from "@weft/weft/data";
import { checkCount } from "./check_count.ts";

/** State of a task, as text, or undefined after a token that is not allowed there. */
type Next = string | undefined;

/** A task of state tracking: tokens change a state, and the label of a token is read from the state after it. */
interface Task {
  readonly tokens: number;
  readonly start: string;
  next(state: string, token: number): Next;
  label(state: string): string;
}

/** Products of generators of a finite group, as permutations of points. The label is the group element. */
function products(generators: readonly (readonly number[])[]): Task {
  return {
    tokens: generators.length,
    start: generators[0].map((_, point) => point).join(),
    next: (state, token) => state.split(",").map((point) => generators[token][Number(point)]).join(),
    label: (state) => state,
  };
}

/** Words of two tokens. The state is the first and the last token, and the label is whether they are equal. */
const evenPairs: Task = {
  tokens: 2,
  start: "",
  next: (state, token) => `${state[0] ?? token}${token}`,
  label: (state) => String(state[0] === state[1]),
};

/** Integers modulo five: the smallest integer that is not negative. */
const modulo5 = (value: number) => ((value % 5) + 5) % 5;

/**
 * Digits from 0 to 4 and the operators +, - and * in turn. The label is the value, modulo five, of the expression
 * up to the last digit. The state is the sum of all terms before the last, the last term, and an operator that
 * waits for its digit.
 */
const arithmetic: Task = {
  tokens: 8,
  start: "0 1 *",
  next(state, token) {
    const [sum, term, operator] = state.split(" ");
    if (token >= 5) return operator ? undefined : `${sum} ${term} ${"+-*"[token - 5]}`;
    if (operator === "*") return `${sum} ${modulo5(Number(term) * token)}`;
    const before = modulo5(Number(sum) + Number(term));
    if (operator) return `${before} ${modulo5(operator === "+" ? token : -token)}`;
  },
  label: (state) => String(modulo5(Number(state.split(" ")[0]) + Number(state.split(" ")[1]))),
};

/** Keys of associative recall, and values. */
const [keys, values] = [3, 4];

/**
 * Associative recall between distractors. Tokens write a value under a key, ask for the value of a key, or change
 * nothing. The label is the answer to the last question. The state is the values of all keys, and that answer;
 * 0 is a key without a value.
 */
const recall: Task = {
  tokens: keys * (values + 2),
  start: "0".repeat(keys + 1),
  next(state, token) {
    const [written, answer] = [state.slice(0, keys), state[keys]];
    const key = token % keys;
    const kind = Math.floor(token / keys);
    if (kind < values) return `${written.slice(0, key)}${kind + 1}${written.slice(key + 1)}${answer}`;
    return kind === values ? `${written}${written[key]}` : state;
  },
  label: (state) => state[keys],
};

const tasks = {
  /** The group of two elements: an element that changes nothing, and a transposition. */
  "parity": products([[0, 1], [1, 0]]),
  /** The cyclic group of five elements: a step forwards, and a step backwards. */
  "C5": products([[1, 2, 3, 4, 0], [4, 0, 1, 2, 3]]),
  /** All permutations of three points: a transposition, and a cycle. */
  "S3": products([[1, 0, 2], [1, 2, 0]]),
  /** The even permutations of five points: a cycle of three points, and one of five. */
  "A5": products([[1, 2, 0, 3, 4], [1, 2, 3, 4, 0]]),
  "even pairs": evenPairs,
  /** A place on a circle of five: no step, a step forwards, and a step backwards. */
  "cycle navigation": products([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0], [4, 0, 1, 2, 3]]),
  "arithmetic": arithmetic,
  "recall": recall,
} satisfies Record<string, Task>;

/** Names of the tasks. */
export type StateTask = keyof typeof tasks;

export const stateTasks = Object.keys(tasks) as StateTask[];

/** A finite automaton. States and labels are numbers; 0 is the first state, and the label of the first state. */
export interface Automaton {
  /** Label of each state. */
  readonly labels: readonly number[];
  /** Number of different labels. */
  readonly size: number;
  /** State after a token: `next[token][state]`, undefined where the token is not allowed. */
  readonly next: readonly (readonly (number | undefined)[])[];
}

const automata = new Map<StateTask, Automaton>();

/** The automaton of a task. Each is made once, since every training step draws words. */
export function automatonOf(name: StateTask): Automaton {
  const automaton = automata.get(name) ?? explore(tasks[name]);
  automata.set(name, automaton);
  return automaton;
}

/** All states that words of a task reach. */
function explore({ tokens, start, next: nextOf, label }: Task): Automaton {
  const states = [start];
  const numbers = new Map([[start, 0]]);
  const next: (number | undefined)[][] = Array.from({ length: tokens }, () => []);
  for (let i = 0; i < states.length; i++) {
    for (let token = 0; token < tokens; token++) {
      const state = nextOf(states[i], token);
      if (state === undefined) continue;
      if (!numbers.has(state)) numbers.set(state, states.push(state) - 1);
      next[token][i] = numbers.get(state);
    }
  }
  const names = [...new Set(states.map(label))];
  return { labels: states.map((state) => names.indexOf(label(state))), size: names.length, next };
}

/** Series of tokens. */
export interface StateTrackingArray {
  /** Tokens, one-hot, row-major. Shape (series, length, tokens). */
  readonly values: Float32Array;
  readonly shape: readonly [series: number, length: number, tokens: number];
  /** Label of the state after each token. Shape (series, length). */
  readonly labels: Int32Array;
}

/**
 * Words of random tokens, and the label of the state after each token. The groups are those of Merrill, Petty,
 * Sabharwal, "The Illusion of State in State-Space Models", 2024; parity, even pairs, cycle navigation and
 * arithmetic are the regular languages of Delétang et al., "Neural Networks and the Chomsky Hierarchy", 2023, with a
 * label for each prefix.
 *
 * @param count Number of series.
 * @param key Random key of the series; the same key gives the same series on every machine.
 * @throws {RangeError} If a count is not a positive integer.
 */
export function stateTracking(count: number, key: Key, name: StateTask, length: number): StateTrackingArray {
  checkCount("stateTracking", "count", count);
  checkCount("stateTracking", "length", length);
  const { labels: labelOf, next } = automatonOf(name);
  const tokens = next.length;
  const values = new Float32Array(count * length * tokens);
  const labels = new Int32Array(count * length);
  for (let series = 0; series < count; series++) {
    let state = 0;
    for (let t = 0; t < length; t++) {
      const row = series * length + t;
      const allowed = next.flatMap((states, token) => states[state] === undefined ? [] : token);
      const token = allowed[Math.floor(unitPair(key, row)[0] * allowed.length)];
      values[row * tokens + token] = 1;
      state = next[token][state]!;
      labels[row] = labelOf[state];
    }
  }
  return { values, shape: [count, length, tokens], labels };
}
