/**
 * Evaluation of a graph for many steps at once: values that differ from step to step carry the steps as a new first axis.
 * One rule a primitive, as JAX's `vmap`.
 */
import { tensor } from "../tensor/creation.ts";
import { concatenate } from "../tensor/functions.ts";
import { apply } from "../tensor/primitive.ts";
import { gather } from "../tensor/primitives/indexing.ts";
import * as linear from "../tensor/primitives/linear_algebra.ts";
import * as reduction from "../tensor/primitives/reduction.ts";
import * as structural from "../tensor/primitives/structural.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { literal, type Node, type OperationNode } from "./graph.ts";
import { Uncompilable } from "./uncompilable.ts";

/** A value of all steps, `(steps, ...shape)`, or one that is the same in every step. */
export interface Stepwise {
  readonly tensor: Tensor;
  readonly varies: boolean;
}

/**
 * Evaluates nodes in order for all steps.
 *
 * @param values Those of the inputs; it takes up the nodes'.
 * @param joined Other operations with the same values as some nodes.
 */
export function evaluateAllSteps(
  nodes: readonly Node[],
  values: Map<Node, Stepwise>,
  steps: number,
  joined: ReadonlyMap<Node, OperationNode> = new Map(),
): void {
  for (const own of nodes) {
    if (values.has(own)) continue;
    const node = joined.get(own) ?? own;
    if (node.kind === "literal") values.set(node, { tensor: literal(node), varies: false });
    else if (node.kind === "operation") {
      const inputs = node.inputs.map((input) => values.get(input)!);
      const varies = inputs.some((input) => input.varies);
      values.set(own, {
        varies,
        tensor: varies
          ? vectorized(node, inputs, steps)
          : apply(node.primitive, inputs.map((x) => x.tensor), node.params),
      });
    } else throw new Error(`an ${node.kind} of the graph was given no value`);
  }
}

/** A value with the steps as its first axis, whether it varies or not. */
export function alongSteps({ tensor, varies }: Stepwise, steps: number): Tensor {
  return varies ? tensor : tensor.expandDims(0).broadcastTo([steps, ...tensor.shape]);
}

// deno-lint-ignore no-explicit-any
type Params = any;

function vectorized(node: OperationNode, inputs: readonly Stepwise[], steps: number): Tensor {
  const { primitive, shape } = node;
  const params = node.params as Params;
  const [first] = inputs;
  const all = () => inputs.map((input) => alongSteps(input, steps));
  const shifted = (axes: readonly number[]) => axes.map((axis) => axis + 1);
  if ("fn" in primitive) return apply(primitive, all(), params);
  switch (primitive) {
    case structural.reshape:
      return first.tensor.reshape([steps, ...shape]);
    case structural.permute:
      return first.tensor.permute([0, ...shifted(params.axes)]);
    case structural.broadcastTo: {
      const own = first.tensor.shape.slice(1);
      const aligned = [steps, ...Array(shape.length - own.length).fill(1), ...own];
      return first.tensor.reshape(aligned).broadcastTo([steps, ...shape]);
    }
    case structural.slice:
    case structural.pad:
      return apply(primitive, [first.tensor], {
        shape: [steps, ...params.shape],
        starts: [0, ...params.starts],
        steps: [1, ...params.steps],
      });
    case structural.concatenate:
      return concatenate(all(), params.axis + 1);
    case reduction.sum:
    case reduction.max:
    case reduction.min:
      return apply(primitive, [first.tensor], { axes: shifted(params.axes) });
    case reduction.cumulativeSum:
      return first.tensor.cumsum(params.axis + 1);
    case reduction.argReduce:
      return apply(primitive, [first.tensor], { ...params, axis: params.axis + 1 });
    case linear.matmul:
      return vectorizedMatmul(inputs, steps);
    case linear.linearRecurrence: {
      const [a, b] = inputs;
      const factors = a.varies ? a.tensor : a.tensor.expandDims(0);
      return apply(primitive, [factors, alongSteps(b, steps)], { ...params, axis: params.axis + 1 });
    }
    case linear.tridiagonal:
      return vectorizedTridiagonal(inputs, shape, steps);
    case gather:
      return vectorizedGather(inputs, shape, steps);
  }
  throw new Uncompilable(`${primitive.name} has no rule for all steps at once`);
}

function vectorizedMatmul([a, b]: readonly Stepwise[], steps: number): Tensor {
  // A matrix on the right that does not vary makes one large product of all steps.
  if (!b.varies && b.tensor.rank === 2) return a.tensor.matmul(b.tensor);
  return alongSteps(a, steps).matmul(alongSteps(b, steps));
}

/** Systems of all steps, side by side; a band that is the same for all systems and steps stays one row. */
function vectorizedTridiagonal(
  inputs: readonly Stepwise[],
  [systems, size]: readonly number[],
  steps: number,
): Tensor {
  const rows = inputs.map(({ tensor, varies }, i) => {
    const isShared = i < inputs.length - 1 && !varies && tensor.shape[0] === 1;
    if (isShared) return tensor;
    return alongSteps({ tensor, varies }, steps).broadcastTo([steps, systems, size]).reshape([-1, size]);
  });
  return apply(linear.tridiagonal, rows, undefined).reshape([steps, systems, size]);
}

/** (outer, size, inner) at (count): one gather, with the steps beside the axis that is gathered along. */
function vectorizedGather(
  [x, indices]: readonly Stepwise[],
  shape: readonly number[],
  steps: number,
): Tensor {
  const [outer, count, inner] = shape;
  if (!indices.varies) {
    const size = x.tensor.shape[2];
    const rows = x.tensor.reshape([steps * outer, size, inner]);
    return apply(gather, [rows, indices.tensor], undefined).reshape([steps, ...shape]);
  }
  let [rows, at] = [x.tensor, indices.tensor];
  if (x.varies) {
    const size = rows.shape[2];
    rows = rows.permute([1, 0, 2, 3]).reshape([outer, steps * size, inner]);
    const starts = tensor(Int32Array.from({ length: steps }, (_, i) => i * size), { dtype: "int32" });
    // An index that is out of range in its own step must not find an element of another step.
    at = at.less(0).or(at.greaterEqual(size)).where(-1, at.add(starts.expandDims(1)));
  }
  return apply(gather, [rows, at.reshape([steps * count])], undefined)
    .reshape([outer, steps, count, inner])
    .permute([1, 0, 2, 3])
    .reshape([steps, outer, count, inner]);
}
