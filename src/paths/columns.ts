/**
 * The layout for fitting paths: rows are observations, and every channel of every series is a column. Operations along time then
 * process all columns at once, and adjacent values in memory are independent.
 */
import { type Shape, sizeOf } from "../device/shape.ts";
import { arange } from "../tensor/creation.ts";
import { linearRecurrence } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Reshapes `(..., length, channels)` to `(length, columns)`. */
export function toColumns(x: Tensor): Tensor {
  const time = x.rank - 2;
  const order = x.shape.map((_, axis) => axis).filter((axis) => axis !== time);
  return x.permute([time, ...order]).reshape([x.shape[time], sizeOf(x.shape) / x.shape[time]]);
}

/** Reshapes `(rows, columns)` to `(..., rows, channels)`, as a view. `shape` is the shape of the series. */
export function fromColumns(columns: Tensor, shape: Shape): Tensor {
  const [batch, channels] = [shape.slice(0, -2), shape.at(-1)!];
  const axes = [...batch.map((_, axis) => axis + 1), 0, batch.length + 1];
  return columns.reshape([columns.shape[0], ...batch, channels]).permute(axes);
}

/**
 * Cumulative sums within segments of rows: h[i] = links[i] h[i - 1] + b[i].
 *
 * @param links `(rows, columns)`: 1 in rows that continue the segment of the previous row, 0 in rows that start a segment.
 * @param b The terms of the sums, with the same shape.
 */
export function segmentedSum(links: Tensor, b: Tensor): Tensor {
  return linearRecurrence(links, b);
}

/** {@linkcode segmentedSum} from the last row to the first. `links` is 1 in rows that continue the segment of the next row. */
export function segmentedSumBackwards(links: Tensor, b: Tensor): Tensor {
  return linearRecurrence(links.flip(0), b.flip(0)).flip(0);
}

/** Row `lengths - 1` of each series `(..., length, features)`: `(..., features)`, NaN for lengths out of range. */
export function lastRows(series: Tensor, lengths: Tensor): Tensor {
  const [length, features] = series.shape.slice(-2);
  const last = lengths.reshape([-1]).sub(1);
  const rows = arange(last.size, { dtype: "int32", step: length }).add(last);
  // An index out of range must not read a row of another series.
  const exists = last.greaterEqual(0).and(last.less(length));
  return series.reshape([last.size * length, features])
    .take(exists.where(rows, -1))
    .reshape([...lengths.shape, features]);
}
