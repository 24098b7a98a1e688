/** States, rows and outputs of loops: their types, shapes and names, and the errors of invalid bodies. */
import assert from "node:assert/strict";
import { concatenate, grad, key, normal, odeint, ones, scan, type Tensor, tensor, zeros } from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { assertAgree } from "../golden.ts";
import { solved } from "../loops.ts";

Deno.test("integer and bool states keep their values and types", () => {
  const init = [zeros([3]), zeros([3], { dtype: "int32" })];
  const run = (compile: boolean) =>
    scan(([h, n], x) => [[h.add(x), n.add(1)], h.greater(2)], init, ones([4, 3]), { compile }).join();
  assert.equal(run(true), run(false));
});

Deno.test("a compiled body that assigns to a tensor throws, since it would assign only once", async () => {
  const count = tensor(0);
  const body = (h: Tensor): [Tensor, null] => (count.assign(count.add(1)), [h.add(count), null]);
  assert.throws(() => scan(body, tensor(0), ones([3])), /assign: .* part of the state/);
  assert.equal(await scan(body, tensor(0), ones([3]), { compile: false })[0].item(), 6);
});

Deno.test("a body that returns a state of another shape throws an error with both shapes", () => {
  assert.throws(
    () => scan((h: Tensor, _x: Tensor) => [h.sum(1), h], zeros([2, 3]), zeros([4, 2])),
    /float32 \(2, 3\), got float32 \(2,\)/,
  );
});

for (const compile of [true, false]) {
  const way = compile ? "compiled" : "step by step";

  Deno.test(`a body that changes the shape or type of a state throws, ${way}`, () => {
    const grow = (h: Tensor, x: Tensor): [Tensor, Tensor] => [concatenate([h, x]), h];
    assert.throws(
      () => scan(grow, zeros([1]), zeros([3, 1]), { compile }),
      /float32 \(1,\), got float32 \(2,\)/,
    );
    const count = (h: Tensor): [Tensor, Tensor] => [h.cast("int32"), h];
    assert.throws(() => scan(count, zeros([1]), zeros([3, 1]), { compile }), /got int32/);
    const rename = ({ h }: Record<string, Tensor>): [Record<string, Tensor>, Tensor] => [{ g: h }, h];
    assert.throws(() => scan(rename, { h: zeros([1]) }, zeros([3, 1]), { compile }), /h: float32 .*got g: /);
  });

  Deno.test(`a plain number in the state may not change and is returned as it was, ${way}`, async () => {
    type State = { n: number; s: Tensor };
    const run = (step: number) => {
      const body = ({ n, s }: State, x: Tensor): [State, null] => [{ n: n + step, s: s.add(x).add(n) }, null];
      return scan(body, { n: 2, s: tensor(0) }, tensor([1, 2, 3]), { compile })[0];
    };
    assert.throws(() => run(1), {
      name: "TypeError",
      message: /n of the state from 2 to 3.*make it a tensor/,
    });
    const { n, s } = run(0);
    assert.deepEqual([n, await s.item()], [2, 12]);
  });

  Deno.test(`a body may return the names of the state in another order, ${way}`, async () => {
    type State = { a: Tensor; b: Tensor };
    const body = ({ a, b }: State, x: Tensor): [State, null] => [{ b: b.add(x), a: a.sub(x) }, null];
    const [{ a, b }] = scan(body, { a: tensor(0), b: tensor(10) }, tensor([1, 2, 3]), { compile });
    assert.deepEqual([await a.item(), await b.item()], [-6, 16]);
  });

  Deno.test(`a loop over zero rows returns its initial state and outputs of length zero, ${way}`, () => {
    const body = (h: Tensor, x: Tensor): [Tensor, Tensor[]] => [h.add(x), [h.sum(), x.greater(0)]];
    const init = ones([2]);
    const [last, outputs] = scan(body, init, zeros([0, 2]), { compile });
    assert.equal(last, init);
    assert.deepEqual(outputs.map(({ shape, dtype }) => [shape, dtype]), [[[0], "float32"], [[0, 2], "bool"]]);
  });
}

Deno.test("scan rejects sequences of different lengths", () => {
  const sequences = { a: zeros([4, 2]), b: zeros([5, 2]) };
  assert.throws(
    () => scan((h: Tensor, _x: typeof sequences) => [h, h], zeros([2, 3]), sequences),
    /\(4, 2\), \(5, 2\) must agree/,
  );
});

Deno.test("integers and masks can be states and rows", async () => {
  const mask = tensor([[true, false], [false, true], [true, true]]);
  const cell = (h: Tensor, m: Tensor): [Tensor, Tensor] => [m.expandDims(1).where(h.add(1), h), h];
  const [h] = solved(true, () => scan(cell, zeros([2, 2]), mask)) as [Tensor, Tensor];
  assert.deepEqual([...await h.data()], [2, 2, 2, 2]);
});

testOnDevices("a body may swap two states", async () => {
  const [a, b] = [normal(key(0), [3, 2]), normal(key(1), [3, 2])];
  const swap = ([a, b]: Tensor[], x: Tensor): [Tensor[], Tensor] => [[b, a.add(x)], a];
  const [[first, second]] = solved(true, () => scan(swap, [a, b], ones([3, 1]))) as [Tensor[], Tensor];
  await assertAgree("states", [first, second], [b.add(1), a.add(2)], 1e-6);
});

for (const compile of [true, false]) {
  Deno.test(`a body that does not return a pair throws, ${compile ? "compiled" : "step by step"}`, () => {
    const body = ((carry: Tensor) => carry) as never;
    assert.throws(
      () => scan(body, ones([2]), ones([3]), { compile }),
      /scan: the body must return \[state, output\]/,
    );
  });
}

testOnDevices("a loop over an empty batch has empty results and zero gradients", async () => {
  const [w, rows] = [ones([3]), zeros([4, 0, 3])];
  for (const executor of [undefined, "fused", "stepped"] as const) {
    const plain = scan((h: Tensor, x: Tensor) => [h.add(x), h], zeros([0, 3]), rows, { executor });
    assert.deepEqual(plain.map(({ shape }) => shape), [[0, 3], [4, 0, 3]]);
    assert.deepEqual([...await plain[1].data()], []);
    const gradient = grad((w: Tensor) => {
      const body = (h: Tensor, x: Tensor): [Tensor, Tensor] => [h.mul(w).add(x), h.sum()];
      const [last, sums] = scan(body, zeros([0, 3]), rows, { executor });
      return last.sum().add(sums.sum());
    })(w);
    assert.deepEqual([...await gradient.data()], [0, 0, 0]);
  }
  type State = { none: Tensor; count: Tensor };
  const counting = ({ none, count }: State, x: Tensor): [State, Tensor] => {
    return [{ none: none.add(x), count: count.add(1) }, count];
  };
  const [{ count }, counts] = scan(counting, { none: zeros([0, 3]), count: zeros([1]) }, rows);
  assert.deepEqual([...await count.data(), ...await counts.data()], [4, 0, 1, 2, 3]);
  const solution = odeint((_t, y: Tensor) => y.neg(), zeros([0, 3]), [0, 1], {
    method: "rk4",
    stepSize: 0.1,
  });
  assert.deepEqual(solution.shape, [2, 0, 3]);
  assert.deepEqual([...await solution.data()], []);
});
