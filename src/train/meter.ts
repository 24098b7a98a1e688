import { zeros } from "../tensor/creation.ts";
import { parameter } from "../nn/layer.ts";
import { scope } from "../tensor/scope.ts";
import { stack } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { MeasureSums } from "./checkpoint.ts";
import type { Measures } from "./task.ts";

/** Largest number of batches between two readings. */
const maxPending = 64;

/**
 * Collects the measures of batches on the device, so that a step waits for nothing, and reads them now and then. The sums do
 * not depend on the times of reading: they are taken batch by batch on the host.
 */
export class Meter {
  #samples: number;
  #totals: Record<string, number>;
  /** Sizes of the batches since the last reading. */
  #pending: number[] = [];
  /** Views of the table's rows. */
  #rows: Tensor[] = [];
  /** Measures since the last reading, a row for each batch, written in place. Shape (maxPending, measures). */
  #table?: Tensor;
  /** Names of the measures, in the order of the table's columns. */
  #names: string[] = [];

  /** @param start Sums to go on from. */
  constructor(start: MeasureSums = { samples: 0, totals: {} }) {
    this.#samples = start.samples;
    this.#totals = { ...start.totals };
  }

  /** Whether the next batch must wait for a reading. */
  get isFull(): boolean {
    return this.#pending.length >= maxPending;
  }

  /** Adds the measures of a batch. */
  add(measures: Measures, samples: number): void {
    if (!this.#table) {
      this.#names = Object.keys(measures);
      const begun = Object.keys(this.#totals);
      if (begun.length > 0 && begun.join() !== this.#names.join()) {
        throw new Error(`sums of ${begun.join(", ")} cannot go on with ${this.#names.join(", ")}`);
      }
      const table = this.#table = parameter(zeros([maxPending, this.#names.length]));
      this.#rows = Array.from({ length: maxPending }, (_, i) => table.at(0, i));
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
    if (this.#table && this.#pending.length > 0) {
      const sizes = this.#pending;
      const values = await this.#table.data();
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
