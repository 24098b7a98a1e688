/** Products, gather and scatterAdd compared with naive loops on every device, and their gradients. */
import assert from "node:assert/strict";
import {
  checkGradients,
  concatenate,
  einsum,
  key,
  linearRecurrence,
  type Tensor,
  tensor,
  tridiagonalSolve,
  uniform,
} from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu, testOnDevices } from "../devices.ts";
import {
  assertTensor,
  at,
  build,
  fromTensor,
  laidOut,
  layouts,
  matmul,
  type Nd,
  positions,
  random,
  toTensor,
} from "./nd.ts";

const sum = (x: number[]) => x.reduce((total, value) => total + value, 0);
const x = random([3, 4, 5], 1);

const products: [number[], number[]][] = [
  [[4], [4]],
  [[3, 4], [4]],
  [[4], [4, 5]],
  [[3, 4], [4, 5]],
  [[2, 3, 4], [4, 5]],
  [[2, 3, 4], [2, 4, 5]],
  [[2, 3, 4], [4]],
  [[4], [2, 4, 5]],
  [[3, 4], [2, 4, 5]],
  [[2, 1, 3, 4], [6, 4, 5]],
  [[1, 3, 4], [6, 4, 5]],
];

/** Axes of one are added to vectors and removed from the product, as NumPy's `matmul` does. */
function product(a: Nd, b: Nd): Nd {
  const rows = a.shape.length === 1 ? { ...a, shape: [1, ...a.shape] } : a;
  const columns = b.shape.length === 1 ? { ...b, shape: [...b.shape, 1] } : b;
  const full = matmul(rows, columns);
  const shape = [...full.shape];
  if (b.shape.length === 1) shape.splice(-1, 1);
  if (a.shape.length === 1) shape.splice(b.shape.length === 1 ? -1 : -2, 1);
  return { shape, values: full.values };
}

testOnDevices("matmul accepts all shapes that NumPy's matmul accepts", async () => {
  for (const [a, b] of products) {
    const [p, q] = [random(a, 5), random(b, 6)];
    for (const layout of layouts.slice(0, 4)) {
      await assertTensor(
        laidOut(p, layout).matmul(laidOut(q, layout)),
        product(p, q),
        1e-5,
        `(${a}) x (${b}) ${layout}`,
      );
    }
  }
});

Deno.test("gradients of all forms of matmul agree with central differences", async () => {
  setCurrentDevice(cpu);
  for (const [a, b] of products) {
    await checkGradients((p: Tensor, q: Tensor) => p.matmul(q), [
      toTensor(random(a, 5), "float64"),
      toTensor(random(b, 6), "float64"),
    ], { elements: 8 });
  }
});

/** Equations, the same equation as a list of the letters of all axes, and the shapes of the operands. */
const equations: [equation: string, explicit: string, ...number[][]][] = [
  ["ij,jk->ik", "ij,jk->ik", [3, 4], [4, 5]],
  ["ij,jk->ki", "ij,jk->ki", [3, 4], [4, 5]],
  ["bvk,bk->bv", "bvk,bk->bv", [2, 3, 4], [2, 4]],
  ["bv,bk->bvk", "bv,bk->bvk", [2, 3], [2, 4]],
  ["i,j->ij", "i,j->ij", [3], [4]],
  ["i,i->", "i,i->", [5], [5]],
  ["ij,ij->", "ij,ij->", [3, 4], [3, 4]],
  ["ij->ji", "ij->ji", [3, 4]],
  ["ij->i", "ij->i", [3, 4]],
  ["ijk->", "ijk->", [2, 3, 4]],
  ["bij,bjk,bk->bi", "bij,bjk,bk->bi", [2, 3, 4], [2, 4, 5], [2, 5]],
  ["bhqd,bhkd->bhqk", "bhqd,bhkd->bhqk", [2, 3, 4, 5], [2, 3, 6, 5]],
  ["ij,kj->ik", "ij,kj->ik", [3, 4], [5, 4]],
  ["bij,kj->bik", "bij,kj->bik", [2, 3, 4], [5, 4]],
  ["ij,k->ijk", "ij,k->ijk", [2, 3], [4]],
  ["ij,jk->k", "ij,jk->k", [3, 4], [4, 5]],
  ["aib,bjc,cka->ijk", "aib,bjc,cka->ijk", [2, 3, 4], [4, 2, 3], [3, 4, 2]],
  [",ij->ij", ",ij->ij", [], [2, 3]],
  ["ij , jk -> ik", "ij , jk -> ik", [2, 3], [3, 2]],
  // Implicit results, ellipses, diagonals and axes of length one.
  ["ij,jk", "ij,jk->ik", [2, 3], [3, 4]],
  ["ji", "ji->ij", [2, 3]],
  ["ba,cb", "ba,cb->ac", [2, 3], [4, 2]],
  ["i,i", "i,i->", [4], [4]],
  ["Ab,bc", "Ab,bc->Ac", [2, 3], [3, 2]],
  ["ii", "ii->", [3, 3]],
  ["ii->i", "ii->i", [3, 3]],
  ["iij->ji", "iij->ji", [3, 3, 2]],
  ["iii->i", "iii->i", [3, 3, 3]],
  ["ijij->ij", "ijij->ij", [2, 3, 2, 3]],
  ["ijji,j->i", "ijji,j->i", [2, 3, 3, 2], [3]],
  ["bii,bi->b", "bii,bi->b", [2, 3, 3], [2, 3]],
  ["...ij,...jk->...ik", "ij,jk->ik", [2, 3], [3, 4]],
  ["...ij,...jk->...ik", "xyij,xyjk->xyik", [2, 3, 2, 3], [2, 3, 3, 4]],
  ["...ij,jk->...ik", "xij,jk->xik", [2, 2, 3], [3, 4]],
  ["...ij,...jk", "xij,xjk->xik", [2, 2, 3], [2, 3, 4]],
  ["...i,...i->...", "xyi,yi->xy", [2, 3, 4], [3, 4]],
  ["...i,...i->...", "xyi,xyi->xy", [2, 1, 4], [1, 3, 4]],
  ["i...,...->i...", "ix,x->ix", [2, 3], [3]],
  ["i...j->j...i", "ixyj->jxyi", [2, 3, 2, 4]],
  ["...", "xy->xy", [2, 3]],
  ["...ii->...i", "xii->xi", [2, 3, 3]],
  ["...,...", "x,yx->yx", [3], [2, 3]],
  ["ij,jk->ik", "ij,jk->ik", [2, 1], [3, 4]],
  ["i,i->i", "i,i->i", [1], [3]],
  [" ... i j -> ... j i ", "xij->xji", [2, 3, 4]],
];

/** The sum over every letter that the result lacks, by definition. Axes of length one broadcast. */
function einsumByLoops(equation: string, operands: Nd[]): Nd {
  const [left, output] = equation.replaceAll(" ", "").split("->");
  const terms = left.split(",");
  const lengths = new Map<string, number>();
  terms.forEach((term, i) =>
    [...term].forEach((letter, axis) =>
      lengths.set(letter, Math.max(operands[i].shape[axis], lengths.get(letter) ?? 1))
    )
  );
  const summed = [...lengths.keys()].filter((letter) => !output.includes(letter));
  const lengthsOf = (letters: Iterable<string>) => [...letters].map((letter) => lengths.get(letter)!);
  return build(lengthsOf(output), (outer) =>
    sum([...positions(lengthsOf(summed))].map((inner) => {
      const where = new Map([...output].map((letter, i) => [letter, outer[i]]));
      summed.forEach((letter, i) => where.set(letter, inner[i]));
      return terms.reduce((p, term, i) => {
        const { shape } = operands[i];
        return p *
          at(operands[i], [...term].map((letter, axis) => shape[axis] === 1 ? 0 : where.get(letter)!));
      }, 1);
    })));
}

testOnDevices("einsum agrees with its definition, in all notations of NumPy", async () => {
  for (const [equation, explicit, ...shapes] of equations) {
    const arrays = shapes.map((shape, i) => random(shape, 7 + i));
    for (const layout of layouts.slice(0, 3)) {
      const found = einsum(equation, ...arrays.map((array) => laidOut(array, layout)));
      await assertTensor(found, einsumByLoops(explicit, arrays), 1e-5, `${equation} ${layout}`);
    }
  }
});

Deno.test("gradients of einsum agree with central differences", async () => {
  setCurrentDevice(cpu);
  for (const [equation, , ...shapes] of equations) {
    const args = shapes.map((shape, i) => toTensor(random(shape, 7 + i), "float64"));
    await checkGradients((...x: Tensor[]) => einsum(equation, ...x), args, { elements: 3 });
  }
});

testOnDevices("gather works along any axis with indices of any shape", async () => {
  const indices = { shape: [2, 2], values: [1, 0, 2, 1] };
  for (const axis of [0, 1, 2, -1]) {
    const along = axis < 0 ? axis + 3 : axis;
    const shape = [...x.shape.slice(0, along), 2, 2, ...x.shape.slice(along + 1)];
    const expected = build(shape, (position) =>
      at(x, [
        ...position.slice(0, along),
        at(indices, position.slice(along, along + 2)),
        ...position.slice(along + 2),
      ]));
    await assertTensor(toTensor(x).take(toTensor(indices, "int32"), axis), expected, 0, `axis ${axis}`);
  }
});

testOnDevices("scatterAdd adds updates with equal indices, along any axis", async () => {
  const indices = tensor([2, 0, 2, 2], { dtype: "int32" });
  for (const axis of [0, 1, 2]) {
    const updates = random(x.shape.map((length, i) => i === axis ? 4 : length), 9);
    const expected = build(
      x.shape,
      (position) =>
        at(x, position) + sum([2, 0, 2, 2].flatMap((index, i) =>
          index === position[axis]
            ? [at(
              updates,
              position.map((p, j) => j === axis ? i : p),
            )]
            : []
        )),
    );
    await assertTensor(
      toTensor(x).scatterAdd(indices, toTensor(updates), axis),
      expected,
      1e-6,
      `axis ${axis}`,
    );
  }
});

testOnDevices("scatterAdd adds many updates of one element", async () => {
  const indices = tensor(Int32Array.from({ length: 100_000 }, (_, i) => i % 3), { dtype: "int32" });
  const counts = tensor([0, 0, 0]).scatterAdd(indices, tensor(new Float32Array(100_000).fill(1)));
  assert.deepEqual([...await counts.data()], [33334, 33333, 33333]);
});

testOnDevices(
  "cumsum, recurrences, matmul, argMax and tridiagonal solves of 100,000 elements are accurate",
  async () => {
    const n = 100_000;
    const x = tensor(Int32Array.from({ length: n }, (_, i) => i % 3), { dtype: "int32" });
    assert.equal(await x.cumsum().select(0, -1).item(), 99_999);
    const floats = x.cast("float32");
    // Restarts at each third element: 0, 1, 3.
    assert.equal(await linearRecurrence(x.greater(0).cast("float32"), floats).sum().item(), 33_333 * 4);
    assert.equal(await floats.reshape([1, n]).matmul(floats.reshape([n, 1])).item(), 33_333 * 5);
    assert.equal(await floats.pad([[0, 1]], 5).argmax(0).item(), n);
    // x[i] = 1 everywhere solves 4 x[i] + x[i - 1] + x[i + 1] = 6, and 5 at both ends.
    const band = tensor(new Float32Array(n).fill(1));
    const rhs = tensor(Float32Array.from({ length: n }, (_, i) => i === 0 || i === n - 1 ? 5 : 6));
    const solution = await tridiagonalSolve(band, band.mul(4), band, rhs).data();
    const wrong = solution.findIndex((value) => !(Math.abs(value - 1) < 1e-5));
    assert.equal(wrong, -1, `element ${wrong} is ${solution[wrong]}`);
  },
);

testOnDevices(
  "a recurrence can be continued from the last element of its first part",
  async () => {
    for (const complex of [false, true]) {
      const [a, b] = [1, 2].map((seed) => uniform(key(seed), [3, 7, 2, 5], { low: -1, high: 1 }));
      const options = { axis: 1, complex };
      const whole = linearRecurrence(a, b, options);
      const first = linearRecurrence(a.slice(1, 0, 4), b.slice(1, 0, 4), options);
      const second = linearRecurrence(a.slice(1, 4), b.slice(1, 4), {
        ...options,
        initial: first.select(1, 3),
      });
      await assertTensor(concatenate([first, second], 1), await fromTensor(whole));
    }
  },
);

testOnDevices("a linear recurrence stays zero under coefficients whose product overflows", async () => {
  const last = tensor([1]).pad([[999, 0]]);
  assert.equal(await linearRecurrence(tensor([8]), last).sum().item(), 1);
});
