/** A training step: the gradient of the loss of a batch, clipped, and one step of the optimiser. */
import { jit } from "../compile/jit/jit.ts";
import { isBatchSource, sampleCount, takeSamples } from "../data/batches.ts";
import { JitError, withoutDeferring } from "../device/capture.ts";
import { MemoryLimitError, withMemoryLimit } from "../device/memory/memory_limit.ts";
import { clipByGlobalNorm, clipByValue } from "../optim/clip.ts";
import type { ParameterTree } from "../nn/layer.ts";
import type { Key } from "../tensor/random.ts";
import { tensor } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeMap } from "../tensor/tree.ts";
import { gradientInParts, gradientOf } from "./split_gradient.ts";
import type { Measures, Samples, Task } from "./task.ts";

/** Takes a training step on the samples at some positions. Returns the measures before the step. */
type TakeStep = (positions: Int32Array, key: Key, learningRate: number) => Measures;

/** How a step was split, since it takes more memory than the task allows. */
export interface StepSplit {
  /** Number of parts of a batch. */
  readonly parts: number;
  /** Whether even a part of one sample takes more memory than the limit. */
  readonly isOverLimit: boolean;
}

/** Describes a split, for a message and a report. @param memory Limit of the task, in bytes. */
export function describeSplit({ parts, isOverLimit }: StepSplit, memory: number): string {
  const limit = `${+(memory / 2 ** 30).toPrecision(2)} GiB`;
  return isOverLimit
    ? `a training step of one sample takes more than ${limit} of memory; shorter series or a smaller model take less`
    : `a training step would take more than ${limit} of memory: each batch is split into ${parts} parts, whose gradients are added`;
}

/** Options of {@linkcode stepOf}. */
interface StepOptions {
  /** Batch sizes of an epoch. The compiled steps of all sizes share the memory. */
  sizes: readonly number[];
  /** Called after the first step that was split, and when a later step has more parts. */
  onSplit?: (split: StepSplit) => void;
}

/** Smallest fraction of the memory of a task that a step of few samples may take. */
const leastShare = 1 / 4;

/**
 * Makes a training step. Tensors of all samples stay on the device; a source makes those of each batch.
 *
 * Whether a batch is split depends only on the task and the batch sizes, so a resumed run splits it equally.
 */
export function stepOf<Batch extends Tree>(
  task: Task<Batch, Samples<Batch>> & Required<Pick<Task, "optimizer">>,
  { sizes, onSplit }: StepOptions,
): TakeStep {
  const { data: { train }, memory = Infinity, optimizer } = task;
  const total = sizes.reduce((sum, size) => sum + size, 0);
  /** Splits by batch size. */
  const splits = new Map<number, StepSplit>();
  let most = 1;
  const learn = (
    take: (start: number, end: number) => Batch,
    parts: readonly number[],
    key: Key,
  ): Measures => {
    const samples = parts.reduce((sum, part) => sum + part, 0);
    const limit = splits.get(samples)?.isOverLimit
      ? Infinity
      : memory * Math.max(leastShare, Math.min(1, samples / total));
    const { measures, gradients } = withMemoryLimit(limit, () => {
      const computed = parts.length === 1
        ? gradientOf(task, take(0, samples), key)
        : gradientInParts(task, take, parts, key);
      // Deferred kernels take their memory when they are queued.
      return limit === Infinity ? computed : withoutDeferring(() => computed);
    });
    optimizer.step(clip(gradients, task));
    return measures;
  };
  const split = (samples: number, run: (parts: number[]) => Measures): Measures => {
    for (;;) {
      const { parts, isOverLimit } = splits.get(samples) ?? { parts: 1, isOverLimit: false };
      try {
        const measures = run(partsOf(samples, parts));
        if (parts > most || isOverLimit && most < Infinity) onSplit?.({ parts, isOverLimit });
        most = Math.max(most, isOverLimit ? Infinity : parts);
        return measures;
      } catch (error) {
        // Retry with more parts. The failed attempt has not changed the parameters.
        if (!(error instanceof MemoryLimitError)) throw error;
        splits.set(samples, { parts: Math.min(samples, 2 * parts), isOverLimit: parts === samples });
      }
    }
  };
  if (isBatchSource(train)) {
    const run = whereTraced((batch: Batch, parts: number[], key: Key) =>
      learn(
        (start, end) =>
          end - start === sampleCount(batch) ? batch : treeMap(batch, (x) => x.slice(0, start, end)),
        parts,
        key,
      )
    );
    return (positions, key, learningRate) => {
      optimizer.learningRate = learningRate;
      const batch = train.batch(positions);
      return split(positions.length, (parts) => run(batch, parts, key));
    };
  }
  const run = whereTraced((positions: Tensor, parts: number[], key: Key) =>
    learn(
      (start, end) =>
        takeSamples(train, end - start === positions.size ? positions : positions.slice(0, start, end)),
      parts,
      key,
    )
  );
  return (positions, key, learningRate) => {
    optimizer.learningRate = learningRate;
    const indices = tensor(positions, { dtype: "int32" });
    return split(positions.length, (parts) => run(indices, parts, key));
  };
}

/** Sizes of parts that differ by at most one. */
function partsOf(samples: number, parts: number): number[] {
  return Array.from(
    { length: parts },
    (_, i) => Math.floor((i + 1) * samples / parts) - Math.floor(i * samples / parts),
  );
}

/**
 * Compiles a step if possible. Models that read values on the host, such as adaptive solvers, cannot be compiled:
 * they run operation by operation.
 */
function whereTraced<A extends Tree[], R>(step: (...args: A) => R): (...args: A) => R {
  let run = jit(step);
  return (...args) => {
    try {
      return run(...args);
    } catch (error) {
      if (!(error instanceof JitError)) throw error;
      run = step;
      return run(...args);
    }
  };
}

type Clipping = Pick<Task, "clipValue" | "clipNorm" | "isEnsemble">;

/**
 * Clips gradients as the task asks. The norm is that of all gradients, or that of each member of an ensemble.
 */
function clip(
  gradients: ParameterTree,
  { clipValue: limit, clipNorm, isEnsemble }: Clipping,
): ParameterTree {
  const elements = limit === undefined ? gradients : clipByValue(gradients, limit);
  if (clipNorm === undefined) return elements;
  const clipped = (memberGradients: ParameterTree) => clipByGlobalNorm(memberGradients, clipNorm).gradients;
  if (!isEnsemble) return clipped(elements);
  return Object.fromEntries(
    Object.entries(elements).map(([name, memberGradients]) => [name, clipped(memberGradients)]),
  );
}
