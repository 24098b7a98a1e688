import type { Buffer } from "../device/device.ts";
import { bufferScope } from "../device/scope.ts";
import { hasBuffer } from "../device/view.ts";
import { buffersOf } from "../tensor/scope.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Frees the memory of a reverse pass after its last use. */
export interface PassMemory {
  /** Runs a gradient rule, and frees what it made and did not return. */
  scope(rule: () => (Tensor | undefined)[]): (Tensor | undefined)[];
  /** Counts one more use of a tensor's buffer. */
  hold(x: Tensor): void;
  /** Counts one use less. A buffer without uses is freed. */
  drop(x: Tensor): void;
  /** Drops the values of the forward pass with this serial or a later one. */
  dropValues(firstSerial: number): void;
}

/**
 * Counts the uses of buffers. Each value of the forward pass has one use: the operations recorded after it was made,
 * which alone can read it.
 *
 * @param owned The live set of buffers that the pass may free: those of a scope that ends with the pass. What it holds
 * now are the values of the forward pass.
 */
export function passMemory(owned: ReadonlySet<Buffer>): PassMemory {
  const values = [...owned].sort((a, b) => a.serial - b.serial);
  const uses = new Map<Buffer, number>(values.map((buffer) => [buffer, 1]));
  const ownBuffer = (x: Tensor): Buffer | undefined => {
    const { storage } = x;
    if (storage instanceof Symbolic || !hasBuffer(storage)) return undefined;
    return owned.has(storage.source) ? storage.source : undefined;
  };
  const dropBuffer = (buffer: Buffer) => {
    const left = uses.get(buffer)! - 1;
    if (left > 0) return uses.set(buffer, left);
    uses.delete(buffer);
    // A kept tensor is not owned any more.
    if (owned.has(buffer)) buffer.free();
  };
  return {
    scope: (rule) => bufferScope(rule, (found) => buffersOf(found)),
    hold(x) {
      const buffer = ownBuffer(x);
      if (buffer) uses.set(buffer, (uses.get(buffer) ?? 0) + 1);
    },
    drop(x) {
      const buffer = ownBuffer(x);
      if (buffer && uses.has(buffer)) dropBuffer(buffer);
    },
    dropValues(firstSerial) {
      while (values.length > 0 && values.at(-1)!.serial >= firstSerial) dropBuffer(values.pop()!);
    },
  };
}
