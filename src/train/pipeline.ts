import type { Device } from "../device/device.ts";

/** Interval in milliseconds at which the event loop runs. */
const turnInterval = 50;

/**
 * Keeps the host at most one batch ahead of the GPU. The GPU never waits for the next batch, and a signal
 * never waits for a long queue. At intervals the event loop runs, to receive signals and to let the garbage
 * collector free memory.
 */
export class Pipeline {
  readonly #device: Device;
  #previous: Promise<void> = Promise.resolve();
  #turned = performance.now();

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
    if (performance.now() - this.#turned < turnInterval) return;
    await new Promise((resolve) => setTimeout(resolve));
    this.#turned = performance.now();
  }
}
