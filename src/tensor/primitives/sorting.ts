import { allocateView, makeContiguous } from "../../device/view.ts";
import { apply, type Primitive } from "../primitive.ts";

/** The positions that sort the rows of (rows, length); equal elements stay in order, and NaN counts as the largest. */
export const argSort: Primitive<{ descending: boolean }> = {
  name: "argsort",
  infer: ([{ shape }]) => ({ shape, dtype: "int32" }),
  run(device, [view], { descending }, { shape, dtype }) {
    const output = allocateView(device, shape, dtype);
    device.argSort(makeContiguous(device, view), descending, output);
    return output;
  },
  reverse: "zero",
  batch([{ tensor }], batch, params, { shape: [rows, length] }) {
    return apply(argSort, [tensor.reshape([batch * rows, length])], params).reshape([batch, rows, length]);
  },
  lower: { none: "loops have no kernel for sorting" },
};
