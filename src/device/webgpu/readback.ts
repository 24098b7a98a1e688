/** Copies from a GPU to the host. */

import { bufferUsage, mapRead } from "./flags.ts";

/** A mappable buffer for reads, which several reads share. */
interface Staging {
  readonly buffer: GPUBuffer;
  readonly size: number;
  used: number;
  readonly deliver: ((mapped: ArrayBuffer) => void)[];
  readonly fail: ((error: unknown) => void)[];
}

/** Bytes of a read in a mappable buffer, and their values when they arrive. */
interface Reservation {
  readonly buffer: GPUBuffer;
  readonly offset: number;
  readonly values: Promise<ArrayBuffer>;
}

/** Mappable buffers that receive copies of tensors. */
export class Readback {
  readonly #device: GPUDevice;
  /** Buffers of reads that are not submitted. */
  #open: Staging[] = [];
  readonly #idle = new Map<number, GPUBuffer[]>();
  #waits = 0;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Number of buffers that were mapped so far. */
  get waits(): number {
    return this.#waits;
  }

  /** Reserves bytes for a copy, whose command the caller records. */
  reserve(size: number): Reservation {
    let staging = this.#open.find(({ used, size: total }) => used + size <= total);
    if (!staging) this.#open.push(staging = this.#newStaging(size));
    const offset = staging.used;
    // Mapped ranges must start at multiples of eight.
    staging.used = Math.ceil((offset + size) / 8) * 8;
    const { promise, resolve, reject } = Promise.withResolvers<ArrayBuffer>();
    staging.deliver.push((mapped) => resolve(mapped.slice(offset, offset + size)));
    staging.fail.push(reject);
    return { buffer: staging.buffer, offset, values: promise };
  }

  /** Reads the reserved bytes. Their copies must have been submitted. */
  deliver(): void {
    for (const staging of this.#open) this.#deliver(staging);
    this.#open = [];
  }

  #newStaging(byteLength: number): Staging {
    const size = Math.max(4096, 2 ** Math.ceil(Math.log2(byteLength)));
    const fitting = size > this.#device.limits.maxBufferSize ? Math.ceil(byteLength / 8) * 8 : size;
    const buffer = this.#idle.get(fitting)?.pop() ?? this.#device.createBuffer({
      label: "staging",
      size: fitting,
      usage: bufferUsage.MAP_READ | bufferUsage.COPY_DST,
    });
    return { buffer, size: fitting, used: 0, deliver: [], fail: [] };
  }

  /**
   * Maps a staging buffer, copies its content and unmaps it, because some implementations hang when a device
   * is destroyed with a mapped buffer.
   */
  async #deliver({ buffer, size, used, deliver, fail }: Staging): Promise<void> {
    this.#waits++;
    try {
      await buffer.mapAsync(mapRead, 0, used);
      const mapped = buffer.getMappedRange(0, used);
      for (const hand of deliver) hand(mapped);
      buffer.unmap();
    } catch (error) {
      for (const reject of fail) reject(error);
      buffer.destroy();
      return;
    }
    const idle = this.#idle.get(size) ?? [];
    this.#idle.set(size, idle);
    if (idle.length < 2 && size <= 2 ** 24) idle.push(buffer);
    else buffer.destroy();
  }
}
