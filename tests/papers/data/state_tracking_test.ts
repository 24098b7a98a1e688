import assert from "node:assert/strict";
import { key } from "../../../src/tensor/random.ts";
import {
  automatonOf,
  type StateTask,
  stateTasks,
  stateTracking,
} from "../../../tasks/papers/data/state_tracking.ts";

/** Tokens and labels of random words. */
function wordsOf(task: StateTask, count: number, length: number): { tokens: number[]; labels: number[] }[] {
  const { values, shape: [, , kinds], labels } = stateTracking(count, key(1), task, length);
  return Array.from({ length: count }, (_, series) => ({
    tokens: Array.from({ length }, (_, t) => {
      const row = values.subarray((series * length + t) * kinds, (series * length + t + 1) * kinds);
      assert.equal(row.reduce((sum, value) => sum + value), 1);
      return row.indexOf(1);
    }),
    labels: [...labels.subarray(series * length, (series + 1) * length)],
  }));
}

/** Checks that equal answers have equal labels, and different answers different labels. Labels are arbitrary numbers. */
function assertSameAnswers(labels: readonly number[], answers: readonly unknown[]) {
  const pairs = new Set(labels.map((label, i) => `${label} ${answers[i]}`));
  assert.equal(pairs.size, new Set(labels).size);
  assert.equal(pairs.size, new Set(answers).size);
}

Deno.test("groups have their sizes, and each generator permutes the elements", () => {
  const sizes: Partial<Record<StateTask, number>> = {
    "parity": 2,
    "C5": 5,
    "S3": 6,
    "A5": 60,
    "cycle navigation": 5,
  };
  for (const task of stateTasks) {
    const expected = sizes[task];
    if (expected === undefined) continue;
    const { size, next } = automatonOf(task);
    assert.equal(size, expected);
    for (const images of next) assert.equal(new Set(images).size, size);
  }
});

Deno.test("products of generators commute in the cyclic groups only", () => {
  const commutes = (["parity", "C5", "S3", "A5"] as const).filter((name) => {
    const { next: [a, b] } = automatonOf(name);
    return a[b[0]!] === b[a[0]!];
  });
  assert.deepEqual(commutes, ["parity", "C5"]);
});

Deno.test("the labels of parity count the second token, and the same key gives the same words", () => {
  for (const { tokens, labels } of wordsOf("parity", 3, 20)) {
    assert.deepEqual(
      labels,
      tokens.map((_, t) => tokens.slice(0, t + 1).reduce((sum, token) => sum + token) % 2),
    );
  }
  const { values } = stateTracking(3, key(1), "parity", 20);
  assert.deepEqual(stateTracking(3, key(1), "parity", 20).values, values);
  assert.notDeepEqual(stateTracking(3, key(2), "parity", 20).values, values);
});

Deno.test("even pairs compare the first and the last token", () => {
  for (const { tokens, labels } of wordsOf("even pairs", 20, 9)) {
    assertSameAnswers(labels, tokens.map((token) => token === tokens[0]));
  }
});

Deno.test("arithmetic has the value of the expression up to the last digit, modulo five", () => {
  const words = wordsOf("arithmetic", 50, 12);
  const answers = words.flatMap(({ tokens }) =>
    tokens.map((token, t) => {
      assert.equal(token >= 5, t % 2 === 1);
      const text = tokens.slice(0, t + 1).map((token) => "01234+-*"[token]).join("");
      const value: number = new Function(`return ${text.replace(/[-+*]$/, "")}`)();
      return ((value % 5) + 5) % 5;
    })
  );
  assertSameAnswers(words.flatMap(({ labels }) => labels), answers);
});

Deno.test("recall has the last value that was written under the last key that was asked for", () => {
  const words = wordsOf("recall", 20, 40);
  const answers = words.flatMap(({ tokens }) => {
    const written = [0, 0, 0];
    let answer = 0;
    return tokens.map((token) => {
      if (token < 12) written[token % 3] = Math.floor(token / 3) + 1;
      else if (token < 15) answer = written[token % 3];
      return answer;
    });
  });
  assertSameAnswers(words.flatMap(({ labels }) => labels), answers);
});

Deno.test("words need a length", () => {
  assert.throws(
    () => stateTracking(1, key(0), "S3", 0),
    /stateTracking: length is 0, expected a whole number/,
  );
});
