/**
 * Computes bounds for the completion of MNIST's test images (docs/research/errata.md):
 *
 *     deno run --allow-read tasks/papers/evidence/mnist_bound.ts data/mnist
 *
 * Images with the same first pixels get the same prediction from any model. The best one is the mean of these
 * images at each pixel, with their standard deviation, at least 0.5. No model can have smaller errors on this
 * test set, whatever it knows.
 */
import { readDigits } from "../data/mnist.ts";
import { markdownTable } from "../../markdown.ts";

/** The error of the best prediction after `context` pixels, in values from -1 to 1. */
interface Bound {
  /** Share of images in the largest group with the same first pixels. */
  readonly share: number;
  readonly mse: number;
  readonly bpd: number;
}

/**
 * Bounds of the squared error and the bits per dimension after `context` of `size` pixels.
 *
 * @param images Pixels from 0 to 255. Shape (count, size).
 * @param leastDeviation Smallest standard deviation, in values from -1 to 1.
 */
export function bestErrors(
  images: Uint8Array,
  size: number,
  context: number,
  leastDeviation = 0.5,
): Bound {
  const groups = Map.groupBy(
    Array.from({ length: images.length / size }, (_, i) => i),
    (i) => images.subarray(i * size, i * size + context).join(),
  );
  let [squares, bits, largest] = [0, 0, 0];
  for (const members of groups.values()) {
    largest = Math.max(largest, members.length);
    for (let pixel = context; pixel < size; pixel++) {
      const values = members.map((i) => images[i * size + pixel] / 127.5 - 1);
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
      const deviation = Math.max(leastDeviation, Math.sqrt(variance));
      squares += members.length * variance;
      const nats = Math.log(2 * Math.PI * deviation ** 2) / 2 + variance / deviation ** 2 / 2;
      bits += members.length * nats / Math.LN2;
    }
  }
  const count = images.length / size * (size - context);
  return { share: largest / (images.length / size), mse: squares / count, bpd: bits / count };
}

if (import.meta.main) {
  const { images, shape: [, rows, columns] } = (await readDigits(Deno.args[0] ?? "data/mnist", "t10k"))!;
  const table = [[
    "context",
    "same first pixels",
    "MSE in [-1, 1]",
    "BPD in [-1, 1]",
    "MSE in [0, 1]",
    "BPD in [0, 1]",
  ]];
  for (const context of [100, 300, 600]) {
    const { share, mse, bpd } = bestErrors(images, rows * columns, context);
    table.push([
      `${context}`,
      `${(100 * share).toFixed(1)} %`,
      ...[mse, bpd, mse / 4, bpd - 1].map((value) => value.toFixed(3)),
    ]);
  }
  console.log(markdownTable(table));
}
