/**
 * Commands of a device that are kept while a function queues them, to be queued again without the function: what `jit` replays.
 * The memory that the function takes stays the commands' own, so that they find it again.
 */
import { DeferredKernels, type Fuse } from "./deferred.ts";
import type { Buffer, BufferView, CapturedCommands, Device, DeviceCapture } from "./device.ts";
import type { TypedArray } from "./dtype.ts";
import { bufferScope } from "./buffer_scope.ts";

/** Numbers of the host that commands read anew each time. */
interface HostNumbers {
  readonly view: BufferView;
  readonly compute: () => TypedArray;
}

interface Capture {
  readonly device: Device;
  readonly commands: DeviceCapture;
  readonly made: Set<Buffer>;
  readonly numbers: HostNumbers[];
  /** Kernels that wait to be fused, if they are. */
  readonly deferred: DeferredKernels | undefined;
}

let current: Capture | undefined;

/** Whether commands are being captured. */
export function isCapturing(): boolean {
  return current !== undefined;
}

/** Whether a buffer was made since the capture began, so that its content is known only when the commands run. */
export function isCaptured(buffer: Buffer): boolean {
  return current !== undefined && current.made.has(buffer);
}

/** A capture that has ended: its result, and its commands. */
export interface Captured<T> {
  readonly result: T;
  readonly commands: CapturedCommands;
  /** Numbers to be written before the commands are played. */
  readonly numbers: readonly HostNumbers[];
  /** Buffers that outlive the capture, whose memory the commands still write to: held, it is not collected before they are. */
  readonly kept: readonly Buffer[];
}

/**
 * Runs `body` once and keeps the commands that it queues. What it has allocated is freed, but for what was left to the collector.
 *
 * @param fuse Fuses kernels before they are queued. By default each kernel is queued at once.
 * @throws {Error} If the body reads values back, or uses another device.
 */
export function capture<T>(device: Device, body: () => T, fuse?: Fuse): Captured<T> {
  if (current) throw new Error("commands are being captured already");
  const commands = device.capture();
  const deferred = fuse && new DeferredKernels(device, fuse);
  const own: Capture = current = { device, commands, made: new Set(), numbers: [], deferred };
  let kept: Buffer[] = [];
  const end = () => {
    current = undefined;
    kept = [...own.made].filter((buffer) => !buffer.freed);
    return commands.end(kept.map(({ memory }) => memory));
  };
  let result: T;
  try {
    result = bufferScope(body, () => []);
    deferred?.flush();
  } catch (error) {
    // Assignments before the error take effect.
    deferred?.flush();
    end().free();
    throw error;
  }
  return { result, commands: end(), numbers: own.numbers, kept };
}

/** Runs `body` as if nothing were captured: for what outlives the commands, and is done once. */
export function outsideCapture<T>(body: () => T): T {
  const before = current;
  if (!before) return body();
  current = undefined;
  before.commands.pause();
  try {
    return body();
  } finally {
    before.commands.resume();
    current = before;
  }
}

/** The device that queues kernels: while kernels are captured to be fused, one that defers them. */
export function kernelDevice(device: Device): Device {
  return current?.deferred && current.device === device ? current.deferred.device : device;
}

/**
 * Queues the deferred kernels.
 *
 * @param results Buffers that are read later. All other memory of the capture is released.
 */
export function flushDeferred(results: ReadonlySet<Buffer>): void {
  const { deferred, made } = current!;
  deferred?.flush((buffer) => made.has(buffer) && !buffer.isLeftToCollector && !results.has(buffer));
}

/** Runs `body`, which queues kernels on the device itself, after the deferred kernels. */
export function withoutDeferring<T>(body: () => T): T {
  return current?.deferred ? current.deferred.suspend(body) : body();
}

/** Whether a new buffer gets its memory on first use, so that values inside fused kernels take none. */
export function isAllocationDeferred(): boolean {
  return current?.deferred !== undefined && !current.deferred.isSuspended;
}

/** Defers the release of a buffer until the deferred kernels that use the buffer have run. Returns false if no kernel does. */
export function deferRelease(buffer: Buffer): boolean {
  return current?.deferred?.releaseLater(buffer) ?? false;
}

/** Adds numbers that are written anew before each time that the captured commands are played. */
export function addHostNumbers(numbers: HostNumbers): void {
  current!.numbers.push(numbers);
}

/**
 * Tells of a buffer before it takes memory.
 *
 * @throws {Error} If it is on another device.
 */
export function registerBuffer(buffer: Buffer): void {
  if (!current) return;
  registerUse(buffer);
  current.made.add(buffer);
}

/**
 * Tells that a buffer's memory is used.
 *
 * @throws {Error} If it is on another device.
 */
export function registerUse(buffer: Buffer): void {
  const { device } = buffer;
  if (!current) return;
  if (device === current.device) return current.deferred?.flushFor(buffer);
  throw new JitError(
    `jit: the function was traced on ${current.device.info.kind}, where its first argument or init is, but uses a tensor on ` +
      `${device.info.kind}; move one with await x.to(device)`,
  );
}

/** Says why a function cannot be traced. */
export class JitError extends Error {
  /** `"JitError"`. */
  override name = "JitError";
}

/** @throws {JitError} While commands are captured, when there is nothing to be read yet. */
export function refuseReading(): void {
  if (!current) return;
  throw new JitError(
    "jit: the function reads values back (data, item, toArray, or a check of values), but while it is traced they are not known " +
      "for later calls: return the tensor and read it outside; choose between values with condition.where(a, b); pass numbers that " +
      "decide what is computed as plain numbers",
  );
}
