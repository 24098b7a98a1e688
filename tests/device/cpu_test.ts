/** Kernels of the CPU device against naive loops. */
import assert from "node:assert/strict";
import { allocateView } from "../../src/device/view.ts";
import type { BufferView, Reduction, View } from "../../src/device/device.ts";
import type { DType } from "../../src/device/dtype.ts";
import { createCpuDevice } from "../../src/device/cpu/device.ts";
import type { Block } from "../../src/device/cpu/runtime/memory.ts";
import * as s from "../../src/device/scalar/scalar.ts";
import {
  below,
  device,
  f32,
  floats,
  i32,
  numeric,
  pick,
  positionsOf,
  randomNumbers,
  randomShape,
  randomValue,
  randomView,
  u32,
  valuesOf,
  wordsOf,
} from "./random_views.ts";
import { assertProduct } from "./assert_product.ts";
import { functions } from "./elementwise_cases.ts";

Deno.test("elementwise kernels agree with naive loops for every memory layout", () => {
  const random = randomNumbers(11);
  for (const { name, types, output, build, expected } of functions) {
    for (let trial = 0; trial < 40; trial++) {
      const shape = randomShape(random);
      const inputs = types.map((dtype): View =>
        random() < 0.15
          ? { source: randomValue(random, dtype), dtype, shape, strides: shape.map(() => 0), offset: 0 }
          : randomView(random, shape, dtype, false)
      );
      const result = random() < 0.5
        ? allocateView(device, shape, output)
        : randomView(random, shape, output, true);
      const before = [...wordsOf(result)];
      const values = inputs.map((input) => valuesOf(input));
      device.map({ name, build }, inputs, result);
      const after = wordsOf(result);
      let index = 0;
      for (const position of positionsOf(result)) {
        const wanted = expected(index, ...values.map((list) => list[index]));
        assert.equal(after[position], wanted, `${name}, shape (${shape}), element ${index}`);
        before[position] = after[position];
        index++;
      }
      assert.deepEqual([...after], before, `${name}, shape (${shape}) wrote beside its output`);
    }
  }
});

Deno.test("an elementwise kernel may write over its input", () => {
  const view = allocateView(device, [37], "float32");
  wordsOf(view).forEach((_, i, words) => words[i] = i);
  device.map({ name: "twice", build: (x) => s.mul(x, 2) }, [view], view);
  assert.deepEqual(valuesOf(view), Array.from({ length: 37 }, (_, i) => 2 * i));
});

Deno.test("reductions agree with naive loops for every memory layout", () => {
  const random = randomNumbers(12);
  const combine = {
    sum: (a: number, b: number) => a + b,
    max: (a: number, b: number) => Math.max(a, b),
    min: (a: number, b: number) => Math.min(a, b),
  };
  for (const reduction of ["sum", "max", "min"] as Reduction[]) {
    for (const dtype of numeric) {
      for (let trial = 0; trial < 80; trial++) {
        const shape = randomShape(random);
        const input = randomView(random, shape, dtype, false);
        const kept = shape.map((length) => random() < 0.5 ? length : 1);
        const output: BufferView = random() < 0.7
          ? allocateView(device, kept, dtype)
          : randomView(random, kept, dtype, true);
        const over = { ...output, shape, strides: output.strides.map((x, i) => kept[i] === 1 ? 0 : x) };
        const expected = new Map<number, number>();
        const values = valuesOf(input);
        positionsOf(over).forEach((at, i) => {
          const sum = expected.get(at);
          expected.set(at, sum === undefined ? values[i] : combine[reduction](sum, values[i]));
        });
        device.reduce(reduction, input, output);
        for (const [at, exact] of expected) {
          const found = wordsOf(output)[at];
          const wanted: number = dtype === i32 ? exact | 0 : dtype === u32 ? exact % 2 ** 32 : exact;
          if (dtype === i32 || dtype === u32 || reduction !== "sum") assert.equal(found, wanted);
          else assert.ok(Math.abs(found - wanted) <= (dtype === f32 ? 1e-5 : 1e-12) * (1 + Math.abs(wanted)));
        }
      }
    }
  }
});

Deno.test("the sum of no elements is 0, and NaN propagates through a maximum", () => {
  const sum = allocateView(device, [3, 1], "float32");
  wordsOf(sum).fill(7);
  device.reduce("sum", allocateView(device, [3, 0], "float32"), sum);
  assert.deepEqual(valuesOf(sum), [0, 0, 0]);
  for (const at of [0, 5, 40]) {
    const x = allocateView(device, [41], "float32");
    wordsOf(x).fill(1)[at] = NaN;
    const largest = allocateView(device, [1], "float32");
    device.reduce("max", x, largest);
    assert.deepEqual(valuesOf(largest), [NaN]);
  }
});

Deno.test("a float32 sum of ten million times 0.1 is accurate to 1e-6", () => {
  const x = allocateView(device, [10_000_000], "float32");
  wordsOf(x).fill(0.1);
  const sum = allocateView(device, [1], "float32");
  device.reduce("sum", x, sum);
  assert.ok(Math.abs(valuesOf(sum)[0] / (1e7 * Math.fround(0.1)) - 1) < 1e-6);
  x.source.free();
});

/** Tolerance of the sums of k terms. */
function toleranceOf(dtype: DType, k: number): number {
  return (dtype === f32 ? 4e-7 : 1e-15) * (1 + Math.sqrt(k) / 4);
}

Deno.test("matrix products agree with naive loops for every memory layout", () => {
  const random = randomNumbers(13);
  const lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 25, 40];
  for (const dtype of floats) {
    for (let trial = 0; trial < 400; trial++) {
      const batch = Array.from({ length: below(random, 3) }, () => 1 + below(random, 3));
      const [m, n, k] = [pick(random, lengths), pick(random, lengths), pick(random, lengths)];
      const a = randomView(random, [...batch, m, k], dtype, false);
      const b = randomView(random, [...batch, k, n], dtype, false);
      const output = allocateView(device, [...batch, m, n], dtype);
      device.matmul(a, b, output);
      assertProduct(a, b, valuesOf(output), toleranceOf(dtype, k));
    }
  }
});

Deno.test("large matrix products agree with naive loops for every axis order", () => {
  const random = randomNumbers(14);
  for (const dtype of floats) {
    for (
      const [m, n, k] of [
        [49, 70, 300],
        [97, 33, 513],
        [25, 1030, 17],
        [130, 8, 1100],
        // Thin matrices multiplied by a large matrix.
        [1, 515, 259],
        [7, 1030, 131],
        [31, 257, 1029],
        [1030, 5, 131],
        // Both matrices are packed as a whole. Naive loops over them take long, so that two orders are tested.
        [197, 197, 433],
      ]
    ) {
      const orders = [[0, 0], [1, 1], [0, 1], [1, 0]].slice(0, m * n * k < 1e7 ? 4 : 2);
      for (const [aTransposed, bTransposed] of orders) {
        const matrix = (rows: number, columns: number, transposed: number): BufferView => {
          const shape = transposed ? [columns, rows] : [rows, columns];
          const view = allocateView(device, shape, dtype);
          wordsOf(view).forEach((_, i, words) => words[i] = randomValue(random, dtype));
          return transposed ? { ...view, shape: [rows, columns], strides: view.strides.toReversed() } : view;
        };
        const [a, b] = [matrix(m, k, aTransposed), matrix(k, n, bTransposed)];
        const output = allocateView(device, [m, n], dtype);
        device.matmul(a, b, output);
        assertProduct(a, b, valuesOf(output), toleranceOf(dtype, k));
      }
    }
  }
});

Deno.test("products of a prepacked matrix agree with naive loops for every memory layout", () => {
  const random = randomNumbers(17);
  const [m, k, n] = [35, 520, 1025];
  const layouts = [{ aAxes: [0, 1], bAxes: [1, 0], step: 1 }, { aAxes: [1, 0], bAxes: [0, 1], step: 3 }];
  for (const dtype of floats) {
    for (const { aAxes, bAxes, step } of layouts) {
      const matrix = (shape: number[], axes: number[], step: number): BufferView => {
        const whole = allocateView(device, [...axes.map((axis) => shape[axis]), step], dtype);
        wordsOf(whole).forEach((_, i, words) => words[i] = randomValue(random, dtype));
        return { ...whole, shape, strides: axes.map((axis) => whole.strides[axis]) };
      };
      const [a, b] = [matrix([m, k], aAxes, step), matrix([k, n], bAxes, 1)];
      const prepared = device.prepare(b, m);
      assert.ok(prepared);
      const output = allocateView(device, [m, n], dtype);
      device.matmul(a, b, output, prepared);
      prepared.free();
      assertProduct(a, b, valuesOf(output), toleranceOf(dtype, k));
    }
  }
});

Deno.test("a product with more rows than one packing block is complete", () => {
  const [m, k, n] = [450, 42_000, 200];
  const [a, output] = [allocateView(device, [m, k], "float32"), allocateView(device, [m, n], "float32")];
  wordsOf(a).fill(1);
  device.matmul(a, { ...a, shape: [k, n], strides: [1, k] }, output);
  assert.ok(valuesOf(output).every((sum) => sum === k));
  a.source.free();
});

Deno.test("a product does not read past its operands, even at the end of memory", () => {
  const device = createCpuDevice({ threads: 1 });
  const [m, n, k] = [232, 65, 97];
  const [b, output] = [allocateView(device, [k, n], "float32"), allocateView(device, [m, n], "float32")];
  const warm = allocateView(device, [m, k], "float32");
  device.matmul(warm, b, output);
  const { memory } = device;
  const bytes = 64 * Math.ceil(4 * m * k / 64);
  // One free block follows the memory in use. Its last granule is never allocated.
  const probe = memory.allocate(64);
  memory.allocate(memory.totalBytes - 64 - (probe.address + 64) - bytes);
  const a = allocateView(device, [m, k], "float32");
  assert.equal((a.source.memory as Block).address + bytes, memory.totalBytes - 64);
  device.matmul(a, b, output);
});

Deno.test("a product over zero terms is zero, and a product without rows does nothing", () => {
  const output = allocateView(device, [2, 3], "float32");
  wordsOf(output).fill(5);
  device.matmul(allocateView(device, [2, 0], "float32"), allocateView(device, [0, 3], "float32"), output);
  assert.deepEqual(valuesOf(output), [0, 0, 0, 0, 0, 0]);
  const empty = allocateView(device, [0, 3], "float32");
  device.matmul(allocateView(device, [0, 4], "float32"), allocateView(device, [4, 3], "float32"), empty);
});

Deno.test("tridiagonal systems are solved for every memory layout", () => {
  const random = randomNumbers(15);
  for (const dtype of floats) {
    for (let trial = 0; trial < 120; trial++) {
      const [systems, n] = [1 + below(random, 40), 1 + below(random, 12)];
      const operand = (rows: number) => randomView(random, [rows, n], dtype, rows > 1);
      const [lower, diagonal, upper] = [0, 1, 2].map(() => operand(random() < 0.5 ? 1 : systems));
      const rhs = randomView(random, [systems, n], dtype, true);
      const output = random() < 0.5
        ? allocateView(device, [systems, n], dtype)
        : { ...allocateView(device, [n, systems], dtype), shape: [systems, n], strides: [1, systems] };
      const words = wordsOf(diagonal);
      for (const at of positionsOf(diagonal)) words[at] = 10 + Math.abs(words[at]) % 4;
      device.tridiagonal(lower, diagonal, upper, rhs, output);
      const [l, d, u] = [lower, diagonal, upper].map((band) => {
        const values = valuesOf(band);
        return (system: number, i: number) => values[(band.shape[0] === 1 ? 0 : system * n) + i];
      });
      const [r, x] = [valuesOf(rhs), valuesOf(output)];
      for (let system = 0; system < systems; system++) {
        for (let i = 0; i < n; i++) {
          const at = system * n + i;
          const left = (i > 0 ? l(system, i) * x[at - 1] : 0) + d(system, i) * x[at] +
            (i + 1 < n ? u(system, i) * x[at + 1] : 0);
          assert.ok(
            Math.abs(left - r[at]) < (dtype === f32 ? 1e-5 : 1e-13),
            `system ${system} of ${systems}, equation ${i} of ${n}: ${left}, expected ${r[at]}`,
          );
        }
      }
    }
  }
});

Deno.test("excluded rows of tridiagonal systems are not read", () => {
  const n = 5, systems = 9;
  const bands = [0, 1, 2].map(() => allocateView(device, [systems, n], "float64"));
  bands.forEach((band, i) => wordsOf(band).fill(i === 1 ? 4 : 1));
  for (let system = 0; system < systems; system++) {
    wordsOf(bands[0])[system * n] = NaN;
    wordsOf(bands[2])[system * n + n - 1] = NaN;
  }
  const rhs = allocateView(device, [systems, n], "float64");
  wordsOf(rhs).fill(1);
  const output = allocateView(device, [systems, n], "float64");
  device.tridiagonal(bands[0], bands[1], bands[2], rhs, output);
  assert.ok(valuesOf(output).every(Number.isFinite));
});

Deno.test("rows of any length are gathered and scatter-added", () => {
  const random = randomNumbers(19);
  for (const dtype of numeric) {
    for (let inner = 1; inner < 20; inner++) {
      const [outer, size, count] = [1 + below(random, 3), 1 + below(random, 6), below(random, 9)];
      const upload = (shape: number[], type: DType) => {
        const view = allocateView(device, shape, type);
        wordsOf(view).forEach((_, i, words) => words[i] = below(random, 100));
        return view;
      };
      const indices = upload([count], i32);
      const positions = wordsOf(indices).map((_, i, words) => words[i] = below(random, size + 2) - 1);
      const input = upload([outer, size, inner], dtype);
      const output = upload([outer, count, inner], dtype);
      device.gather(input, indices, output);
      const [x, y] = [valuesOf(input), valuesOf(output)];
      const sums = upload([outer, size, inner], dtype);
      const expected = valuesOf(sums);
      device.scatterAdd(output, indices, sums);
      const missing = floats.includes(dtype) ? NaN : 0;
      for (let o = 0; o < outer; o++) {
        positions.forEach((position, i) => {
          for (let k = 0; k < inner; k++) {
            const at = (o * size + position) * inner + k;
            const found = y[(o * count + i) * inner + k];
            const isInside = position >= 0 && position < size;
            assert.equal(found, isInside ? x[at] : missing, `${dtype}, row ${position} of ${size}`);
            if (isInside) expected[at] += found;
          }
        });
      }
      assert.deepEqual(valuesOf(sums), expected);
    }
  }
});

Deno.test("a read copies values, so that later writes do not change them", () => {
  const view = allocateView(device, [3], "int32");
  device.write(view.source, Int32Array.of(1, 2, 3));
  const read = device.readSync(view);
  device.write(view.source, Int32Array.of(4, 5, 6));
  assert.deepEqual([...read], [1, 2, 3]);
  assert.ok(read.buffer instanceof ArrayBuffer);
});
