import { formatShape, ShapeError } from "../device/shape.ts";
import { leaves, type Tree } from "../tensor/tree.ts";
import { Loop, type ScanOptions } from "./loop.ts";

export type { ScanOptions } from "./loop.ts";

/**
 * Carries a state through the rows of sequences: `[state, output] = f(state, row)` for each, as JAX's `lax.scan`.
 *
 * @param f The body. It is called with the state and, for every tensor of `xs`, its row.
 * @param init The first state: a tensor, or plain objects and arrays of them.
 * @param xs Sequences along their first axis, all of one length.
 * @returns The last state, and the outputs of all steps stacked along a new first axis.
 * @throws {ShapeError} If the sequences differ in length, or the body changes the state's shapes.
 * @throws {TypeError} If the body returns anything but a state and an output.
 */
export function scan<C extends Tree, X extends Tree, Y extends Tree>(
  f: (carry: C, x: X) => [carry: C, output: Y],
  init: C,
  xs: X,
  options: ScanOptions = {},
): [carry: C, outputs: Y] {
  const length = scanLength(xs);
  const body = (state: C, x: X) => {
    const result = f(state, x);
    if (Array.isArray(result) && result.length === 2) return { carry: result[0], outputs: result[1] };
    throw new TypeError("scan: the body must return [state, output]; without an output, [state, {}]");
  };
  const compile = length > 0 && options.compile;
  const { carry, outputs } = new Loop<C, X, Y>(body, init, xs, { ...options, compile }).run(init, length);
  return [carry, outputs];
}

function scanLength(xs: Tree): number {
  const shapes = leaves(xs).map((x) => x.shape);
  const [length] = shapes[0] ?? [];
  const odd = shapes.find((shape) => shape[0] !== length);
  if (length === undefined || odd) {
    throw new ShapeError(
      `scan: sequences of shapes ${shapes.map(formatShape).join(", ")} must agree on the first axis`,
    );
  }
  return length;
}
