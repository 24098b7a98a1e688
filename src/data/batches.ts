import { tensor } from "../tensor/creation.ts";
import { foldIn, type Key, permutationArray } from "../tensor/random.ts";
import { Tensor } from "../tensor/tensor.ts";
import { leaves, mapTree, type Tree } from "../tensor/tree.ts";

/** The number of samples in a structure of tensors. @throws {Error} If the tensors' first axes differ in length. */
export function sampleCount(data: Tree): number {
  const counts = new Set(leaves(data).map(({ shape }) => shape[0]));
  if (counts.size !== 1) {
    throw new Error(`data: first axes of lengths ${[...counts]}, expected one number of samples`);
  }
  return counts.values().next().value!;
}

/** The samples at some positions, int32 where they are a tensor, as a structure of the same kind. */
export function takeSamples<Batch extends Tree>(data: Batch, positions: Tensor | ArrayLike<number>): Batch {
  const indices = positions instanceof Tensor
    ? positions
    : tensor(Int32Array.from(positions), { dtype: "int32" });
  return mapTree(data, (x) => x.gather(indices));
}

/** Consecutive positions in pieces of `size`, the last perhaps smaller. */
export function inBatches(order: Int32Array, size: number): Int32Array[] {
  return Array.from(
    { length: Math.ceil(order.length / size) },
    (_, i) => order.subarray(i * size, (i + 1) * size),
  );
}

/** The order in which an epoch visits the samples: it depends on the key and the epoch alone. */
export function epochOrder(key: Key, epoch: number, samples: number): Int32Array {
  return permutationArray(foldIn(key, epoch), samples);
}
