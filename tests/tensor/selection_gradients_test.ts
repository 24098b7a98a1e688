/**
 * Gradients of operations that select one of several elements. Other elements get 0, even if the cotangent is
 * infinite. NaN operands and ties follow one rule.
 */
import assert from "node:assert/strict";
import { type DType, grad, jit, scan, stack, type Tensor, tensor, where } from "../../mod.ts";
import { vjp } from "../../src/autodiff/grad.ts";
import type { Device } from "../../src/device/device.ts";
import { testOnDevices } from "../devices.ts";

/** Operands, and the share of the cotangent for each element. */
interface Selection {
  readonly name: string;
  readonly run: (...operands: Tensor[]) => Tensor;
  readonly operands: readonly number[][];
  readonly shares: readonly number[][];
}

const pairs = {
  first: [1, 2, 3, NaN, 1, NaN, -1, Infinity],
  second: [2, 1, 3, 1, NaN, NaN, 0, -Infinity],
};
const selections: Selection[] = [
  {
    name: "maximum",
    run: (a, b) => a.maximum(b),
    operands: [pairs.first, pairs.second],
    shares: [[0, 1, 0.5, 1, 0, 0.5, 0, 1], [1, 0, 0.5, 0, 1, 0.5, 1, 0]],
  },
  {
    name: "minimum",
    run: (a, b) => a.minimum(b),
    operands: [pairs.first, pairs.second],
    shares: [[1, 0, 0.5, 1, 0, 0.5, 1, 0], [0, 1, 0.5, 0, 1, 0.5, 0, 1]],
  },
  {
    name: "maximum with a number",
    run: (x) => x.maximum(0),
    operands: [[-1, 0, 1, NaN]],
    shares: [[0, 0.5, 1, 1]],
  },
  {
    name: "minimum with a number",
    run: (x) => x.minimum(0),
    operands: [[-1, 0, 1, NaN]],
    shares: [[1, 0.5, 0, 1]],
  },
  {
    name: "clip",
    run: (x, low, high) => x.clip(low, high),
    operands: [[-2, -1, 0, 1, 2, NaN], [-1, -1, -1, -1, -1, -1], [1, 1, 1, 1, 1, 1]],
    shares: [[0, 0.5, 1, 0.5, 0, 1], [1, 0.5, 0, 0, 0, 0], [0, 0, 0, 0.5, 1, 0]],
  },
  { name: "relu", run: (x) => x.relu(), operands: [[-1, 0, 1, NaN]], shares: [[0, 0, 1, 1]] },
  { name: "abs", run: (x) => x.abs(), operands: [[-1, 0, -0, 1, NaN]], shares: [[-1, 0, 0, 1, NaN]] },
  {
    name: "where",
    run: (a, b) => where(tensor([1, 0], { dtype: "bool" }), a, b),
    operands: [[1, 2], [3, NaN]],
    shares: [[1, 0], [0, 1]],
  },
  ...([["max", [1, 3, 2]], ["min", [3, 1, 2]]] as const).flatMap(([name, values]): Selection[] => [
    { name, run: (x) => x[name](), operands: [[...values]], shares: [[0, 1, 0]] },
    {
      name: `${name} of equal elements`,
      run: (x) => x[name](0),
      operands: [[values[1], values[0], values[1], values[1], values[1]]],
      shares: [[0.25, 0, 0.25, 0.25, 0.25]],
    },
    {
      name: `${name} with NaN`,
      run: (x) => x[name](),
      operands: [[1, NaN, 2, NaN]],
      shares: [[0, 0.5, 0, 0.5]],
    },
  ]),
  {
    name: "gather",
    run: (x) => x.take(tensor([2, 0], { dtype: "int32" })),
    operands: [[1, 2, NaN]],
    shares: [[1, 0, 1]],
  },
];

/** WGSL has no float64. */
function floatsOf({ info }: Device): DType[] {
  return info.kind === "cpu" ? ["float32", "float64"] : ["float32"];
}

async function assertShares(
  gradients: Tensor[],
  { name, shares }: Selection,
  cotangent: number,
  where: string,
) {
  for (const [i, gradient] of gradients.entries()) {
    // 0 + 0 turns -0 into 0.
    const found = Array.from(await gradient.data(), (value) => value + 0);
    const expected = shares[i].map((share) => share === 0 ? 0 : share * cotangent);
    assert.deepEqual(found, expected, `${name}, operand ${i}, cotangent ${cotangent}, ${where}`);
  }
}

testOnDevices("unselected elements have gradient 0 for any cotangent", async (device) => {
  for (const dtype of floatsOf(device)) {
    for (const selection of selections) {
      const operands = selection.operands.map((values) => tensor(values, { dtype }));
      for (const cotangent of [8, Infinity, -Infinity]) {
        const { value, pullback } = vjp(() => selection.run(...operands), operands);
        const gradients = pullback(value.zerosLike().add(cotangent)) as Tensor[];
        await assertShares(gradients, selection, cotangent, dtype);
      }
    }
  }
});

/** The operands as rows of a loop, which sums the selected elements of each row. */
function inLoop(run: Selection["run"], operands: Tensor[]): Tensor {
  const body = (sum: Tensor, factor: Tensor): [Tensor, Tensor] => {
    const chosen = run(...operands.map((x) => x.mul(factor))).mul(Infinity);
    return [sum.add(chosen), chosen];
  };
  return scan(body, run(...operands).zerosLike(), tensor([1], { dtype: operands[0].dtype }))[0].sum();
}

testOnDevices("inside jit and compiled loops, unselected elements have gradient 0", async (device) => {
  for (const dtype of floatsOf(device)) {
    for (const selection of selections) {
      const operands = selection.operands.map((values) => tensor(values, { dtype }));
      const gradient = grad((x: Tensor[]) => selection.run(...x).mul(Infinity).sum());
      await assertShares(jit(gradient)(operands), selection, Infinity, `jit ${dtype}`);
      const ofLoop = grad((x: Tensor[]) => inLoop(selection.run, x));
      await assertShares(ofLoop(operands), selection, Infinity, `loop ${dtype}`);
    }
  }
});

testOnDevices("the gradient of the square root of selected elements is 0 for other elements", async () => {
  const functions: [string, (x: Tensor) => Tensor][] = [
    ["maximum", (x) => x.maximum(0).sqrt()],
    ["minimum", (x) => x.neg().minimum(0).neg().sqrt()],
    ["clip", (x) => x.clip(0, 1).sqrt()],
    ["relu", (x) => x.relu().sqrt()],
    ["abs", (x) => x.add(1).abs().sqrt()],
    ["max", (x) => stack([x, x.zerosLike()]).max(0).sqrt()],
  ];
  for (const [name, f] of functions) {
    assert.equal(await grad((x: Tensor) => f(x).sum())(tensor([-1])).item() + 0, 0, name);
    assert.ok(Number.isFinite(await grad((x: Tensor) => f(x).sum())(tensor([0.25])).item()), name);
  }
});
