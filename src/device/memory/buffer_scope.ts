/**
 * Lifetime of buffers. The garbage collector sees a tensor as an object of a hundred bytes, so unused tensors
 * would occupy gigabytes of device memory before a collection. A scope therefore frees its buffers at its
 * end, except those that its function returns. The garbage collector frees buffers outside any scope.
 */
import { leaveToCollector } from "./collector.ts";
import type { Buffer } from "../device.ts";

/**
 * Smallest size of a large buffer, in bytes. A reverse pass frees smaller buffers at its end, since freeing each of them early
 * would take longer than the kernels of small tensors.
 */
const largeBytes = 16 * 1024;

/** Whether freeing a buffer early is worth the time. */
export function isLarge({ byteLength }: Buffer): boolean {
  return byteLength >= largeBytes;
}

let current: Set<Buffer> | undefined;
let largeBuffers: Buffer[] | undefined;

/** Adds a new buffer to the current scope, or leaves it to the garbage collector if there is no scope. */
export function trackBuffer(buffer: Buffer): void {
  if (largeBuffers && isLarge(buffer)) largeBuffers.push(buffer);
  if (current) current.add(buffer);
  else leaveToCollector(buffer);
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
  body: (owned: ReadonlySet<Buffer>) => T,
  survivors: (result: T, owned: Set<Buffer>) => Iterable<Buffer>,
): T {
  const parent = current;
  const owned = current = new Set<Buffer>();
  let outliving: Buffer[] = [];
  try {
    const result = body(owned);
    outliving = [...survivors(result, owned)];
    return result;
  } finally {
    current = parent;
    // Kernels free their temporary buffers themselves.
    for (const buffer of outliving) if (owned.delete(buffer) && !buffer.freed) trackBuffer(buffer);
    for (const buffer of owned) buffer.free();
  }
}

/** Buffers that the last call of {@linkcode callScope} made and did not return. */
let unreturned = new Set<Buffer>();

/** Bytes of unreturned buffers that are kept until the next call. */
const keptBytes = 64 * 2 ** 20;

/**
 * Runs `body`, a call of a model outside any scope, and frees the buffers created in it, except those that `survivors` returns.
 * A function may store a tensor for later, such as a mask that it makes once. So buffers are kept until the next call has
 * ended, the smallest ones if there are many bytes; a buffer that is used before is left to the garbage collector.
 *
 * @param survivors Returns undefined if the result can contain any of the buffers.
 */
export function callScope<T>(body: () => T, survivors: (result: T) => Iterable<Buffer> | undefined): T {
  if (current) return body();
  const created = current = new Set<Buffer>();
  let outliving: Iterable<Buffer> | undefined = [];
  try {
    const result = body();
    outliving = survivors(result);
    return result;
  } finally {
    current = undefined;
    for (const buffer of outliving ?? [...created]) {
      if (created.delete(buffer) && !buffer.freed) trackBuffer(buffer);
    }
    for (const buffer of unreturned) if (buffer.isUnreturned) buffer.free();
    unreturned = smallestOf(created);
  }
}

/** Frees buffers, except the smallest ones. Returns those. */
function smallestOf(buffers: Set<Buffer>): Set<Buffer> {
  let bytes = 0;
  for (const { byteLength } of buffers) bytes += byteLength;
  const largest = bytes > keptBytes ? [...buffers].sort((a, b) => b.byteLength - a.byteLength) : [];
  for (const buffer of largest) {
    if (bytes <= keptBytes) break;
    bytes -= buffer.byteLength;
    buffers.delete(buffer);
    buffer.free();
  }
  for (const buffer of buffers) buffer.isUnreturned = true;
  return buffers;
}

/** Leaves a buffer to the garbage collector that was not returned, but stored and used. */
export function reviveBuffer(buffer: Buffer): void {
  buffer.isUnreturned = false;
  leaveToCollector(buffer);
}

/** Runs `body` and returns the large buffers created in it. A buffer can be listed twice. */
export function listLargeBuffers<T>(body: () => T): { result: T; buffers: readonly Buffer[] } {
  const outer = largeBuffers;
  const buffers: Buffer[] = largeBuffers = [];
  try {
    return { result: body(), buffers };
  } finally {
    largeBuffers = outer;
    for (const buffer of buffers) if (!buffer.freed) outer?.push(buffer);
  }
}
