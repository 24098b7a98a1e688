import assert from "node:assert/strict";
import { cheapestMode, modeCosts, type RunSizes, type WARPMode } from "../../src/models/warp/cost.ts";
import type { Transition } from "../../src/models/warp/transition.ts";

/** A stub of a dense transition, which only has costs. */
const dense = (size: number) => ({ applyCost: size ** 2, squareCost: size ** 3 }) as Transition;

const digits: RunSizes = { batch: 64, steps: 783, inputs: 1, size: 1300, starts: 64, final: true };
const cases: [title: string, changed: Partial<RunSizes>, mode: WARPMode][] = [
  ["the last state of digit series", {}, "chunked"],
  ["the last state of digit series from a shared first one", { starts: 1 }, "convolutional"],
  ["all states of digit series", { final: false }, "recurrent"],
  ["all states of digit series from a shared first one", { final: false, starts: 1 }, "convolutional"],
  ["all states of a long series with many weights less than steps", {
    batch: 64,
    steps: 16_383,
    size: 300,
    inputs: 7,
    starts: 1,
    final: false,
  }, "recurrent"],
  ["all states of one long series", {
    batch: 1,
    steps: 16_383,
    size: 64,
    starts: 1,
    final: false,
  }, "chunked"],
];
for (const [title, changed, mode] of cases) {
  Deno.test(`the mode with the fewest operations is ${mode} for ${title}`, () => {
    const sizes = { ...digits, ...changed };
    const { cost } = modeCosts(dense(sizes.size), sizes);
    assert.equal(cheapestMode({ cost, doublings: 0 }), mode, JSON.stringify(cost));
  });
}

Deno.test("the estimated cost of all states is the sum of their products' costs", () => {
  const sizes = { batch: 64, steps: 1, inputs: 2, size: 10, starts: 64, final: false };
  const { cost } = modeCosts(dense(10), sizes);
  // A step of every sample, and B times its change.
  assert.equal(cost.recurrent, 64 * 100 + 64 * 2 * 10);
});
