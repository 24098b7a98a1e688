/** Events inside every transformation, against the formulas of a falling ball. */
import assert from "node:assert/strict";
import { grad, jit, jvp, odeintEvent, scan, stack, type Tensor, tensor, vmap } from "../../mod.ts";

const dtype = "float64";
const numbers = (values: number[]) => tensor(values, { dtype });
const gravity = 9.81;

async function assertClose(found: Tensor, expected: readonly number[], tolerance = 1e-7): Promise<void> {
  const values = [...await found.data()];
  assert.equal(values.length, expected.length);
  values.forEach((value, i) =>
    assert.ok(Math.abs(value - expected[i]) <= tolerance, `${values}, expected ${expected}`)
  );
}

const field = (_t: Tensor, y: Tensor) => stack([y.select(0, 1), y.select(0, 1).zerosLike().sub(gravity)]);
const height = (_t: Tensor, y: Tensor) => y.select(0, 0);
const options = { rtol: 1e-9, atol: 1e-11, direction: "down" } as const;
/** The time at which a ball reaches the ground from a height. */
const fall = (h: Tensor) => odeintEvent(field, stack([h, h.zerosLike()]), 0, height, options).t;
const timeOf = (h: number) => Math.sqrt(2 * h / gravity);
const slopeOf = (h: number) => 1 / Math.sqrt(2 * h * gravity);
const heights = [10, 2, 20];
const ones = numbers([1, 1, 1]);
const one = tensor(1, { dtype });
const tangent = (h: Tensor) => jvp(fall)([h], [one])[1];

const derivatives: Record<string, (h: Tensor) => Tensor> = {
  "vmap of grad": vmap(grad(fall)),
  "grad of vmap": grad((h: Tensor) => vmap(fall)(h).sum()),
  "vmap of jvp": vmap(tangent),
  "jvp of vmap": (h) => jvp(vmap(fall))([h], [ones])[1],
  "vmap of vmap of grad": (h) => vmap(vmap(grad(fall)))(h.expandDims(0)).squeeze(0),
  "jit of vmap of grad": jit(vmap(grad(fall))),
  "jit of grad of vmap": jit(grad((h: Tensor) => vmap(fall)(h).sum())),
};
for (const [name, derivative] of Object.entries(derivatives)) {
  Deno.test(`${name} of the time of an event differentiates each example`, async () => {
    for (const all of [heights, [1, 30, 4]]) await assertClose(derivative(numbers(all)), all.map(slopeOf));
  });
}

Deno.test("each example of vmap has its own event, also inside jit", async () => {
  await assertClose(vmap(fall)(numbers(heights)), heights.map(timeOf));
  await assertClose(vmap(vmap(fall))(numbers(heights).expandDims(0)).squeeze(0), heights.map(timeOf));
  const traced = jit(vmap(fall));
  for (const all of [heights, [7, 8, 9]]) await assertClose(traced(numbers(all)), all.map(timeOf));
});

Deno.test("second derivatives of the time of an event are correct inside vmap and jit", async () => {
  const second = (h: number) => -0.5 * Math.sqrt(0.5 / gravity) * h ** -1.5;
  await assertClose(vmap(grad((h: Tensor) => grad(fall)(h)))(numbers(heights)), heights.map(second), 1e-6);
  await assertClose(jit(grad((h: Tensor) => grad(fall)(h)))(tensor(3, { dtype })), [second(3)], 1e-6);
});

Deno.test("a ball thrown from the ground returns to it: an event may start at zero", async () => {
  const thrown = (speed: Tensor) => odeintEvent(field, stack([speed.zerosLike(), speed]), 0, height, options);
  const speeds = [1, 5, 12];
  await assertClose(vmap((v: Tensor) => thrown(v).t)(numbers(speeds)), speeds.map((v) => 2 * v / gravity));
  await assertClose(vmap(grad((v: Tensor) => thrown(v).t))(numbers(speeds)), speeds.map(() => 2 / gravity));
});

Deno.test("the direction chooses among crossings", async () => {
  // cos crosses zero downwards at pi / 2 and upwards at 3 pi / 2.
  const rotate = (_t: Tensor, y: Tensor) => stack([y.select(0, 1).neg(), y.select(0, 0)]);
  const first = (direction: "up" | "down" | "both", reverseTime = false) =>
    odeintEvent(rotate, numbers([1, 0]), 0, height, { ...options, direction, reverseTime }).t;
  await assertClose(first("both"), [Math.PI / 2]);
  await assertClose(first("down"), [Math.PI / 2]);
  await assertClose(first("up"), [3 * Math.PI / 2]);
  await assertClose(first("up", true), [-3 * Math.PI / 2]);
});

Deno.test("the time of an event moves with the start", async () => {
  const from = (t0: Tensor) => odeintEvent(field, numbers([10, 0]), t0, height, options);
  const [t, slope] = jvp((t0: Tensor) => from(t0).t)([one], [one]);
  await assertClose(t, [1 + timeOf(10)]);
  await assertClose(slope, [1]);
  await assertClose(grad((t0: Tensor) => from(t0).t)(one), [1]);
  await assertClose(grad((t0: Tensor) => from(t0).y.sum())(one), [0]);
  // With a slope that depends on time, y = t^2 / 2 - t0^2 / 2 - 2 crosses zero at sqrt(4 + t0^2).
  const parabola = (t0: Tensor) =>
    odeintEvent((t, y) => y.zerosLike().add(t), numbers([-2]), t0, height, { ...options, direction: "up" }).t;
  await assertClose(grad(parabola)(one), [1 / Math.sqrt(5)]);
});

Deno.test("a ball bounces for each example, inside scan, vmap, jit and grad", async () => {
  const bounce = (h: Tensor) => {
    const hop = (y: Tensor): [Tensor, Tensor] => {
      const { t, y: end } = odeintEvent(field, y, 0, height, options);
      return [stack([end.select(0, 0).zerosLike(), end.select(0, 1).mul(-0.8)]), t];
    };
    return scan(hop, stack([h, h.zerosLike()]), numbers([0, 0, 0]))[1].sum();
  };
  // The first fall, and hops of twice 0.8^n of it.
  const total = 1 + 2 * (0.8 + 0.64);
  await assertClose(vmap(bounce)(numbers(heights)), heights.map((h) => total * timeOf(h)));
  await assertClose(vmap(grad(bounce))(numbers(heights)), heights.map((h) => total * slopeOf(h)));
  await assertClose(jit(vmap(grad(bounce)))(numbers(heights)), heights.map((h) => total * slopeOf(h)));
});

Deno.test("an event function and a field may read tensors of vmap", async () => {
  const from = (c: Tensor) =>
    odeintEvent(field, numbers([10, 0]), 0, (t, y) => height(t, y).sub(c), options).t;
  await assertClose(vmap(from)(numbers([5, 6])), [5, 6].map((c) => timeOf(10 - c)));
  const pulled = (c: Tensor) =>
    odeintEvent((t, y) => field(t, y).mul(c), numbers([10, 0]), 0, height, options).t;
  await assertClose(vmap(pulled)(numbers([1, 2])), [1, 2].map((c) => timeOf(10) / c));
});

/** Sum of the times between the bounces of a ball, in units of its first fall. */
const bounces = (n: number, e = 0.8) => Array.from({ length: n }, (_, i) => i === 0 ? 1 : 2 * e ** i);
const sum = (list: number[]) => list.reduce((a, b) => a + b);
const bouncing = (e: Tensor | number, maxEvents: number) => ({
  ...options,
  maxEvents,
  restart: (_t: Tensor, y: Tensor) => stack([y.select(0, 0), y.select(0, 1).mul(e).neg()]),
});
const bounce = (h: Tensor, e: Tensor | number = 0.8, n = 6) =>
  odeintEvent(field, stack([h, h.zerosLike()]), 0, height, bouncing(e, n));
const last = (h: Tensor) => bounce(h).t;
const ten = tensor(10, { dtype });
const total = sum(bounces(6));

const ofBounces: Record<string, [found: () => Tensor, expected: number[]]> = {
  times: [() => bounce(ten, 0.8, 3).events.t, [1, 2.6, 3.88].map((t) => t * timeOf(10))],
  "a thousandth of a hop": [() => bounce(ten, 0.8, 60).t, [sum(bounces(60)) * timeOf(10)]],
  gradient: [() => grad(last)(ten), [total * slopeOf(10)]],
  "gradient of all times": [
    () => grad((h: Tensor) => bounce(h, 0.8, 3).events.t.sum())(ten),
    [7.48 * slopeOf(10)],
  ],
  "gradient of the restart": [
    () => grad((e: Tensor) => bounce(ten, e, 3).t)(tensor(0.8, { dtype })),
    [(2 + 4 * 0.8) * timeOf(10)],
  ],
  "speed at the end": [() => bounce(ten, 0.8, 3).y.select(0, 1), [-0.64 * gravity * timeOf(10)]],
  jvp: [() => jvp(last)([ten], [one])[1], [total * slopeOf(10)]],
  vmap: [() => vmap(last)(numbers(heights)), heights.map((h) => total * timeOf(h))],
  "vmap of grad": [() => vmap(grad(last))(numbers(heights)), heights.map((h) => total * slopeOf(h))],
  "second gradient": [() => grad((h: Tensor) => grad(last)(h))(ten), [-total * timeOf(10) / 400]],
  "jit of grad": [() => jit(grad(last))(ten), [total * slopeOf(10)]],
};
Deno.test("bounces are one solve, with gradients through all bounces", async (t) => {
  for (const [name, [found, expected]] of Object.entries(ofBounces)) {
    await t.step(name, () => assertClose(found(), expected, 1e-6));
  }
});

Deno.test("with an end time, a solve without further events ends there, and its gradients flow", async () => {
  const at = (h: Tensor, t1: Tensor | number) =>
    odeintEvent(field, stack([h, h.zerosLike()]), 0, height, { ...bouncing(0.8, 5), t1 });
  const { t, which, y, events } = at(ten, 3);
  const up = 0.8 * gravity * timeOf(10);
  const left = 3 - timeOf(10);
  await assertClose(t, [3]);
  await assertClose(which, [-1]);
  await assertClose(y, [up * left - gravity / 2 * left ** 2, up - gravity * left]);
  assert.deepEqual([...await events.which.data()], [0, -1, -1, -1, -1]);
  assert.deepEqual([...await events.t.data()].map(Number.isNaN), [false, true, true, true, true]);
  const speed = (t1: Tensor) => at(ten, t1).y.select(0, 0);
  await assertClose(grad(speed)(tensor(3, { dtype })), [up - gravity * left]);
  // The state at a fixed time moves with an event before it: d(up left - g left^2 / 2) / dh.
  const slope = slopeOf(10) * (0.8 * gravity * left - up + gravity * left);
  await assertClose(grad((h: Tensor) => at(h, 3).y.select(0, 0))(ten), [slope]);
});

Deno.test("each of several events has its direction, and which of them ended the solve", async () => {
  const slow = (_t: Tensor, y: Tensor) => y.select(0, 1).add(5);
  const alarm = (t: Tensor) => t.sub(0.25);
  const solve = (more: object) =>
    odeintEvent(field, numbers([10, 0]), 0, [height, alarm, slow], {
      ...options,
      direction: ["down", "up", "down"],
      ...more,
    });
  const cases: [more: object, which: number[], end: number, time: number][] = [
    [{}, [1], 1, 0.25],
    [{ direction: ["down", "down", "both"] }, [2], 2, 5 / gravity],
    [{ direction: ["down", "down", "up"] }, [0], 0, timeOf(10)],
    [{ maxEvents: 2 }, [1, 2], 2, 5 / gravity],
    [{ maxEvents: 9, terminal: [1, Infinity, Infinity] }, [1, 2, 0], 0, timeOf(10)],
    [{ maxEvents: 9, t1: 0.4 }, [1], -1, 0.4],
  ];
  for (const [more, which, end, time] of cases) {
    const found = solve(more);
    await assertClose(found.t, [time]);
    assert.equal(await found.which.item(), end);
    assert.deepEqual([...await found.events.which.data()].filter((i) => i >= 0), which);
  }
  // The third crossing of a cosine, in either direction, without a restart.
  const rotate = (_t: Tensor, y: Tensor) => stack([y.select(0, 1).neg(), y.select(0, 0)]);
  const third = odeintEvent(rotate, numbers([1, 0]), 0, height, {
    rtol: 1e-9,
    atol: 1e-11,
    terminal: 3,
    maxEvents: 9,
  });
  await assertClose(third.t, [2.5 * Math.PI]);
});

Deno.test("each sample has its own events and restarts", async () => {
  const fieldOfSamples = (_t: Tensor, y: Tensor) =>
    stack([y.select(1, 1), y.select(1, 1).zerosLike().sub(gravity)], 1);
  const solve = (h: Tensor, more: object = {}) =>
    odeintEvent(fieldOfSamples, stack([h, h.zerosLike()], 1), 0, (_t, y) => y.select(1, 0), {
      ...options,
      norm: "sample",
      maxEvents: 3,
      restart: (_t: Tensor, y: Tensor) => y.mul(numbers([1, -0.8])),
      ...more,
    });
  const { t, which, y, events } = solve(numbers(heights));
  assert.deepEqual([t.shape, which.shape, y.shape, events.t.shape, events.y.shape], [
    [3],
    [3],
    [3, 2],
    [3, 3],
    [3, 3, 2],
  ]);
  await assertClose(t, heights.map((h) => 3.88 * timeOf(h)));
  await assertClose(
    grad((h: Tensor) => solve(h).t.sum())(numbers(heights)),
    heights.map((h) => 3.88 * slopeOf(h)),
  );
  // At the end, samples have had different events.
  const ended = solve(numbers(heights), { t1: 1.7 });
  assert.deepEqual([...await ended.which.data()], [-1, -1, -1]);
  assert.deepEqual([...await ended.events.which.data()], [0, 0, -1, -1, 0, -1, -1, -1, -1]);
});

Deno.test("the time to grow tenfold is log 10, less by a relative change of the start", async () => {
  const grow = (y0: Tensor) =>
    odeintEvent((_t, y) => y, y0, 0, (_t, y) => y.sub(10), { ...options, direction: "up" }).t;
  await assertClose(grow(one), [Math.log(10)]);
  await assertClose(grad(grow)(one), [-1]);
});

Deno.test("a jump before an event moves the event", async () => {
  // The state rises until the jump and falls after it: it reaches 0.5 as long after the jump as it rose beyond.
  const field = (t: Tensor, y: Tensor) => t.less(1).where(y.zerosLike().add(1), y.zerosLike().sub(1));
  const time = (jumpTimes: Tensor) =>
    odeintEvent(field, numbers([0]), 0, (_t, y) => y.sub(0.5), { ...options, jumpTimes }).t;
  await assertClose(time(numbers([1])), [1.5]);
  await assertClose(grad(time)(numbers([1])), [2]);
});
