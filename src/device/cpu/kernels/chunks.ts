/** Splits a few long lines into many shorter ones, so that vector lanes and threads share them. */
import type { BufferView } from "../../device.ts";
import { sizeOf } from "../../shape.ts";

/** Number of lines that occupies the lanes and threads. */
const enoughLines = 64;
/** Number of chunks per line. */
const chunks = 256;
/** Minimum length of a chunk. */
const minChunkLength = 64;

/** Views of the parts of lines along an axis. A new axis of chunks is inserted before that axis. */
export interface SplitLines {
  readonly chunks: number;
  readonly chunkLength: number;
  /** Number of elements after the last whole chunk, fewer than there are chunks. */
  readonly rest: number;
  /** The whole chunks: `(..., chunks, chunkLength, ...)`. */
  chunksOf(view: BufferView): BufferView;
  /** The remaining elements: `(..., 1, rest, ...)`. */
  restOf(view: BufferView): BufferView;
}

/** Splits lines along an axis, or returns undefined if there are enough lines or they are short. */
export function splitLines(shape: readonly number[], axis: number): SplitLines | undefined {
  const length = shape[axis];
  const chunkLength = Math.floor(length / chunks);
  if (chunkLength < minChunkLength || sizeOf(shape) / length >= enoughLines) return undefined;
  const part = (view: BufferView, first: number, count: number, partLength: number): BufferView => {
    const stride = view.strides[axis];
    return {
      ...view,
      shape: view.shape.toSpliced(axis, 1, count, partLength),
      strides: view.strides.toSpliced(axis, 1, chunkLength * stride, stride),
      offset: view.offset + first * stride,
    };
  };
  const rest = length - chunks * chunkLength;
  return {
    chunks,
    chunkLength,
    rest,
    chunksOf: (view) => part(view, 0, chunks, chunkLength),
    restOf: (view) => part(view, chunks * chunkLength, 1, rest),
  };
}
