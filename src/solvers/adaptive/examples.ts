/** Adaptive solves inside `vmap`. */
import { beneath, currentTransformation, traceOf } from "../../tensor/primitive.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { Transformation } from "../../autodiff/transformation.ts";
import { TracedFunction } from "../../compile/loop/loop.ts";
import type { VectorField } from "../runge_kutta.ts";
import type { ErrorNorm } from "./step_control.ts";

/**
 * Solves for all examples of `vmap` at once. Each example takes its own steps, as if it were solved alone.
 *
 * @param solve Solves with `norm: "sample"`: from states `(examples, ...)` to states `(times, examples, ...)`.
 * @returns `undefined` outside `vmap`, and if the solve is the same for all examples.
 * @throws {Error} If `norm` is `"sample"`: inside `vmap`, the steps of each example are already chosen for that example.
 */
export function solveExamples(
  f: VectorField,
  y0: Tensor,
  solve: (f: VectorField, y0: Tensor) => Tensor,
  norm: ErrorNorm,
): Tensor | undefined {
  const batch = currentTransformation();
  if (!(batch instanceof Transformation && batch.isBatch)) return undefined;
  const field = new TracedFunction(f, { shape: [], dtype: y0.dtype }, y0);
  const inputs = [y0, ...field.closedOver];
  if (traceOf(inputs) !== batch) return undefined;
  if (norm === "sample") {
    throw new Error(
      'odeint: norm "sample" does not work inside vmap, which gives each example its own steps; omit norm',
    );
  }
  const [states] = batch.applyFunction(inputs, (trace, [y0, ...closedOver]) => {
    const examples = (t: Tensor, y: Tensor) => {
      // The trace of the solver's loop lies between these symbols and those of the examples.
      const inner = trace.again();
      const constants = closedOver.map((x) => {
        const parts = trace.partsOf(x);
        return parts ? inner.symbol(parts) : x;
      });
      const slope = field.callWith([inner.symbol([t.flatten()]), inner.symbol([y])], constants);
      return inner.allParts(slope)[0];
    };
    const states = beneath(trace, () => trace.stepsFirst(solve(examples, trace.allParts(y0)[0])));
    return [trace.symbol([states])];
  })!;
  return states;
}
