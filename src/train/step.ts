/** A training step: the gradient of the loss of a batch, clipped, and one step of the optimiser. */
import { differentiate } from "../autodiff/grad.ts";
import { jit } from "../compile/jit.ts";
import { isBatchSource, takeSamples } from "../data/batches.ts";
import { JitError } from "../device/capture.ts";
import { clipByGlobalNorm, clipElements } from "../optim/clip.ts";
import type { ParameterTree } from "../nn/layer.ts";
import type { Key } from "../tensor/random.ts";
import { tensor } from "../tensor/creation.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { leaves, type Tree } from "../tensor/tree.ts";
import type { Measures, Samples, Task } from "./task.ts";

/**
 * Makes a training step. It maps the positions of a batch's samples, a key and a learning rate to the
 * measures before the step. Tensors of all samples stay on the device; a source makes those of each batch.
 */
export function stepOf<Batch extends Tree>(
  task: Task<Batch, Samples<Batch>> & Required<Pick<Task, "optimizer">>,
): (positions: Int32Array, key: Key, learningRate: number) => Measures {
  const { data: { train }, parameters, optimizer } = task;
  const learn = (batch: Batch, key: Key): Measures => {
    const { value, gradients } = differentiate(
      () => task.evaluate(batch, key),
      parameters,
      cotangentsOf,
    );
    optimizer.step(clip(gradients, task));
    return value;
  };
  if (isBatchSource(train)) {
    const run = whereTraced(learn);
    return (positions, key, learningRate) => {
      optimizer.learningRate = learningRate;
      return run(train.batch(positions), key);
    };
  }
  const run = whereTraced((positions: Tensor, key: Key) => learn(takeSamples(train, positions), key));
  return (positions, key, learningRate) => {
    optimizer.learningRate = learningRate;
    return run(tensor(positions, { dtype: "int32" }), key);
  };
}

/** 1 for the loss, which another name may repeat, and `undefined` for each other measure. */
function cotangentsOf(measures: Measures): (Tensor | undefined)[] {
  const all = leaves(measures);
  const loss = all.indexOf(measures.loss);
  return all.map((x, i) => i === loss ? x.zerosLike().add(1) : undefined);
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

type Clipping = Pick<Task, "clipElements" | "clipNorm" | "isEnsemble">;

/**
 * Clips gradients as the task asks. The norm is that of all gradients, or that of each member of an ensemble.
 */
function clip(
  gradients: ParameterTree,
  { clipElements: limit, clipNorm, isEnsemble }: Clipping,
): ParameterTree {
  const elements = limit === undefined ? gradients : clipElements(gradients, limit);
  if (clipNorm === undefined) return elements;
  const clipped = (own: ParameterTree) => clipByGlobalNorm(own, clipNorm).gradients;
  if (!isEnsemble) return clipped(elements);
  return Object.fromEntries(Object.entries(elements).map(([name, own]) => [name, clipped(own)]));
}
