import type { BufferView } from "../../device.ts";
import { bytesPerElement } from "../../dtype.ts";
import type { Block } from "../runtime/memory.ts";

/** Address of a view's first element, in bytes. */
export function addressOf(view: BufferView): number {
  return (view.source.memory as Block).address + view.offset * bytesPerElement(view.dtype);
}
