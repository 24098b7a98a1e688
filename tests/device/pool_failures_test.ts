/** Failures of worker threads are reported to the caller of a job. */
import assert from "node:assert/strict";
import type { Executable } from "../../src/device/cpu/runtime/executable.ts";
import { Memory } from "../../src/device/cpu/runtime/memory.ts";
import { ThreadPool } from "../../src/device/cpu/runtime/thread_pool.ts";

/** A module with invalid bytes for workers, and a task for the main thread. */
function brokenModule(memory: Memory, task: () => void): Executable {
  const bytes = new TextEncoder().encode("not a module");
  const { address } = memory.allocate(bytes.length);
  memory.u8.set(bytes, address);
  return { address, byteLength: bytes.length, number: 1, names: ["task"], exports: { task } } as never;
}

/** Waits long enough for a worker to take part in a job. */
const sleep = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);

/** The error of a job after workers have started, which takes some time. */
async function failureOf(run: () => void): Promise<Error> {
  for (let attempt = 0; attempt < 500; attempt++) {
    try {
      run();
    } catch (error) {
      return error as Error;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail("no job has failed");
}

const test = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, fn, sanitizeOps: false, sanitizeResources: false });

for (const threads of [2, 3]) {
  test(`an error on a worker fails the job with the same message, ${threads} threads`, async () => {
    const memory = new Memory();
    const pool = new ThreadPool(memory, threads);
    const broken = brokenModule(memory, sleep);
    for (let job = 0; job < 3; job++) {
      const { message } = await failureOf(() => pool.run(broken, "task", 20, 0));
      assert.match(message, /a worker thread failed in kernel task: CompileError/);
    }
    pool.destroy();
  });
}

test("a failed job does not fail the next one", async () => {
  const memory = new Memory();
  const pool = new ThreadPool(memory, 2);
  const broken = brokenModule(memory, sleep);
  await failureOf(() => pool.run(broken, "task", 20, 0));
  let count = 0;
  const failing = brokenModule(memory, () => {
    if (++count === 20) throw new Error("as meant");
    sleep();
  });
  assert.throws(() => pool.run(failing, "task", 1000, 0), /as meant/);
  // From here on no workers are left.
  pool.destroy();
  pool.run(brokenModule(memory, () => {}), "task", 2, 0);
});

test("the next job throws the error of a crashed worker once", async () => {
  const memory = new Memory();
  const pool = new ThreadPool(memory, 2, undefined, () => {
    throw new Error("as meant");
  });
  const idle = brokenModule(memory, () => {});
  const error = await failureOf(() => pool.run(idle, "task", 2, 0));
  assert.match(error.message, /a worker thread of the CPU device has ended: .*as meant.*threads: 1/);
  assert.match(String(error.cause), /as meant/);
  pool.run(idle, "task", 2, 0);
});
