/** Measures of a task on data, without training. */
import { sampleCount, takeSamples } from "../data/batches.ts";
import { DataError } from "../device/errors.ts";
import { MemoryLimitError, withMemoryLimit } from "../device/memory/memory_limit.ts";
import { averagePrecision, rocAuc } from "../nn/ranking.ts";
import { tidyLater } from "../tensor/scope.ts";
import { type Tree, treeLeaves } from "../tensor/tree.ts";
import { means, Meter } from "./meter.ts";
import { Pipeline } from "./pipeline.ts";
import type { Samples, Task } from "./task.ts";

/** Part of a task's memory that evaluation may take, besides the memory of compiled training steps. */
const evaluationShare = 1 / 4;

/**
 * Evaluates a task on data, without training, and returns the means of its measures. If the task scores
 * samples of two classes and both classes occur, the results include the area under the curve `auc` and the
 * average precision `averagePrecision` of all samples. If values are missing, means are over the known
 * values. If classes have weights, the loss is weighted.
 *
 * @param batchSize Batch size of training. Evaluation uses batches four times as large, or smaller ones if a
 * batch takes more than a quarter of `memory`.
 * @throws {DataError} If no value is known.
 */
export async function evaluate<Batch extends Tree>(
  task: Pick<Task<Batch>, "parameters" | "evaluate" | "scores" | "weights" | "memory">,
  data: Samples<Batch>,
  batchSize: number,
): Promise<Record<string, number>> {
  return await evaluateBatches(task, [data], batchSize);
}

/** As {@linkcode evaluate}, for batches of samples with different shapes. */
export async function evaluateBatches<Batch extends Tree>(
  task: Pick<Task<Batch>, "parameters" | "evaluate" | "scores" | "weights" | "memory">,
  batches: readonly Samples<Batch>[],
  batchSize: number,
): Promise<Record<string, number>> {
  const meter = new Meter();
  const pipeline = new Pipeline(treeLeaves(task.parameters)[0].memoryDevice);
  // Evaluation stores no intermediate values for gradients, so larger batches fit into memory.
  let evaluated = 4 * batchSize;
  const limit = (task.memory ?? Infinity) * evaluationShare;
  const scored: Scored[] = [];
  /** Functions that read the scores of a batch and release them. */
  const unread: (() => Promise<void>)[] = [];
  const read = () => Promise.all([meter.read(), ...unread.splice(0).map((readScores) => readScores())]);
  for (const data of batches) {
    const positions = Int32Array.from({ length: sampleCount(data) }, (_, i) => i);
    for (let start = 0; start < positions.length;) {
      const part = positions.subarray(start, start + evaluated);
      try {
        const { result: ranked, release } = tidyLater(() => {
          const { measures, weights, ranked } = withMemoryLimit(part.length === 1 ? Infinity : limit, () => {
            const batch = takeSamples(data, part);
            return {
              measures: task.evaluate(batch),
              weights: task.weights?.(batch),
              ranked: task.scores?.(batch),
            };
          });
          meter.add(measures, part.length, weights);
          return ranked;
        });
        if (ranked) {
          unread.push(async () => {
            const values = Promise.all([ranked.scores.data(), ranked.labels.data()]);
            release(undefined);
            const [scores, labels] = await values;
            scored.push({ scores, labels });
          });
        }
      } catch (error) {
        if (!(error instanceof MemoryLimitError)) throw error;
        evaluated = Math.ceil(part.length / 2);
        continue;
      }
      start += part.length;
      await pipeline.next(read, meter.isFull);
    }
  }
  await pipeline.finish(read);
  const { sums } = meter;
  if (sums.weights?.loss === 0) {
    const expected = "at least one known value";
    throw new DataError("empty-series", `evaluate: all true values are missing; expected ${expected}`, {
      expected,
    });
  }
  return { ...means(sums), ...rankingOf(scored) };
}

/** Scores of the second of two classes, and the true classes, of some samples. */
type Scored = { readonly scores: ArrayLike<number>; readonly labels: ArrayLike<number> };

function rankingOf(batches: readonly Scored[]): Record<string, number> {
  const [scores, labels] = (["scores", "labels"] as const).map((name) =>
    batches.flatMap((batch) => Array.from(batch[name]))
  );
  if (!labels.includes(0) || !labels.includes(1) || scores.some(Number.isNaN)) return {};
  return { auc: rocAuc(scores, labels), averagePrecision: averagePrecision(scores, labels) };
}
