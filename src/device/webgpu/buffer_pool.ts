/** Memory of a GPU, handed out in size classes and reused. */
import type { Reserve } from "../reserve.ts";

/** A piece of a GPU's memory. */
export interface GpuMemory {
  /** Unique among all pieces of a device. */
  readonly id: number;
  readonly buffer: GPUBuffer;
  /** Bytes, those of its size class. */
  readonly size: number;
  /** The last batch of commands that touches it. */
  batch: number;
  /** Whether the GPU may have failed to give it, so that it must not be handed out again. */
  suspect: boolean;
}

const smallestClass = 256;

/** Unused memory that is kept in any case. */
const slack = 64 * 2 ** 20;

/** The size that is allocated for a request: four classes to each power of two, so that less than a fifth is unused. */
export function sizeClass(byteLength: number, limit: number): number {
  if (byteLength <= smallestClass) return smallestClass;
  const step = 2 ** (Math.ceil(Math.log2(byteLength)) - 3);
  return Math.min(Math.ceil(byteLength / step) * step, limit);
}

/**
 * Keeps released memory for the next request of its class. Commands run in the order they were queued, so memory may be
 * handed out again while commands that use it still wait: those of its next owner come later.
 */
export class BufferPool {
  readonly #device: GPUDevice;
  /** Bytes that a binding can hold, a multiple of four. */
  readonly #limit: number;
  readonly #idle = new Map<number, GpuMemory[]>();
  #idleBytes = 0;
  #usedBytes = 0;
  #peakBytes = 0;
  #count = 0;
  /** Buffers taken from the GPU since {@linkcode taken} was called. */
  #taken: GpuMemory[] = [];
  /** Buffers to be destroyed when no queued command uses them. */
  #discarded: GpuMemory[] = [];
  /** Source of memory while commands are captured, to which it goes back. */
  reserve: Reserve<GpuMemory> | undefined;
  /** Takes up what is released but not to be handed out yet. */
  #held: GpuMemory[] | undefined;

  constructor(device: GPUDevice) {
    this.#device = device;
    const { maxBufferSize, maxStorageBufferBindingSize } = device.limits;
    this.#limit = Math.floor(Math.min(maxBufferSize, maxStorageBufferBindingSize) / 4) * 4;
  }

  /** Bytes taken from the GPU: those in use, and all with those kept for reuse. */
  get bytes(): { used: number; total: number } {
    return { used: this.#usedBytes, total: this.#usedBytes + this.#idleBytes };
  }

  /** @throws {RangeError} If the adapter has no buffers of that size. */
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
    const { STORAGE, UNIFORM, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const usage = STORAGE | UNIFORM | COPY_SRC | COPY_DST;
    const buffer = this.#device.createBuffer({ size, usage });
    const memory = { id: this.#count++, buffer, size, batch: -1, suspect: false };
    this.#taken.push(memory);
    return memory;
  }

  /** Buffers taken from the GPU since the last call. */
  taken(): GpuMemory[] {
    const taken = this.#taken;
    this.#taken = [];
    return taken;
  }

  /** Runs `body`, and keeps what it releases from others until `free` is called. */
  hold<T>(body: () => T): { result: T; free: () => void } {
    const before = this.#held;
    const held: GpuMemory[] = this.#held = [];
    try {
      const result = body();
      return { result, free: () => held.splice(0).forEach((memory) => this.release(memory)) };
    } finally {
      this.#held = before;
    }
  }

  release(memory: GpuMemory): void {
    if (this.#held) {
      this.#held.push(memory);
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
   * Destroys what has lain idle longest, until no more is taken than was in use at once lately. Only when all queued
   * commands have been submitted.
   *
   * @param all Whether to destroy everything idle, since the GPU has run out of memory.
   * @returns Whether anything was destroyed.
   */
  trim(all = false): boolean {
    for (const memory of this.#discarded) memory.buffer.destroy();
    this.#discarded = [];
    this.#peakBytes = Math.max(this.#usedBytes, this.#peakBytes * 0.98);
    const kept = all ? this.#usedBytes : 1.25 * this.#peakBytes + slack;
    const excess = () => this.#usedBytes + this.#idleBytes - kept;
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
