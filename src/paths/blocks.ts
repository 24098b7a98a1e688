/**
 * Fits paths to many series a block at a time: what is made on the way stays in the processor's cache, and memory holds
 * the observations, the result, and one block.
 */
import { vjp } from "../autodiff/grad.ts";
import type { Device, View } from "../device/device.ts";
import { identity } from "../device/scalar.ts";
import { type Shape, sizeOf } from "../device/shape.ts";
import { allocateView } from "../device/view.ts";
import { apply, type Primitive, withoutRecording } from "../tensor/primitive.ts";
import { scope } from "../tensor/scope.ts";
import { Tensor } from "../tensor/tensor.ts";

/** A function of series, each on its own and linear in its values: missing ones are NaN, and stay where they are. */
export interface SeriesFunction {
  /**
   * Of the series `first`, `first + 1`, ..., `(block, length, channels)`, to `(block, rows, values)`. Closes over no tensor
   * that is differentiated.
   */
  readonly fit: (x: Tensor, first: number) => Tensor;
  /** Rows and values of the result. */
  readonly result: Shape;
}

/** Applies a function to series `(..., length, channels)`. */
export function mapSeries(x: Tensor, f: SeriesFunction): Tensor {
  const flat = x.reshape([-1, ...x.shape.slice(-2)]);
  return apply(forward, [flat], { ...f, call: calls++ }).reshape([...x.shape.slice(0, -2), ...f.result]);
}

/** In the graph of a loop operations with equal parameters are one: functions are told apart by a number. */
interface Call extends SeriesFunction {
  readonly call: number;
}
let calls = 0;

const forward: Primitive<Call> = {
  name: "mapSeries",
  infer: ([{ shape: [series], dtype }], { result }) => ({ shape: [series, ...result], dtype }),
  run(device, [x], { fit }, { shape, dtype }) {
    const output = allocateView(device, shape, dtype);
    eachBlock(
      device,
      x.shape,
      (first, count) => block(device, output, fit(take(x, first, count), first), first),
    );
    return output;
  },
  vjp: (g, [x], _, f) => apply(transposed, [g, x], f),
};

/** The gradient with respect to the observations; linear in the cotangent, so that its own gradient is the function again. */
const transposed: Primitive<Call> = {
  name: "transposed mapSeries",
  infer: ([, x]) => x,
  run(device, [g, x], { fit }, { shape, dtype }) {
    const output = allocateView(device, shape, dtype);
    eachBlock(device, shape, (first, count) => {
      const own = take(x, first, count);
      const { pullback } = vjp(() => fit(own, first), own);
      block(device, output, pullback(take(g, first, count)), first);
    });
    return output;
  },
  vjp: (h, [, x], _, f, input) => input === 0 ? apply(forward, [x.isNaN().where(NaN, h)], f) : undefined,
};

/** Elements of a block: some of them must fit in a cache, but a GPU's work should be large. */
const blockElements = { cpu: 2 ** 16, webgpu: 2 ** 24 };

function eachBlock(
  device: Device,
  [series, length, channels]: Shape,
  work: (first: number, count: number) => void,
): void {
  const blocks = Math.ceil(sizeOf([series, length, channels]) / blockElements[device.info.kind]);
  const most = Math.max(1, Math.ceil(series / Math.max(1, blocks)));
  for (let first = 0; first < series; first += most) {
    withoutRecording(() =>
      scope(() => {
        work(first, Math.min(most, series - first));
        return [];
      })
    );
  }
}

function take(view: View, first: number, count: number): Tensor {
  return new Tensor({
    ...view,
    shape: [count, ...view.shape.slice(1)],
    offset: view.offset + first * view.strides[0],
  });
}

/** Puts what was made of a block in its place. */
function block(device: Device, output: ReturnType<typeof allocateView>, values: Tensor, first: number): void {
  device.map(identity, [values.view], {
    ...output,
    shape: values.shape,
    offset: output.offset + first * output.strides[0],
  });
}
