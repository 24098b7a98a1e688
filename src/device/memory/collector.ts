/**
 * Buffers that the garbage collector releases. The collector sees a tensor as an object of a hundred bytes, and runs rarely in a
 * loop that uses little memory of JavaScript. It releases buffers in turns of the event loop, and a loop that only awaits
 * finished promises never ends its turn. So buffers are counted: when many wait, the collector is pressed by the
 * allocation of an `ArrayBuffer` that is dropped at once, and functions that read values let the event loop turn.
 */
import { platform } from "../../platform/current.ts";
import type { Buffer } from "../device.ts";

/** Bytes that may wait for the collector before it is pressed, or a quarter of the bytes of all buffers, if more. */
const allowedBytes = 16 * 2 ** 20;
/** Bytes of the `ArrayBuffer` that presses the collector. Its pages are never touched, so that they take no memory. */
const pressBytes = 256 * 2 ** 20;
/** Bytes left to the collector after which the event loop turns. */
const bytesPerTurn = 2 ** 20;
/** Number of new buffers after which the engine's space for young objects is looked at. */
const buffersPerLook = 64;
/** Estimated memory of an empty buffer with its objects. */
const overhead = 512;

/** Bytes of buffers that are left to the collector, in use or not. */
let leftBytes = 0;
/** The collector is pressed when this number of bytes is left to it. */
let pressAt = allowedBytes;
let bytesSinceTurn = 0;

const collected = new FinalizationRegistry<() => void>((release) => release());

/** Leaves a buffer to the garbage collector. */
export function leaveToCollector(buffer: Buffer): void {
  const { device, memory, byteLength } = buffer;
  const release = () => {
    device.release(memory, byteLength);
    count(-byteLength - overhead);
  };
  collected.register(buffer, release, buffer);
  buffer.isLeftToCollector = true;
  if (buffer.serial % buffersPerLook === 0) platform.limitYoungObjects?.();
  count(byteLength + overhead);
}

/** Removes a buffer that was freed explicitly. */
export function takeFromCollector(buffer: Buffer): void {
  collected.unregister(buffer);
  count(-buffer.byteLength - overhead);
}

function count(bytes: number): void {
  leftBytes += bytes;
  if (bytes > 0) bytesSinceTurn += bytes;
  const next = leftBytes + Math.max(allowedBytes, leftBytes / 4);
  if (leftBytes >= pressAt) {
    press();
    pressAt = next;
  } else pressAt = Math.min(pressAt, next);
}

/** The pressing `ArrayBuffer` while it is allocated, so that no compiler can omit the allocation. */
const pressure: { last?: ArrayBuffer } = {};

function press(): void {
  try {
    pressure.last = new ArrayBuffer(pressBytes);
  } catch {
    // The address space is limited.
  }
  pressure.last = undefined;
}

/** Lets the event loop turn if many bytes were left to the collector since its last turn. */
export async function turnForCollector(): Promise<void> {
  if (bytesSinceTurn < bytesPerTurn) return;
  bytesSinceTurn = 0;
  await platform.nextTurn();
}
