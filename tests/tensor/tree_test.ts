import assert from "node:assert/strict";
import {
  grad,
  jit,
  ones,
  scan,
  type Tensor,
  tensor,
  type Tree,
  treeFlatten,
  treeLeaves,
  treeMap,
  valueAndGrad,
  vjp,
} from "../../mod.ts";
import { testOnCpu } from "../devices.ts";

Deno.test("mapping a structure keeps its form, its order and values that are not tensors", () => {
  const tree = { name: "a", list: [ones([2]), 3], inner: { x: ones([1]) } };
  assert.deepEqual(treeLeaves(tree).map(({ shape }) => shape), [[2], [1]]);
  const mapped = treeMap(tree, ({ shape }) => shape);
  assert.deepEqual(mapped as unknown, { name: "a", list: [[2], 3], inner: { x: [1] } });
});

Deno.test("the types reject arguments that cannot hold tensors", () => {
  const sum = (x: Map<string, Tensor>) => x.get("x")!.sum();
  // @ts-expect-error a map is no structure of plain objects and arrays
  grad(sum);
  // @ts-expect-error a date holds no tensors
  grad((x: Tensor, _date: Date) => x.sum());
  // @ts-expect-error the state is no function
  const run = () => scan((state, x: Tensor) => [state, x], () => 1, ones([3]));
  assert.equal(typeof run, "function");
});

/** Parameters as an interface, whose types have no index signature. */
interface Weights {
  readonly w: Tensor;
  readonly inner?: { readonly parts: readonly Part[] };
}

interface Part {
  b: Tensor;
}

testOnCpu("values of an interface of tensors are structures of tensors", async () => {
  const weights: Weights = { w: tensor([2]), inner: { parts: [{ b: tensor([3]) }] } };
  const loss = ({ w, inner }: Weights) => w.mul(inner!.parts[0].b).sum();
  const gradients: Weights = grad(loss)(weights);
  await assertElements(gradients.inner!.parts[0].b, [2]);
  await assertElements(jit((x: Weights) => x.w.add(1))(weights), [3]);
  const [last]: [Part, unknown] = scan((state: Part, x: Tensor) => [{ b: state.b.add(x) }, x], {
    b: ones([1]),
  }, ones([4, 1]));
  await assertElements(last.b, [5]);
  const { pullback } = vjp((): Part => ({ b: weights.w.square() }), weights);
  await assertElements(pullback({ b: tensor([1]) }).w, [4]);
});

/** A tensor in nested arrays or objects, `levels` deep. */
function nested(x: Tensor, levels: number, isObject = (_level: number) => false): Tree {
  let tree: Tree = x;
  for (let level = 0; level < levels; level++) {
    if (!isObject(level)) tree = [tree];
    else tree = level % 100 === 0 ? { a: tree, b: level } : { a: tree };
  }
  return tree;
}

const assertElements = async (x: Tensor, expected: number[]) =>
  assert.deepEqual([...await x.data()], expected);

const levels = 10_000;
const forms: Record<string, (level: number) => boolean> = {
  arrays: () => false,
  objects: () => true,
  "arrays and objects": (level) => level % 3 === 0,
};
for (const [name, isObject] of Object.entries(forms)) {
  Deno.test(`${levels} nested ${name} are flattened and rebuilt`, async () => {
    const x = tensor([1, 2]);
    const tree = nested(x, levels, isObject);
    assert.deepEqual(treeLeaves(tree), [x]);
    assert.equal(treeFlatten(tree)[0][0].split(".").length, levels);
    await assertElements(treeLeaves(treeMap(tree, (x: Tensor) => x.mul(2)))[0], [2, 4]);

    const loss = (tree: Tree) => treeLeaves(tree)[0].square().sum();
    await assertElements(treeLeaves(grad(loss)(tree))[0], [2, 4]);
    const traced = jit((tree: Tree) => valueAndGrad(loss)(tree)[1]);
    for (let call = 0; call < 2; call++) await assertElements(treeLeaves(traced(tree))[0], [2, 4]);
    const { value, pullback } = vjp(() => tree, tree);
    await assertElements(treeLeaves(pullback(value))[0], [1, 2]);
    for (const compile of [true, false]) {
      const body = (
        carry: Tree,
        row: Tensor,
      ): [Tree, Tensor] => [treeMap(carry, (x: Tensor) => x.add(row)), row];
      const [last] = scan(body, tree, ones([3]), { compile });
      await assertElements(treeLeaves(last)[0], [4, 5]);
    }
  });
}

Deno.test("a structure that contains itself throws an error with the path", () => {
  const list: unknown[] = [ones([2])];
  const tree = { a: { b: list } };
  list.push(tree);
  assert.throws(() => treeLeaves(tree), /contains itself at a\.b\.1/);
  assert.throws(() => treeMap(tree, (x: Tensor) => x), TypeError);
  assert.throws(() => jit((x: Tree) => treeLeaves(x))(tree as unknown as Tree), TypeError);
  const shared = [ones([2])];
  assert.equal(treeLeaves({ a: shared, b: [shared] }).length, 2);
});

Deno.test("jit distinguishes structures of different forms", () => {
  const x = ones([2]);
  const f = jit((tree: Tree) => ({ tree, count: Object.keys(tree as object).join() }));
  const holes = [, x] as unknown as Tree;
  for (const tree of [[x], [x, x.add(1)], [[x]], { 0: x }, { a: x }, { a: [x] }, [{ a: x }], holes]) {
    assert.deepEqual(f(tree).count, Object.keys(tree as object).join());
  }
});
