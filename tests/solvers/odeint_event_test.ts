import assert from "node:assert/strict";
import { checkGradients, odeintEvent, stack, type Tensor, tensor, vmap } from "../../mod.ts";

const gravity = 9.81;
const fall = (_t: Tensor, y: Tensor) => stack([y.select(0, 1), y.select(0, 1).zerosLike().add(-gravity)]);
const height = (_t: Tensor, y: Tensor) => y.select(0, 0);
const thrown = (up: number, from = 10) => tensor([from, up], { dtype: "float64" });
const options = { rtol: 1e-9, atol: 1e-10 };

Deno.test("a thrown ball reaches the ground at the exact time and speed", async () => {
  for (const up of [0, 5]) {
    const { t, y } = odeintEvent(fall, thrown(up), 2, height, options);
    const speed = Math.sqrt(up ** 2 + 2 * gravity * 10);
    assert.ok(Math.abs(await t.item() - 2 - (up + speed) / gravity) < 1e-8);
    const [found, down] = await y.data();
    assert.ok(Math.abs(found) < 1e-7 && Math.abs(down + speed) < 1e-7, `${found}, ${down}`);
  }
});

Deno.test("backwards in time odeintEvent finds the previous event", async () => {
  const { t } = odeintEvent(fall, thrown(5), 2, height, { ...options, reverseTime: true });
  const expected = 2 + (5 - Math.sqrt(25 + 2 * gravity * 10)) / gravity;
  assert.ok(Math.abs(await t.item() - expected) < 1e-8);
});

Deno.test("the first of several events ends the solve", async () => {
  const either = (t: Tensor, y: Tensor) => stack([height(t, y), t.sub(0.25)]);
  const { t } = odeintEvent(fall, thrown(0), 0, either, options);
  assert.ok(Math.abs(await t.item() - 0.25) < 1e-9);
});

for (const adjoint of ["direct", "continuous"] as const) {
  Deno.test(`time and state of an event have gradients, with the ${adjoint} adjoint`, async () => {
    const level = tensor([0.5], { dtype: "float64" });
    const solve = (y0: Tensor, level: Tensor) => {
      const event = (_t: Tensor, y: Tensor) => y.select(0, 0).sub(level.select(0, 0));
      const drag = (t: Tensor, y: Tensor) => fall(t, y).sub(y.mul(0.3));
      const { t, y } = odeintEvent(drag, y0, 0, event, { ...options, adjoint });
      return [t, y];
    };
    await checkGradients(solve, [thrown(3), level], { tolerance: 1e-5, step: 1e-4 });
  });
}

const wrong: [name: string, call: () => unknown, message: RegExp][] = [
  [
    "a fixed-step method",
    () => odeintEvent(fall, thrown(0), 0, height, { method: "rk4" }),
    /rk4 has fixed steps; use an adaptive method/,
  ],
  ["two starts", () => odeintEvent(fall, thrown(0), tensor([0, 1]), height), /t0 has 2 times, expected one/],
  [
    "an event of another batch",
    () => odeintEvent(fall, thrown(0), 0, height, { norm: "sample" }),
    /returned \(\) for a state of \(2,\), expected the samples as first axis/,
  ],
  [
    "a direction too many",
    () => odeintEvent(fall, thrown(0), 0, height, { direction: ["up", "down"] }),
    /direction has 2 members, expected one for each of 1 event functions/,
  ],
  ["no event function", () => odeintEvent(fall, thrown(0), 0, []), /odeintEvent: event/],
  [
    "a terminal of zero",
    () => odeintEvent(fall, thrown(0), 0, height, { terminal: 0 }),
    /terminal is 0, expected a whole number of at least 1/,
  ],
  [
    "a fraction of events",
    () => odeintEvent(fall, thrown(0), 0, height, { maxEvents: 1.5 }),
    /maxEvents is 1.5, expected a whole number/,
  ],
  [
    "an end before the start",
    () => odeintEvent(fall, thrown(0), 0, height, { t1: -1, reverseTime: false }),
    /t1 is -1, expected a time after t0, which is 0/,
  ],
  [
    "a restart of another shape",
    () => odeintEvent(fall, thrown(0), 0, height, { maxEvents: 2, restart: (_t, y) => y.sum() }),
    /odeintEvent: restart returned \(\) for a state of \(2,\)/,
  ],
  [
    "several events with the continuous adjoint",
    () => odeintEvent(fall, thrown(0), 0, height, { maxEvents: 2, adjoint: "continuous" }),
    /the adjoint "continuous" supports one event of all samples; use "direct" or "checkpoint"/,
  ],
  [
    "events that follow each other ever faster",
    () =>
      odeintEvent(fall, thrown(0, 1), 0, height, {
        ...{ maxEvents: 1000, direction: "down" },
        restart: (_t, y) => y.mul(tensor([0, -0.2], { dtype: "float64" })),
      }),
    /only \d+ events were found up to t = .*events follow each other ever faster/,
  ],
  [
    "a vector field of the wrong shape",
    () => odeintEvent((_t, y) => y.sum(0, { keepDims: true }), thrown(0), 0, height),
    /the vector field returned \(1,\) for a state of \(2,\)/,
  ],
  [
    "an event at the start",
    () => odeintEvent(fall, thrown(0, 0), 0, height),
    /zero at the start; choose the direction of its next crossing, "up" or "down"/,
  ],
  [
    "an event that is NaN",
    () => odeintEvent(fall, thrown(0), 0, (_t, y) => y.select(0, 0).mul(NaN)),
    /NaN at the start, expected nonzero numbers/,
  ],
  [
    "no event",
    () => odeintEvent((_t, y) => y.neg(), thrown(1), 0, (_t, y) => y.select(0, 0).add(1), { maxSteps: 50 }),
    /^NoProgressError: odeintEvent: no event was found: .* up to t = ([\d.]+), .*50 steps of dopri5 from t = 0 reached t = \1/,
  ],
  [
    "no event before the state becomes infinite",
    () => odeintEvent((_t, y) => y, thrown(1), 0, (_t, y) => y.select(0, 0).add(20)),
    /odeintEvent: no event was found: .* closest to zero at t = .*the state is not finite there/,
  ],
  [
    "two sign changes within a step",
    () =>
      odeintEvent((_t, y) => y.zerosLike(), thrown(1), 0, (t, _y) => t.sub(5).square().sub(1e-4), {
        maxSteps: 50,
      }),
    /no event was found: .*two sign changes within one step are not seen: jumpTimes end steps/,
  ],
  [
    "an event of bool",
    () => odeintEvent(fall, thrown(0), 0, (_t, y) => y.select(0, 0).greater(0)),
    /^TypeError: odeintEvent: the event function returned bool, expected numbers that cross zero/,
  ],
  [
    "a time of vmap",
    () => vmap((t: Tensor) => odeintEvent(fall, thrown(0), t, height).t)(tensor([0, 1])),
    /odeintEvent: t0 has no values inside vmap/,
  ],
];
for (const [name, call, message] of wrong) {
  Deno.test(`odeintEvent rejects ${name}`, () => {
    assert.throws(call, message);
  });
}
