/** A training step: the gradient of the loss of a batch, clipped, and one step of the optimiser. */
import { vjp } from "../autodiff/grad.ts";
import { jit } from "../compile/jit.ts";
import { takeSamples } from "../data/batches.ts";
import { JitError } from "../device/capture.ts";
import { clipByGlobalNorm, clipElements } from "../optim/clip.ts";
import type { ParameterTree } from "../nn/layer.ts";
import type { Key } from "../tensor/random.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import type { Measures, Task } from "./task.ts";

/**
 * Makes a training step. It maps the positions of a batch's samples, a key and a learning rate to the
 * measures before the step.
 */
export function stepOf<Batch extends Tree>(
  task: Task<Batch> & Required<Pick<Task, "optimizer">>,
): (positions: Tensor, key: Key, learningRate: number) => Measures {
  const { data, parameters, optimizer } = task;
  const step = (positions: Tensor, key: Key): Measures => {
    const batch = takeSamples(data.train, positions);
    let measures!: Measures;
    const { value, pullback } = vjp((): Tensor => (measures = task.evaluate(batch, key)).loss, parameters);
    const gradients = pullback(value.zerosLike().add(1));
    optimizer.step(clip(gradients, task));
    return measures;
  };
  let run = jit(step);
  return (positions, key, learningRate) => {
    optimizer.learningRate = learningRate;
    try {
      return run(positions, key);
    } catch (error) {
      // Models that read values on the host, such as adaptive solvers, cannot be compiled: run them operation
      // by operation.
      if (!(error instanceof JitError)) throw error;
      run = step;
      return run(positions, key);
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
