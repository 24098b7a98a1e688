/** Fits paths to many series in blocks. Memory holds the observations, the result, and the intermediate values of one block. */
import { vjp } from "../autodiff/grad.ts";
import { kernelDevice } from "../device/capture.ts";
import type { BufferView, Device } from "../device/device.ts";
import { identity } from "../device/scalar/scalar.ts";
import { type Shape, sizeOf } from "../device/shape.ts";
import { allocateView } from "../device/view.ts";
import { concatenate } from "../tensor/functions.ts";
import { record, withoutRecording } from "../tensor/primitive.ts";
import { tidy } from "../tensor/scope.ts";
import { Symbolic } from "../tensor/symbolic.ts";
import { Tensor } from "../tensor/tensor.ts";

/** A function of series that is applied to each series separately, and is linear in its values. NaN is a missing value. */
interface SeriesFunction {
  /**
   * Maps the series `first`, `first + 1`, ..., `(block, length, channels)`, to parts `(block, rows, values)`, which are concatenated
   * along the last axis of the result. It must not close over differentiated tensors.
   */
  readonly fit: (x: Tensor, first: number) => readonly Tensor[];
  /** Rows and values of the result. */
  readonly result: Shape;
}

/** Applies a function to series `(..., length, channels)`. */
export function mapSeries(x: Tensor, f: SeriesFunction): Tensor {
  const flat = x.reshape([-1, ...x.shape.slice(-2)]);
  return applyToBlocks(flat, f).reshape([...x.shape.slice(0, -2), ...f.result]);
}

/** Symbols have no memory, so they form one block. */
function isSymbolic(x: Tensor): boolean {
  return x.storage instanceof Symbolic;
}

function applyToBlocks(x: Tensor, f: SeriesFunction): Tensor {
  const whole = (x: Tensor) => concatenate([...f.fit(x, 0)], -1);
  if (isSymbolic(x)) return whole(x);
  const { memoryDevice: device, shape, dtype } = x;
  const memory = allocateView(device, [shape[0], ...f.result], dtype);
  const result = new Tensor(memory);
  eachBlock(device, shape, (first, count) => {
    const output = rows(memory, first, count);
    let at = 0;
    for (const part of f.fit(x.slice(0, first, first + count), first)) {
      const window = { ...output, shape: part.shape, offset: output.offset + at * output.strides.at(-1)! };
      kernelDevice(device).map(identity, [part.view], window);
      at += part.shape.at(-1)!;
    }
  });
  record([x], [result], ([g]) => [transposed(g!, x, f)]);
  return result;
}

/**
 * The gradient with respect to the observations. It is linear in the cotangent, so its own gradient with respect to the cotangent
 * applies `f`.
 */
function transposed(g: Tensor, x: Tensor, f: SeriesFunction): Tensor {
  const pull = (g: Tensor, x: Tensor, first: number) =>
    vjp(() => concatenate([...f.fit(x, first)], -1), x).pullback(g);
  if (isSymbolic(g)) return pull(g, x, 0);
  const { memoryDevice: device, shape, dtype } = x;
  const memory = allocateView(device, shape, dtype);
  const result = new Tensor(memory);
  eachBlock(device, shape, (first, count) => {
    const [values, cotangent] = [x, g].map((all) => all.slice(0, first, first + count));
    const gradient = pull(cotangent, values, first).view;
    kernelDevice(device).map(identity, [gradient], rows(memory, first, count));
  });
  record([g], [result], ([h]) => [applyToBlocks(x.isNaN().where(NaN, h!), f)]);
  return result;
}

/** Elements of a block. Blocks of a few megabytes are faster with two threads than blocks that fit in a cache. */
const blockElements = { cpu: 2 ** 20, webgpu: 2 ** 24 };

function eachBlock(
  device: Device,
  [series, length, channels]: Shape,
  work: (first: number, count: number) => void,
): void {
  const blocks = Math.ceil(sizeOf([series, length, channels]) / blockElements[device.info.kind]);
  const perBlock = Math.max(1, Math.ceil(series / Math.max(1, blocks)));
  for (let first = 0; first < series; first += perBlock) {
    withoutRecording(() =>
      tidy(() => {
        work(first, Math.min(perBlock, series - first));
        return [];
      })
    );
  }
}

/** A range of series of a view. */
function rows(view: BufferView, first: number, count: number): BufferView {
  return {
    ...view,
    shape: [count, ...view.shape.slice(1)],
    offset: view.offset + first * view.strides[0],
  };
}
