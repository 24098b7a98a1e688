import assert from "node:assert/strict";
import { batchSizes, epochOrder, inBatches } from "../../src/data/batches.ts";
import { key } from "../../src/tensor/random.ts";

for (const size of [1, 3, 5, 10, 12]) {
  Deno.test(`batches of ${size} contain the samples of an epoch once, in its order`, () => {
    const order = epochOrder(key(0), 1, 10);
    const batches = inBatches(order, size);
    assert.deepEqual(batches.flatMap((batch) => [...batch]), [...order]);
    assert.deepEqual([...new Set(batches.map(({ length }) => length))], batchSizes(10, size));
  });
}

Deno.test("an epoch visits each sample as often as its visits, in another order each time", () => {
  const order = epochOrder(key(0), 1, 10, 2);
  const visits = [order.slice(0, 10), order.slice(10)];
  for (const visit of visits) assert.deepEqual([...visit].sort(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.notDeepEqual(...visits as [Int32Array, Int32Array]);
});
