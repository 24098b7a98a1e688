/** Google's Dawn through `npm:webgpu`, with workarounds. */
import { platform } from "../../platform/current.ts";

/** Destroying this object destroys all objects of Dawn, so it is kept for the life of the process. */
let gpu: GPU | undefined;

/**
 * Loads Dawn.
 *
 * @throws {Error} If Dawn cannot be loaded, for example without permission for native libraries.
 */
export async function loadDawn(): Promise<GPU> {
  if (gpu) return gpu;
  const { package: dawnPackage, needs } = platform.dawn!;
  try {
    // Not a literal: Deno would download 130 MB for every user, and bundlers would look for the package.
    const { create }: { create(flags: string[]): GPU } = await import(/* webpackIgnore: true */ dawnPackage);
    return gpu = create([]);
  } catch (cause) {
    throw new Error(
      `implementation "dawn" could not be loaded: it is the package ${dawnPackage}, a native library, and needs ${needs} (${
        (cause as Error).message
      })`,
      { cause },
    );
  }
}

/**
 * Waits for a promise of Dawn. Dawn polls in every turn of the event loop, and each poll leaves a function
 * for the garbage collector. Deno clears n of these in time n^2, so ten thousand polls per second would block
 * the process for seconds and slow a software GPU. Therefore each turn lasts about a tenth of the time waited
 * so far, up to a few milliseconds.
 */
export async function waitForDawn<T>(promise: Promise<T>): Promise<T> {
  let isWaiting = true;
  const stop = () => {
    isWaiting = false;
  };
  promise.then(stop, stop);
  const start = performance.now();
  const neverSet = new Int32Array(new SharedArrayBuffer(4));
  while (isWaiting) {
    await platform.nextTurn();
    const waited = performance.now() - start;
    if (isWaiting && waited > 1) Atomics.wait(neverSet, 0, 0, Math.min(waited / 10, 5));
  }
  return await promise;
}
