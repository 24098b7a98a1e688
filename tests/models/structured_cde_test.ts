import assert from "node:assert/strict";
import {
  checkGradients,
  eye,
  key,
  loadParameters,
  logsignature,
  type MatrixStructure,
  normal,
  stack,
  StructuredCDE,
  type StructuredCDEOptions,
  type Tensor,
  tensor,
  treeFlatten,
  valueAndGrad,
} from "../../mod.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { blockRecurrence, chunkSize } from "../../src/models/structured/block_recurrence.ts";
import { matrixExponential } from "../../src/models/structured/exponential.ts";
import { sparseShifts } from "../../src/models/structured/sparse_pattern.ts";
import { hadamardTransform } from "../../src/models/structured/structures.ts";
import { wordMatrices } from "../../src/models/structured/word_matrices.ts";
import { testOnCpu, testOnDevices } from "../devices.ts";
import { rowByRow } from "./row_by_row.ts";

const float64 = { dtype: "float64" } as const;
const sizes = { inputChannels: 2, modelDim: 3, outputChannels: 2, stateSize: 4, key: key(1) };
const structures: Readonly<Record<string, MatrixStructure>> = {
  diagonal: "diagonal",
  blocks: { blockSize: 2 },
  rank: { rank: 1 },
  "walsh-hadamard": "walsh-hadamard",
  density: { density: 0.5 },
  dense: "dense",
};
const largest = async (x: Tensor) => await x.abs().max().item() as number;

/** A case of tests/fixtures/structured_cde.py. */
interface Case extends Pick<StructuredCDEOptions, "form" | "control"> {
  readonly structure: string;
  readonly layers: number;
  readonly depth: number;
  readonly output: readonly number[];
  readonly gradients: Readonly<Record<string, readonly number[]>>;
}
const cases: readonly Case[] = JSON.parse(
  await Deno.readTextFile(new URL("../fixtures/structured_cde.json", import.meta.url)),
);

function waves(seed: number, shape: readonly number[], dtype: "float32" | "float64"): Tensor {
  const size = shape.reduce((product, length) => product * length, 1);
  return tensor(Float64Array.from({ length: size }, (_, i) => Math.sin(0.7 * i + seed) / 2), {
    shape,
    dtype,
  });
}

/** The output of a case and the gradients of its weighted sum, by name. */
async function resultsOf({ structure, form, control, layers, depth }: Case, dtype: "float32" | "float64") {
  const model = StructuredCDE({
    ...{ ...sizes, structure: structures[structure], form, control, layers, signatureDepth: depth, dtype },
  });
  const filled = treeFlatten(model.parameters).map(([name, x], k) => [name, waves(k, x.shape, dtype)]);
  loadParameters(model.parameters, Object.fromEntries(filled));
  const words = [2, 3, 5][depth - 1];
  const x = waves(100, [2, 5, words], dtype).mul(2);
  const weights = waves(200, [2, 5, 2], dtype);
  const output = model(x, { states: "all" });
  const [, gradients] = valueAndGrad(() => model(x, { states: "all" }).mul(weights).sum())(model.parameters);
  const flat = await Promise.all(
    treeFlatten(gradients).map(async ([name, x]) => [name, await x.data()] as const),
  );
  return { output: await output.data(), gradients: Object.fromEntries(flat) };
}

for (const golden of cases) {
  const { structure, form, control, depth } = golden;
  const title = `${structure}, ${form}, ${control}, depth ${depth}`;
  const compare = async (dtype: "float32" | "float64", tolerance: number) => {
    const { output, gradients } = await resultsOf(golden, dtype);
    const check = (found: ArrayLike<number>, expected: readonly number[], what: string) => {
      assert.equal(found.length, expected.length, what);
      expected.forEach((value, i) =>
        assert.ok(Math.abs(found[i] - value) < tolerance, `${what}, ${i}: ${found[i]}, expected ${value}`)
      );
    };
    check(output as ArrayLike<number>, golden.output, "output");
    assert.deepEqual(Object.keys(gradients), Object.keys(golden.gradients));
    for (const [name, values] of Object.entries(golden.gradients)) {
      check(gradients[name] as ArrayLike<number>, values, name);
    }
  };
  testOnCpu(
    `a structured CDE agrees with SciPy in float64, gradients included: ${title}`,
    () => compare("float64", 1e-12),
  );
  testOnDevices(
    `a structured CDE agrees with SciPy in float32, gradients included: ${title}`,
    () => compare("float32", 2e-5),
  );
}

for (const [name, structure] of Object.entries(structures)) {
  for (const control of ["values", "changes"] as const) {
    testOnCpu(
      `a ${name} CDE of ${control} gives the same outputs row by row and for whole series`,
      async () => {
        const model = StructuredCDE({ ...sizes, structure, control, layers: 2, pooling: "mean", ...float64 });
        const x = normal(key(2), [3, 7, 2], float64);
        const whole = model(x, { states: "all" });
        assert.ok(await largest(whole.sub(rowByRow(model, x))) < 1e-12);
        const lengths = tensor([4, 7, 1], { dtype: "int32" });
        const ends = stack([3, 6, 0].map((t, i) => whole.select(0, i).select(0, t)));
        assert.ok(await largest(model(x, { lengths }).sub(ends)) < 1e-12);
      },
    );
  }
}

for (const length of [1, 7, 64, 131]) {
  testOnCpu(`chunks of time give the states and gradients of single steps: length ${length}`, async () => {
    const transitions = matrixExponential(normal(key(1), [length, 2, 3, 2, 2], float64).mul(0.2));
    const initial = normal(key(2), [2, 6], float64);
    const weights = normal(key(3), [length, 2, 6], float64);
    const run = (size: number) =>
      valueAndGrad(([t, h]: readonly [Tensor, Tensor]) => blockRecurrence(t, h, size).mul(weights).sum())(
        [transitions, initial] as const,
      );
    const states = blockRecurrence(transitions, initial, 0);
    const [, expected] = run(0);
    for (const size of [1, 2, 8, 64, 200]) {
      const difference = blockRecurrence(transitions, initial, size).sub(states);
      assert.ok(await largest(difference.div(states.abs().max())) < 1e-12, `chunks of ${size}`);
      const [, found] = run(size);
      for (const [i, gradient] of found.entries()) {
        const relative = gradient.sub(expected[i]).div(expected[i].abs().max());
        assert.ok(await largest(relative) < 1e-12, `gradient ${i}, chunks of ${size}`);
      }
    }
  });
}

testOnDevices("chunks of time give the states of single steps in float32", async () => {
  const transitions = matrixExponential(normal(key(1), [131, 2, 3, 2, 2]).mul(0.2));
  const initial = normal(key(2), [2, 6]);
  const [found, expected] = [8, 0].map((size) => blockRecurrence(transitions, initial, size));
  assert.ok(await largest(found.sub(expected).div(expected.abs().max())) < 1e-5);
});

testOnCpu("single samples with small blocks run in chunks of time on the CPU, others step by step", () => {
  assert.ok(chunkSize(4096, 1, 2)! > 1);
  assert.equal(chunkSize(4096, 1, 4), undefined);
  assert.equal(chunkSize(4096, 32, 4), undefined);
  assert.equal(chunkSize(10, 1, 2), undefined);
});

testOnCpu("the exponential keeps the digits of small and of large matrices", async () => {
  const angle = (a: number) => tensor([[0, -a], [a, 0]], float64);
  for (const a of [1e-9, 0.3, Math.PI, 8]) {
    const e = await matrixExponential(angle(a)).data();
    assert.ok(Math.abs(e[0] - Math.cos(a)) < 1e-12, `${a}`);
    assert.ok(Math.abs(e[2] - Math.sin(a)) < 1e-12 * Math.max(a, 1e-3), `${a}: ${e[2]}`);
  }
});

testOnCpu("the Hadamard transform is symmetric, orthogonal, and made of elements of one size", async () => {
  const h = hadamardTransform(eye(8, float64));
  assert.ok(await largest(h.matmul(h).sub(eye(8, float64))) < 1e-14);
  assert.ok(await largest(h.abs().sub(1 / Math.sqrt(8))) < 1e-14);
});

testOnCpu(
  "a step along a log-signature of depth N has an error of order N + 1 in the increments",
  async () => {
    const basis = normal(key(1), [3, 16], float64);
    const blocks = (a: Tensor) => a.reshape([...a.shape.slice(0, -1), 1, 4, 4]);
    const product = (p: Tensor, q: Tensor) => blocks(p).matmul(blocks(q)).flatten(-3);
    const errorOf = async (depth: number, size: number) => {
      const path = normal(key(2), [5, 3], float64).cumsum(0).mul(size);
      const words = wordMatrices(3, depth, { basis, product })();
      const step = logsignature(path, depth).expandDims(0).matmul(words);
      let expected = eye(4, float64);
      for (let k = 1; k < 5; k++) {
        const increment = path.select(0, k).sub(path.select(0, k - 1)).expandDims(0);
        expected = matrixExponential(blocks(increment.matmul(basis))).reshape([4, 4]).matmul(expected);
      }
      return await largest(matrixExponential(blocks(step)).reshape([4, 4]).sub(expected));
    };
    for (const depth of [1, 2, 3]) {
      const order = Math.log2(await errorOf(depth, 0.01) / await errorOf(depth, 0.005));
      assert.ok(Math.abs(order - depth - 1) < 0.2, `depth ${depth}: order ${order}`);
    }
  },
);

testOnCpu("sparse patterns have the density, distinct shifts, and the shift one", () => {
  for (const [size, density, count] of [[64, 0.1, 6], [64, 1, 64], [10, 0.01, 1], [1, 1, 1]]) {
    const shifts = sparseShifts(size, density);
    assert.equal(new Set(shifts).size, count);
    assert.ok(shifts.includes(1 % size) && shifts.every((shift) => shift >= 0 && shift < size));
  }
});

testOnCpu("Euler steps of every structure run in one compiled loop", () => {
  for (const [name, structure] of Object.entries(structures)) {
    if (name === "diagonal") continue;
    const loops: unknown[] = [];
    const model = StructuredCDE({ ...sizes, structure, form: "euler" });
    observeLoops((loop) => loops.push(loop), () => model(normal(key(2), [3, 20, 2])));
    assert.equal(loops.length, 1, name);
  }
});

testOnCpu("the gradients of a structured CDE of two layers agree with central differences", async () => {
  const model = StructuredCDE({ ...sizes, layers: 2, pooling: "mean", ...float64 });
  const x = normal(key(2), [2, 4, 2], float64);
  const lengths = tensor([4, 3], { dtype: "int32" });
  await checkGradients((x, _) => model(x, { lengths }), [x, model.parameters], { elements: 3 });
});

Deno.test("a structured CDE rejects options that do not fit", () => {
  const make = (options: object) => () => StructuredCDE({ ...sizes, ...options } as StructuredCDEOptions);
  assert.throws(
    make({ structure: { blockSize: 3 } }),
    /StructuredCDE: structure.blockSize is 3, expected a divisor/,
  );
  assert.throws(
    make({ structure: "walsh-hadamard", stateSize: 6 }),
    /stateSize is 6, expected a power of two/,
  );
  assert.throws(make({ structure: "banded" }), /structure is "banded", expected "diagonal"/);
  assert.throws(make({ structure: { density: 0 } }), /structure.density is 0, expected a number above 0/);
  assert.throws(
    make({ structure: { rank: 1 }, signatureDepth: 2 }),
    /brackets of matrices of this structure/,
  );
  assert.throws(make({ control: "values", signatureDepth: 2 }), /needs control "changes", got "values"/);
  assert.throws(make({ signatureDepth: 4 }), /signatureDepth is 4, expected 1, 2 or 3/);
  assert.throws(make({ initialScale: 0 }), /initialScale is 0, expected a positive number/);
});
