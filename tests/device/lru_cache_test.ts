import assert from "node:assert/strict";
import { LruCache } from "../../src/device/lru_cache.ts";

Deno.test("a full map evicts the least recently used entry", () => {
  const map = new LruCache<string, number>(2);
  let made = 0;
  const values = ["a", "b", "a", "c", "a", "b"].map((key) => map.getOrMake(key, () => made++));
  assert.deepEqual(values, [0, 1, 0, 2, 0, 3]);
});
