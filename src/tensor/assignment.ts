import { formatShape, sameShape, ShapeError } from "../device/shape.ts";
import { hasBuffer, hasSharedElements } from "../device/view.ts";
import type { Tensor } from "./tensor.ts";

/**
 * Checks that a tensor can be assigned.
 *
 * @throws {ShapeError} If shape or type differ.
 * @throws {Error} If several elements of the tensor share memory, or it is a view of a tensor without memory.
 */
export function checkAssignment(to: Tensor, values: Tensor): void {
  if (!sameShape(values.shape, to.shape) || values.dtype !== to.dtype) {
    throw new ShapeError(
      `assign: ${values.dtype} ${formatShape(values.shape)} to ${to.dtype} ${formatShape(to.shape)}`,
    );
  }
  const { view } = to;
  if (hasBuffer(view) && hasSharedElements(view)) {
    throw new Error(
      `assign: elements of this tensor of shape ${
        formatShape(to.shape)
      } share memory, as after broadcastTo; ` +
        "assign to the tensor that was broadcast, or to a copy, as x.broadcastTo(shape).mul(1)",
    );
  }
  if (view.isDerivedNumber && values !== to) {
    throw new Error(
      `assign: this tensor of shape ${
        formatShape(to.shape)
      } is a view of zeros, ones or full, which have no memory to write to; ` +
        "make a new tensor of this shape, or assign to the whole tensor first and then take the view",
    );
  }
}
