import { checkFunction } from "./checks.ts";
import type { Buffer } from "../device/device.ts";
import { bufferScope, keepBuffer } from "../device/buffer_scope.ts";
import { hasBuffer } from "../device/view.ts";
import { isRecording } from "./primitive.ts";
import { Symbolic } from "./symbolic.ts";
import type { Tensor } from "./tensor.ts";
import { treeLeaves } from "./tree.ts";

/** The buffers behind the tensors of a tree. */
export function* buffersOf(tree: unknown): Generator<Buffer> {
  for (const { storage } of treeLeaves(tree)) {
    if (storage instanceof Symbolic) yield* buffersOf(storage.parts);
    else if (hasBuffer(storage)) yield storage.source;
  }
}

/**
 * Runs `body` and frees every tensor made in it that it does not return. `grad` and `valueAndGrad` do so by themselves;
 * a long loop without them and without an `await` needs it, since the garbage collector gets no turn there.
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
  // A gradient tape outside still needs what is made here.
  return bufferScope(body, (result, made) => isRecording() ? made : buffersOf(result));
}

/**
 * {@linkcode tidy} for tensors of which it turns out later whether they are needed: `release` frees all that `body` has
 * returned but what is still wanted.
 */
export function scopeUntil<T>(body: () => T): { result: T; release: (wanted: unknown) => void } {
  let survivors = new Set<Buffer>();
  const result = bufferScope(body, (result, made) => {
    survivors = isRecording() ? new Set() : new Set(buffersOf(result)).intersection(made);
    return isRecording() ? made : survivors;
  });
  const release = (wanted: unknown) => {
    const kept = new Set(buffersOf(wanted));
    for (const buffer of survivors) if (!kept.has(buffer)) buffer.free();
  };
  return { result, release };
}

/** Lets a tensor outlive the scope that it was made in, without being returned. */
export function keep<T extends Tensor>(x: T): T {
  for (const buffer of buffersOf(x)) keepBuffer(buffer);
  return x;
}
