import assert from "node:assert/strict";
import { ones, scan, type Tensor, zeros } from "../../mod.ts";
import { textOf } from "../../src/device/scalar/structure_text.ts";
import { countLoops } from "../loops.ts";

Deno.test("the key of an expression with shared nodes is linear in the number of nodes", () => {
  let node: object = { op: "input", value: 0, args: [] };
  for (let i = 0; i < 60; i++) node = { op: "add", args: [node, node] };
  assert.ok(textOf(node).length < 3000);
});

Deno.test("numbers that JSON prints alike, such as 0 and -0, get different keys", () => {
  const texts = [NaN, Infinity, -Infinity, 0, -0].map((value) => textOf({ op: "constant", value }));
  assert.equal(new Set(texts).size, texts.length);
});

Deno.test("loops that differ only in an infinite constant are not confused", async () => {
  const bounded = async (bound: number) => {
    const body = (y: Tensor): [Tensor, Tensor] => [y.add(1).minimum(bound), y];
    const run = () => scan(body, ones([2, 3]), zeros([2]));
    assert.equal(countLoops(run), 1);
    return (await run()[0].data())[0];
  };
  assert.equal(await bounded(Infinity), 3);
  assert.equal(await bounded(-Infinity), -Infinity);
});
