import type { Device } from "../device/device.ts";
import { asAnyDevice } from "../device/device_class.ts";

/** Time in milliseconds of the work between two readings. An interrupt waits at most about twice as long. */
const readInterval = 200;

/** Interval in milliseconds at which the event loop runs. */
const turnInterval = 50;

/** Maximum bytes of the uploads between two readings. WebGPU keeps a copy of each until the GPU has read it. */
const maxUploads = 2 ** 28;

/** Waits for all batches queued so far. */
type Read = () => Promise<unknown>;

/**
 * Queues batches ahead of a GPU, and reads measures at intervals of work instead of after each batch, because
 * a wait for WebGPU takes up to 12 ms. A GPU computes one interval while the host queues the next one. On the
 * CPU, batches are complete when they are queued.
 *
 * At intervals the event loop runs, to receive signals and to let the garbage collector free memory.
 */
export class Pipeline {
  readonly #device: Device;
  readonly #synchronize: Read;
  /** The last reading on a GPU, which may still wait for the GPU. */
  #reading: Promise<unknown> = Promise.resolve();
  #readAt = performance.now();
  #turnedAt = performance.now();
  #uploadsAtReading = 0;
  /** Batches since the last reading. */
  #batches = 0;
  /** Number of batches that take the time of an interval, by the time of the batches so far. */
  #batchesPerReading = 1;

  constructor(device: Device) {
    this.#device = device;
    this.#synchronize = () => device.synchronize();
  }

  /**
   * Call this after each batch. Reads if enough batches are queued, and waits for the reading before.
   *
   * @param read Reads the measures of all batches queued so far. Default: only waits for the batches.
   * @param isFull Whether measures must be read before the next batch.
   * @returns Whether measures were read.
   * @throws {Error} The first error of a batch before the reading.
   */
  async next(read = this.#synchronize, isFull = false): Promise<boolean> {
    this.#batches++;
    const isDue = isFull || this.#batches >= this.#batchesPerReading ||
      performance.now() - this.#readAt >= readInterval ||
      this.#uploads - this.#uploadsAtReading >= maxUploads;
    if (isDue) await this.#read(read);
    if (performance.now() - this.#turnedAt >= turnInterval) {
      await new Promise((resolve) => setTimeout(resolve));
      this.#turnedAt = performance.now();
    }
    return isDue;
  }

  /** Reads, and waits for all batches. Parameter, result and errors are those of {@linkcode next}. */
  async finish(read = this.#synchronize): Promise<true> {
    await Promise.all([this.#reading, read()]);
    this.#begin();
    return true;
  }

  async #read(read: Read): Promise<void> {
    const previous = this.#reading;
    const reading = read();
    if (this.#device.kind === "webgpu") {
      this.#reading = reading;
      // A later `await` throws the error. This prevents an unhandled rejection.
      reading.catch(() => {});
      await previous;
    } else {
      await reading;
    }
    const batchesInTime = this.#batches * readInterval / (performance.now() - this.#readAt);
    // The first batches compile kernels, so their time is no guide for many batches.
    this.#batchesPerReading = Math.max(1, Math.min(Math.floor(batchesInTime), 2 * this.#batches));
    this.#begin();
  }

  #begin(): void {
    this.#batches = 0;
    this.#readAt = performance.now();
    this.#uploadsAtReading = this.#uploads;
  }

  /** Bytes uploaded to a GPU so far. */
  get #uploads(): number {
    const device = asAnyDevice(this.#device);
    return device.kind === "webgpu" ? device.statistics.uploaded : 0;
  }
}
