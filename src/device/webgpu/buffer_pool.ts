/** Memory of a GPU, allocated in size classes and reused. */
import type { Reserve } from "../memory/reserve.ts";
import { bufferUsage } from "./flags.ts";

/** A buffer of a GPU. */
export interface GpuMemory {
  /** Unique on its device. */
  readonly id: number;
  readonly buffer: GPUBuffer;
  /** Size in bytes: that of a size class. */
  readonly size: number;
  /** The last batch of commands that uses the buffer. */
  batch: number;
  /** Whether the allocation may have failed. The buffer must not be reused. */
  suspect: boolean;
}

const smallestClass = 256;

/** Bytes of unused memory that are never returned to the GPU. */
const slack = 64 * 2 ** 20;

/**
 * The allocated size of a request. There are four size classes per power of two, so less than a fifth is
 * unused.
 */
export function sizeClass(byteLength: number, limit: number): number {
  if (byteLength <= smallestClass) return smallestClass;
  const step = 2 ** (Math.ceil(Math.log2(byteLength)) - 3);
  return Math.min(Math.ceil(byteLength / step) * step, limit);
}

/**
 * Keeps released buffers for later requests of the same size class. A buffer can be reused while queued
 * commands still use it, because commands run in order.
 */
export class BufferPool {
  readonly #device: GPUDevice;
  /** Maximum bytes of a binding, a multiple of four. */
  readonly #limit: number;
  readonly #idle = new Map<number, GpuMemory[]>();
  #idleBytes = 0;
  #usedBytes = 0;
  #peakBytes = 0;
  #count = 0;
  /** Buffers that were created since the last call of {@linkcode takeCreated}. */
  #created: GpuMemory[] = [];
  /** Buffers to destroy when no queued command uses them. */
  #discarded: GpuMemory[] = [];
  /** Reserve of the current capture, which provides memory and receives released memory. */
  reserve: Reserve<GpuMemory> | undefined;
  /** Collects released buffers while releases are deferred. */
  #deferred: GpuMemory[] | undefined;

  constructor(device: GPUDevice) {
    this.#device = device;
    const { maxBufferSize, maxStorageBufferBindingSize } = device.limits;
    this.#limit = Math.floor(Math.min(maxBufferSize, maxStorageBufferBindingSize) / 4) * 4;
  }

  /** Bytes of buffers in use, and of all buffers including idle ones. */
  get bytes(): { used: number; total: number } {
    return { used: this.#usedBytes, total: this.#usedBytes + this.#idleBytes };
  }

  /** @throws {RangeError} If the request exceeds the maximum size of a buffer. */
  allocate(byteLength: number): GpuMemory {
    if (byteLength > this.#limit) {
      throw new RangeError(
        `a tensor of ${byteLength} bytes is too large for this GPU, whose buffers hold ${this.#limit}: ` +
          'split it, or use init({ device: "cpu" })',
      );
    }
    const size = sizeClass(byteLength, this.#limit);
    const reserved = this.reserve?.take(size);
    if (reserved) return reserved;
    const memory = this.#allocate(size);
    this.reserve?.add(memory);
    return memory;
  }

  #allocate(size: number): GpuMemory {
    this.#usedBytes += size;
    this.#peakBytes = Math.max(this.#peakBytes, this.#usedBytes);
    const idle = this.#idle.get(size);
    for (let memory = idle?.pop(); memory; memory = idle?.pop()) {
      this.#idleBytes -= size;
      if (!memory.suspect) return memory;
      this.#discarded.push(memory);
    }
    const { STORAGE, UNIFORM, COPY_SRC, COPY_DST } = bufferUsage;
    const usage = STORAGE | UNIFORM | COPY_SRC | COPY_DST;
    const buffer = this.#device.createBuffer({ size, usage });
    const memory = { id: this.#count++, buffer, size, batch: -1, suspect: false };
    this.#created.push(memory);
    return memory;
  }

  /** Returns the buffers that were created since the last call. */
  takeCreated(): GpuMemory[] {
    const created = this.#created;
    this.#created = [];
    return created;
  }

  /** Runs `body` and defers all releases until `free` is called. */
  deferReleases<T>(body: () => T): { result: T; free: () => void } {
    const before = this.#deferred;
    const deferred: GpuMemory[] = this.#deferred = [];
    try {
      const result = body();
      return { result, free: () => deferred.splice(0).forEach((memory) => this.release(memory)) };
    } finally {
      this.#deferred = before;
    }
  }

  release(memory: GpuMemory): void {
    if (this.#deferred) {
      this.#deferred.push(memory);
      return;
    }
    if (this.reserve?.put(memory, memory.size)) return;
    if (memory.suspect) {
      this.#usedBytes -= memory.size;
      this.#discarded.push(memory);
      return;
    }
    const idle = this.#idle.get(memory.size);
    if (idle) idle.push(memory);
    else this.#idle.set(memory.size, [memory]);
    this.#usedBytes -= memory.size;
    this.#idleBytes += memory.size;
  }

  /**
   * Destroys the buffers that are idle longest, until the total is near the recent peak. All queued commands
   * must have been submitted.
   *
   * @param all Whether to destroy all idle buffers, because the GPU is out of memory.
   * @returns Whether a buffer was destroyed.
   */
  trim(all = false): boolean {
    for (const memory of this.#discarded) memory.buffer.destroy();
    this.#discarded = [];
    this.#peakBytes = Math.max(this.#usedBytes, this.#peakBytes * 0.98);
    const target = all ? this.#usedBytes : 1.25 * this.#peakBytes + slack;
    const excess = () => this.#usedBytes + this.#idleBytes - target;
    if (excess() <= 0) return false;
    const oldest = [...this.#idle.values()].flat().sort((a, b) => a.batch - b.batch);
    for (const memory of oldest) {
      if (excess() <= 0) break;
      const idle = this.#idle.get(memory.size)!;
      idle.splice(idle.indexOf(memory), 1);
      memory.buffer.destroy();
      this.#idleBytes -= memory.size;
    }
    return true;
  }
}
