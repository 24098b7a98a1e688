import assert from "node:assert/strict";
import { arange, checkGradients, eye, key, normal, WARP } from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { recurrentStates } from "../../src/models/warp/recurrent.ts";
import { makeTransition, type WARPTransitionOptions } from "../../src/models/warp/transition.ts";
import { disturbed, dtype, small, x } from "./warp_model.ts";

/** The matrix of a transition, as rows of numbers. */
async function matrixOf(form: WARPTransitionOptions, size: number): Promise<number[][]> {
  const transition = makeTransition(form, size, key(0), dtype);
  const values = await transition.apply(eye(size, { dtype }), transition.first).mT.data();
  return Array.from({ length: size }, (_, i) => [...values.slice(i * size, (i + 1) * size)] as number[]);
}

/** The product of a matrix and a vector by loops. */
function times(matrix: readonly number[][], vector: readonly number[]): number[] {
  return matrix.map((row) => row.reduce((sum, value, j) => sum + value * vector[j], 0));
}

/** A matrix of zeros with rotations in planes (i, j), and ones at `fixed` weights. */
function rotations(
  size: number,
  planes: readonly (readonly [i: number, j: number, angle: number])[],
  fixed: readonly number[] = [],
): number[][] {
  const rows = Array.from({ length: size }, () => new Array<number>(size).fill(0));
  for (const [i, j, angle] of planes) {
    [rows[i][i], rows[i][j]] = [Math.cos(angle), -Math.sin(angle)];
    [rows[j][i], rows[j][j]] = [Math.sin(angle), Math.cos(angle)];
  }
  for (const i of fixed) rows[i][i] = 1;
  return rows;
}

const part = Math.PI / 12;
const initial: [WARPTransitionOptions, number, number[][]][] = [
  [{ initialization: "rotation" }, 4, rotations(4, [[0, 2, 3 * part], [1, 3, 9 * part]])],
  [{ initialization: "rotation" }, 3, rotations(3, [[0, 1, 6 * part]], [2])],
  [{ initialization: "identity" }, 2, [[1, 0], [0, 1]]],
  ["planes", 6, rotations(6, [[0, 3, 2 * part], [1, 4, 6 * part], [2, 5, 10 * part]])],
  ["planes", 5, rotations(5, [[0, 2, 3 * part], [1, 3, 9 * part]], [4])],
  [{ diagonal: "planes", rank: 2 }, 5, rotations(5, [[0, 2, 3 * part], [1, 3, 9 * part]], [4])],
  [
    { blocks: 2, initialization: "rotation" },
    6,
    rotations(6, [[0, 1, 3 * part], [3, 4, 9 * part]], [2, 5]),
  ],
];
for (const [form, size, expected] of initial) {
  Deno.test(`the initial A of ${JSON.stringify(form)} with ${size} weights has the angles in (0, pi)`, async () => {
    const found = await matrixOf(form, size);
    const error = Math.max(
      ...found.flatMap((row, i) => row.map((value, j) => Math.abs(value - expected[i][j]))),
    );
    assert.ok(error < 1e-15, `${error}`);
  });
}

Deno.test("the core of a transition of low rank starts with rotations", async () => {
  const { parameters } = makeTransition({ rank: 4, initialization: "rotation" }, 9, key(0), dtype);
  const { core } = parameters as unknown as { core: ReturnType<typeof eye> };
  const expected = rotations(4, [[0, 2, 3 * part], [1, 3, 9 * part]]).flat();
  assert.deepEqual(
    [...await core.data()].map((value) => value.toFixed(12)),
    expected.map((v) => v.toFixed(12)),
  );
});

Deno.test("the initial A of low rank is a projection onto as many directions", async () => {
  const { first, apply } = makeTransition({ rank: 3 }, 7, key(0), dtype);
  const A = apply(eye(7, { dtype }), first);
  assert.ok(await A.matmul(A).sub(A).abs().max().item() < 1e-14);
  assert.ok(Math.abs(await A.mul(eye(7, { dtype })).sum().item() - 3) < 1e-14);
});

Deno.test("the square of planes plus low rank has twice the rank, and applies A twice", async () => {
  for (const size of [6, 7]) {
    const { first, apply, square } = makeTransition({ diagonal: "planes", rank: 2 }, size, key(0), dtype);
    first.assign(normal(key(1), first.shape, { dtype }));
    const squared = square(first);
    assert.deepEqual(squared.shape, [size, 1 + 2 * 4]);
    const rows = normal(key(2), [3, size], { dtype });
    const expected = apply(apply(rows, first), first);
    assert.ok(await apply(rows, squared).sub(expected).abs().max().item() < 1e-12);
  }
});

Deno.test("WARP rejects another diagonal than planes, and an initialization of planes", () => {
  const make = (transition: object) => disturbed({ transition: transition as never });
  assert.throws(
    () => make({ diagonal: "ones", rank: 2 }),
    /WARP: transition.diagonal is "ones", expected .*planes/,
  );
  assert.throws(
    () => make({ diagonal: "planes", rank: 2, initialization: "identity" }),
    /WARP: transition: .*initialization/,
  );
});

for (const size of [6, 7]) {
  Deno.test(`states with planes of ${size} weights follow a loop over complex numbers`, async () => {
    const transition = makeTransition("planes", size, key(0), dtype);
    const powers = normal(key(1), [size], { dtype });
    transition.first.assign(powers);
    const [a, B] = [[...await powers.data()] as number[], normal(key(2), [size, 1], { dtype })];
    const start = normal(key(3), [1, size], { dtype });
    const changes = arange(5, { start: 1, dtype }).reshape([1, 5, 1]);
    const found = await recurrentStates({ transition, input: B }, start, changes).data();
    const half = Math.floor(size / 2);
    const matrix = rotations(size, []);
    for (let i = 0; i < half; i++) {
      const [real, imaginary] = [a[i], a[size - half + i]];
      [matrix[i][i], matrix[i][half + i]] = [real, -imaginary];
      [matrix[half + i][i], matrix[half + i][half + i]] = [imaginary, real];
    }
    if (size % 2 === 1) matrix[size - 1][size - 1] = a[half];
    const input = [...await B.data()] as number[];
    let theta = [...await start.data()] as number[];
    for (let t = 1; t <= 5; t++) {
      theta = times(matrix, theta).map((value, i) => value + input[i] * t);
      theta.forEach((value, i) =>
        assert.ok(Math.abs(value - found[t * size + i]) < 1e-10 * Math.abs(value) + 1e-12)
      );
    }
  });

  Deno.test(`gradients of states with planes of ${size} weights agree with central differences`, async () => {
    const transition = makeTransition("planes", size, key(0), dtype);
    const input = normal(key(2), [size, 2], { dtype });
    const [start, changes] = [normal(key(3), [2, size], { dtype }), normal(key(4), [2, 5, 2], { dtype })];
    const states = () => recurrentStates({ transition, input }, start, changes);
    await checkGradients((_) => states(), [{ a: transition.parameters, input, start, changes }], {
      elements: 6,
    });
  });
}

testOnDevices("a WARP with rotations keeps the norm of its state if the input is constant", async () => {
  for (const transition of [{ initialization: "rotation" }, "planes"] as const) {
    const model = WARP({
      ...small,
      root: { width: 5, depth: 1 },
      transition,
      initial: "learned",
      key: key(0),
    });
    const norms = model.weights(normal(key(1), [1, 1, 2]).broadcastTo([1, 200, 2])).square().sum(-1).sqrt();
    const [first, last] = [norms.select(1, 0), norms.select(1, -1)];
    assert.ok(await last.sub(first).abs().div(first).max().item() < 1e-4);
    const moved = model.weights(normal(key(1), [1, 1, 2]).broadcastTo([1, 2, 2]));
    assert.ok(await moved.select(1, 1).sub(moved.select(1, 0)).abs().max().item() > 0.1);
  }
});

Deno.test("WARP rejects an unknown initialization of A", () => {
  const make = (initialization: string) => disturbed({ transition: { initialization } as never });
  assert.throws(
    () => make("spin"),
    /WARP: transition.initialization is "spin", expected .*identity.*rotation/,
  );
  assert.deepEqual(make("rotation")(x).shape, [2, 7, 2]);
});
