import type { BufferView } from "../device.ts";
import { bytesPerElement } from "../dtype.ts";
import type { Block } from "./memory.ts";

/** Where a view's first element lies, in bytes. */
export function addressOf(view: BufferView): number {
  return (view.source.memory as Block).address + view.offset * bytesPerElement(view.dtype);
}
