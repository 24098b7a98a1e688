/** Kernels along an axis on the CPU: cumulative sums and positions of extreme elements. */
import assert from "node:assert/strict";
import type { DType } from "../../src/device/dtype.ts";
import { allocateView, uploadView } from "../../src/device/view.ts";
import {
  device,
  f32,
  f64,
  floats,
  numeric,
  type Random,
  randomNumbers,
  randomView,
  valuesOf,
} from "./random_views.ts";

/** A few lines, a full vector of lines and more; lengths below and above the length of lines that are split. */
const shapes = [[1, 1], [3, 7], [70, 5], [5, 70], [2, 16_391], [16_384, 3], [33, 3, 4], [16_500]];

function cases(
  seed: number,
  visit: (random: Random, shape: number[], axis: number, dtype: DType) => void,
): void {
  const random = randomNumbers(seed);
  for (const dtype of numeric) {
    for (const shape of shapes) shape.forEach((_, axis) => visit(random, shape, axis, dtype));
  }
}

/** The lines of row-major values along an axis, each as positions. */
function linesOf(shape: readonly number[], axis: number): number[][] {
  const stride = shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const outer = shape.slice(0, axis).reduce((a, b) => a * b, 1);
  return Array.from(
    { length: outer * stride },
    (_, line) => {
      const start = Math.floor(line / stride) * shape[axis] * stride + line % stride;
      return Array.from({ length: shape[axis] }, (_, i) => start + i * stride);
    },
  );
}

Deno.test("cumulative sums agree with naive loops for every type and layout", () => {
  cases(41, (random, shape, axis, dtype) => {
    const [input, output] = [randomView(random, shape, dtype, false), randomView(random, shape, dtype, true)];
    device.cumulativeSum(input, axis, output);
    const [x, y] = [valuesOf(input), valuesOf(output)];
    for (const line of linesOf(shape, axis)) {
      let [sum, size] = [0, 1];
      for (const at of line) {
        sum += x[at];
        size += Math.abs(x[at]);
        if (dtype === "int32") sum |= 0;
        else if (dtype === "uint32") sum >>>= 0;
        const tolerance = dtype === f32 ? 2e-7 * size : dtype === f64 ? 1e-15 * size : 0;
        assert.ok(
          Math.abs(y[at] - sum) <= tolerance,
          `${dtype} ${shape} along ${axis}: ${y[at]}, expected ${sum}`,
        );
      }
    }
    for (const { source } of [input, output]) source.free();
  });
});

Deno.test("argReduce finds the first extreme element for every type and layout", () => {
  cases(43, (random, shape, axis, dtype) => {
    for (const reduction of ["max", "min"] as const) {
      const input = randomView(random, shape, dtype, false);
      const output = randomView(random, shape.with(axis, 1), "int32", true);
      device.argReduce(reduction, input, axis, output);
      const x = valuesOf(input);
      const expected = linesOf(shape, axis).map((line) => {
        let best = 0;
        line.forEach((at, i) => {
          if (reduction === "max" ? x[at] > x[line[best]] : x[at] < x[line[best]]) best = i;
        });
        return best;
      });
      assert.deepEqual(valuesOf(output), expected, `${reduction} of ${dtype} ${shape} along ${axis}`);
      for (const { source } of [input, output]) source.free();
    }
  });
});

Deno.test("argReduce finds the first NaN and the first of equal elements, in short and in long lines", () => {
  for (const dtype of floats) {
    for (const length of [40, 20_000]) {
      const values = new Float64Array(length).fill(2);
      const search = () => {
        const output = allocateView(device, [1], "int32");
        device.argReduce("max", uploadView(device, values, [length], dtype), 0, output);
        return valuesOf(output)[0];
      };
      assert.equal(search(), 0);
      values[length - 1] = 3;
      assert.equal(search(), length - 1);
      values[length - 2] = NaN;
      values[length - 5] = NaN;
      assert.equal(search(), length - 5);
    }
  }
});
