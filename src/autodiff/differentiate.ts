/** Runs a function on a tape, and its reverse pass. */
import { isFloat } from "../device/dtype.ts";
import { bufferScope } from "../device/memory/buffer_scope.ts";
import { outliveScopes, recordWith } from "../tensor/primitive.ts";
import { buffersOf } from "../tensor/scope.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Tree, treeLeaves, treeMap } from "../tensor/tree.ts";
import { type PassMemory, passMemory } from "./pass_memory.ts";
import { Tape } from "./tape.ts";

/**
 * A function's value and its vector-Jacobian product with given cotangents, in one pass. Each intermediate tensor of `f` is
 * freed after its last use; the result and tensors of `keep` remain.
 *
 * @param f Takes no arguments and closes over what it reads.
 * @param wrt Tensors to differentiate with respect to: one, or plain objects and arrays of them.
 * @param cotangentsOf Returns the cotangents of the tensors of the value, in order; `undefined` means zeros.
 * @throws {TypeError} If a tensor of `wrt` is not a float tensor.
 */
export function differentiate<T, W extends Tree>(
  f: () => T,
  wrt: W,
  cotangentsOf: (value: T) => readonly (Tensor | undefined)[],
): { value: T; gradients: W } {
  return bufferScope(
    (owned) => {
      const { tape, value } = recorded(f, wrt);
      const outputs = treeLeaves(value);
      const cotangents = cotangentsOf(value);
      // An outer tape needs all values.
      const memory = outliveScopes() ? undefined : passMemory(owned);
      for (const output of outputs) memory?.hold(output);
      return { value, gradients: gradientsOf(tape, wrt, outputs, cotangents, memory) };
    },
    (result, owned) => outliveScopes() ? owned : buffersOf(result),
  );
}

/** Runs a function and records its operations on a tape. */
export function recorded<T>(f: () => T, wrt: Tree): { tape: Tape; value: T } {
  const watched = treeLeaves(wrt);
  const discrete = watched.find((x) => !isFloat(x.dtype));
  if (discrete) throw new TypeError(`grad: a ${discrete.dtype} tensor has no gradient; only floats do`);
  for (const x of watched) {
    // A compiled loop would contain the number of a `zeros` or `full` tensor as a constant without a gradient.
    if (!(x.storage instanceof Symbolic) && typeof x.storage.source === "number") x.assign(x);
  }
  const tape = new Tape(watched);
  return { tape, value: recordWith(tape, f) };
}

/** Gradients of the tensors of `wrt`, with its structure: zeros for tensors that the outputs do not depend on. */
export function gradientsOf<W extends Tree>(
  tape: Tape,
  wrt: W,
  outputs: readonly Tensor[],
  cotangents: readonly (Tensor | undefined)[],
  memory?: PassMemory,
): W {
  const gradients = tape.pullback(outputs, cotangents, memory);
  return treeMap(wrt, (x) => gradients.get(x) ?? x.zerosLike());
}
