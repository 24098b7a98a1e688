import assert from "node:assert/strict";
import { grad, key, normal, ones, scan, type Tensor, tensor, valueAndGrad, zeros } from "../../mod.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { testOnCpu } from "../devices.ts";
import { solved } from "../loops.ts";

testOnCpu("the gradient of a constant over 30,000 steps is not lost to rounding", async () => {
  const [steps, rate] = [30_000, 0.1];
  // With w = 0 the state stays at one, and each step adds the rate to the gradient.
  const gradientIn = async (dtype: "float32" | "float64") => {
    const step =
      (w: Tensor) => (y: Tensor, _x: Tensor): [Tensor, []] => [y.add(w.mul(y).sin().mul(rate)), []];
    const loss = (w: Tensor) => scan(step(w), ones([1, 1], { dtype }), zeros([steps], { dtype }))[0].sum();
    return await solved(true, () => grad(loss)(zeros([1], { dtype }))).item();
  };
  const [single, double] = [await gradientIn("float32"), await gradientIn("float64")];
  assert.ok(Math.abs(double - steps * rate) < 1e-8 * double);
  assert.ok(Math.abs(single - double) < 3e-5 * double, `${single} is not ${double}`);
});

/** A linear recurrence with a large matrix and a nonlinear output: its value and gradients. */
function largeRecurrence(compile: boolean) {
  const [dtype, size] = ["float64", 512] as const;
  const A = normal(key(1), [size, size], { standardDeviation: 0.04, dtype });
  const start = normal(key(2), [2, size], { dtype });
  const step = (state: Tensor, x: Tensor): [Tensor, Tensor] => {
    const next = state.matmul(A.mT).add(x);
    return [next, next.tanh()];
  };
  return valueAndGrad(() => {
    const [last, all] = scan(step, start, normal(key(3), [3, 2, size], { dtype }), { compile });
    return last.sin().sum().add(all.square().sum());
  })({ A, start });
}

testOnCpu("a state that comes from a product with a large matrix is not recomputed", async () => {
  const products: number[] = [];
  observeLoops((_, { program }) => {
    products.push(program.kernels.filter(({ kind }) => kind === "contract").length);
  }, () => largeRecurrence(true));
  // One forward, one backward.
  assert.deepEqual(products, [1, 1]);
  const [[value, gradients], [expected, exact]] = [largeRecurrence(true), largeRecurrence(false)];
  assert.ok(Math.abs(await value.sub(expected).item()) < 1e-9);
  for (const name of ["A", "start"] as const) {
    const largest = await gradients[name].sub(exact[name]).abs().max().item();
    assert.ok(largest < 1e-10, `the gradients of ${name} differ by ${largest}`);
  }
});

testOnCpu(
  "the gradient of a transposed large matrix has the memory layout of the matrix",
  () => {
    const [, { A }] = largeRecurrence(true);
    assert.deepEqual(A.view.strides, [512, 1]);
  },
);

testOnCpu(
  "only states with nonlinear uses are saved for the gradient",
  async () => {
    const dtype = "float64";
    const x = normal(key(1), [6, 5, 3], { dtype });
    const times = tensor([1, 2, 3, 4, 5, 6], { dtype });
    const gradients = (compile: boolean, isSquared: boolean) =>
      grad((w: Tensor) => {
        const step = (state: Tensor, { x, t }: { x: Tensor; t: Tensor }): [Tensor, []] => {
          const value = isSquared ? state.square() : state;
          return [value.mul(t.mul(0.1)).add(x.mul(w).tanh()), []];
        };
        return scan(step, x.select(0, 0), { x, t: times }, { compile })[0].square().sum();
      })(tensor([0.1, 0.2, 0.3], { dtype }));
    for (const isSquared of [false, true]) {
      const saved: number[] = [];
      let found!: Tensor;
      observeLoops((_, { program }) => saved.push(program.outputs.length), () => {
        found = gradients(true, isSquared);
      });
      assert.equal(saved[0], isSquared ? 1 : 0);
      assert.ok(await found.sub(gradients(false, isSquared)).abs().max().item() < 1e-12);
    }
  },
);
