/** Means of blocks of rows, which shorten long series. */

/** Sums of a block of rows, as plain JSON. */
export interface BlockSums {
  /** Number of rows, at least 1. */
  readonly rows: number;
  /** Time of the first row. */
  readonly first: number;
  /** Sum of the times since the first row. */
  readonly since: number;
  /** Sum of the known values of each channel. */
  readonly sums: readonly number[];
  /** Number of known values of each channel. */
  readonly counts: readonly number[];
}

/** Mean of the rows of a block, row by row. */
export class BlockMean {
  #rows = 0;
  #first = 0;
  #since = 0;
  readonly #sums: Float64Array;
  readonly #counts: Float64Array;

  /** Starts a block, or resumes a block with some rows. @param channels Number of channels. */
  constructor(channels: number, saved?: BlockSums) {
    this.#sums = saved ? new Float64Array(saved.sums) : new Float64Array(channels);
    this.#counts = saved ? new Float64Array(saved.counts) : new Float64Array(channels);
    if (saved) [this.#rows, this.#first, this.#since] = [saved.rows, saved.first, saved.since];
  }

  /** Adds a row. @param values Value of each channel, NaN if not observed. */
  add(time: number, values: ArrayLike<number>): void {
    if (this.#rows++ === 0) this.#first = time;
    // Dates are large numbers: their sum would be rounded.
    this.#since += time - this.#first;
    for (let channel = 0; channel < this.#sums.length; channel++) {
      if (Number.isNaN(values[channel])) continue;
      this.#sums[channel] += values[channel];
      this.#counts[channel]++;
    }
  }

  /** Number of rows so far. */
  get rows(): number {
    return this.#rows;
  }

  /** Mean of the times. */
  get time(): number {
    return this.#first + this.#since / this.#rows;
  }

  /** Mean of the known values of each channel; NaN without a known value. */
  get values(): Float64Array {
    return this.#sums.map((sum, channel) => sum / this.#counts[channel]);
  }

  /** The sums, which resume the block later. */
  save(): BlockSums {
    return {
      ...{ rows: this.#rows, first: this.#first, since: this.#since },
      ...{ sums: Array.from(this.#sums), counts: Array.from(this.#counts) },
    };
  }
}
