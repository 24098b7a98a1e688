import assert from "node:assert/strict";
import { grad, leaves, mapTree, ones, scan, type Tensor } from "../../mod.ts";

Deno.test("a structure keeps its form, its order and what is no tensor", () => {
  const tree = { name: "a", list: [ones([2]), 3], inner: { x: ones([1]) } };
  assert.deepEqual(leaves(tree).map(({ shape }) => shape), [[2], [1]]);
  const mapped = mapTree(tree, ({ shape }) => shape);
  assert.deepEqual(mapped as unknown, { name: "a", list: [[2], 3], inner: { x: [1] } });
});

Deno.test("types refuse arguments that cannot hold tensors: these lines would not compile without the marks", () => {
  const sum = (x: Map<string, Tensor>) => x.get("x")!.sum();
  // @ts-expect-error a map is no structure of plain objects and arrays
  grad(sum);
  // @ts-expect-error the state is no function
  const run = () => scan((state, x: Tensor) => [state, x], () => 1, ones([3]));
  assert.equal(typeof run, "function");
});
