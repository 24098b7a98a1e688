/**
 * The freeing of memory. JavaScript's collector sees a tensor as a hundred bytes and would let gigabytes of device memory
 * pile up behind it. So a scope frees what was made in it and is not returned, at its end; what is made outside any
 * scope is freed by the collector, to which an unused `ArrayBuffer` of the same size shows the true weight.
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

/** Enters a new buffer into the current scope, or leaves it to the collector. */
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

/** Tells the collector that a buffer has been freed before its time. */
export function forgetBuffer(buffer: Buffer): void {
  collected.unregister(buffer);
  ballast.delete(buffer);
}

/** Takes a buffer out of the current scope: the collector frees it when nothing refers to it. */
export function keepBuffer(buffer: Buffer): void {
  if (current?.delete(buffer)) leaveToCollector(buffer);
}

/**
 * Runs `body` and frees the buffers made in it, except those that `survivors` returns. The enclosing scope owns the
 * survivors.
 *
 * @param body Receives the live set of buffers that this scope owns.
 */
export function bufferScope<T>(
  body: (made: ReadonlySet<Buffer>) => T,
  survivors: (result: T, made: Set<Buffer>) => Iterable<Buffer>,
): T {
  const parent = current;
  const made = current = new Set<Buffer>();
  let kept: Buffer[] = [];
  try {
    const result = body(made);
    kept = [...survivors(result, made)];
    return result;
  } finally {
    current = parent;
    // Some a kernel made for itself and has freed already.
    for (const buffer of kept) if (made.delete(buffer) && !buffer.freed) trackBuffer(buffer);
    for (const buffer of made) buffer.free();
  }
}

/** Runs `body` and lists the large buffers made in it, perhaps some twice. */
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
