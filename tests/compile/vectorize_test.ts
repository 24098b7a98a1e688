/** Every primitive vectorized over all steps of a loop, compared with step-by-step execution. */
import assert from "node:assert/strict";
import { key, normal, scan, stack, type Tensor, tensor, valueAndGrad, zeros } from "../../mod.ts";
import { GraphTrace, type Node, topological } from "../../src/compile/trace/graph.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { evaluateAllSteps } from "../../src/compile/trace/vectorize.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { Batched } from "../../src/tensor/primitive.ts";
import { cpu } from "../devices.ts";
import { assertTensor, fromTensor, toTensor } from "../tensor/nd.ts";
import { type Case, cases } from "../tensor/primitive_cases.ts";

/** Two steps of a case. The second step halves the operands of the tested floating-point type. */
function stepsOf({ operands }: Case): Tensor[][] {
  const float = operands.some(({ dtype }) => dtype === "float32") ? "float32" : "float64";
  return operands.map(({ array, dtype }) => {
    const x = toTensor(array, dtype ?? float);
    return [x, dtype === undefined ? x.mul(0.5) : x];
  });
}

/** Runs a case for two steps at once. Operands may vary from step to step. */
function runAtOnce({ run }: Case, steps: Tensor[][], varies: readonly boolean[]): Tensor {
  const trace = new GraphTrace();
  const inputs = steps.map(([x]) => trace.input(x));
  const output = trace.nodeOf(run(...inputs.map((input) => input.tensor)));
  const values = new Map<Node, Batched>(
    inputs.map((
      { node },
      i,
    ) => [node, { tensor: varies[i] ? stack(steps[i]) : steps[i][0], varies: varies[i] }]),
  );
  for (const { node, tensor } of trace.popConstants()) values.set(node, { tensor, varies: false });
  evaluateAllSteps(topological([output]), values, 2);
  return values.get(output)!.tensor;
}

for (const [name, list] of Object.entries(cases)) {
  Deno.test(`${name} runs for all steps at once`, async () => {
    setCurrentDevice(cpu);
    for (const example of list) {
      const steps = stepsOf(example);
      for (let bits = 1; bits < 2 ** steps.length; bits++) {
        const varies = steps.map((_, i) => (bits >> i) % 2 === 1);
        const found = runAtOnce(example, steps, varies);
        for (const step of [0, 1]) {
          const operands = steps.map((operand, i) => operand[varies[i] ? step : 0]);
          const tolerance = found.dtype === "float32" ? 1e-6 : 1e-12;
          await assertTensor(
            found.select(0, step),
            await fromTensor(example.run(...operands)),
            tolerance,
            `${example.name} ${varies}`,
          );
        }
      }
    }
  });
}

Deno.test("elementwise operations ahead of a loop are fused unless a gradient passes through them", async () => {
  setCurrentDevice(cpu);
  const [x, scale] = [normal(key(0), [7, 3, 2]), normal(key(1), [3, 2])];
  const body = (y: Tensor, x: Tensor): [Tensor, []] => [y.add(x.mul(scale).add(1).abs().sin()).tanh(), []];
  const run = (compile: boolean) => scan(body, scale.zerosLike(), x, { compile })[0];
  const found: { before: number; backward: boolean }[] = [];
  const observe = (body: () => Tensor) => {
    let result!: Tensor;
    observeLoops(({ hoistedLoop }) => {
      const before = hoistedLoop.hoisted.filter(({ kind }) => kind === "operation").length;
      found.push({ before, backward: hoistedLoop.graph.backward });
    }, () => result = body());
    return result;
  };
  await assertTensor(observe(() => run(true)), await fromTensor(run(false)), 1e-6, "joined");
  observe(() => valueAndGrad(() => run(true).sum())(x)[1]);
  assert.deepEqual(found.slice(0, 2), [{ before: 2, backward: false }, { before: 5, backward: false }]);
});

Deno.test("scatterAdd of tensors without elements runs for all steps at once", () => {
  setCurrentDevice(cpu);
  const indices = tensor([0, 2, 1], { dtype: "int32" });
  const body = (y: Tensor, x: Tensor): [Tensor, Tensor] => [y.add(1), zeros([3, 0]).scatterAdd(indices, x)];
  const [, outputs] = scan(body, zeros([2]), zeros([4, 3, 0]));
  assert.deepEqual(outputs.shape, [4, 3, 0]);
});
