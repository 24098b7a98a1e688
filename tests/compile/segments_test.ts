import assert from "node:assert/strict";
import {
  explain,
  key,
  normal,
  scan,
  type ScanOptions,
  splitKey,
  type Tensor,
  valueAndGrad,
} from "../../mod.ts";
import { type GraphLoop, observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { testOnDevices } from "../devices.ts";
import { solved } from "../loops.ts";
import { randomBody } from "./random_body.ts";
import { compare, runBody, tolerances } from "./run_body.ts";

/** Compares a random loop in segments of time with the same one step by step. */
async function checkSegments(
  seed: number,
  dtype: "float32" | "float64",
  options: ScanOptions,
): Promise<void> {
  const body = randomBody(seed);
  let loops = 0;
  const [a, b] = [
    await runBody(body, dtype, options, { onLoop: () => loops++ }),
    await runBody(body, dtype, { compile: false }),
  ];
  assert.ok(loops >= 2, `${loops} loops ran compiled`);
  const { worst, where } = compare(a, b);
  assert.ok(worst <= tolerances[dtype], `${where} differs by ${worst}`);
}

for (let i = 0; i < 25; i++) {
  // Segments of one step to a few steps.
  const options = { memory: [1, 3_000, 20_000][i % 3], checkpoint: i % 2 === 0 };
  Deno.test(
    `random loop ${i} gives the same results in segments and at once, in float64`,
    () => checkSegments(9_200_000 + i, "float64", options),
  );
}
for (let i = 0; i < 4; i++) {
  const options: ScanOptions = { memory: 2_000, executor: i % 2 === 0 ? "stepped" : "fused" };
  testOnDevices(
    `random loop ${i} gives the same results in segments and at once, in float32`,
    () => checkSegments(9_300_000 + i, "float32", options),
  );
}

/** A loop that reads values computed ahead of the loop: eight numbers per sample and step. */
function decay(steps: number) {
  const keys = splitKey(key(5), 3);
  const inputs = {
    h: normal(keys[0], [3, 8], { dtype: "float64" }),
    x: normal(keys[1], [steps, 3, 8], { dtype: "float64" }),
    weight: normal(keys[2], [8], { dtype: "float64" }),
  };
  const step = (h: Tensor, x: Tensor): [Tensor, []] => [h.mul(x.mul(inputs.weight).sin()).add(inputs.h), []];
  return { inputs, value: (memory?: number) => scan(step, inputs.h, inputs.x, { memory })[0].square().sum() };
}

const bytesOf = ({ rows }: GraphLoop) => [...rows.values()].reduce((sum, { size }) => sum + 8 * size, 0);

Deno.test("values computed ahead of a segment fit the memory limit", () => {
  const { inputs, value } = decay(50);
  const memory = 8_000;
  const loops: { bytes: number; steps: number; backward: boolean }[] = [];
  observeLoops(
    (loop, { steps }) =>
      loops.push({ bytes: bytesOf(loop), steps, backward: loop.hoistedLoop.graph.backward }),
    () => void valueAndGrad(() => value(memory))(inputs),
  );
  const forward = loops.filter(({ backward }) => !backward);
  assert.ok(forward.length > 4 && forward.every(({ bytes }) => bytes <= memory), JSON.stringify(loops));
  assert.equal(loops.filter(({ backward }) => backward).reduce((sum, { steps }) => sum + steps, 0), 50);
  // Each segment runs once for its results and once for its gradient.
  assert.equal(forward.reduce((sum, { steps }) => sum + steps, 0), 100);
});

Deno.test("explain describes segments of equal length once", () => {
  const { inputs, value } = decay(48);
  // Two values of 24 numbers are computed ahead of the loop, and a state is kept.
  const text = explain(() => void valueAndGrad(() => value(12 * (2 * 24 + 24) * 8))(inputs)).text;
  const heads = [...text.matchAll(/.*(?:forward|backward) loop: \d+ steps/g)].map(([head]) => head);
  assert.deepEqual(heads, [
    "4 times: forward loop: 12 steps",
    "4 times: forward loop: 12 steps",
    "4 times: backward loop: 12 steps",
  ]);
});

Deno.test("a loop whose values fit the memory limit runs in one segment", () => {
  const { inputs, value } = decay(50);
  const steps: number[] = [];
  observeLoops((_, run) => steps.push(run.steps), () => void valueAndGrad(() => value())(inputs));
  assert.deepEqual(steps, [50, 50]);
});

Deno.test("second gradients in segments are correct, also for captured values", async () => {
  const { inputs, value } = decay(4);
  const [a, b] = [100, undefined].map((memory) =>
    solved(true, () =>
      valueAndGrad(() => {
        const [, { h, weight }] = valueAndGrad(() => value(memory))(inputs);
        return h.square().sum().add(weight.sin().sum());
      })(inputs))
  );
  for (const name of ["h", "x", "weight"] as const) {
    const [found, wanted] = [await a[1][name].data(), await b[1][name].data()];
    const scale = Math.max(...wanted.map(Math.abs));
    found.forEach((x, i) =>
      assert.ok(Math.abs(x - wanted[i]) <= 1e-11 * scale, `${name}: ${x}, ${wanted[i]}`)
    );
  }
});
