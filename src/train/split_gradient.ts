/** The gradient of a batch's loss, computed for parts of the batch if the whole takes too much memory. */
import { differentiate } from "../autodiff/differentiate.ts";
import type { ParameterTree } from "../nn/layer.ts";
import { foldIn, type Key } from "../tensor/random.ts";
import { tidy } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeLeaves, treeMap, withLeaves } from "../tensor/tree.ts";
import type { MeasuredModel, Measures } from "./task.ts";

/** Measures of a batch, and the gradients of the loss. */
export interface Gradient {
  readonly measures: Measures;
  readonly gradients: ParameterTree;
}

type Learner<Batch extends Tree> = Pick<MeasuredModel<Batch>, "parameters" | "evaluate" | "weights">;

/** The gradient of the loss of a batch in one piece. */
export function gradientOf<Batch extends Tree>(
  { parameters, evaluate }: Learner<Batch>,
  batch: Batch,
  key: Key,
): Gradient {
  const { value, gradients } = differentiate(() => evaluate(batch, key), parameters, cotangentsOf);
  return { measures: value, gradients };
}

/** Cotangent of each measure: 1 for the loss, even if the same tensor has another name, else `undefined`. */
function cotangentsOf(measures: Measures): (Tensor | undefined)[] {
  const all = treeLeaves(measures);
  const loss = all.indexOf(measures.loss);
  return all.map((x, i) => i === loss ? x.zerosLike().add(1) : undefined);
}

/**
 * The gradient of the loss of a batch, as the mean over parts. Each part is freed before the next. Random numbers,
 * such as those of dropout, differ from those of the whole batch.
 *
 * @param take Makes the tensors of the samples from `start` to `end`.
 * @param sizes Number of samples of each part, two parts or more.
 */
export function gradientInParts<Batch extends Tree>(
  task: Learner<Batch>,
  take: (start: number, end: number) => Batch,
  sizes: readonly number[],
  key: Key,
): Gradient {
  const samples = sizes.reduce((sum, size) => sum + size, 0);
  let sums: Sums | undefined;
  let start = 0;
  sizes.forEach((size, part) => {
    sums = tidy(() => {
      const batch = take(start, start + size);
      const gradient = gradientOf(task, batch, foldIn(key, part));
      return add(sums, weighted(gradient, size / samples, task.weights?.(batch) ?? {}));
    });
    start += size;
  });
  return meanOf(sums!);
}

/** Weighted sums over parts, with the sums of the weights of the measures whose weights the task computes. */
interface Sums extends Gradient {
  readonly weights: { readonly [measure: string]: Tensor };
}

/** @param share Fraction of the batch's samples that the part has. */
function weighted(
  { measures, gradients }: Gradient,
  share: number,
  weights: Readonly<Record<string, Tensor>>,
): Sums {
  const partWeights = treeMap(weights, (weight) => weight.mul(share));
  const times = (x: Tensor, name: string) => x.mul(partWeights[name]?.cast(x.dtype) ?? share);
  return {
    weights: partWeights,
    measures: mapNamed(measures, times) as Measures,
    gradients: treeMap(gradients, (gradient) => times(gradient, "loss")),
  };
}

function add(sums: Sums | undefined, part: Sums): Sums {
  if (!sums) return part;
  const others = treeLeaves(part);
  return withLeaves(sums, treeLeaves(sums).map((sum, i) => sum.add(others[i]))) as Sums;
}

/** A batch without known values has a weight of 0, and its sums are 0 too. */
function meanOf({ measures, gradients, weights }: Sums): Gradient {
  const divisors = treeMap(weights, (weight) => weight.equal(0).where(1, weight));
  const divided = (x: Tensor, name: string) => divisors[name] ? x.div(divisors[name].cast(x.dtype)) : x;
  return {
    measures: mapNamed(measures, divided) as Measures,
    gradients: treeMap(gradients, (gradient) => divided(gradient, "loss")),
  };
}

function mapNamed(
  values: Readonly<Record<string, Tensor>>,
  f: (value: Tensor, name: string) => Tensor,
): Record<string, Tensor> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, f(value, name)]));
}
