/** The CPU device's threads, and how a process with them ends. */
import assert from "node:assert/strict";
import { allocateView } from "../../src/device/view.ts";
import type { BufferView } from "../../src/device/device.ts";
import type { DType } from "../../src/device/dtype.ts";
import { type CpuDevice, createCpuDevice } from "../../src/device/cpu/device.ts";
import * as s from "../../src/device/scalar/scalar.ts";
import { floats, randomNumbers, randomValue, valuesOf, wordsOf } from "./random_views.ts";

/** Kernels large enough for several threads, on one device. */
function largeResults(on: CpuDevice): number[][] {
  const upload = (shape: number[], dtype: DType) => {
    const random = randomNumbers(21);
    const view = allocateView(on, shape, dtype);
    wordsOf(view, on).forEach((_, i, words) => words[i] = randomValue(random, dtype));
    return view;
  };
  const results: BufferView[] = [];
  const output = (shape: number[], dtype: DType) => {
    results.push(allocateView(on, shape, dtype));
    return results.at(-1)!;
  };
  for (const dtype of floats) {
    const [a, b] = [upload([300, 310], dtype), upload([310, 290], dtype)];
    on.matmul(a, b, output([300, 290], dtype));
    const batch = [upload([600, 20, 21], dtype), upload([600, 21, 22], dtype)];
    on.matmul(batch[0], batch[1], output([600, 20, 22], dtype));
    const wide = upload([1100, 1201], dtype);
    const few = upload([9, 1100], dtype);
    on.matmul(few, wide, output([9, 1201], dtype));
    on.matmul(
      upload([9, 1201], dtype),
      { ...wide, shape: [1201, 1100], strides: [1, 1201] },
      output([9, 1100], dtype),
    );
    on.reduce("sum", wide, output([1, 1], dtype));
    on.reduce("sum", wide, output([1100, 1], dtype));
    on.reduce("sum", wide, output([1, 1201], dtype));
    const transposed = { ...wide, shape: [1201, 1100], strides: [1, 1201] };
    on.map({ name: "shared", build: (x) => s.tanh(s.add(x, 1)) }, [transposed], output([1201, 1100], dtype));
    const lines = [0, 1].map(() => upload([7, 90, 2, 53], dtype));
    on.linearRecurrence(lines[0], lines[1], { axis: 1, parts: 2 }, output([7, 90, 2, 53], dtype));
    const rows = upload([300, 301], dtype);
    for (const axis of [0, 1]) {
      on.cumulativeSum(rows, axis, output([300, 301], dtype));
      on.argReduce("max", rows, axis, output([300, 301].with(axis, 1), "int32"));
    }
    const line = upload([70_000], dtype);
    on.cumulativeSum(line, 0, output([70_000], dtype));
    on.argReduce("min", line, 0, output([1], "int32"));
    const bands = [0, 1, 2].map(() => upload([400, 101], dtype));
    on.tridiagonal(bands[0], bands[1], bands[2], upload([400, 101], dtype), output([400, 101], dtype));
  }
  return results.map((view) => valuesOf(view, on));
}

Deno.test("results are bitwise equal for any number of threads", async () => {
  const expected = largeResults(createCpuDevice({ threads: 1 }));
  const threaded = createCpuDevice({ threads: 3 });
  let found: number[][] = [];
  // Workers need some time to start. Until then the main thread does all work.
  for (let attempt = 0; attempt < 100 && threaded.pool.tasksOfWorkers < 100; attempt++) {
    found = largeResults(threaded);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(threaded.pool.tasksOfWorkers >= 100, "no worker has taken part");
  for (const [i, result] of found.entries()) {
    const wrong = result.findIndex((value, at) => !Object.is(value, expected[i][at]));
    assert.equal(
      wrong,
      -1,
      `result ${i}, element ${wrong}: ${result[wrong]}, with one thread ${expected[i][wrong]}`,
    );
  }
  threaded.destroy();
  assert.equal(largeResults(threaded).length, found.length, "a destroyed device still computes");
});

Deno.test("init rejects an invalid number of threads", () => {
  for (const threads of [0, -1, 1.5, NaN]) assert.throws(() => createCpuDevice({ threads }), RangeError);
});

/** A program that starts workers, and then ends in a given way. */
function endingProgram(ending: string): string {
  const mod = new URL("../../src/device/cpu/device.ts", import.meta.url);
  const view = new URL("../../src/device/view.ts", import.meta.url);
  return `
    const { createCpuDevice } = await import("${mod}");
    const { allocateView } = await import("${view}");
    const device = createCpuDevice({ threads: 2 });
    const [a, b, c] = [0, 1, 2].map(() => allocateView(device, [256, 256], "float32"));
    device.matmul(a, b, c);
    ${ending}
  `;
}

const endings: { name: string; code: string; exit: number }[] = [
  { name: "after its last line", code: "", exit: 0 },
  {
    name: "after its workers have become idle",
    code: "await new Promise((r) => setTimeout(r, 300));",
    exit: 0,
  },
  { name: "by Deno.exit", code: "Deno.exit(7);", exit: 7 },
  { name: "with an uncaught error", code: "throw new Error('as meant');", exit: 1 },
  { name: "after destroy", code: "device.destroy();", exit: 0 },
];

for (const { name, code, exit } of endings) {
  Deno.test(`a process with worker threads exits ${name}`, async () => {
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    try {
      await Deno.writeTextFile(file, endingProgram(code));
      const command = new Deno.Command(Deno.execPath(), {
        // The imports need read permission. Neither the device nor its threads need a permission.
        args: ["run", "--no-check", "--no-prompt", "--allow-read", file],
        signal: AbortSignal.timeout(20_000),
        stdout: "null",
        stderr: "piped",
      });
      const { code: found, signal, stderr } = await command.output();
      assert.equal(signal, null, "it had to be killed");
      assert.equal(found, exit, new TextDecoder().decode(stderr));
    } finally {
      await Deno.remove(file);
    }
  });
}
