import assert from "node:assert/strict";
import {
  explain,
  grad,
  jit,
  jvp,
  remat,
  scan,
  type Tensor,
  tensor,
  valueAndGrad,
  vjp,
  vmap,
  whileLoop,
  type WhileLoopOptions,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";

const dtype = "float64";
const numbers = (values: number[]) => tensor(values, { dtype });
type Options = Partial<WhileLoopOptions>;

/** Multiplies each number by w until it is below 1. */
const shrink = (x: Tensor, w: Tensor, options: Options = {}) =>
  whileLoop((x: Tensor) => x.greaterEqual(1), (x) => x.mul(w), x, { maxSteps: 1000, ...options });

/** The results of `shrink` for numbers, with the derivatives of their sum. */
function shrunk(xs: readonly number[], w: number): { values: number[]; ofX: number[]; ofW: number } {
  let ofW = 0;
  const counts = xs.map((x) => x < 1 ? 0 : Math.floor(Math.log(x) / -Math.log(w)) + 1);
  xs.forEach((x, i) => ofW += counts[i] * x * w ** (counts[i] - 1));
  return { values: xs.map((x, i) => x * w ** counts[i]), ofX: counts.map((n) => w ** n), ofW };
}

async function assertClose(found: Tensor, expected: readonly number[], tolerance = 1e-11): Promise<void> {
  const values = [...await found.data()].map(Number);
  assert.equal(values.length, expected.length);
  values.forEach((value, i) => {
    const error = Math.abs(value - expected[i]);
    assert.ok(error <= tolerance * Math.max(1, Math.abs(expected[i])), `${values}, expected ${expected}`);
  });
}

const xs = [5, 0.3, 1e9, 1];
const rates = [0.5, 0.97];
const sumOf = (w: Tensor) => shrink(numbers(xs), w).sum();

/** The derivative of the sum with respect to w, by each transformation. */
const derivatives: Record<string, (w: number, options: Options) => Tensor> = {
  grad: (w, options) => grad((w: Tensor) => shrink(numbers(xs), w, options).sum())(tensor(w, { dtype })),
  "grad of jit": (w, options) =>
    grad(jit((w: Tensor) => shrink(numbers(xs), w, options).sum()))(tensor(w, { dtype })),
  "jit of grad": (w, options) => {
    const f = jit((w: Tensor) => grad((w: Tensor) => shrink(numbers(xs), w, options).sum())(w));
    f(tensor(0.9, { dtype }));
    return f(tensor(w, { dtype }));
  },
  vjp: (w, options) => {
    const at = tensor(w, { dtype });
    const { value, pullback } = vjp(() => shrink(numbers(xs), at, options), at);
    return pullback(value.zerosLike().add(1));
  },
  jvp: (w, options) =>
    jvp((w: Tensor) => shrink(numbers(xs), w, options).sum())([tensor(w, { dtype })], [
      tensor(1, { dtype }),
    ])[1],
  remat: (w, options) =>
    grad((w: Tensor) => remat(() => shrink(numbers(xs), w, options)).sum())(tensor(w, { dtype })),
  "grad of vmap": (w, options) =>
    grad((w: Tensor) => vmap((x: Tensor) => shrink(x, w, options))(numbers(xs)).sum())(tensor(w, { dtype })),
  "grad inside scan": (w, options) =>
    grad((w: Tensor) =>
      scan(
        (sum: Tensor, x: Tensor) => [sum.add(shrink(x, w, options)), {}],
        tensor(0, { dtype }),
        numbers(xs),
      )[0]
    )(
      tensor(w, { dtype }),
    ),
};
const variants: Record<string, Options> = {
  compiled: {},
  "step by step": { compile: false },
  checkpointed: { checkpoint: true },
  "in little memory": { memory: 2000 },
};
for (const [name, derivative] of Object.entries(derivatives)) {
  for (const [variant, options] of Object.entries(variants)) {
    Deno.test(`the derivative of whileLoop by ${name} is that of the steps taken, ${variant}`, async () => {
      await assertClose(derivative(0.5, options), [shrunk(xs, 0.5).ofW]);
    });
  }
}

for (const w of rates) {
  Deno.test(`each sample of whileLoop ends by itself, factor ${w}`, async () => {
    const { values, ofX } = shrunk(xs, w);
    await assertClose(shrink(numbers(xs), tensor(w, { dtype })), values);
    await assertClose(grad((x: Tensor) => shrink(x, tensor(w, { dtype })).sum())(numbers(xs)), ofX);
  });
}

const perRate: Record<string, (w: Tensor) => Tensor> = {
  "vmap of grad": vmap(grad(sumOf)),
  "grad of vmap": grad((w: Tensor) => vmap(sumOf)(w).sum()),
  "vmap of jvp": vmap((w: Tensor) => jvp(sumOf)([w], [w.zerosLike().add(1)])[1]),
  "jvp of vmap": (w) => jvp(vmap(sumOf))([w], [w.zerosLike().add(1)])[1],
  "vmap of vmap of grad": (w) => vmap(vmap(grad(sumOf)))(w.expandDims(0)).flatten(),
};
for (const [name, derivative] of Object.entries(perRate)) {
  Deno.test(`${name} of whileLoop differentiates each example`, async () => {
    await assertClose(derivative(numbers(rates)), rates.map((w) => shrunk(xs, w).ofW));
  });
}

Deno.test("the second derivative of whileLoop is that of the steps taken", async () => {
  // 5 w^3 and 1 w have the second derivatives 30 w and 0.
  const f = (w: Tensor) => shrink(numbers([5, 1]), w).sum();
  await assertClose(grad((w: Tensor) => grad(f)(w))(tensor(0.5, { dtype })), [15]);
  await assertClose(jvp(grad(f))([tensor(0.5, { dtype })], [tensor(1, { dtype })])[1], [15]);
});

/** Takes n square roots of x - a. One more step than n gives NaN. */
const roots = (a: Tensor, options: Options = {}) =>
  whileLoop(
    ({ n }: { x: Tensor; n: Tensor }) => n.greater(0),
    ({ x, n }) => ({ x: x.sub(a).sqrt(), n: n.sub(1) }),
    { x: numbers([16.5, 1]), n: numbers([2, 1]) },
    { maxSteps: 10, ...options },
  ).x;
const rootOf = (a: number) => [Math.sqrt(Math.sqrt(16.5 - a) - a), Math.sqrt(1 - a)];
const slopeOfRoots = (a: number, h = 1e-6) =>
  (rootOf(a + h).reduce((x, y) => x + y) - rootOf(a - h).reduce((x, y) => x + y)) / (2 * h);

for (const [variant, options] of Object.entries(variants)) {
  Deno.test(`NaN of a sample that has ended reaches no result and no gradient, ${variant}`, async () => {
    const a = tensor(0.9, { dtype });
    await assertClose(roots(a, options), rootOf(0.9));
    const sum = (a: Tensor) => roots(a, options).sum();
    await assertClose(grad(sum)(a), [slopeOfRoots(0.9)], 1e-8);
    await assertClose(jvp(sum)([a], [tensor(1, { dtype })])[1], [slopeOfRoots(0.9)], 1e-8);
    await assertClose(vmap(grad(sum))(numbers([0.9, 0.2])), [slopeOfRoots(0.9), slopeOfRoots(0.2)], 1e-8);
  });
}

Deno.test("a condition for all ends all samples together", async () => {
  const sum = (x: Tensor) =>
    whileLoop((x: Tensor) => x.sum().less(100), (x) => x.mul(2), x, { maxSteps: 50 });
  await assertClose(sum(numbers([1, 3])), [32, 96]);
  await assertClose(grad((x: Tensor) => sum(x).sum())(numbers([1, 3])), [32, 32]);
  await assertClose(vmap(sum)(tensor([[1, 3], [40, 70]], { dtype })), [32, 96, 40, 70]);
});

Deno.test("maxSteps ends whileLoop", async () => {
  for (const maxSteps of [0, 1, 63, 64, 65, 500]) {
    const loop = (x: Tensor) => whileLoop((x: Tensor) => x.less(1e9), (x) => x.add(1), x, { maxSteps });
    await assertClose(loop(numbers([0, 7])), [maxSteps, 7 + maxSteps]);
    await assertClose(grad((x: Tensor) => loop(x).sum())(numbers([0, 7])), [1, 1]);
  }
});

Deno.test("whileLoop takes rows of matrices and tensors of several ranks", async () => {
  const state = { x: tensor([[1, 2], [3, 4], [500, 1]], { dtype }), n: numbers([0, 0, 0]) };
  const { x, n } = whileLoop(
    ({ x }) => x.max(1, { keepDims: true }).less(100),
    ({ x, n }) => ({ x: x.mul(3), n: n.add(1) }),
    state,
    { maxSteps: 20 },
  );
  await assertClose(n, [4, 3, 0]);
  await assertClose(x, [81, 162, 81, 108, 500, 1]);
});

Deno.test("whileLoop is compiled", () => {
  const text = explain(() => shrink(numbers(xs), tensor(0.5, { dtype }))).text;
  assert.match(text, /forward loop: \d+ steps of 4 samples/);
});

Deno.test("a long whileLoop with checkpoint gives the gradient of all steps", async () => {
  const loop = (w: Tensor) =>
    whileLoop((x: Tensor) => x.less(2), (x) => x.mul(w), numbers([1]), { maxSteps: 1e6, checkpoint: true })
      .sum();
  const [value, gradient] = valueAndGrad(loop)(tensor(1.0001, { dtype }));
  const steps = Math.ceil(Math.log(2) / Math.log(1.0001));
  await assertClose(value, [1.0001 ** steps], 1e-9);
  await assertClose(gradient, [steps * 1.0001 ** (steps - 1)], 1e-9);
});

testOnDevices("whileLoop ends each sample on the device", async () => {
  const x = tensor([5, 0.25, 100, 1]);
  const loop = (x: Tensor) =>
    whileLoop((x: Tensor) => x.greaterEqual(1), (x) => x.mul(0.5), x, { maxSteps: 8 });
  await assertClose(loop(x), [0.625, 0.25, 0.78125, 0.5], 1e-6);
  await assertClose(grad((x: Tensor) => loop(x).sum())(x), [0.125, 1, 2 ** -7, 0.5], 1e-6);
});

const wrong: [name: string, call: () => unknown, message: RegExp][] = [
  [
    "a negative maxSteps",
    () => shrink(numbers(xs), numbers([1]), { maxSteps: -1 }),
    /maxSteps is -1, expected a whole/,
  ],
  [
    "a condition of numbers",
    () => whileLoop((x: Tensor) => x, (x) => x, numbers(xs), { maxSteps: 1 }),
    /condition returned float64, expected a bool tensor/,
  ],
  [
    "a condition of another shape",
    () => whileLoop((x: Tensor) => x.greater(0), (x) => x, tensor([[1, 2]]), { maxSteps: 1 }),
    /condition has shape \(1, 2\), expected \(\), or \(batch\)/,
  ],
  [
    "a body that changes the shape",
    () => whileLoop((x: Tensor) => x.greater(0), (x) => x.sum(), numbers(xs), { maxSteps: 1 }),
    /whileLoop: the body must return a state with/,
  ],
];
for (const [name, call, message] of wrong) {
  Deno.test(`whileLoop rejects ${name}`, () => {
    assert.throws(call, message);
  });
}

Deno.test("inside jit on the CPU, whileLoop ends when the samples of the call end", async () => {
  const options = { maxSteps: 1e9 };
  const sum = (w: Tensor) => shrink(numbers(xs).mul(1), w, options).sum();
  for (
    const [name, f] of Object.entries({
      grad: grad(sum),
      "vmap of grad": vmap(grad(sum)),
      jvp: perRate["vmap of jvp"],
    })
  ) {
    const traced = jit(f);
    for (const w of [0.5, 0.9, 0.7]) {
      const at = name === "grad" ? tensor(w, { dtype }) : numbers([w, 0.8]);
      await assertClose(
        traced(at),
        name === "grad" ? [shrunk(xs, w).ofW] : [w, 0.8].map((w) => shrunk(xs, w).ofW),
      );
    }
  }
});
