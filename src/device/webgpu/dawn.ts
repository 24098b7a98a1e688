/** Google's Dawn through `npm:webgpu`, and what it takes to get along with it. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Everything of Dawn's ends with this object, so that it is kept as long as the process. */
let gpu: GPU | undefined;

/** Not a literal where it is imported: Deno would fetch its 130 MB for everybody who runs anything. */
const dawnPackage = "npm:webgpu@0.6.2";

/**
 * Loads Dawn.
 *
 * @throws {Error} If that fails, as without permission for native libraries.
 */
export async function loadDawn(): Promise<GPU> {
  if (gpu) return gpu;
  try {
    const { create }: { create(flags: string[]): GPU } = await import(dawnPackage);
    return gpu = create([]);
  } catch (cause) {
    throw new Error(
      'implementation "dawn" could not be loaded: it is the package npm:webgpu, a native library, and needs ' +
        `--allow-ffi, --allow-read and --allow-env (${(cause as Error).message})`,
      { cause },
    );
  }
}

const neverSet = new Int32Array(new SharedArrayBuffer(4));

/**
 * Waits for something of Dawn's. Until it has come, Dawn looks for it in every turn of the event loop, and each look
 * leaves a function for the garbage collector, of which Deno clears n in time n^2: ten thousand looks a second would
 * stall the process for seconds, and they keep a software GPU from its work. So turns are made to last about a tenth of
 * the time waited, up to some milliseconds.
 */
export async function waitForDawn<T>(promise: Promise<T>): Promise<T> {
  let isWaiting = true;
  const stop = () => {
    isWaiting = false;
  };
  promise.then(stop, stop);
  const start = performance.now();
  while (isWaiting) {
    await nextTurn();
    const waited = performance.now() - start;
    if (isWaiting && waited > 1) Atomics.wait(neverSet, 0, 0, Math.min(waited / 10, 5));
  }
  return await promise;
}
