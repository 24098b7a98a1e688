import { describe } from "../device/describe.ts";
import { checkCount } from "../nn/layer.ts";
import { tensor } from "../tensor/creation.ts";
import { foldIn, type Key, randpermArray } from "../tensor/random.ts";
import { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeLeaves, treeMap } from "../tensor/tree.ts";

/** Samples of which only those of a batch become tensors: all of them would take too much memory. */
export interface BatchSource<Batch extends Tree> {
  /** Number of samples. */
  readonly count: number;
  /** Makes the tensors of some samples. @param positions Positions of the samples, from 0. */
  batch(positions: ArrayLike<number>): Batch;
}

/** Whether data are a source that makes each batch on demand, instead of tensors. */
export function isBatchSource<Batch extends Tree>(
  data: Batch | BatchSource<Batch>,
): data is BatchSource<Batch> {
  return typeof (data as { batch?: unknown } | null | undefined)?.batch === "function";
}

/**
 * Number of samples in a structure of tensors: the length of the first axis.
 *
 * @throws {TypeError} If there are no tensors.
 * @throws {Error} If the tensors' first axes differ in length.
 */
export function sampleCount<Batch extends Tree>(data: Batch | BatchSource<Batch>): number {
  if (isBatchSource(data)) return data.count;
  const counts = new Set(treeLeaves(data).map(({ shape }) => shape[0]));
  if (counts.size === 0) throw new TypeError(`data: no tensors in ${describe(data)}`);
  if (counts.size !== 1) {
    throw new Error(`data: first axes of lengths ${[...counts]}, expected the same number of samples`);
  }
  return counts.values().next().value!;
}

/**
 * Selects samples from each tensor of a structure. Returns a structure of the same kind.
 *
 * @param data Tensors with samples along their first axes, or their source.
 * @param positions Positions of the samples, from 0; an int32 tensor `(batch)` or numbers.
 */
export function takeSamples<Batch extends Tree>(
  data: Batch | BatchSource<Batch>,
  positions: ArrayLike<number>,
): Batch;
/** As above, for tensors alone. */
export function takeSamples<Batch extends Tree>(data: Batch, positions: Tensor): Batch;
export function takeSamples<Batch extends Tree>(
  data: Batch | BatchSource<Batch>,
  positions: Tensor | ArrayLike<number>,
): Batch {
  if (!(positions instanceof Tensor || Array.isArray(positions) || ArrayBuffer.isView(positions))) {
    throw new TypeError(`takeSamples: the positions are ${describe(positions)}, expected whole numbers`);
  }
  if (isBatchSource(data)) return data.batch(positions as ArrayLike<number>);
  const indices = positions instanceof Tensor
    ? positions
    : tensor(Int32Array.from(positions), { dtype: "int32" });
  return treeMap(data, (x) => x.take(indices));
}

/**
 * Splits an order of samples into batches.
 *
 * @param order Positions of the samples.
 * @param size Batch size, at least 1. The last batch may have fewer samples.
 * @throws {RangeError} If the size is not a positive integer.
 */
export function inBatches(order: Int32Array, size: number): Int32Array[] {
  if (!(order instanceof Int32Array)) {
    throw new TypeError(`inBatches: the order is ${describe(order)}, expected an Int32Array`);
  }
  checkCount("inBatches", "size", size);
  return Array.from(
    { length: Math.ceil(order.length / size) },
    (_, i) => order.subarray(i * size, (i + 1) * size),
  );
}

/** Different sizes of the batches of {@linkcode inBatches}: one or two, the larger first. */
export function batchSizes(samples: number, size: number): number[] {
  return [...new Set([Math.min(size, samples), samples % size])].filter((count) => count > 0);
}

/**
 * Order of the samples in an epoch. It depends on the arguments alone.
 *
 * @param key Random key of the training run.
 * @param epoch Number of the epoch, from 1.
 * @param samples Number of samples.
 * @param visits Number of visits to each sample, 1 by default.
 * @returns Each of the positions 0 to `samples - 1` once, then each a second time, and so on.
 */
export function epochOrder(key: Key, epoch: number, samples: number, visits = 1): Int32Array {
  checkCount("epochOrder", "epoch", epoch);
  checkCount("epochOrder", "samples", samples, 0);
  checkCount("epochOrder", "visits", visits);
  const order = new Int32Array(visits * samples);
  for (let visit = 0; visit < visits; visit++) {
    order.set(randpermArray(foldIn(key, (epoch - 1) * visits + visit + 1), samples), visit * samples);
  }
  return order;
}
