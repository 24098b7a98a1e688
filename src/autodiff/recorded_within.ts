import { beneath, isRecordingWithin, isWatched, record, withoutRecording } from "../tensor/primitive.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { vjp } from "./grad.ts";
import type { OnSymbols, Transformation } from "./transformation.ts";

/**
 * Runs a function on the parts of symbols, for a transformation that commutes with `grad`. Tapes inside the transformation record
 * the function as one operation. Its gradient runs the function again.
 */
export function recordedWithin(
  trace: Transformation,
  inputs: readonly Tensor[],
  f: OnSymbols,
): readonly Tensor[] {
  if (!isRecordingWithin(trace)) return f(trace, inputs);
  // A tensor that all examples share gets a separate gradient for each example.
  const separate = inputs.map((x) => isWatched(x) ? trace.symbol(trace.allParts(x)) : x);
  const outputs = withoutRecording(() => f(trace, separate));
  record(inputs, outputs, (cotangents, wanted) => {
    const definedCotangents = cotangents.filter((x) => x !== undefined);
    const gradients = recordedWithin(trace, [...inputs, ...definedCotangents], (trace, all) => {
      const watched = all.slice(0, inputs.length).map((x, i) =>
        wanted[i] ? trace.symbol(trace.allParts(x)) : x
      );
      const arrived = [...all.slice(inputs.length)];
      const wrt = watched.filter((_, i) => wanted[i]).map((x) => trace.partsOf(x)!);
      // The gradient of a part includes all its uses, so a repeated part counts once.
      const isRepeated = wrt.map(([part], i) => wrt.findIndex(([other]) => other === part) < i);
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
      }).map((parts, i) => trace.symbol(isRepeated[i] ? parts.map((part) => part.zerosLike()) : parts));
    });
    const rest = [...gradients];
    return wanted.map((isWanted) => isWanted ? rest.shift() : undefined);
  });
  return outputs;
}
