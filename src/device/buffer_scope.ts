/**
 * Lifetime of buffers. The garbage collector sees a tensor as an object of a hundred bytes, so unused tensors
 * would occupy gigabytes of device memory before a collection. A scope therefore frees its buffers at its
 * end, except those that its function returns. The garbage collector frees buffers outside any scope; an
 * unused `ArrayBuffer` of the same size, the ballast, makes it account for their memory.
 */
import type { Buffer } from "./device.ts";

/**
 * Smallest size of a large buffer, in bytes. Smaller buffers have no ballast, since the objects of a tensor are large enough
 * for the garbage collector. A reverse pass frees smaller buffers at its end, since freeing each of them early would take
 * longer than the kernels of small tensors.
 */
const largeBytes = 16 * 1024;

/** Whether freeing a buffer early is worth the time. */
export function isLarge({ byteLength }: Buffer): boolean {
  return byteLength >= largeBytes;
}

const collected = new FinalizationRegistry<() => void>((release) => release());
const ballast = new WeakMap<Buffer, ArrayBuffer>();

let current: Set<Buffer> | undefined;
let largeBuffers: Buffer[] | undefined;

/** Adds a new buffer to the current scope, or leaves it to the garbage collector if there is no scope. */
export function trackBuffer(buffer: Buffer): void {
  if (largeBuffers && isLarge(buffer)) largeBuffers.push(buffer);
  if (current) current.add(buffer);
  else leaveToCollector(buffer);
}

function leaveToCollector(buffer: Buffer): void {
  const { device, memory, byteLength } = buffer;
  collected.register(buffer, () => device.release(memory, byteLength), buffer);
  buffer.isLeftToCollector = true;
  if (isLarge(buffer)) ballast.set(buffer, new ArrayBuffer(byteLength));
}

/** Unregisters a buffer that was freed explicitly. */
export function forgetBuffer(buffer: Buffer): void {
  collected.unregister(buffer);
  ballast.delete(buffer);
}

/** Removes a buffer from the current scope, so that the garbage collector frees it. */
export function keepBuffer(buffer: Buffer): void {
  if (current?.delete(buffer)) leaveToCollector(buffer);
}

/**
 * Runs `body` and frees the buffers created in it, except those that `survivors` returns. The enclosing scope
 * owns the survivors.
 *
 * @param body Receives the live set of buffers that this scope owns.
 */
export function bufferScope<T>(
  body: (made: ReadonlySet<Buffer>) => T,
  survivors: (result: T, made: Set<Buffer>) => Iterable<Buffer>,
): T {
  const parent = current;
  const made = current = new Set<Buffer>();
  let outliving: Buffer[] = [];
  try {
    const result = body(made);
    outliving = [...survivors(result, made)];
    return result;
  } finally {
    current = parent;
    // Kernels free their temporary buffers themselves.
    for (const buffer of outliving) if (made.delete(buffer) && !buffer.freed) trackBuffer(buffer);
    for (const buffer of made) buffer.free();
  }
}

/** Runs `body` and returns the large buffers created in it. A buffer can be listed twice. */
export function listLargeBuffers<T>(body: () => T): { result: T; made: readonly Buffer[] } {
  const outer = largeBuffers;
  const made: Buffer[] = largeBuffers = [];
  try {
    return { result: body(), made };
  } finally {
    largeBuffers = outer;
    for (const buffer of made) if (!buffer.freed) outer?.push(buffer);
  }
}
