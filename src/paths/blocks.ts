/**
 * Fits paths to many series a block at a time: memory holds the observations, the result, and what is made of one block
 * on the way.
 */
import { vjp } from "../autodiff/grad.ts";
import type { BufferView, Device, View } from "../device/device.ts";
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
   *
   * @param into Where the result belongs: it may be put there, or is copied.
   */
  readonly fit: (x: Tensor, first: number, into?: BufferView) => Tensor;
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
    eachBlock(device, x.shape, (first, count) => {
      const into = rows(output, first, count);
      const { view } = fit(new Tensor(rows(x, first, count)), first, into);
      if (view.source !== output.source) device.map(identity, [view], into);
    });
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
      const own = new Tensor(rows(x, first, count));
      const { pullback } = vjp(() => fit(own, first), own);
      device.map(identity, [pullback(new Tensor(rows(g, first, count))).view], rows(output, first, count));
    });
    return output;
  },
  vjp: (h, [, x], _, f, input) => input === 0 ? apply(forward, [x.isNaN().where(NaN, h)], f) : undefined,
};

/** Elements of a block: a few megabytes, of which two threads make more than of blocks that fit in a cache. */
const blockElements = { cpu: 2 ** 20, webgpu: 2 ** 24 };

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

/** Some of the series. */
function rows<V extends View>(view: V, first: number, count: number): V {
  return {
    ...view,
    shape: [count, ...view.shape.slice(1)],
    offset: view.offset + first * view.strides[0],
  };
}
