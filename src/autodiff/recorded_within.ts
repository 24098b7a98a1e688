import { beneath, isRecordingWithin, isWatched, record, withoutRecording } from "../tensor/primitive.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { vjp } from "./grad.ts";
import type { Transformation } from "./transformation.ts";

/** A function of tensors, some of them symbols of the transformation. The function must not close over such symbols. */
type OnSymbols = (trace: Transformation, inputs: readonly Tensor[]) => readonly Tensor[];

/**
 * Runs a function that computes on the parts of symbols. Gradient tapes inside the transformation cannot record such operations, so
 * they record the function as one operation. Its gradient runs the function again.
 *
 * @returns `undefined` if a tape inside the transformation is watching and the transformation does not commute with `grad`.
 */
export function recordedWithin(
  trace: Transformation,
  inputs: readonly Tensor[],
  f: OnSymbols,
): readonly Tensor[] | undefined {
  if (!isRecordingWithin(trace)) return f(trace, inputs);
  if (!trace.isParallel) return undefined;
  // A tensor that all examples share gets a separate gradient for each example.
  const separate = inputs.map((x) => isWatched(x) ? trace.symbol(trace.allParts(x)) : x);
  const outputs = withoutRecording(() => f(trace, separate));
  record(inputs, outputs, (cotangents, wanted) => {
    const given = cotangents.filter((x) => x !== undefined);
    const found = recordedWithin(trace, [...inputs, ...given], (trace, all) => {
      const watched = all.slice(0, inputs.length).map((x, i) =>
        wanted[i] ? trace.symbol(trace.allParts(x)) : x
      );
      const arrived = [...all.slice(inputs.length)];
      const wrt = watched.filter((_, i) => wanted[i]).map((x) => trace.partsOf(x)!);
      const ofOutputs = cotangents.map((x) => x && arrived.shift()!);
      return beneath(trace, () => {
        const { value, pullback } = vjp(() => {
          const again = trace.again();
          const rest = [...wrt];
          const operands = watched.map((x, i) => {
            const parts = wanted[i] ? rest.shift() : trace.partsOf(x);
            return parts ? again.symbol(parts) : x;
          });
          return f(again, operands).filter((_, i) => cotangents[i]).map((x) => again.allParts(x));
        }, wrt);
        const partsOf = ofOutputs.flatMap((x) => x ? [trace.allParts(x)] : []);
        return pullback(partsOf as typeof value);
      }).map((parts) => trace.symbol(parts));
    })!;
    const rest = [...found];
    return wanted.map((isWanted) => isWanted ? rest.shift() : undefined);
  });
  return outputs;
}
