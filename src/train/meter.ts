import { listed } from "../data/format.ts";
import { zeros } from "../tensor/creation.ts";
import { parameter } from "../nn/layer.ts";
import { tidy } from "../tensor/scope.ts";
import { stack } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { MeasureSums } from "./run/checkpoint.ts";
import type { Measures } from "./task.ts";

/** Maximum number of batches between two readings. */
const maxPending = 64;

/**
 * Collects the measures of batches on the device, so that steps do not wait, and reads them at intervals. The
 * sums do not depend on these intervals: they are computed batch by batch on the host.
 */
export class Meter {
  #samples: number;
  #totals: Record<string, number>;
  /** Sums of the weights, for measures with weights. */
  readonly #weights: Record<string, number> = {};
  /** Batch sizes since the last reading. */
  #pending: number[] = [];
  /** Number of batches whose measures have arrived. */
  #batches = 0;
  /** The last reading. */
  #reading: Promise<unknown> = Promise.resolve();
  /** Views of the rows of `#table`. */
  #rows: Tensor[] = [];
  /** Measures since the last reading, one row per batch, written in place. Shape (maxPending, columns). */
  #table?: Tensor;
  /** Names of the measures, in the order of the columns. */
  #names: string[] = [];
  /** Names of the measures with weights. Their weights are in the columns after the measures. */
  #weighted: string[] = [];

  /** @param start Initial sums. */
  constructor(start: MeasureSums = { samples: 0, totals: {} }) {
    this.#samples = start.samples;
    this.#totals = { ...start.totals };
  }

  /** Whether the table must be read before the next batch. */
  get isFull(): boolean {
    return this.#pending.length >= maxPending;
  }

  /**
   * Adds the measures of a batch.
   *
   * @param weights Mean weight per sample, a scalar, for measures with weights; 1 for the others.
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
        throw new Error(
          `the checkpoint has sums of ${begun.join(", ")}, but the task measures ${this.#names.join(", ")}`,
        );
      }
      const table = this.#table = parameter(
        zeros([maxPending, this.#names.length + this.#weighted.length]),
      );
      this.#rows = Array.from({ length: maxPending }, (_, i) => table.select(0, i));
    }
    const row = this.#rows[this.#pending.length];
    tidy(() => {
      const columns = [
        ...this.#names.map((name) => measures[name]),
        ...this.#weighted.map((name) => weights[name]),
      ];
      row.assign(stack(columns.map((value) => value.cast("float32").reshape([]))));
    });
    this.#pending.push(samples);
  }

  /** Sums over the batches whose measures have arrived. */
  get sums(): WeightedSums {
    return {
      samples: this.#samples,
      totals: { ...this.#totals },
      ...(this.#weighted.length > 0 ? { weights: { ...this.#weights } } : {}),
    };
  }

  /**
   * Reads the measures since the last reading, and adds them to the sums. Other batches can be added before they
   * arrive: the device copies the table first.
   *
   * @param onBatch Called with the loss of each batch, and the number of batches before it.
   */
  read(onBatch: (loss: number, batch: number) => void = () => {}): Promise<void> {
    const table = this.#table;
    const sizes = this.#pending;
    this.#pending = [];
    if (!table || sizes.length === 0) return Promise.resolve();
    // In the order of the batches, whichever reading arrives first.
    const reading = Promise.all([table.data(), this.#reading]).then(([values]) =>
      this.#take(values as Float32Array, sizes, onBatch)
    );
    this.#reading = reading;
    return reading;
  }

  /** Adds the measures of batches to the sums. */
  #take(
    values: Float32Array,
    sizes: readonly number[],
    onBatch: (loss: number, batch: number) => void,
  ): void {
    const width = this.#names.length + this.#weighted.length;
    sizes.forEach((samples, batch) => {
      const row = values.subarray(batch * width, (batch + 1) * width);
      onBatch(row[this.#names.indexOf("loss")], this.#batches++);
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
}

/** Sums of measures. Each measure is multiplied by the number of samples, or by its weights. */
interface WeightedSums extends MeasureSums {
  /** Sums of the weights, for measures with weights. */
  readonly weights?: Readonly<Record<string, number>>;
}

/** Means over samples, weighted for measures with weights. */
export function means({ samples, totals, weights }: WeightedSums): Record<string, number> {
  return Object.fromEntries(
    Object.entries(totals).map(([name, total]) => [name, total / (weights?.[name] ?? samples)]),
  );
}
