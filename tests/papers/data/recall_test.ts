import assert from "node:assert/strict";
import { recall, type RecallArray } from "../../../tasks/papers/data/recall.ts";
import { key } from "../../../src/tensor/random.ts";

const sizes = { keys: 3, values: 5, writes: 2, hold: 4, length: 60 };

/** Content of an observation: a key, a value or nothing (-1), and whether it is marked. */
function shown({ values, shape: [, length, channels] }: RecallArray, series: number, t: number) {
  const row = Array.from(
    values.subarray((series * length + t) * channels, (series * length + t + 1) * channels),
  );
  return {
    key: row.slice(0, sizes.keys).indexOf(1),
    value: row.slice(sizes.keys, -1).indexOf(1),
    isMarked: row.at(-1) === 1,
  };
}

Deno.test("the label is the last marked value of the queried key", () => {
  const array = recall(50, key(1), sizes);
  assert.deepEqual(array.shape, [50, 60, 9]);
  for (let series = 0; series < 50; series++) {
    const items = Array.from({ length: 60 }, (_, t) => shown(array, series, t));
    const question = items[59];
    assert.deepEqual([question.value, question.isMarked], [-1, false]);
    const marked = items.filter(({ isMarked }) => isMarked);
    assert.equal(marked.length, sizes.hold * sizes.keys * sizes.writes);
    const matching = marked.filter(({ key }) => key === question.key);
    assert.equal(matching.at(-1)!.value, array.labels[series]);
    assert.equal(new Set(matching.map(({ value }) => value)).size, sizes.writes);
  }
});

Deno.test("unmarked pairs follow the marked pairs until the query", () => {
  const items = Array.from({ length: 60 }, (_, t) => shown(recall(1, key(2), sizes), 0, t));
  const writes = sizes.hold * sizes.keys * sizes.writes;
  assert.ok(items.slice(0, writes).every(({ isMarked }) => isMarked));
  const rest = items.slice(writes, -sizes.hold);
  assert.ok(rest.every(({ key, value, isMarked }) => key >= 0 && value >= 0 && !isMarked));
});

Deno.test("series depend only on the random key", () => {
  const [a, b, c] = [3, 3, 4].map((seed) => recall(8, key(seed), sizes));
  assert.deepEqual(a, b);
  assert.notDeepEqual(a.labels, c.labels);
});

Deno.test("inconsistent sizes of a recall task are rejected", () => {
  assert.throws(() => recall(1, key(0), { ...sizes, length: 27 }), /length is 27, expected at least 28/);
  assert.throws(
    () => recall(1, key(0), { ...sizes, writes: 6 }),
    /6 writes of each key take as many values.*5/,
  );
});
