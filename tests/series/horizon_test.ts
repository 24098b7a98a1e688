import assert from "node:assert/strict";
import type { TimeKind } from "../../src/data/format.ts";
import { isHorizon, stepsOf } from "../../src/series/record/horizon.ts";

const [hour, day] = [3600, 86_400];

const horizons: [horizon: string | number, gap: number, times: TimeKind, steps: number][] = [
  [7, hour, "date", 7],
  ["36h", hour, "date", 36],
  ["45min", hour, "date", 1],
  ["2 weeks", day, "date", 14],
  ["1 month", day, "date", 30],
  ["1y", day, "date", 365],
  ["18 months", 1, "month", 18],
  ["1y", 1, "month", 12],
  ["1y", 3, "month", 4],
];

Deno.test("a horizon is the nearest whole number of steps", () => {
  for (const [horizon, gap, times, steps] of horizons) {
    assert.equal(stepsOf(horizon, gap, times), steps, `${horizon} in steps of ${gap}, ${times}`);
  }
});

Deno.test("a horizon that is not a time, or shorter than half a step, is rejected", () => {
  for (const value of [0, 1.5, NaN, "0h", "-1h", "h", "1 fortnight", "1.2.3h"]) {
    assert.ok(!isHorizon(value), `${value}`);
  }
  assert.throws(() => stepsOf("20min", hour, "date"), /horizon 20min is shorter than a step of 1 hour/);
  assert.throws(() => stepsOf("36h", 1, "number"), /horizon 36h needs dates, and these times are numbers/);
});
