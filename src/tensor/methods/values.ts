/** Methods of tensors that read or write values. */
import { keepBuffer } from "../../device/memory/buffer_scope.ts";
import { turnForCollector } from "../../device/memory/collector.ts";
import { kernelDevice, outsideCapture } from "../../device/capture.ts";
import type { Device } from "../../device/device.ts";
import { toHostArray, type TypedArray } from "../../device/dtype.ts";
import { identity } from "../../device/scalar/scalar.ts";
import { formatShape, ShapeError } from "../../device/shape.ts";
import { allocateView, copy, hasBuffer, makeContiguous, uploadView } from "../../device/view.ts";
import { checkAssignment } from "../assignment.ts";
import { checkDevice, checkTensor } from "../checks.ts";
import { formatTensor, nest, textForHint } from "../format.ts";
import { invalidateHostValues } from "../host.ts";
import { awaitChecks } from "../late_checks.ts";
import { beginAssignment, deviceOf } from "../primitive.ts";
import { type NestedNumbers, Tensor } from "../tensor.ts";

/** Methods of {@linkcode Tensor} that read or write values. */
export const valueMethods = {
  async data(): Promise<TypedArray> {
    const { memoryDevice: device } = this;
    const [words] = await device.read([makeContiguous(device, this.view)]);
    await awaitChecks(device);
    await turnForCollector();
    return toHostArray(words, this.dtype);
  },
  async toArray(): Promise<NestedNumbers> {
    return nest(await this.data(), this.shape);
  },
  async item(): Promise<number> {
    if (this.size !== 1) {
      throw new ShapeError(
        `item: a tensor of shape ${formatShape(this.shape)} does not have exactly one element`,
      );
    }
    return (await this.data())[0];
  },
  async to(device: Device): Promise<Tensor> {
    checkDevice("to", device);
    if (this.device === device) return this;
    return new Tensor(uploadView(device, await this.data(), this.shape, this.dtype));
  },
  assign(values: Tensor): void {
    checkTensor("assign: values", values);
    checkAssignment(this, values);
    const { view } = this;
    const device = kernelDevice(deviceOf("assign", [this, values]));
    beginAssignment(this, values);
    if (hasBuffer(view)) {
      // A view of the same memory may have another order, so writing while reading would be wrong.
      const source = values.view.source === view.source ? copy(device, values.view) : values.view;
      device.map(identity, [source], view);
      invalidateHostValues(view.source);
    } else {
      const own = outsideCapture(() => allocateView(device, this.shape, this.dtype));
      keepBuffer(own.source);
      device.map(identity, [values.view], own);
      this.storage = own;
    }
  },
  toString(): string {
    return formatTensor(this);
  },
  [Symbol.toPrimitive](hint: string): string {
    return textForHint(this, hint);
  },
} satisfies Partial<Tensor> & ThisType<Tensor>;
