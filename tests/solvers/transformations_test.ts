import assert from "node:assert/strict";
import { jit, type Tensor } from "../../mod.ts";
import { cpu, longOnSoftware, testLong, testOnBoth } from "../devices.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { type Arguments, kinds, makeArguments, transformations } from "./transformations.ts";

/** The largest difference, relative to the largest value. */
async function distance(found: Tensor, expected: ArrayLike<number>): Promise<number> {
  const values = await found.data();
  assert.equal(values.length, expected.length, "number of values");
  let [worst, largest] = [0, 1];
  for (let i = 0; i < values.length; i++) {
    largest = Math.max(largest, Math.abs(expected[i]));
    const difference = Math.abs(values[i] - expected[i]);
    if (!(difference <= worst)) worst = difference;
  }
  return worst / largest;
}

for (const { name, solve, onGpu, except = {}, inJit, tolerance = 1e-7 } of kinds) {
  const test = onGpu ? Deno.test : testLong;
  test(`transformations of a solve agree with loops and central differences: ${name}`, async () => {
    setCurrentDevice(cpu);
    const args = makeArguments("float64");
    for (const [transformation, { run, expected }] of Object.entries(transformations)) {
      const values = await (await expected(solve, args)).data();
      const runs = {
        [transformation]: () => run(solve, args),
        [`jit(${transformation})`]: () => jit((args: Arguments) => run(solve, args))(args),
      };
      for (const [what, compute] of Object.entries(runs)) {
        const error = except[what] ?? (what === transformation ? undefined : inJit);
        if (error) {
          assert.throws(compute, error, what);
          continue;
        }
        assert.ok(await distance(compute(), values) < tolerance, what);
      }
    }
  });
}

/** The transformations that also run on a GPU. */
const onGpu = ["vmap", "vmap(grad)", "jvp(vmap)", "vmap(pullback)", "inside scan"];

for (const { name, solve } of kinds.filter((kind) => kind.onGpu)) {
  testOnBoth(`transformations of a solve: ${name}`, longOnSoftware, async (cpu, webgpu) => {
    for (const transformation of onGpu) {
      const { run } = transformations[transformation];
      const [found, expected] = [webgpu, cpu].map((device) => {
        setCurrentDevice(device);
        return run(solve, makeArguments("float32"));
      });
      assert.ok(await distance(found, await expected.data()) < 1e-4, transformation);
    }
  });
}
