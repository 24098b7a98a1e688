/**
 * Directions of the recurrence h[t] = T[t] h[t - 1] with block-diagonal transitions, step by step or in parallel over
 * time. Products of many matrices leave the range of floats. A positive factor changes no direction, so every step
 * divides the state, or the product of matrices, by its root mean square.
 */
import { scan } from "../../compile/loop/scan.ts";
import { currentDevice } from "../../device/current.ts";
import { eye } from "../../tensor/creation.ts";
import { concatenate } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { blockProduct } from "./structures.ts";

/** Shorter sequences run step by step. */
const leastLength = 64;

/**
 * Samples that a loop over steps updates in the time of one: measured on two cores of a CPU, where chunks pay for one
 * sample with blocks of at most two; on a GPU, the workgroups, as for fast weights.
 */
const parallelSamples = { cpu: 4, gpu: 512 };

/**
 * Steps of a chunk with the smallest cost, or undefined if single steps are cheaper. The cost counts the
 * multiplications of a block row that follow one another; samples that run side by side count once.
 *
 * @param samples Size of the batch.
 * @param b Size of a block.
 */
export function chunkSize(length: number, samples: number, b: number): number | undefined {
  if (length < leastLength) return undefined;
  const { kind, software } = currentDevice().info;
  const width = parallelSamples[kind === "webgpu" && !software ? "gpu" : "cpu"];
  const rounds = (count: number) => Math.max(1, count / width);
  const costs = [8, 16, 32, 64, 128].map((size) => {
    const chunks = Math.ceil(length / size);
    // Products of blocks within chunks, states at the starts of chunks, then the states of all steps at once.
    const cost = size * rounds(samples * chunks) * b ** 2 + chunks * rounds(samples) * b +
      length * samples / width * b;
    return { size, cost };
  });
  const best = costs.reduce((least, one) => one.cost < least.cost ? one : least);
  return best.cost < length * rounds(samples) * b ? best.size : undefined;
}

/**
 * States h[0] ... h[length - 1] of h[t] = T[t] h[t - 1], with a root mean square of one: an associative scan of two levels over chunks of time, or
 * single steps, whichever costs less.
 *
 * @param transitions T, `(length, batch, blocks, b, b)`.
 * @param initial h[-1], `(batch, blocks * b)`.
 * @param size Steps of a chunk; 0 for single steps. By default, the cheapest.
 * @returns `(length, batch, blocks * b)`.
 */
export function blockRecurrence(transitions: Tensor, initial: Tensor, size?: number): Tensor {
  const [length, batch, , b] = transitions.shape;
  const steps = size ?? chunkSize(length, batch, b) ?? 0;
  return steps === 0 ? stepByStep(transitions, initial) : inChunks(transitions, initial, steps);
}

/** Divides by the root mean square over the last axes. @param axes Number of axes. */
export function rescale(x: Tensor, axes = 1): Tensor {
  const over = Array.from({ length: axes }, (_, i) => -1 - i);
  return x.div(x.square().mean(over, { keepDims: true }).add(leastSquare).sqrt());
}

/** Keeps a state of zeros. */
const leastSquare = 1e-30;

function stepByStep(transitions: Tensor, initial: Tensor): Tensor {
  const [, states] = scan(
    (h: Tensor, t: Tensor) => {
      const next = rescale(blockProduct(t, h));
      return [next, next];
    },
    initial,
    transitions,
  );
  return states;
}

/**
 * Within each chunk, all chunks side by side, the products P[t] = T[t] ... T[start]; then the states at the ends of
 * chunks; then h[t] = P[t] h[start - 1].
 */
function inChunks(transitions: Tensor, initial: Tensor, size: number): Tensor {
  const [length, batch, n, b] = transitions.shape;
  const chunks = Math.ceil(length / size);
  const one = eye(b, { dtype: transitions.dtype });
  const padding = one.broadcastTo([chunks * size - length, batch, n, b, b]);
  const padded = padding.shape[0] === 0 ? transitions : concatenate([transitions, padding]);
  const rows = padded.reshape([chunks, size, batch, n, b, b]).transpose(0, 1)
    .reshape([size, chunks * batch, n, b, b]);
  const [, products] = scan(
    (p: Tensor, t: Tensor) => {
      const next = rescale(t.matmul(p), 3);
      return [next, next];
    },
    one.broadcastTo([chunks * batch, n, b, b]),
    rows,
  );
  const all = products.reshape([size, chunks, batch, n, b, b]);
  const ends = all.select(0, size - 1).slice(0, 0, chunks - 1);
  const starts = chunks === 1
    ? initial.expandDims(0)
    : concatenate([initial.expandDims(0), stepByStep(ends, initial)]);
  return rescale(blockProduct(all, starts.expandDims(0))).transpose(0, 1)
    .reshape([chunks * size, batch, n * b]).slice(0, 0, length);
}
