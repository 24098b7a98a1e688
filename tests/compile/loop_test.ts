/** Loops that are traced once and run repeatedly. */
import assert from "node:assert/strict";
import {
  type DType,
  key,
  normal,
  odeint,
  ones,
  scan,
  type Tensor,
  tensor,
  valueAndGrad,
  zeros,
} from "../../mod.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { Loop } from "../../src/compile/loop/loop.ts";
import type { Program } from "../../src/compile/program/program.ts";
import { testOnDevices } from "../devices.ts";
import { solved } from "../loops.ts";

type State = {
  readonly y: Tensor;
  readonly done: Tensor;
};

for (const dtype of ["float32", "float64"] as DType[]) {
  for (const batch of [1, 5, 19]) {
    testOnDevices(
      `each sample of a loop stops at its own limit, ${dtype}, ${batch} samples`,
      async ({ info }) => {
        if (info.kind === "webgpu" && dtype === "float64") return;
        const limit = tensor(Float64Array.from({ length: batch }, (_, i) => 2 + i % 7), {
          shape: [batch, 1],
          dtype,
        });
        // Each sample counts up to its own limit, two elements at a time.
        const body = ({ y, done }: State) => {
          const isActive = done.equal(0);
          const next = isActive.where(y.add(1), y);
          const carry = { y: next, done: next.slice(1, 0, 1).greaterEqual(limit).cast(dtype) };
          return { carry, outputs: { y: next } };
        };
        const start = { y: zeros([batch, 2], { dtype }), done: zeros([batch, 1], { dtype }) };
        for (const compile of [true, false]) {
          const loop = new Loop(body, start, {}, { ending: ({ y, done }) => [done, y], compile });
          const { carry: early, outputs: first } = solved(compile, () => loop.run(start, 3));
          const { carry: late } = loop.run(early, 40);
          const limits = await limit.data();
          // A loop whose values can be read has no outputs after its end.
          const rows = info.kind === "cpu" ? Math.min(3, Math.max(...limits)) : 3;
          (await late.y.data()).forEach((value, i) => assert.equal(value, limits[i >> 1]));
          assert.deepEqual(first.y.shape, [rows, batch, 2]);
          (await first.y.data()).forEach((value, i) => {
            const [step, sample] = [Math.floor(i / (2 * batch)), (i >> 1) % batch];
            if (step < limits[sample]) assert.equal(value, step + 1);
          });
        }
      },
    );
  }
}

Deno.test("a body that cannot be compiled is repeated step by step", async () => {
  const body = ({ y, done }: State) => ({ carry: { y: y.cumsum(1), done }, outputs: y.sum(1) });
  const start = { y: ones([3, 4]), done: zeros([3, 1]) };
  const { carry: last, outputs: sums } = solved(false, () => new Loop(body, start, {}).run(start, 2));
  assert.deepEqual([...await last.y.data()].slice(0, 4), [1, 3, 6, 10]);
  assert.deepEqual(await sums.data(), Float32Array.of(4, 4, 4, 10, 10, 10));
});

Deno.test("a repeated loop reads the current values that its body captures", async () => {
  const weights = normal(key(0), [4, 4]).mul(0.3);
  const start = { y: normal(key(1), [6, 4]), done: zeros([6, 1]) };
  const body = ({ y, done }: State) => ({ carry: { y: y.matmul(weights).tanh(), done }, outputs: y });
  const [compiled, plain] = await Promise.all(
    [true, false].map((compile) =>
      solved(compile, () => new Loop(body, start, {}, { compile }).run(start, 5)).carry.y.data()
    ),
  );
  compiled.forEach((value, i) => assert.ok(Math.abs(value - plain[i]) < 1e-6));
});

/** The programs that a function runs, forwards and backwards. */
function programsOf(body: () => void): Program[] {
  const programs: Program[] = [];
  observeLoops((_, { program }) => void programs.push(program), body);
  return programs;
}

Deno.test("loops with the same graph share programs but not values and gradients", async () => {
  const value = (weights: Tensor, compile = true) => {
    const steps = normal(key(1), [5, 6, 4], { dtype: "float64" });
    const body = (y: Tensor, x: Tensor): [Tensor, Tensor] => [y.matmul(weights).add(x).tanh(), y];
    const [last, outputs] = scan(body, steps.select(0, 0), steps, { compile });
    return last.square().sum().add(outputs.sum());
  };
  const found: Program[][] = [];
  for (const seed of [2, 3]) {
    const weights = normal(key(seed), [4, 4], { dtype: "float64" });
    const [plain, compiled] = [false, true].map((compile) => {
      let both!: [Tensor, Tensor];
      found.push(programsOf(() => {
        both = valueAndGrad((weights: Tensor) => value(weights, compile))(weights);
      }));
      return both;
    });
    for (const [i, expected] of plain.entries()) {
      const expectedValues = await expected.data();
      (await compiled[i].data()).forEach((x, j) => assert.ok(Math.abs(x - expectedValues[j]) < 1e-12));
    }
  }
  const [, first, , second] = found;
  assert.equal(first.length, 2);
  first.forEach((program, i) => assert.equal(program, second[i]));
});

Deno.test("loops with different constants are different programs, and the least recently used loops are evicted", () => {
  const programOf = (factor: number) =>
    programsOf(() => void scan((y: Tensor) => [y.mul(factor), []], ones([3, 2]), ones([4]), {}))[0];
  const first = programOf(0);
  assert.notEqual(programOf(-0), first);
  assert.equal(programOf(0), first);
  for (let i = 1; i < 200; i++) programOf(i);
  assert.notEqual(programOf(0), first);
});

for (const memory of [undefined, 200]) {
  Deno.test(`sums over the steps have gradients${memory ? ", in segments" : ""}`, async () => {
    const inputs = {
      y: normal(key(0), [3, 2], { dtype: "float64" }),
      x: normal(key(1), [9, 3, 2], { dtype: "float64" }),
      w: normal(key(2), [2, 2], { dtype: "float64" }),
    };
    const gradientsOf = (compile: boolean) =>
      valueAndGrad(({ y, x, w }: typeof inputs) => {
        const body = (y: Tensor, x: Tensor) => {
          const next = y.matmul(w).add(x).sin();
          return { carry: next, outputs: next.mul(x), sums: [next.square().sum(0), y.mul(x)] };
        };
        const { carry, outputs, sums } = new Loop(body, y, x, { compile, memory }).run(y, 9);
        const terms = [carry, outputs, ...sums as Tensor[]].map((z, i) => z.sin().sum().mul(1 + i));
        return terms.reduce((a, b) => a.add(b));
      })(inputs);
    const [[value, compiled], [expected, plain]] = [gradientsOf(true), gradientsOf(false)];
    assert.ok(Math.abs(await value.item() - await expected.item()) < 1e-12);
    for (const name of ["y", "x", "w"] as const) {
      const expectedValues = await plain[name].data();
      (await compiled[name].data()).forEach((x, i) =>
        assert.ok(Math.abs(x - expectedValues[i]) < 1e-12, name)
      );
    }
  });
}

Deno.test("a value that solver stages compute from weights only is computed once, with its gradient", async () => {
  const weights = normal(key(1), [4, 4], { dtype: "float64" });
  const y0 = normal(key(2), [6, 4], { dtype: "float64" });
  const solve = (compile: boolean) =>
    valueAndGrad((weights: Tensor) => {
      const field = (_: Tensor, y: Tensor) => y.matmul(weights.mul(0.1).sin().mT).tanh();
      return odeint(field, y0, [0, 1], { method: "rk4", stepSize: 0.25, compile }).select(0, 1).square()
        .sum();
    })(weights);
  let compiled!: [Tensor, Tensor];
  const [forward] = programsOf(() => compiled = solve(true));
  const matrices = forward.inputs.filter(({ role, size }) => role === "constant" && size === 16);
  assert.equal(matrices.length, 1);
  const [, expected] = solve(false);
  assert.ok(await compiled[1].sub(expected).abs().max().item() < 1e-12);
});
