import { zeros } from "../tensor/creation.ts";
import { parameter } from "../nn/layer.ts";
import { scope } from "../tensor/scope.ts";
import { stack } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { MeasureSums } from "./checkpoint.ts";
import type { Measures } from "./task.ts";

/** Batches between two readings at most. */
const capacity = 64;

/**
 * Collects the measures of batches on the device, so that a step waits for nothing, and reads them now and then. What is
 * read does not depend on when: sums are taken batch by batch on the host.
 */
export class Meter {
  #samples: number;
  #totals: Record<string, number>;
  /** Sizes of the batches since the last reading. */
  #pending: number[] = [];
  /** A row of measures for each of them, written in place. */
  #rows: Tensor[] = [];
  #log?: Tensor;
  #names: string[] = [];

  /** @param start Sums to go on from. */
  constructor(start: MeasureSums = { samples: 0, totals: {} }) {
    this.#samples = start.samples;
    this.#totals = { ...start.totals };
  }

  /** Whether the next batch must wait for a reading. */
  get isFull(): boolean {
    return this.#pending.length >= capacity;
  }

  /** Adds the measures of a batch. */
  add(measures: Measures, samples: number): void {
    if (!this.#log) {
      this.#names = Object.keys(measures);
      const begun = Object.keys(this.#totals);
      if (begun.length > 0 && begun.join() !== this.#names.join()) {
        throw new Error(`sums of ${begun.join(", ")} cannot go on with ${this.#names.join(", ")}`);
      }
      const log = this.#log = parameter(zeros([capacity, this.#names.length]));
      this.#rows = Array.from({ length: capacity }, (_, i) => log.at(0, i));
    }
    const row = this.#rows[this.#pending.length];
    scope(() => row.assign(stack(this.#names.map((name) => measures[name].cast("float32").reshape([])))));
    this.#pending.push(samples);
  }

  /**
   * Reads what was added since the last reading and returns the sums of all.
   *
   * @param onBatch Told each batch's loss.
   */
  async read(onBatch: (loss: number, batch: number) => void = () => {}): Promise<MeasureSums> {
    if (this.#log && this.#pending.length > 0) {
      const sizes = this.#pending;
      const values = await this.#log.data();
      this.#pending = [];
      sizes.forEach((samples, batch) => {
        const row = values.subarray(batch * this.#names.length, (batch + 1) * this.#names.length);
        onBatch(row[this.#names.indexOf("loss")], batch);
        this.#names.forEach((name, i) => this.#totals[name] = (this.#totals[name] ?? 0) + row[i] * samples);
        this.#samples += samples;
      });
    }
    return { samples: this.#samples, totals: { ...this.#totals } };
  }
}

/** Means over samples. */
export function means({ samples, totals }: MeasureSums): Record<string, number> {
  return Object.fromEntries(Object.entries(totals).map(([name, total]) => [name, total / samples]));
}
