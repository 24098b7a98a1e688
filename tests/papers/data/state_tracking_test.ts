import assert from "node:assert/strict";
import { key } from "../../../src/tensor/random.ts";
import { groupNames, groupOf, stateTracking } from "../../../tasks/papers/data/state_tracking.ts";

Deno.test("groups have their sizes, and each generator permutes the elements", () => {
  const sizes = { parity: 2, C5: 5, S3: 6, A5: 60 };
  for (const name of groupNames) {
    const { size, next } = groupOf(name);
    assert.equal(size, sizes[name]);
    for (const images of next) assert.equal(new Set(images).size, size);
  }
});

Deno.test("products of generators commute in the cyclic groups only", () => {
  const commutes = groupNames.filter((name) => {
    const { next: [a, b] } = groupOf(name);
    return a[b[0]] === b[a[0]];
  });
  assert.deepEqual(commutes, ["parity", "C5"]);
});

Deno.test("the labels of parity count the second token, and the same key gives the same words", () => {
  const { values, shape, labels } = stateTracking(3, key(1), "parity", 20);
  assert.deepEqual(shape, [3, 20, 2]);
  for (let series = 0; series < 3; series++) {
    let count = 0;
    for (let t = 0; t < 20; t++) {
      const [a, b] = values.subarray((series * 20 + t) * 2);
      assert.equal(a + b, 1);
      count += b;
      assert.equal(labels[series * 20 + t], count % 2);
    }
  }
  assert.deepEqual(stateTracking(3, key(1), "parity", 20).values, values);
  assert.notDeepEqual(stateTracking(3, key(2), "parity", 20).values, values);
});

Deno.test("words need a length", () => {
  assert.throws(
    () => stateTracking(1, key(0), "S3", 0),
    /stateTracking: length is 0, expected a whole number/,
  );
});
