import { isFloat } from "../../device/dtype.ts";
import { formatShape, normalizeAxis, refuseShape, sameShape, sizeOf } from "../../device/shape.ts";
import { checkTensor } from "../checks.ts";
import { checkWithin } from "../host.ts";
import { apply } from "../primitive.ts";
import * as indexing from "../primitives/indexing.ts";
import { numberTensor, type Tensor } from "../tensor.ts";

/** Methods of {@linkcode Tensor} that read and write at positions given by a tensor. */
export const indexingMethods = {
  take(indices, axis = 0) {
    checkTensor("take: indices", indices);
    const along = normalizeAxis(axis, this.rank, "take");
    if (!isFloat(this.dtype)) checkRange(this, "take", indices, along);
    const [outer, inner] = [this.shape.slice(0, along), this.shape.slice(along + 1)];
    const rows = this.reshape([sizeOf(outer), this.shape[along], sizeOf(inner)]);
    return apply(indexing.gather, [rows, indices.flatten()], undefined)
      .reshape([...outer, ...indices.shape, ...inner]);
  },
  scatterAdd(indices, updates, axis = 0) {
    checkTensor("scatterAdd: indices", indices);
    checkTensor("scatterAdd: updates", updates);
    const along = normalizeAxis(axis, this.rank, "scatterAdd");
    const [outer, inner] = [this.shape.slice(0, along), this.shape.slice(along + 1)];
    const expected = [...outer, indices.size, ...inner];
    if (!sameShape(updates.shape, expected)) {
      refuseShape("scatterAdd: updates", updates.shape, formatShape(expected));
    }
    const isChecked = checkRange(this, "scatterAdd", indices, along);
    const rows = updates.reshape([sizeOf(outer), indices.size, sizeOf(inner)]);
    const added = apply(indexing.scatterAdd, [rows, indices.flatten()], { size: this.shape[along] });
    const result = this.add(added.reshape(this.shape));
    if (isChecked || !isFloat(this.dtype)) return result;
    const isInside = indices.greaterEqual(0).and(indices.less(this.shape[along]));
    return result.add(isInside.where(numberTensor(0, this.dtype), NaN).sum());
  },
} satisfies Partial<Tensor> & ThisType<Tensor>;

/** Checks that all indices are in range, if the host can read them. Returns whether the indices were checked. */
function checkRange(x: Tensor, operation: string, indices: Tensor, axis: number): boolean {
  const what = `the positions on axis ${axis} of ${formatShape(x.shape)}`;
  return checkWithin(operation, "indices", indices, [0, x.shape[axis] - 1], what);
}
