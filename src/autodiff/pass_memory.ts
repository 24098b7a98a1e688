import type { Buffer } from "../device/device.ts";
import { isLarge, listLargeBuffers } from "../device/memory/buffer_scope.ts";
import { hasBuffer } from "../device/view.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import type { Tensor } from "../tensor/tensor.ts";

type Cotangents = readonly (Tensor | undefined)[];

/** Frees the memory of a reverse pass after its last use. */
export interface PassMemory {
  /** Runs a gradient rule, holds its wanted results, and frees the other buffers that it made. */
  scope(rule: () => Cotangents, wanted: readonly boolean[]): Cotangents;
  /** Counts one more use of a tensor's buffer. */
  hold(x: Tensor): void;
  /** Removes one use of a tensor's buffer. A buffer without uses is freed. */
  drop(x: Tensor): void;
  /** Drops the values of the forward pass with this serial number or a later one. */
  dropValues(firstSerial: number): void;
}

/**
 * Counts the uses of large buffers. Each value of the forward pass has one use: only the operations recorded after it was
 * made can read it.
 *
 * @param owned The buffers that the pass may free: all buffers of a scope that ends with the pass. New buffers join the set
 * during the pass. The members at the time of the call are the values of the forward pass.
 */
export function passMemory(owned: ReadonlySet<Buffer>): PassMemory {
  const values: Buffer[] = [];
  for (const buffer of owned) if (isLarge(buffer)) values.push(buffer);
  values.sort((a, b) => a.serial - b.serial);
  const uses = new Map<Buffer, number>(values.map((buffer) => [buffer, 1]));
  /** Calls `act` for each large buffer that the pass may free, of a tensor or of the parts of a symbol. */
  const eachBuffer = ({ storage }: Tensor, act: (buffer: Buffer) => void): void => {
    if (storage instanceof Symbolic) { for (const part of storage.parts) eachBuffer(part as Tensor, act); }
    else if (hasBuffer(storage) && isLarge(storage.source) && owned.has(storage.source)) act(storage.source);
  };
  const hold = (x: Tensor) => eachBuffer(x, (buffer) => uses.set(buffer, (uses.get(buffer) ?? 0) + 1));
  const dropBuffer = (buffer: Buffer) => {
    const left = uses.get(buffer)! - 1;
    if (left > 0) return uses.set(buffer, left);
    uses.delete(buffer);
    // `keep` may have removed the buffer from the owned ones.
    if (owned.has(buffer)) buffer.free();
  };
  return {
    hold,
    scope(rule, wanted) {
      const { result, buffers } = listLargeBuffers(rule);
      result.forEach((x, i) => x && wanted[i] && hold(x));
      for (const buffer of buffers) if (!uses.has(buffer) && owned.has(buffer)) buffer.free();
      return result;
    },
    drop(x) {
      eachBuffer(x, (buffer) => uses.has(buffer) && dropBuffer(buffer));
    },
    dropValues(firstSerial) {
      while (values.length > 0 && values[values.length - 1].serial >= firstSerial) dropBuffer(values.pop()!);
    },
  };
}
