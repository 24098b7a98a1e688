import { checkFunction } from "./checks.ts";
import type { Buffer } from "../device/device.ts";
import { bufferScope, callScope, keepBuffer } from "../device/memory/buffer_scope.ts";
import { hasBuffer } from "../device/view.ts";
import { isRecording, isTracingLoop, outliveScopes, recordingState } from "./primitive.ts";
import { Symbolic } from "./symbolic.ts";
import { Tensor } from "./tensor.ts";
import { entries, treeLeaves } from "./tree.ts";

/** The buffers of the tensors in a tree. */
export function* buffersOf(tree: unknown): Generator<Buffer> {
  for (const { storage } of treeLeaves(tree)) {
    if (storage instanceof Symbolic) yield* buffersOf(storage.parts);
    else if (hasBuffer(storage)) yield storage.source;
  }
}

/**
 * Runs `body` and frees every tensor made in it that it does not return. `grad` and `valueAndGrad` do the same. Use `tidy` in a
 * long loop without them and without `await`: the garbage collector cannot free tensors during such a loop.
 *
 * @example
 * ```ts
 * import { normal, key, tidy } from "@weft/weft";
 *
 * let x = normal(key(0), [32, 32]);
 * for (let i = 0; i < 1000; i++) x = tidy(() => x.matmul(x).tanh());
 * ```
 *
 * @param body Returns a tensor, or plain objects and arrays of them.
 */
export function tidy<T>(body: () => T): T {
  checkFunction("tidy", "body", body);
  return bufferScope(body, (result, owned) => outliveScopes() ? owned : buffersOf(result));
}

/**
 * {@linkcode tidy} for results that may be freed later: `release` frees the tensors that `body` returned, except those in its
 * argument.
 */
export function tidyLater<T>(body: () => T): { result: T; release: (wanted: unknown) => void } {
  let survivors = new Set<Buffer>();
  const result = bufferScope(body, (result, owned) => {
    survivors = outliveScopes() ? new Set() : new Set(buffersOf(result)).intersection(owned);
    return outliveScopes() ? owned : survivors;
  });
  const release = (wanted: unknown) => {
    const kept = new Set(buffersOf(wanted));
    for (const buffer of survivors) if (!kept.has(buffer)) buffer.free();
  };
  return { result, release };
}

/**
 * Runs `body`, a call of a layer. Outside of gradients, transformations, loops and scopes, the tensors made in it that it does not
 * return are freed when the next such call ends, unless they are used before.
 */
export function tidyCall<T>(body: () => T): T {
  if (isRecording() || recordingState().transformation || isTracingLoop()) return body();
  return callScope(body, buffersOfResult);
}

/** The buffers of a result; undefined if it has other objects than containers of tensors, which may refer to tensors. */
function buffersOfResult(result: unknown): Iterable<Buffer> | undefined {
  if (result instanceof Tensor) return buffersOf(result);
  const isOpaque = (value: unknown) =>
    typeof value === "function" || typeof value === "object" && value !== null && !(value instanceof Tensor);
  return entries(result).some(([, value]) => isOpaque(value)) ? undefined : buffersOf(result);
}

/** Excludes a tensor from the enclosing {@linkcode tidy}, which then does not free it. */
export function keep<T extends Tensor>(x: T): T {
  for (const buffer of buffersOf(x)) keepBuffer(buffer);
  return x;
}
