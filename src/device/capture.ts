/**
 * Captures the commands that a function queues, so that `jit` can queue them again without calling the
 * function. The commands keep their memory, because they refer to it by address.
 */
import { describeTwoDevices } from "./describe.ts";
import { DeferredKernels, type Fuse } from "./deferred.ts";
import type { Buffer, BufferView, CapturedCommands, DeviceCapture, KernelDevice } from "./device.ts";
import type { TypedArray } from "./dtype.ts";
import { bufferScope } from "./memory/buffer_scope.ts";

/** Numbers that the host computes before each replay. */
interface HostNumbers {
  readonly view: BufferView;
  readonly compute: () => TypedArray;
}

interface Capture {
  readonly device: KernelDevice;
  readonly commands: DeviceCapture;
  readonly buffers: Set<Buffer>;
  readonly numbers: HostNumbers[];
  /** Kernels that wait to be fused. Undefined without fusion. */
  readonly deferred: DeferredKernels | undefined;
}

let current: Capture | undefined;

/** Whether a capture is in progress. */
export function isCapturing(): boolean {
  return current !== undefined;
}

/** Whether a buffer was created during the capture. Its content is unknown until the commands run. */
export function isCaptured(buffer: Buffer): boolean {
  return current !== undefined && current.buffers.has(buffer);
}

/** Result and commands of a finished capture. */
export interface Captured<T> {
  readonly result: T;
  readonly commands: CapturedCommands;
  /** Numbers to write before each replay. */
  readonly numbers: readonly HostNumbers[];
  /**
   * Buffers that outlive the capture. The commands write to their memory, so these references keep the
   * garbage collector from freeing it.
   */
  readonly outliving: readonly Buffer[];
}

/**
 * Runs `body` once and captures the commands that it queues. Frees the buffers of `body`, except those left
 * to the garbage collector.
 *
 * @param fuse Fuses kernels before they are queued. Default: each kernel is queued at once.
 * @throws {Error} If the body reads values back, or uses another device.
 */
export function capture<T>(device: KernelDevice, body: () => T, fuse?: Fuse): Captured<T> {
  if (current) throw new Error("commands are being captured already");
  const commands = device.capture();
  commands.setActive(true);
  const deferred = fuse && new DeferredKernels(device, fuse);
  const started: Capture = current = { device, commands, buffers: new Set(), numbers: [], deferred };
  let outliving: Buffer[] = [];
  const end = () => {
    current = undefined;
    outliving = [...started.buffers].filter((buffer) => !buffer.freed);
    commands.setActive(false);
    const [list, { reserve }] = [commands.list(), commands];
    reserve.remove(outliving.map(({ memory }) => memory));
    const blocks = reserve.blocks();
    return {
      play: () => list.forEach((command) => command()),
      free: () => blocks.splice(0).forEach((block) => commands.release(block)),
    };
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
  return { result, commands: end(), numbers: started.numbers, outliving };
}

/**
 * Runs `body` with the capture paused, for work that is done only once and whose results outlive the
 * commands.
 */
export function outsideCapture<T>(body: () => T): T {
  const before = current;
  if (!before) return body();
  current = undefined;
  before.commands.setActive(false);
  try {
    return body();
  } finally {
    before.commands.setActive(true);
    current = before;
  }
}

/** The device on which kernels are called: during a capture with fusion, a device that defers them. */
export function kernelDevice(device: KernelDevice): KernelDevice {
  return current?.deferred && current.device === device ? current.deferred.device : device;
}

/**
 * Queues the deferred kernels.
 *
 * @param results Buffers that are read later. All other memory of the capture is released.
 */
export function flushDeferred(results: ReadonlySet<Buffer>): void {
  const { deferred, buffers } = current!;
  deferred?.flush((buffer) => buffers.has(buffer) && !buffer.isLeftToCollector && !results.has(buffer));
}

/** Queues the deferred kernels, then runs `body` without deferring its kernels. */
export function withoutDeferring<T>(body: () => T): T {
  return current?.deferred ? current.deferred.suspend(body) : body();
}

/** Whether a new buffer gets its memory at first use. Values inside fused kernels then need no memory. */
export function isAllocationDeferred(): boolean {
  return current?.deferred !== undefined && !current.deferred.isSuspended;
}

/** Defers the release of a buffer until the deferred kernels that use the buffer have run. Returns false if no kernel does. */
export function deferRelease(buffer: Buffer): boolean {
  return current?.deferred?.releaseLater(buffer) ?? false;
}

/** Adds numbers that the host computes before each replay. */
export function addHostNumbers(numbers: HostNumbers): void {
  current!.numbers.push(numbers);
}

/**
 * Registers a new buffer in the current capture.
 *
 * @throws {JitError} If the buffer is on another device.
 */
export function registerBuffer(buffer: Buffer): void {
  if (!current) return;
  registerUse(buffer);
  current.buffers.add(buffer);
}

/**
 * Prepares the use of a buffer's memory: queues the deferred kernels that read or write the buffer.
 *
 * @throws {JitError} If the buffer is on another device than the captured one.
 */
export function registerUse(buffer: Buffer): void {
  const { device } = buffer;
  if (!current) return;
  if (device === current.device) return current.deferred?.flushFor(buffer);
  throw new JitError(
    `jit: the device is that of the first argument, or of init, but ${
      describeTwoDevices(current.device.info.kind, device.info.kind)
    }`,
  );
}

/** A function that `jit` cannot trace. The message says why. */
export class JitError extends Error {
  /** `"JitError"`. */
  override name = "JitError";
}

/** @throws {JitError} During a capture, because values are not computed yet. */
export function refuseReading(): void {
  if (!current) return;
  throw new JitError(
    "jit: the function reads values back (data, item, toArray, or a check of values), but while it is traced they are not known " +
      "for later calls: return the tensor and read it outside; choose between values with condition.where(a, b); pass numbers that " +
      "decide what is computed as plain numbers",
  );
}
