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
