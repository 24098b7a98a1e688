/** Fusion of the kernels of a loop's step. */
import assert from "node:assert/strict";
import { concatenate, key, normal, scan, type Tensor } from "../../mod.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { fuseEpilogues } from "../../src/compile/program/passes/fuse_epilogues.ts";
import { fuseElementwise, type FusionKernel } from "../../src/compile/program/passes/fuse_elementwise.ts";
import type { Program } from "../../src/compile/program/program.ts";
import { add, input } from "../../src/device/scalar/scalar.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu } from "../devices.ts";
import { assertTensor, fromTensor } from "../tensor/nd.ts";

const weight = normal(key(2), [6, 6]);

/** The program of a loop with a step. Its result must be the same as step by step. */
async function programOf(step: (h: Tensor) => Tensor): Promise<Program> {
  setCurrentDevice(cpu);
  const [h, rows] = [normal(key(0), [3, 6]), normal(key(1), [4, 3, 6])];
  const run = (compile: boolean) =>
    scan((h: Tensor, x: Tensor) => [step(h).add(x), []], h, rows, { compile })[0];
  let program!: Program;
  let result!: Tensor;
  observeLoops((_loop, run) => program = run.program, () => result = run(true));
  await assertTensor(result, await fromTensor(run(false)), 1e-5, "fused");
  return program;
}

/** Kinds and shapes of the kernels of a step. */
async function kernelsOf(step: (h: Tensor) => Tensor): Promise<string[]> {
  const { kernels } = await programOf(step);
  return kernels.map(({ kind, output }) => `${kind} ${output?.shape}`);
}

Deno.test("a loop does not store a value that one kernel reads twice", async () => {
  const square = (x: Tensor) => x.mul(x);
  assert.deepEqual(await kernelsOf((h) => square(square(h.sin()).add(1)).mul(0.1)), ["map 1,6"]);
});

Deno.test("a loop does not store values that only a concatenation or a reduction reads", async () => {
  const join = (h: Tensor) => concatenate([h.slice(1, 0, 2).sin(), h.slice(1, 2, 6).cos()], 1);
  assert.deepEqual(await kernelsOf((h) => join(h)), ["map 1,2", "map 1,4", "map 1,6"]);
  const reduce = (h: Tensor) => h.sub(h.sin().sum(1, { keepDims: true }).mul(0.1));
  assert.deepEqual(await kernelsOf(reduce), ["reduce 1,1", "map 1,1", "map 1,6"]);
});

Deno.test("a loop stores a value once if kernels of several results, or a matrix product, read it", async () => {
  const several = (h: Tensor) => {
    const y = h.sin();
    return y.sub(y.sum(1, { keepDims: true }).mul(0.1));
  };
  assert.deepEqual(await kernelsOf(several), ["map 1,6", "reduce 1,1", "map 1,1", "map 1,6"]);
  assert.deepEqual(await kernelsOf((h) => h.sin().matmul(weight)), ["map 1,6", "contract 1,6", "map 1,6"]);
});

Deno.test("every reader of an outer product computes it", async () => {
  const step = (h: Tensor) => {
    const outer = h.expandDims(2).mul(h.sin().expandDims(1));
    return outer.sum(2).sub(outer.square().sum(1)).mul(0.1);
  };
  const kernels = await kernelsOf(step);
  assert.ok(!kernels.some((kernel) => kernel.endsWith("1,6,6")), kernels.join("; "));
});

Deno.test("an outer product is computed in the kernel that reads it in another shape", async () => {
  const step = (h: Tensor) => {
    const outer = h.slice(1, 0, 3).reshape([3, 3, 1]).mul(h.slice(1, 3, 5).reshape([3, 1, 2]));
    return outer.reshape([3, 6]).sin().add(h).tanh().mul(0.1);
  };
  assert.deepEqual(await kernelsOf(step), ["map 1,3,2"]);
});

Deno.test("products compute biases and activations with few constants as epilogues", async () => {
  const bias = normal(key(3), [6]);
  const program = await programOf((h) => h.matmul(weight).add(bias).relu());
  const [product, ...others] = fuseEpilogues(program).kernels;
  assert.ok(product.kind === "contract" && product.hasBias && product.epilogue, product.kind);
  assert.equal(others.length, 0);
});

/** Kernels that add operands. Each name is a memory of four numbers. */
function fuseSums(...sums: [operands: string[], output: string][]): string[] {
  const operand = (name: string) => ({
    name,
    dtype: "float32" as const,
    shape: [4],
    strides: [1],
    offset: 0,
  });
  type Named = ReturnType<typeof operand>;
  const kernels = sums.map(([names, output], i): FusionKernel<Named> => ({
    operands: names.map(operand),
    output: operand(output),
    expression: names.map((_, i) => input(i, "float32")).reduce((sum, x) => add(sum, x)),
    shape: [4],
    recompute: "one",
    isStored: i === sums.length - 1,
  }));
  const plan = fuseElementwise(kernels, {
    memoryOf: ({ name }) => name,
    isWhole: () => true,
    fits: ({ length }) => length <= 3,
  });
  return plan.map((fused) =>
    typeof fused === "string" ? fused : fused.operands.map(({ name }) => name).join()
  );
}

Deno.test("a kernel is not fused past a kernel that overwrites its operand", () => {
  assert.deepEqual(fuseSums([["a", "b"], "c"], [["c", "d"], "e"]), ["fused", "a,b,d"]);
  assert.deepEqual(fuseSums([["a", "b"], "c"], [["d"], "a"], [["c", "a"], "e"]).slice(0, 1), ["unchanged"]);
});

Deno.test("fused kernels have at most the number of operands that the rules allow", () => {
  assert.deepEqual(fuseSums([["a", "b"], "x"], [["c", "d"], "y"], [["x", "y"], "z"]), [
    "unchanged",
    "fused",
    "c,d,x",
  ]);
});
