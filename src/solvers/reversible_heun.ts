/**
 * The reversible Heun method, order 2: a second state runs beside the first, and both of a step's start can be computed
 * from those of its end. The gradient so needs no states kept, and is that of the discrete solution. (Kidger, Foster, Li,
 * Lyons, "Efficient and Accurate Gradients for Neural SDEs", 2021, section 3.)
 */
import { GraphTrace, type Node, topological } from "../compile/graph.ts";
import { reverse } from "../compile/gradient.ts";
import { makeLoop } from "../compile/loop.ts";
import { scan, type ScanOptions } from "../compile/scan.ts";
import type { Stepwise } from "../compile/vectorize.ts";
import { tensor } from "../tensor/creation.ts";
import { record, withoutRecording } from "../tensor/primitive.ts";
import { scope } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { runLoopAnyhow, traceField, valuesAt } from "./adjoint.ts";
import type { VectorField } from "./tableau.ts";

/** A method whose steps can be undone. */
export interface ReversibleMethod {
  readonly name: string;
  readonly order: number;
  readonly reversible: true;
}

/** The reversible Heun method. */
export const reversibleHeun: ReversibleMethod = { name: "reversible_heun", order: 2, reversible: true };

/** What a solve leaves: the last state, and those after all steps where they are wanted. */
interface Solution {
  readonly final: Tensor;
  readonly states?: Tensor;
  readonly evaluations: number;
}

interface Solved extends Solution {
  /** The second state at the end. */
  readonly other: Tensor;
}

/**
 * Solves on a grid.
 *
 * @param backwards Whether the gradient reconstructs the states instead of keeping them.
 */
export function solveByReversibleHeun(
  f: VectorField,
  y0: Tensor,
  grid: Float64Array,
  everyStep: boolean,
  { backwards, ...options }: ScanOptions & { backwards: boolean },
): Solution {
  if (!backwards) return solveForwards(f, y0, grid, everyStep, options);
  const field = traceField(f, y0);
  const again: VectorField = (t, y) => valuesAt(field, t, y).get(field.slope)!;
  const solved = withoutRecording(() => scope(() => solveForwards(again, y0, grid, everyStep, options)));
  const { final, other, states } = solved;
  record(
    [y0, ...field.constants.map(({ tensor }) => tensor)],
    states ? [final, states] : [final],
    ([atEnd, everywhere], wanted) => {
      const constants = field.constants.filter((_, i) => wanted[1 + i]).map(({ node }) => node);
      const { start, sums } = reverseSteps(field, [final, other], grid, atEnd, everywhere, constants);
      return [start, ...field.constants.map(({ node }) => sums.get(node))];
    },
  );
  return solved;
}

function rowsOf(grid: Float64Array, dtype: Tensor["dtype"]) {
  return {
    start: tensor(grid.slice(0, -1), { dtype }),
    end: tensor(grid.slice(1), { dtype }),
    dt: tensor(Float64Array.from(grid.subarray(1), (end, i) => end - grid[i]), { dtype }),
  };
}

function solveForwards(
  f: VectorField,
  y0: Tensor,
  grid: Float64Array,
  everyStep: boolean,
  options: ScanOptions,
): Solved {
  const { end, dt } = rowsOf(grid, y0.dtype);
  const first = f(tensor(grid[0], { dtype: y0.dtype }), y0);
  const rows = { end, dt };
  const [{ y, other }, outputs] = scan(
    ({ y, other, slope }: { y: Tensor; other: Tensor; slope: Tensor }, { end, dt }: typeof rows) => {
      const next = y.mul(2).sub(other).add(slope.mul(dt));
      const later = f(end, next);
      const mean = slope.add(later).mul(0.5);
      const state = { y: y.add(mean.mul(dt)), other: next, slope: later };
      return [state, { states: everyStep ? state.y : undefined }];
    },
    { y: y0, other: y0, slope: first },
    rows,
    options,
  );
  return { final: y, other, ...outputs, evaluations: grid.length };
}

/** The gradient at the start, and those of constants: every step undone from the last to the first, with its gradient. */
function reverseSteps(
  field: ReturnType<typeof traceField>,
  [final, otherFinal]: readonly [Tensor, Tensor],
  grid: Float64Array,
  atEnd: Tensor | undefined,
  everywhere: Tensor | undefined,
  constants: readonly Node[],
): { start: Tensor; sums: Map<Node, Tensor | undefined> } {
  const trace = new GraphTrace();
  const stepwise = new Map<Node, Stepwise>();
  const row = (values: Tensor) => {
    const input = trace.input({ shape: values.shape.slice(1), dtype: values.dtype });
    stepwise.set(input.node, { tensor: values.flip(0), varies: true });
    return input;
  };
  const times = rowsOf(grid, final.dtype);
  const [start, end, dt] = [times.start, times.end, times.dt].map((values) => row(values).tensor);
  const [y, v, ay, av] = [final, otherFinal, final, final].map((spec) => trace.input(spec));
  const gradients = new Set<Node>([ay.node, av.node]);
  let gradient = ay.tensor;
  if (everywhere) {
    const arriving = row(everywhere);
    gradients.add(arriving.node);
    gradient = gradient.add(arriving.tensor);
  }

  const sums = new Map<Node, Tensor>();
  /** The gradient of the state that the field is evaluated at, from that of the slope. */
  const through = (values: ReturnType<typeof valuesAt>, cotangent: Tensor, state: Tensor) => {
    const cotangents = new Map<Node, Tensor>([[field.slope, cotangent]]);
    reverse(field.body, values, cotangents, new Set([field.y, ...constants]));
    for (const node of constants) {
      const [before, own] = [sums.get(node), cotangents.get(node)];
      if (own) sums.set(node, before ? before.add(own) : own);
    }
    return cotangents.get(field.y) ?? state.zerosLike();
  };
  const after = valuesAt(field, end, v.tensor);
  const other = y.tensor.mul(2).sub(v.tensor).sub(after.get(field.slope)!.mul(dt));
  const before = valuesAt(field, start, other);
  const mean = before.get(field.slope)!.add(after.get(field.slope)!).mul(0.5);
  const half = gradient.mul(dt.mul(0.5));
  const ofOther = av.tensor.add(through(after, half, v.tensor));
  const next = [
    y.tensor.sub(mean.mul(dt)),
    other,
    gradient.add(ofOther.mul(2)),
    through(before, half.add(ofOther.mul(dt)), other).sub(ofOther),
  ];
  const summed = [...sums.keys()];
  const steps = grid.length - 1;
  const loop = makeLoop(
    {
      state: [y, v, ay, av].map(({ node }) => node),
      next: next.map((x) => trace.nodeOf(x)),
      outputs: [],
      sums: summed.map((node) => trace.nodeOf(sums.get(node)!)),
    },
    stepwise,
    steps,
  );
  for (const node of topological(loop.rows.keys())) {
    if (node.kind === "operation" && node.inputs.some((input) => gradients.has(input))) gradients.add(node);
  }
  const none = final.zerosLike();
  const { finals, sums: totals } = runLoopAnyhow(
    loop,
    [final, otherFinal, atEnd ?? none, none],
    steps,
    gradients,
  );
  return { start: finals[2].add(finals[3]), sums: new Map(summed.map((node, i) => [node, totals[i]])) };
}
