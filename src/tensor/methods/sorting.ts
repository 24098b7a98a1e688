import { checkOptions, namesOf } from "../../device/options.ts";
import { normalizeAxis, sizeOf } from "../../device/shape.ts";
import { apply } from "../primitive.ts";
import * as indexing from "../primitives/indexing.ts";
import * as sorting from "../primitives/sorting.ts";
import type { SortOptions, Tensor } from "../tensor.ts";

const sortOptionNames = namesOf<SortOptions>()("descending?");

/** Methods of {@linkcode Tensor} that order elements along an axis. */
export const sortingMethods = {
  argsort(axis = -1, options = {}) {
    checkOptions("argsort", options, sortOptionNames);
    const along = normalizeAxis(axis, this.rank, "argsort");
    return positionsAlong(this, along, options);
  },
  sort(axis = -1, options = {}) {
    checkOptions("sort", options, sortOptionNames);
    const along = normalizeAxis(axis, this.rank, "sort");
    return takeAlong(this, positionsAlong(this, along, options), along);
  },
} satisfies Partial<Tensor> & ThisType<Tensor>;

function positionsAlong(x: Tensor, axis: number, { descending = false }: SortOptions): Tensor {
  const rows = x.transpose(axis, -1);
  const length = x.shape[axis];
  const flat = rows.reshape([sizeOf(rows.shape.slice(0, -1)), length]);
  return apply(sorting.argSort, [flat], { descending }).reshape(rows.shape).transpose(axis, -1);
}

/** The elements of each line along an axis at positions of the same line, as NumPy's `take_along_axis`. */
export function takeAlong(x: Tensor, positions: Tensor, axis: number): Tensor {
  const [lines, places] = [x.transpose(axis, -1), positions.transpose(axis, -1)];
  const length = x.shape[axis];
  const count = sizeOf(lines.shape.slice(0, -1));
  const indices = indexing.indicesOfBatch(places.reshape([count, positions.shape[axis]]), length);
  return apply(indexing.gather, [lines.reshape([1, count * length, 1]), indices], undefined)
    .reshape(places.shape).transpose(axis, -1);
}
