import assert from "node:assert/strict";
import {
  Adam,
  type DType,
  grad,
  key,
  normal,
  ones,
  remat,
  scalar,
  scan,
  type ScanOptions,
  splitKey,
  stack,
  stopGradient,
  type Tensor,
  tensor,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { testOnDevices } from "../devices.ts";
import { assertAgree } from "../golden.ts";
import { solved } from "../loops.ts";
import { randomBody } from "./random_body.ts";
import { difference, tolerances } from "./run_body.ts";

const close = (a: Tensor, b: Tensor, tolerance: number, name = "values") =>
  assertAgree(name, [a], [b], tolerance);

for (let i = 0; i < 50; i++) {
  Deno.test(`random loop ${i} gives the same results compiled and step by step, in float64`, async () => {
    const body = randomBody(7_000_000 + i);
    const { worst, where, loops } = await difference(body, "float64");
    assert.ok(loops >= 2, `${loops} loops ran compiled, expected one forwards and one backwards at least`);
    assert.ok(
      worst <= tolerances.float64,
      `${where} differs by ${worst}; deno task fuzz --seed 7 shrinks it`,
    );
  });
}
for (let i = 0; i < 10; i++) {
  testOnDevices(`random loop ${i} gives the same results compiled and step by step, in float32`, async () => {
    const body = randomBody(8_000_000 + i);
    const { worst, where, loops } = await difference(body, "float32");
    assert.ok(loops >= 2, `${loops} loops ran compiled`);
    assert.ok(worst <= tolerances.float32, `${where} differs by ${worst}`);
  });
}

Deno.test("the gradient of a product of reversed elements is the same compiled and step by step", async () => {
  const weight = normal(key(1), [4, 4], { dtype: "float64" });
  const body = (h: Tensor): [Tensor, Tensor] => [h.flip(-1).matmul(weight).mul(0.1), h];
  const start = normal(key(2), [3, 4], { dtype: "float64" });
  const rows = zeros([5, 1], { dtype: "float64" });
  const gradient = (compile: boolean) =>
    valueAndGrad((h: Tensor) => scan(body, h, rows, { compile })[1].square().sum())(start)[1];
  await close(solved(true, () => gradient(true)), gradient(false), 1e-14);
});

Deno.test("the matrix gradient of a product with a shared row is correct when compiled", async () => {
  const gradient = (compile: boolean) =>
    grad((w: Tensor) =>
      scan((h, x) => [h.add(x.broadcastTo([3, 2]).matmul(w)), {}], zeros([3, 2]), ones([4]), { compile })[0]
        .sum()
    )(ones([2, 2]));
  await close(gradient(true), gradient(false), 1e-6);
});

const dtype = "float64";
const halves = normal(key(4), [2, 3], { dtype });
const bodies: Record<string, (h: Tensor) => Tensor> = {
  "a transposed value in another shape": (h) => h.permute([0, 2, 1]).reshape([2, 6]),
  "a computed value in reverse order": (h) => h.sin().flip(-1).cos(),
  "two parts of one tensor": (h) => h.mul(halves.slice(0, 0, 1)).add(halves.slice(0, 1)),
};
for (const [name, body] of Object.entries(bodies)) {
  Deno.test(`a compiled loop reads ${name}`, async () => {
    const start = normal(key(5), [2, 2, 3], { dtype });
    const [found, expected] = [true, false].map((compile) =>
      solved(compile, () => scan((h) => [h.mul(0.9), body(h)], start, zeros([2, 1]), { compile })[1])
    );
    await close(found, expected, 1e-14);
  });
}

/** A gated recurrent unit, as torch's GRUCell: reset, update and new gates. */
function gru(inputs: number, hidden: number, dtype: DType) {
  const keys = splitKey(key(3), 4);
  const draw = (i: number, shape: number[]) => normal(keys[i], shape, { dtype, standardDeviation: 0.5 });
  const parameters = {
    inputWeight: draw(0, [inputs, 3 * hidden]),
    stateWeight: draw(1, [hidden, 3 * hidden]),
    inputBias: draw(2, [3 * hidden]),
    stateBias: draw(3, [3 * hidden]),
  };
  const cell = (h: Tensor, x: Tensor): [Tensor, Tensor] => {
    const { inputWeight, stateWeight, inputBias, stateBias } = parameters;
    const [a, b] = [x.matmul(inputWeight).add(inputBias), h.matmul(stateWeight).add(stateBias)];
    const part = (gates: Tensor, i: number) => gates.slice(1, i * hidden, (i + 1) * hidden);
    const reset = part(a, 0).add(part(b, 0)).sigmoid();
    const update = part(a, 1).add(part(b, 1)).sigmoid();
    const fresh = part(a, 2).add(reset.mul(part(b, 2))).tanh();
    const next = fresh.sub(h).mul(update.neg().add(1)).add(h);
    return [next, next];
  };
  return { parameters, cell };
}

testOnDevices("a GRU written with scan trains like an unrolled GRU", async () => {
  const [steps, batch, inputs, hidden] = [6, 5, 3, 4];
  const x = normal(key(1), [steps, batch, inputs]);
  const target = normal(key(2), [steps, batch, hidden]).tanh();
  const train = async (unrolled: boolean) => {
    const { parameters, cell } = gru(inputs, hidden, "float32");
    const optimizer = Adam(parameters, { learningRate: 0.02 });
    const run = () => {
      const h = zeros([batch, hidden]);
      if (!unrolled) return solved(true, () => scan(cell, h, x))[1];
      const states: Tensor[] = [];
      let state = h;
      for (let step = 0; step < steps; step++) {
        [state] = cell(state, x.select(0, step));
        states.push(state);
      }
      return stack(states);
    };
    const losses: number[] = [];
    for (let i = 0; i < 15; i++) {
      const [loss, gradients] = valueAndGrad(() => run().sub(target).square().mean())(parameters);
      optimizer.step(gradients);
      losses.push(await loss.item());
    }
    return losses;
  };
  const [compiled, unrolled] = [await train(false), await train(true)];
  compiled.forEach((loss, i) =>
    assert.ok(Math.abs(loss - unrolled[i]) < 1e-5, `step ${i}: ${loss}, ${unrolled[i]}`)
  );
  assert.ok(compiled.at(-1)! < 0.9 * compiled[0], `${compiled[0]} to ${compiled.at(-1)}`);
});

const sizes: { batch: number; hidden: number; steps: number }[] = [
  { batch: 1, hidden: 1, steps: 1 },
  { batch: 1, hidden: 5, steps: 3 },
  { batch: 7, hidden: 1, steps: 4 },
  { batch: 33, hidden: 3, steps: 2 },
  { batch: 3, hidden: 4096, steps: 2 },
  { batch: 2, hidden: 2, steps: 20_000 },
];
for (const { batch, hidden, steps } of sizes) {
  testOnDevices(
    `a loop and its gradients are correct: ${steps} steps, ${batch} samples, ${hidden} elements`,
    async () => {
      const inputs = {
        h: normal(key(1), [batch, hidden]),
        scale: normal(key(2), [hidden]),
        x: normal(key(3), [steps, batch, 1]),
      };
      const run = (compile: boolean) =>
        solved(compile, () =>
          valueAndGrad(() => {
            const cell = (h: Tensor, x: Tensor): [Tensor, Tensor] => {
              const next = h.mul(0.9).add(h.mul(inputs.scale).add(x).tanh().mul(0.1));
              return [next, next.sum(1)];
            };
            const [h, sums] = scan(cell, inputs.h, inputs.x, { compile }) as [Tensor, Tensor];
            return h.square().sum().add(sums.mean());
          })(inputs));
      const [value, gradients] = run(true);
      assert.ok(Number.isFinite(await value.item()));
      if (steps > 100) return;
      const [expected, expectedGradients] = run(false);
      await close(value, expected, 1e-5);
      for (const name of ["h", "scale", "x"] as const) {
        await close(gradients[name], expectedGradients[name], 2e-5, name);
      }
    },
  );
}

Deno.test("a small body that mixes samples is compiled as a single sample, with the same result", async () => {
  const h = normal(key(0), [3, 2], { dtype: "float64" });
  const x = normal(key(1), [4, 3, 2], { dtype: "float64" });
  const cell = (h: Tensor, x: Tensor): [Tensor, Tensor] => [h.sub(h.mean(0)).add(x).tanh(), h.sum()];
  const [a, b] = [true, false].map((compile) =>
    solved(compile, () =>
      valueAndGrad(() => {
        const [final, sums] = scan(cell, h, x, { compile }) as [Tensor, Tensor];
        return final.square().sum().add(sums.sum());
      })({ h, x }))
  );
  await close(a[0], b[0], 1e-12);
  await close(a[1].h, b[1].h, 1e-12);
  await close(a[1].x, b[1].x, 1e-12);
});

Deno.test("a body with an operation that cannot be compiled gives the same result", async () => {
  const h = normal(key(0), [3, 4], { dtype: "float64" });
  const x = normal(key(1), [4, 3, 4], { dtype: "float64" });
  const cell = (h: Tensor, x: Tensor): [Tensor, Tensor] => [h.add(x).cumsum(1).tanh(), h];
  const [a, b] = [true, false].map((compile) =>
    solved(false, () => valueAndGrad(() => scan(cell, h, x, { compile })[0].square().sum())({ h, x }))
  );
  await close(a[0], b[0], 1e-12);
  await close(a[1].x, b[1].x, 1e-12);
});

Deno.test("the second gradient of a compiled loop is correct", async () => {
  const h = normal(key(0), [2, 3], { dtype: "float64" });
  const x = normal(key(1), [3, 2, 3], { dtype: "float64" });
  const cell = (h: Tensor, x: Tensor): [Tensor, Tensor] => [h.mul(x).sin(), h];
  const [a, b] = [true, false].map((compile) => {
    const inner = () => scan(cell, h, x, { compile })[0].square().sum();
    return solved(compile, () => valueAndGrad(() => valueAndGrad(inner)(h)[1].square().sum())({ h, x }));
  });
  await close(a[0], b[0], 1e-12);
  await close(a[1].x, b[1].x, 1e-12);
});

/**
 * Second gradients of a loop, compiled and step by step. In the latter the first gradient also runs step by
 * step.
 */
function secondGradients(loss: (x: Tensor, compile: boolean) => Tensor, x: Tensor): [Tensor, Tensor] {
  const [compiled, unrolled] = [true, false].map((compile) => {
    const inner = (x: Tensor) => valueAndGrad((x: Tensor) => loss(x, compile))(x)[1].square().sum();
    return solved(compile, () => valueAndGrad(inner)(x))[1];
  });
  return [compiled, unrolled];
}

Deno.test("a loop over bool and int32 rows whose gradient runs step by step has correct gradients", async () => {
  const x = normal(key(1), [4, 3, 2], { dtype: "float64" });
  const rows = {
    mask: x.greater(0),
    count: tensor([1, 2, 0, 3], { dtype: "int32" }).reshape([4, 1, 1]).broadcastTo([4, 3, 2]),
  };
  type Row = typeof rows & { x: Tensor };
  const cell = (h: Tensor, { x, mask, count }: Row): [Tensor, Tensor] => [
    mask.where(h.mul(x).sin(), h.add(x)).mul(count.cast("float64")).tanh().add(x),
    h,
  ];
  const [found, expected] = secondGradients((x, compile) => {
    const first = normal(key(2), [3, 2], { dtype: "float64" });
    return scan(cell, first, { ...rows, x }, { compile })[0].square().sum();
  }, x);
  await close(found, expected, 1e-12);
});

const cells: Record<string, (...x: Tensor[]) => Tensor> = {
  "another float": (h, x, c) => h.mul(c).cast("float32").sum(1).cast("float64").expandDims(1).add(x),
  "a product over the samples": (h, x, c) => h.add(x.matmul(stopGradient(h.mT.matmul(h)).mul(c))),
  "a product inside and ahead of the loop": (h, x, c) => {
    const product = x.slice(1, 0, 1).mul(c);
    return h.mul(product).add(product.exp()).tanh();
  },
  "a checkpoint": (h, x, c) => remat((h) => h.mul(c).sin(), h).add(x),
  "loops in its body": (h, x, c) => {
    const zero = h.zerosLike();
    const inner = (rows: Tensor) => scan((q, y) => [q.add(y).mul(h).tanh(), 0], zero, rows)[0];
    return inner(x).add(inner(zero)).mul(c);
  },
};
for (const [name, cell] of Object.entries(cells)) {
  Deno.test(`a loop with ${name} has correct gradients`, async () => {
    const make = (...shape: number[]) => normal(key(0), shape, { dtype: "float64" });
    const [h, x, c] = [make(4, 3), make(2, 4, 3), make(1, 3)];
    const [found, expected] = [true, false].map((compile) => {
      const slope = grad((c: Tensor) => scan((h, x) => [cell(h, x, c), 0], h, x, { compile })[0].sum());
      return [slope(c), grad((c: Tensor) => slope(c).square().sum())(c)];
    });
    await assertAgree(name, found, expected, 1e-6);
  });
}

Deno.test("a loop that returns one mask as two states has correct gradients", async () => {
  const masks = ones([2, 3], { dtype: "bool" });
  const last = (h: Tensor) =>
    scan(([h], x) => [[h.sin(), x, x], 0], [h, masks.select(0, 0), masks.select(0, 1)], masks)[0];
  assert.deepEqual(await grad((h: Tensor) => last(h)[0].sum())(zeros([3])).toArray(), [1, 1, 1]);
});

Deno.test("the second gradient counts a tensor that is two initial states of a loop only once", async () => {
  const cell = ({ a, b }: { a: Tensor; b: Tensor }, x: Tensor): [{ a: Tensor; b: Tensor }, Tensor] => [
    { a: a.mul(x).sin(), b: b.add(a).mul(x).tanh() },
    a,
  ];
  const rows = normal(key(1), [4, 3, 2], { dtype: "float64" });
  const [found, expected] = secondGradients((h, compile) => {
    const [{ a, b }] = scan(cell, { a: h, b: h }, rows, { compile });
    return a.add(b).square().sum();
  }, normal(key(2), [3, 2], { dtype: "float64" }));
  await close(found, expected, 1e-12);
});

testOnDevices("constant-filled parameters get gradients", async () => {
  const rows = normal(key(0), [4, 3, 2]);
  for (const weights of [ones([2]), scalar(0.5)]) {
    const loss = (w: Tensor) =>
      scan((y: Tensor, x: Tensor) => [y.mul(w).add(x), []], zeros([3, 2]), rows)[0].square().sum();
    const eager = (w: Tensor) =>
      [0, 1, 2, 3].reduce((y, i) => y.mul(w).add(rows.select(0, i)), zeros([3, 2])).square().sum();
    const [found, expected] = await Promise.all(
      [loss, eager].map((f) => solved(f === loss, () => valueAndGrad(f)(weights))[1].data()),
    );
    found.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 1e-4, `${found}, ${expected}`));
    assert.ok(expected.every((value) => value !== 0));
  }
});

Deno.test("values that depend only on the next row are computed once", async () => {
  const rows = normal(key(1), [6, 4, 3], { dtype: "float64" });
  const weight = normal(key(2), [3, 2], { dtype: "float64" });
  type Row = { row: Tensor; next: Tensor };
  const run = (options: ScanOptions) => ({ rows, weight }: { rows: Tensor; weight: Tensor }) => {
    const project = (x: Tensor) => x.matmul(weight).tanh();
    const body = (state: Tensor, { row, next }: Row): [Tensor, Tensor] => {
      const after = state.mul(project(row)).add(project(next));
      return [after, after];
    };
    const sequences = { row: rows.slice(0, 0, -1), next: rows.slice(0, 1) };
    return scan(body, ones([4, 2], { dtype: "float64" }), sequences, options)[1].square().sum();
  };
  const productsOf = (options: ScanOptions) => {
    const products: number[] = [];
    observeLoops((_, { program }) => {
      products.push(program.kernels.filter(({ kind }) => kind === "contract").length);
    }, () => valueAndGrad(run(options))({ rows, weight }));
    return products;
  };
  const [value, gradients] = valueAndGrad(run({}))({ rows, weight });
  const [expected, exact] = valueAndGrad(run({ compile: false }))({ rows, weight });
  await close(value, expected, 1e-12, "value");
  await close(gradients.rows, exact.rows, 1e-12, "gradient of the rows");
  await close(gradients.weight, exact.weight, 1e-12, "gradient of the weight");
  // One product forward. Backward, if intermediate results were kept, one product for the gradient of the
  // rows.
  assert.deepEqual(productsOf({}), [1, 1]);
  // Only states are kept; other values are recomputed.
  assert.equal(Math.max(...productsOf({ checkpoint: true })), 2);
});

testOnDevices("a sum over the samples of a batch counts each sample once", async () => {
  const [y, x] = [[3, 2], [4, 3, 2]].map((shape, i) => normal(key(i), shape));
  const body = (y: Tensor, x: Tensor): [Tensor, Tensor[]] => {
    return [y.add(x).sin(), [y.square().sum(0), y.transpose().matmul(x)]];
  };
  const [compiled, plain] = [true, false].map((compile) => scan(body, y, x, { compile })[1]);
  for (const [i, expected] of plain.entries()) {
    const expectedValues = await expected.data();
    (await compiled[i].data()).forEach((value, j) => assert.ok(Math.abs(value - expectedValues[j]) < 1e-5));
  }
});
