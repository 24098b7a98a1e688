/** A primitive defined outside the library: one entry with all rules works in every transformation. */
import assert from "node:assert/strict";
import { checkGradients, grad, jit, jvp, odeint, scan, stack, type Tensor, vmap } from "../../mod.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { View } from "../../src/device/device.ts";
import { identity, max } from "../../src/device/scalar/scalar.ts";
import { allocateView, derived } from "../../src/device/view.ts";
import { apply, type Primitive } from "../../src/tensor/primitive.ts";
import { forEachInput } from "../../src/tensor/reverse.ts";
import { residualsOf } from "../../src/tensor/residuals.ts";
import { cpu, testOnDevices } from "../devices.ts";
import { assertTensor, at, build, fromTensor, type Nd, random, toTensor } from "../tensor/nd.ts";

/** The largest element so far along an axis, composed of kernels that both devices have. */
const cumulativeMax: Primitive<{ axis: number }> = {
  name: "cumulativeMax",
  infer: ([{ shape, dtype }]) => ({ shape, dtype }),
  run(device, [x], { axis }, { shape, dtype }) {
    const output = allocateView(device, shape, dtype);
    const rowOf = <V extends View>(view: V, i: number) =>
      derived(view, {
        shape: shape.with(axis, 1),
        strides: view.strides,
        offset: view.offset + i * view.strides[axis],
      }) as V;
    let largest = rowOf(x, 0);
    for (let i = 0; i < shape[axis]; i++) {
      const next = allocateView(device, largest.shape, dtype);
      device.map({ name: "maximum", build: max }, [largest, rowOf(x, i)], next);
      device.map(identity, [next], rowOf(output, i));
      largest = next;
    }
    return output;
  },
  // The cotangent of a result flows to the element that the result equals.
  reverse: forEachInput((g, [x], y, { axis }) => {
    const length = x.shape[axis];
    const rows = Array.from({ length }, (_, i) => {
      const isChosen = y.equal(x.slice(axis, i, i + 1));
      const row = isChosen.where(g, 0).sum(axis, { keepDims: true });
      return row.pad(x.shape.map((_, j) => j === axis ? [i, length - 1 - i] : [0, 0]));
    });
    return rows.reduce((sum, row) => sum.add(row));
  }),
  batch: ([x], _batch, { axis }) => apply(cumulativeMax, [x.tensor], { axis: axis + 1 }),
  lower: { none: "loops have no kernel for cumulative maxima" },
};

const cummax = (x: Tensor, axis: number) => apply(cumulativeMax, [x], { axis });
const values = random([3, 4], 1, { low: -2, high: 2 });

/** The result by naive loops. */
const expected = (x: Nd): Nd =>
  build(x.shape, ([i, j]) => Math.max(...Array.from({ length: j + 1 }, (_, k) => at(x, [i, k]))));

testOnDevices("a primitive from outside runs at once and under jit", async () => {
  const x = toTensor(values);
  await assertTensor(cummax(x, 1), expected(values), 1e-6);
  await assertTensor(jit((x: Tensor) => cummax(x.mul(1), 1))(x), expected(values), 1e-6);
});

Deno.test("a primitive from outside has first and second gradients", async () => {
  setCurrentDevice(cpu);
  const x = toTensor(values, "float64");
  await checkGradients((x: Tensor) => cummax(x, 1), [x]);
  await checkGradients((x: Tensor) => grad((x: Tensor) => cummax(x, 1).square().sum())(x), [x]);
  const [residuals] = residualsOf(cumulativeMax, [x], { axis: 1 }, x);
  assert.deepEqual(residuals, { inputs: [true], output: true });
});

Deno.test("the batching rule of a primitive from outside runs before a compiled loop", async () => {
  setCurrentDevice(cpu);
  const x = toTensor(random([5, 3, 4], 2), "float64");
  const body = (y: Tensor, row: Tensor): [Tensor, []] => [y.add(cummax(row, 1)).tanh(), []];
  const run = (compile: boolean) => scan(body, x.select(0, 0), x, { compile })[0];
  let compiled = 0;
  observeLoops(() => compiled++, () => run(true));
  assert.equal(compiled, 1);
  await assertTensor(run(true), await fromTensor(run(false)), 1e-12);
});

Deno.test("a solve with a primitive without a loop operation runs step by step and has a gradient", async () => {
  setCurrentDevice(cpu);
  const solve = (y0: Tensor) =>
    odeint((_t, y) => cummax(y, 1).sub(y.mul(2)), y0, [0, 0.2], { method: "rk4", stepSize: 0.1 });
  await checkGradients((y0: Tensor) => solve(y0), [toTensor(values, "float64")]);
});

Deno.test("a primitive from outside has tangents and maps over a batch", async () => {
  setCurrentDevice(cpu);
  const x = toTensor(random([5, 3, 4], 3), "float64");
  const each = stack([0, 1, 2, 3, 4].map((i) => cummax(x.select(0, i), 1)));
  await assertTensor(vmap((x: Tensor) => cummax(x, 1))(x), await fromTensor(each), 1e-12);
  const [, tangent] = jvp((x: Tensor) => cummax(x, 2).sum())([x], [x.zerosLike().add(1)]);
  await assertTensor(tangent, await fromTensor(grad((x: Tensor) => cummax(x, 2).sum())(x).sum()), 1e-12);
});

Deno.test("a primitive without a gradient rule rejects gradients with the reason", () => {
  setCurrentDevice(cpu);
  const primitive: Primitive<{ axis: number }> = { ...cumulativeMax, reverse: { none: "nobody wrote one" } };
  const f = (x: Tensor) => apply(primitive, [x], { axis: 1 }).mul(x).sum();
  const x = toTensor(values, "float64");
  const expected = { message: "grad: cumulativeMax has no gradient rule: nobody wrote one" };
  assert.throws(() => grad(f)(x), expected);
  assert.throws(() => jvp(f)([x], [x]), expected);
  const solve = (y: Tensor) =>
    scan((y: Tensor) => [y.add(f(y)), []], y, toTensor({ shape: [2], values: [0, 0] }))[0];
  assert.throws(() => grad((y: Tensor) => solve(y).sum())(x), expected);
  // No gradient passes through a constant.
  grad((y: Tensor) => y.mul(f(x)).sum())(x.mul(1));
});

Deno.test("a primitive without one of the rules is a type error", () => {
  const { infer: _infer, ...withoutShape } = cumulativeMax;
  const { run: _run, ...withoutRun } = cumulativeMax;
  const { reverse: _reverse, ...withoutReverse } = cumulativeMax;
  const { batch: _batch, ...withoutBatch } = cumulativeMax;
  const { lower: _lower, ...withoutLower } = cumulativeMax;
  const incomplete: Primitive<{ axis: number }>[] = [
    // @ts-expect-error: no shape rule
    withoutShape,
    // @ts-expect-error: no kernel
    withoutRun,
    // @ts-expect-error: no gradient rule
    withoutReverse,
    // @ts-expect-error: no batching rule
    withoutBatch,
    // @ts-expect-error: no operation inside loops
    withoutLower,
  ];
  assert.equal(incomplete.length, 5);
});
