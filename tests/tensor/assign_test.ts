/** Assignments to views write to the base tensor, or throw. */
import assert from "node:assert/strict";
import { Adam, grad, jit, ones, type Tensor, tensor, zeros } from "../../mod.ts";
import { loadParameters } from "../../src/nn/layer.ts";
import { testOnDevices } from "../devices.ts";

const shape = [2, 3, 4];
const numbers = Float32Array.from({ length: 24 }, (_, i) => i);
/** A tensor with contiguous elements, and tensors with other layouts. */
const bases: [string, () => Tensor][] = [
  ["in order", () => tensor(numbers, { shape })],
  ["transposed", () => tensor(numbers, { shape: [4, 3, 2] }).transpose(0, 2)],
  [
    "every second",
    () => tensor(Float32Array.from({ length: 48 }, (_, i) => i), { shape: [2, 3, 8] }).slice(2, 1, 8, 2),
  ],
  ["reversed", () => tensor(numbers, { shape }).flip(1)],
];

const views: Record<string, (x: Tensor) => Tensor> = {
  "expandDims": (x) => x.expandDims([0, 2]),
  "squeeze": (x) => x.expandDims(1).squeeze(1),
  "permute": (x) => x.permute([2, 0, 1]),
  "transpose": (x) => x.transpose(),
  "mT": (x) => x.mT,
  "slice": (x) => x.slice(1, 1),
  "slice with a step": (x) => x.slice(2, 0, 4, 2),
  "slice downwards": (x) => x.slice(2, undefined, undefined, -2),
  "at the first axis": (x) => x.select(0, 1),
  "at the last axis": (x) => x.select(2, 1),
  "flip": (x) => x.flip(0),
  "views of views": (x) => x.transpose().select(1, 2).flip(0).expandDims(-1),
  "no change": (x) => x.reshape(x.shape),
};
/** Views if elements are contiguous, otherwise copies. */
const reshapes: Record<string, (x: Tensor) => Tensor> = {
  "reshape": (x) => x.reshape([6, 4]),
  "flatten": (x) => x.flatten(),
};

/**
 * The expected values of the base after the assignment. The positions of the view, found by index, are
 * replaced.
 */
async function expectedOf(base: Tensor, view: Tensor, values: Tensor): Promise<number[]> {
  const [all, places, replaced] = [await base.data(), await view.data(), await values.data()];
  const byNumber = new Map(Array.from(places, (place, i) => [place, replaced[i]]));
  return Array.from(all, (value) => byNumber.get(value) ?? value);
}

async function assertWritesThrough(
  base: Tensor,
  view: Tensor,
  write: (view: Tensor, values: Tensor) => void,
  name: string,
) {
  const values = view.mul(-1).sub(100);
  const expected = await expectedOf(base, view, values);
  assert.notDeepEqual(expected, [...await base.data()]);
  write(view, values);
  assert.deepEqual([...await base.data()], expected, name);
  assert.deepEqual([...await view.data()], [...await values.data()], name);
}

testOnDevices("an assignment to a view changes the base tensor", async () => {
  for (const [layout, make] of bases) {
    for (const [name, viewOf] of Object.entries(views)) {
      const base = make();
      await assertWritesThrough(
        base,
        viewOf(base),
        (view, values) => view.assign(values),
        `${name}, ${layout}`,
      );
    }
  }
});

testOnDevices("an assignment to a tensor changes its views", async () => {
  for (const [layout, make] of bases) {
    for (const [name, viewOf] of Object.entries(views)) {
      const base = make();
      const view = viewOf(base);
      base.assign(base.add(50).mul(2));
      assert.deepEqual([...await view.data()], [...await viewOf(base).data()], `${name}, ${layout}`);
    }
  }
});

testOnDevices("reshape and flatten return views of contiguous tensors and copies of others", async () => {
  for (const [layout, make] of bases) {
    for (const [name, viewOf] of Object.entries(reshapes)) {
      const base = make();
      const view = viewOf(base);
      const write = (view: Tensor, values: Tensor) => view.assign(values);
      if (layout === "in order") await assertWritesThrough(base, view, write, name);
      else {
        const before = [...await base.data()];
        view.assign(view.neg().sub(1));
        assert.deepEqual([...await base.data()], before, `${name}, ${layout}`);
      }
    }
  }
});

testOnDevices("an assigned view of the same memory is read before it is overwritten", async () => {
  for (const [layout, make] of bases) {
    const base = make();
    const expected = await base.flip(0).data();
    base.assign(base.flip(0));
    assert.deepEqual([...await base.data()], [...expected], layout);
  }
});

testOnDevices("inside jit an assignment to a view changes the base tensor", async () => {
  for (const [layout, make] of bases) {
    for (const [name, viewOf] of Object.entries(views)) {
      const base = make();
      const write = jit((x: Tensor, values: Tensor) => {
        viewOf(x).assign(values);
        return x.sum();
      });
      await assertWritesThrough(
        base,
        viewOf(base),
        (_, values) => void write(base, values),
        `${name}, ${layout}`,
      );
    }
  }
});

testOnDevices("an assignment to a broadcast view throws", async () => {
  for (const [, make] of bases) {
    const base = make();
    const before = [...await base.data()];
    const wide = base.expandDims(0).broadcastTo([2, ...shape]);
    assert.throws(
      () => wide.assign(ones(wide.shape)),
      /shape \(2, 2, 3, 4\) share memory, as after broadcastTo/,
    );
    assert.deepEqual([...await base.data()], before);
    // An axis of length one does not repeat elements.
    base.broadcastTo([1, ...shape]).assign(ones([1, ...shape]));
    assert.deepEqual([...await base.data()], new Array(24).fill(1));
  }
});

testOnDevices(
  "an assignment to a view of a tensor without memory throws until the tensor has memory",
  async () => {
    for (const [name, viewOf] of Object.entries({ ...views, ...reshapes })) {
      const base = zeros(shape);
      const view = viewOf(base);
      if (view !== base) {
        assert.throws(
          () => view.assign(ones(view.shape)),
          /is a view of zeros, ones or full/,
          name,
        );
      }
      base.assign(tensor(numbers, { shape }));
      await assertWritesThrough(base, viewOf(base), (view, values) => view.assign(values), name);
    }
  },
);

testOnDevices("optimizers and loadParameters write to parameters of every memory layout", async () => {
  for (
    const [layout, make] of [...bases, ["zeros", () => zeros(shape)], [
      "view of zeros",
      () => zeros([24]).reshape(shape),
    ]] as const
  ) {
    const parameters = { w: make() };
    const gradient = grad((p: { w: Tensor }) => p.w.sum())(parameters);
    const before = await parameters.w.data();
    Adam(parameters, { learningRate: 0.5 }).step(gradient);
    const after = await parameters.w.data();
    after.forEach((value, i) =>
      assert.ok(Math.abs(value - before[i] + 0.5) < 1e-4, `${layout}: ${value}, ${before[i]}`)
    );
    loadParameters(parameters, { w: ones(shape) });
    assert.deepEqual([...await parameters.w.data()], new Array(24).fill(1), layout);
  }
});

testOnDevices("assign to a tensor without elements does nothing", () => {
  for (const [from, to] of [[[1, 0, 1], [2, 0, 3]], [[0, 1], [0, 3]], [[1], [0]]]) {
    tensor([], { shape: [0] }).reshape(from.includes(0) ? from : [0]).broadcastTo(to).assign(zeros(to));
  }
});
