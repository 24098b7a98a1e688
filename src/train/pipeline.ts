import type { Device } from "../device/device.ts";

/**
 * Keeps a GPU one batch behind the host: it never waits for the next one, and a signal never waits for a long queue.
 */
export class Pipeline {
  readonly #device: Device;
  #previous: Promise<void> = Promise.resolve();

  constructor(device: Device) {
    this.#device = device;
  }

  /** Waits for the batch before the one that was queued last. */
  async next(): Promise<void> {
    const previous = this.#previous;
    this.#previous = this.#device.synchronize();
    // Its error is thrown when it is waited for.
    this.#previous.catch(() => {});
    await previous;
  }
}
