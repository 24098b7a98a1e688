/**
 * Kernels that are deferred until the function that queues them has returned. Only then is it known which
 * results are read later, so that elementwise kernels can be fused, kernels without readers dropped, and
 * memory released after its last use.
 */
import {
  type Buffer,
  type BufferView,
  type DeviceKernels,
  kernelCalls,
  type KernelDevice,
  type KernelName,
  type View,
} from "./device.ts";
import type { ScalarFunction } from "./scalar/scalar.ts";

/** The operands of a kernel, whatever its arguments are. */
interface Call {
  readonly operands: (...args: unknown[]) => readonly [reads: readonly View[], output: BufferView];
}

/** A deferred kernel. */
export interface DeferredKernel {
  /** The scalar function of an elementwise kernel. Other kernels have none. */
  readonly fn?: ScalarFunction;
  readonly inputs: readonly View[];
  readonly output: BufferView;
  /** Queues the kernel on the device. */
  readonly run: () => void;
}

/**
 * Rewrites kernels to fewer kernels with the same results.
 *
 * @param isReleased Whether nothing reads a buffer after these kernels.
 */
export type Fuse = (
  device: KernelDevice,
  kernels: readonly DeferredKernel[],
  isReleased: (buffer: Buffer) => boolean,
) => readonly DeferredKernel[];

/** The deferred kernels of a capture. */
export class DeferredKernels {
  /** The device, with deferred kernels. */
  readonly device: KernelDevice;
  /** Whether kernels are queued and memory allocated immediately. */
  isSuspended = false;
  readonly #base: KernelDevice;
  readonly #fuse: Fuse;
  #kernels: DeferredKernel[] = [];
  /** Buffers that the kernels read or write. */
  #used = new Set<Buffer>();
  /** Freed buffers that deferred kernels still use. */
  readonly #freed = new Set<Buffer>();

  constructor(device: KernelDevice, fuse: Fuse) {
    this.#base = device;
    this.#fuse = fuse;
    const defer = (inputs: readonly View[], output: BufferView, run: () => void, fn?: ScalarFunction) => {
      if (this.isSuspended) return run();
      this.#kernels.push({ fn, inputs, output, run });
      this.#used.add(output.source);
      for (const { source } of inputs) if (typeof source !== "number") this.#used.add(source);
    };
    const kernels = Object.fromEntries(
      Object.entries(kernelCalls as Record<string, Call>).map(([name, { operands }]) => {
        const queue = (device as unknown as Record<string, (...args: unknown[]) => void>)[name];
        return [name, (...args: unknown[]) => {
          const [reads, output] = operands(...args);
          defer(
            reads,
            output,
            () => queue.apply(device, args),
            name === "map" ? args[0] as ScalarFunction : undefined,
          );
        }];
      }),
    ) as unknown as Pick<DeviceKernels, KernelName>;
    this.device = {
      kind: device.kind,
      info: device.info,
      base: device,
      allocate: (byteLength) => device.allocate(byteLength),
      release: (memory, byteLength) => device.release(memory, byteLength),
      write: (buffer, words) => device.write(buffer, words),
      read: (views) => device.read(views),
      readSync: device.readSync && ((view) => device.readSync!(view)),
      capture: () => device.capture(),
      runOnHost: (command) => device.runOnHost(command),
      repeat: (count, iteration) => device.repeat(count, iteration),
      get usedBytes() {
        return device.usedBytes;
      },
      synchronize: () => device.synchronize(),
      destroy: () => device.destroy(),
      ...kernels,
    };
  }

  /** Queues the deferred kernels if they read or write a buffer that is about to be accessed. */
  flushFor(buffer: Buffer): void {
    if (this.#used.has(buffer) && !this.isSuspended) this.flush();
  }

  /** Postpones the release of a freed buffer if deferred kernels use it. Returns false if none does. */
  releaseLater(buffer: Buffer): boolean {
    if (!this.#used.has(buffer) || this.isSuspended) return false;
    this.#freed.add(buffer);
    return true;
  }

  /**
   * Fuses the deferred kernels and queues them.
   *
   * @param isUnread Whether nothing reads a buffer later. Freed buffers are never read later.
   */
  flush(isUnread: (buffer: Buffer) => boolean = () => false): void {
    if (this.#kernels.length === 0) return;
    const used = this.#used;
    const isReleased = (buffer: Buffer) => this.#freed.has(buffer) || isUnread(buffer);
    const kernels = this.#fuse(this.#base, this.#kernels, isReleased);
    this.#kernels = [];
    this.#used = new Set();
    const lastUses = new Map<Buffer, number>();
    kernels.forEach(({ inputs, output }, i) => {
      for (const { source } of [...inputs, output]) if (typeof source !== "number") lastUses.set(source, i);
    });
    const released = kernels.map((): Buffer[] => []);
    for (const [buffer, i] of lastUses) if (isReleased(buffer)) released[i].push(buffer);
    for (const buffer of this.#freed) buffer.reopen();
    const wasSuspended = this.isSuspended;
    this.isSuspended = true;
    try {
      kernels.forEach(({ run }, i) => {
        run();
        for (const buffer of released[i]) buffer.free();
      });
    } finally {
      this.isSuspended = wasSuspended;
      for (const buffer of used) if (isReleased(buffer)) buffer.free();
      this.#freed.clear();
    }
  }

  /** Queues the deferred kernels, then runs `body` without deferring its kernels. */
  suspend<T>(body: () => T): T {
    this.flush();
    const before = this.isSuspended;
    this.isSuspended = true;
    try {
      return body();
    } finally {
      this.isSuspended = before;
    }
  }
}
