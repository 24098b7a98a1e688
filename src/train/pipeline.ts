import type { Device } from "../device/device.ts";

/**
 * Keeps the host at most one batch ahead of the GPU. The GPU never waits for the next batch, and a signal
 * never waits for a long queue.
 */
export class Pipeline {
  readonly #device: Device;
  #previous: Promise<void> = Promise.resolve();

  constructor(device: Device) {
    this.#device = device;
  }

  /** Waits for the batch before the last queued batch. */
  async next(): Promise<void> {
    const previous = this.#previous;
    this.#previous = this.#device.synchronize();
    // A later `await` throws the error. This prevents an unhandled rejection.
    this.#previous.catch(() => {});
    await previous;
  }
}
