import { listed } from "../data/format.ts";
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
  /** Sums of the weights of the measures that have some, by the measure. */
  readonly #weights: Record<string, number> = {};
  /** Sizes of the batches since the last reading. */
  #pending: number[] = [];
  /** Views of the table's rows. */
  #rows: Tensor[] = [];
  /** Measures since the last reading, a row for each batch, written in place. Shape (maxPending, measures). */
  #table?: Tensor;
  /** Names of the measures, in the order of the table's columns. */
  #names: string[] = [];
  /** Names of the measures with weights, in the order of the columns after those of the measures. */
  #weighted: string[] = [];

  /** @param start Sums to go on from. */
  constructor(start: MeasureSums = { samples: 0, totals: {} }) {
    this.#samples = start.samples;
    this.#totals = { ...start.totals };
  }

  /** Whether the next batch must wait for a reading. */
  get isFull(): boolean {
    return this.#pending.length >= maxPending;
  }

  /**
   * Adds the measures of a batch.
   *
   * @param weights Weight of a sample of the batch in some of the measures, on average and of no axes; 1 in the others.
   */
  add(measures: Measures, samples: number, weights: Readonly<Record<string, Tensor>> = {}): void {
    if (!this.#table) {
      this.#names = Object.keys(measures);
      this.#weighted = Object.keys(weights);
      const unknown = this.#weighted.filter((name) => !this.#names.includes(name));
      if (unknown.length > 0) {
        throw new Error(
          `weights of ${listed(unknown)}, which the task does not measure; it measures ${
            listed(this.#names, Infinity)
          }`,
        );
      }
      const begun = Object.keys(this.#totals);
      if (begun.length > 0 && begun.join() !== this.#names.join()) {
        throw new Error(`sums of ${begun.join(", ")} cannot go on with ${this.#names.join(", ")}`);
      }
      const table = this.#table = parameter(
        zeros([maxPending, this.#names.length + this.#weighted.length]),
      );
      this.#rows = Array.from({ length: maxPending }, (_, i) => table.at(0, i));
    }
    const row = this.#rows[this.#pending.length];
    scope(() => {
      const columns = [
        ...this.#names.map((name) => measures[name]),
        ...this.#weighted.map((name) => weights[name]),
      ];
      row.assign(stack(columns.map((value) => value.cast("float32").reshape([]))));
    });
    this.#pending.push(samples);
  }

  /**
   * Reads what was added since the last reading and returns the sums of all.
   *
   * @param onBatch Told each batch's loss.
   */
  async read(onBatch: (loss: number, batch: number) => void = () => {}): Promise<WeightedSums> {
    if (this.#table && this.#pending.length > 0) {
      const sizes = this.#pending;
      const values = await this.#table.data();
      this.#pending = [];
      const width = this.#names.length + this.#weighted.length;
      sizes.forEach((samples, batch) => {
        const row = values.subarray(batch * width, (batch + 1) * width);
        onBatch(row[this.#names.indexOf("loss")], batch);
        const weights = new Map(
          this.#weighted.map((name, i) => [name, row[this.#names.length + i] * samples]),
        );
        for (const [name, weight] of weights) this.#weights[name] = (this.#weights[name] ?? 0) + weight;
        this.#names.forEach((name, i) => {
          this.#totals[name] = (this.#totals[name] ?? 0) + row[i] * (weights.get(name) ?? samples);
        });
        this.#samples += samples;
      });
    }
    return {
      samples: this.#samples,
      totals: { ...this.#totals },
      ...(this.#weighted.length > 0 ? { weights: { ...this.#weights } } : {}),
    };
  }
}

/** Sums of measures, each multiplied with the number of samples or, where it has weights, with these. */
export interface WeightedSums extends MeasureSums {
  /** Sums of the weights of the measures that have some, by the measure. */
  readonly weights?: Readonly<Record<string, number>>;
}

/** Means over samples, weighted where a measure has weights. */
export function means({ samples, totals, weights }: WeightedSums): Record<string, number> {
  return Object.fromEntries(
    Object.entries(totals).map(([name, total]) => [name, total / (weights?.[name] ?? samples)]),
  );
}
