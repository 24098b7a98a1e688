/** The CPU device against naive loops, its allocator, its threads, and how a process with it ends. */
import assert from "node:assert/strict";
import { allocateView } from "../../src/device/view.ts";
import { Buffer, type BufferView, type Reduction, type View } from "../../src/device/device.ts";
import { bytesPerElement, type DType } from "../../src/device/dtype.ts";
import * as s from "../../src/device/scalar.ts";
import { sizeOf } from "../../src/device/shape.ts";
import { type CpuDevice, createCpuDevice } from "../../src/device/cpu/device.ts";
import { type Block, Memory } from "../../src/device/cpu/memory.ts";
import { maximumPages } from "../../src/device/cpu/memory64.ts";
import { type FunctionBuilder, ModuleBuilder } from "../../src/device/cpu/wasm.ts";

const device = createCpuDevice({ threads: 1 });

/** Repeatable random numbers in [0, 1). */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

type Random = () => number;
const below = (random: Random, n: number) => Math.floor(random() * n);
const pick = <T>(random: Random, items: readonly T[]): T => items[below(random, items.length)];

/** The words of a buffer, as a view's type has them. */
function wordsOf(view: BufferView, on = device) {
  const { memory } = on;
  const words = view.dtype === "float32"
    ? memory.f32
    : view.dtype === "float64"
    ? memory.f64
    : view.dtype === "int32"
    ? memory.i32
    : memory.u32;
  const start = (view.source.memory as Block).address / bytesPerElement(view.dtype);
  return words.subarray(start, start + view.source.byteLength / bytesPerElement(view.dtype));
}

/** The elements in row-major order, each with its position in the buffer. */
function* elements({ shape, strides, offset }: View): Generator<number> {
  const position = shape.map(() => 0);
  for (let n = sizeOf(shape); n > 0; n--) {
    yield position.reduce((at, i, axis) => at + i * strides[axis], offset);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      if (++position[axis] < shape[axis]) break;
      position[axis] = 0;
    }
  }
}

function valuesOf(view: View, on = device): number[] {
  const positions = [...elements(view)];
  if (typeof view.source === "number") return positions.map(() => view.source as number);
  const words = wordsOf(view as BufferView, on);
  return positions.map((position) => words[position]);
}

/** A value that its type holds exactly. */
function randomValue(random: Random, dtype: DType): number {
  switch (dtype) {
    case "float32":
      return Math.fround(random() * 8 - 4);
    case "float64":
      return random() * 8 - 4;
    case "int32":
      return below(random, 2 ** 32) - 2 ** 31;
    case "uint32":
      return below(random, 2 ** 32);
    case "bool":
      return below(random, 2);
  }
}

/** A view of fresh memory in which axes are permuted, reversed, spread out and, for inputs, repeated. */
function randomView(random: Random, shape: readonly number[], dtype: DType, isOutput: boolean): BufferView {
  const order = shape.map((_, axis) => axis);
  if (random() < 0.4) order.sort(() => random() - 0.5);
  const strides = shape.map(() => 0);
  let extent = 1, offset = 0;
  for (const axis of order.toReversed()) {
    if (!isOutput && random() < 0.2) continue; // Repeated.
    const step = random() < 0.25 ? 2 + below(random, 2) : 1;
    strides[axis] = extent * step;
    extent *= Math.max(1, shape[axis]) * step;
    if (random() < 0.2 && shape[axis] > 0) {
      offset += strides[axis] * (shape[axis] - 1);
      strides[axis] *= -1;
    }
  }
  const lead = random() < 0.5 ? below(random, 5) : 0;
  const source = new Buffer(device, (extent + lead + 3) * bytesPerElement(dtype));
  const view = { source, dtype, shape, strides, offset: offset + lead };
  const words = wordsOf(view);
  for (let i = 0; i < words.length; i++) words[i] = randomValue(random, dtype);
  return view;
}

function randomShape(random: Random): number[] {
  const lengths = [1, 2, 3, 4, 5, 7, 8, 13, 16, 33, 70];
  return Array.from(
    { length: below(random, 5) },
    (_, i) => i < 2 ? pick(random, lengths) : 1 + below(random, 5),
  );
}

const fround = Math.fround;
const f32: DType = "float32", f64: DType = "float64", i32: DType = "int32", u32: DType = "uint32";
const floats: readonly DType[] = [f32, f64];
const numeric: readonly DType[] = [f32, f64, i32, u32];

/** Functions of every kind of instruction, and what they are in JavaScript. */
const functions: {
  name: string;
  types: DType[];
  output: DType;
  build: (...x: s.Scalar[]) => s.Scalar;
  expected: (index: number, ...x: number[]) => number;
}[] = [
  { name: "copy", types: [f32], output: f32, build: (x) => x, expected: (_, x) => x },
  { name: "copy float64", types: [f64], output: f64, build: (x) => x, expected: (_, x) => x },
  { name: "add", types: [f32, f32], output: f32, build: s.add, expected: (_, a, b) => fround(a + b) },
  { name: "div", types: [f64, f64], output: f64, build: s.div, expected: (_, a, b) => a / b },
  { name: "mul int32", types: [i32, i32], output: i32, build: s.mul, expected: (_, a, b) => Math.imul(a, b) },
  {
    name: "mul uint32",
    types: [u32, u32],
    output: u32,
    build: s.mul,
    expected: (_, a, b) => Math.imul(a, b) >>> 0,
  },
  { name: "max uint32", types: [u32, u32], output: u32, build: s.max, expected: (_, a, b) => Math.max(a, b) },
  { name: "min int32", types: [i32, i32], output: i32, build: s.min, expected: (_, a, b) => Math.min(a, b) },
  {
    name: "shifts",
    types: [i32],
    output: i32,
    build: (x) => s.xor(s.shr(x, 7), s.shl(x, 3)),
    expected: (_, x) => x >> 7 ^ x << 3,
  },
  {
    name: "shift by element",
    types: [u32, u32],
    output: u32,
    build: (x, n) => s.shr(x, s.and(n, 31)),
    expected: (_, x, n) => x >>> (n & 31),
  },
  { name: "less", types: [f32, f32], output: "bool", build: s.lt, expected: (_, a, b) => +(a < b) },
  { name: "less uint32", types: [u32, u32], output: "bool", build: s.lt, expected: (_, a, b) => +(a < b) },
  {
    name: "equal bool",
    types: ["bool", "bool"],
    output: "bool",
    build: s.eq,
    expected: (_, a, b) => +(a === b),
  },
  { name: "less float64", types: [f64, f64], output: "bool", build: s.le, expected: (_, a, b) => +(a <= b) },
  {
    name: "equal masks of both widths",
    types: [f64, "bool", f64],
    output: "bool",
    build: (x, c, y) => s.xor(s.eq(s.lt(x, 0), c), s.eq(s.lt(x, 1), s.lt(y, 1))),
    expected: (_, x, c, y) => +((+(x < 0) === c) !== ((x < 1) === (y < 1))),
  },
  { name: "not", types: ["bool"], output: "bool", build: s.not, expected: (_, a) => 1 - a },
  {
    name: "select",
    types: ["bool", f32, f32],
    output: f32,
    build: s.select,
    expected: (_, c, a, b) => c ? a : b,
  },
  {
    name: "select float64",
    types: ["bool", f64, f64],
    output: f64,
    build: s.select,
    expected: (_, c, a, b) => c ? a : b,
  },
  {
    name: "masks of both widths",
    types: [f64, f32, i32],
    output: f32,
    build: (x, y, z) =>
      s.select(s.or(s.and(s.lt(x, 1), s.lt(y, 2)), s.lt(z, 0)), s.mul(y, 2), s.convert(x, "float32")),
    expected: (_, x, y, z) => (x < 1 && y < 2) || z < 0 ? y * 2 : fround(x),
  },
  {
    name: "float64 from float32 and int32",
    types: [f32, i32, u32],
    output: f64,
    build: (x, i, u) =>
      s.add(s.convert(x, "float64"), s.sub(s.convert(i, "float64"), s.convert(u, "float64"))),
    expected: (_, x, i, u) => x + (i - u),
  },
  {
    name: "int32 from float64",
    types: [f64],
    output: i32,
    build: (x) => s.convert(s.mul(x, 100), "int32"),
    expected: (_, x) => x * 100 | 0,
  },
  {
    name: "uint32 from float32",
    types: [f32],
    output: u32,
    build: (x) => s.convert(s.abs(s.mul(x, 16)), "uint32"),
    expected: (_, x) => Math.trunc(Math.abs(x * 16)),
  },
  {
    name: "number from bool",
    types: ["bool", "bool"],
    output: f64,
    build: (a, b) => s.sub(s.convert(a, "float64"), s.mul(s.convert(b, "float64"), 3)),
    expected: (_, a, b) => a - 3 * b,
  },
  {
    name: "rounding",
    types: [f32],
    output: f32,
    build: (x) => s.add(s.add(s.round(s.mul(x, 2)), s.floor(x)), s.ceil(x)),
    expected: (_, x) => roundToEven(x * 2) + Math.floor(x) + Math.ceil(x),
  },
  {
    name: "sqrt and abs",
    types: [f64],
    output: f64,
    build: (x) => s.neg(s.sqrt(s.abs(x))),
    expected: (_, x) => -Math.sqrt(Math.abs(x)),
  },
  { name: "tanh float64", types: [f64], output: f64, build: s.tanh, expected: (_, x) => Math.tanh(x) },
  {
    name: "index",
    types: [u32],
    output: u32,
    build: (x) => s.add(s.index(), s.shr(x, 31)),
    expected: (index, x) => index + (x >>> 31),
  },
  {
    name: "index beside float64",
    types: [f64],
    output: f64,
    build: (x) => s.add(s.convert(s.index(), "float64"), x),
    expected: (index, x) => index + x,
  },
];

function roundToEven(x: number): number {
  const floor = Math.floor(x);
  return x - floor === 0.5 ? floor + Math.abs(floor % 2) : Math.round(x);
}

Deno.test("elementwise kernels give what loops give, whatever the layout", () => {
  const random = randomNumbers(11);
  for (const { name, types, output, build, expected } of functions) {
    for (let trial = 0; trial < 60; trial++) {
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
      for (const position of elements(result)) {
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

Deno.test("reductions give what loops give, whatever the layout", () => {
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
        [...elements(over)].forEach((at, i) => {
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

Deno.test("a sum of no elements is zero, a maximum is of NaN a NaN", () => {
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

Deno.test("a float32 sum of ten million tenths is right to 1e-6", () => {
  const x = allocateView(device, [10_000_000], "float32");
  wordsOf(x).fill(0.1);
  const sum = allocateView(device, [1], "float32");
  device.reduce("sum", x, sum);
  assert.ok(Math.abs(valuesOf(sum)[0] / (1e7 * Math.fround(0.1)) - 1) < 1e-6);
  x.source.free();
});

/** The naive product, summed in float64. */
function assertProduct(a: BufferView, b: BufferView, output: BufferView, on = device): void {
  const [m, n, k] = [output.shape.at(-2)!, output.shape.at(-1)!, a.shape.at(-1)!];
  const [x, y, z] = [a, b, output].map((view) => valuesOf(view, on));
  const tolerance = output.dtype === f32 ? 4e-7 : 1e-15;
  for (let at = 0; at < z.length; at++) {
    const batch = Math.floor(at / (m * n)), i = Math.floor(at / n) % m, j = at % n;
    let sum = 0, size = 0;
    for (let p = 0; p < k; p++) {
      const term = x[(batch * m + i) * k + p] * y[(batch * k + p) * n + j];
      sum += term;
      size += Math.abs(term);
    }
    const error = Math.abs(z[at] - sum);
    assert.ok(
      error <= tolerance * size * (1 + Math.sqrt(k) / 4),
      `(${a.shape}) x (${b.shape}) [${a.strides}] [${b.strides}], element ${at}: ${z[at]}, expected ${sum}`,
    );
  }
}

Deno.test("matrix products give what loops give, whatever the layout", () => {
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
      assertProduct(a, b, output);
    }
  }
});

Deno.test("large matrix products give what loops give, with every order of axes", () => {
  const random = randomNumbers(14);
  for (const dtype of floats) {
    for (
      const [m, n, k] of [
        [49, 70, 300],
        [97, 33, 513],
        [25, 1030, 17],
        [130, 8, 1100],
        // Thin ones, of which the other matrix is large.
        [1, 515, 259],
        [7, 1030, 131],
        [31, 257, 1029],
        [1030, 5, 131],
      ]
    ) {
      for (const [aTransposed, bTransposed] of [[0, 0], [0, 1], [1, 0], [1, 1]]) {
        const matrix = (rows: number, columns: number, transposed: number): BufferView => {
          const shape = transposed ? [columns, rows] : [rows, columns];
          const view = allocateView(device, shape, dtype);
          wordsOf(view).forEach((_, i, words) => words[i] = randomValue(random, dtype));
          return transposed ? { ...view, shape: [rows, columns], strides: view.strides.toReversed() } : view;
        };
        const [a, b] = [matrix(m, k, aTransposed), matrix(k, n, bTransposed)];
        const output = allocateView(device, [m, n], dtype);
        device.matmul(a, b, output);
        assertProduct(a, b, output);
      }
    }
  }
});

Deno.test("a product reads nothing behind its operands, even at the end of memory", () => {
  const own = createCpuDevice({ threads: 1 });
  const [m, n, k] = [232, 65, 97];
  const [b, output] = [allocateView(own, [k, n], "float32"), allocateView(own, [m, n], "float32")];
  const warm = allocateView(own, [m, k], "float32");
  own.matmul(warm, b, output);
  const { memory } = own;
  const bytes = 64 * Math.ceil(4 * m * k / 64);
  // Behind what is in use lies one free block, whose last granule is never given out.
  const probe = memory.allocate(64);
  memory.allocate(memory.totalBytes - 64 - (probe.address + 64) - bytes);
  const a = allocateView(own, [m, k], "float32");
  assert.equal((a.source.memory as Block).address + bytes, memory.totalBytes - 64);
  own.matmul(a, b, output);
});

Deno.test("a product over no terms is zero, and one without rows does nothing", () => {
  const output = allocateView(device, [2, 3], "float32");
  wordsOf(output).fill(5);
  device.matmul(allocateView(device, [2, 0], "float32"), allocateView(device, [0, 3], "float32"), output);
  assert.deepEqual(valuesOf(output), [0, 0, 0, 0, 0, 0]);
  const empty = allocateView(device, [0, 3], "float32");
  device.matmul(allocateView(device, [0, 4], "float32"), allocateView(device, [4, 3], "float32"), empty);
});

Deno.test("tridiagonal systems are solved, whatever the layout", () => {
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
      for (const at of elements(diagonal)) words[at] = 10 + Math.abs(words[at]) % 4;
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

Deno.test("what tridiagonal systems leave out is not read", () => {
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

Deno.test("rows of any length are gathered, and scattered back by adding", () => {
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

Deno.test("memory that is allocated never overlaps, is aligned, and comes back whole", () => {
  const random = randomNumbers(16);
  const memory = new Memory(2 ** 28);
  const live: { block: Block; bytes: number; mark: number }[] = [];
  let mark = 0;
  for (let step = 0; step < 20_000; step++) {
    if (random() < 0.52 && live.length < 500) {
      const bytes = Math.floor(2 ** (random() * 17));
      const block = memory.allocate(bytes);
      assert.equal(block.address % 64, 0);
      mark = mark % 255 + 1;
      memory.u8.fill(mark, block.address, block.address + bytes);
      live.push({ block, bytes, mark });
    } else if (live.length > 0) {
      const [{ block, bytes, mark }] = live.splice(below(random, live.length), 1);
      const content = memory.u8.subarray(block.address, block.address + bytes);
      assert.ok(content[0] === mark || bytes === 0);
      assert.equal(content[bytes - 1] ?? mark, mark);
      assert.ok(content.every((byte) => byte === mark));
      memory.release(block);
    }
  }
  for (const { block } of live) memory.release(block);
  assert.equal(memory.usedBytes, 0);
  const total = memory.totalBytes;
  memory.release(memory.allocate(total - 1024));
  assert.equal(memory.totalBytes, total, "free memory was not joined");
});

Deno.test("memory stays flat over steps of alternating sizes", () => {
  const memory = new Memory(2 ** 28);
  const random = randomNumbers(17);
  const kept: Block[] = [];
  let early = 0;
  for (let step = 0; step < 100_000; step++) {
    kept.push(memory.allocate(64 + below(random, 1000) * (step % 2 ? 4 : 100)));
    if (kept.length > 40) memory.release(kept.splice(below(random, kept.length), 1)[0]);
    if (step === 5000) early = memory.totalBytes;
  }
  assert.ok(memory.totalBytes <= 1.25 * early, `${early} bytes at first, ${memory.totalBytes} in the end`);
});

Deno.test("a device that is full says what it addresses or the machine has, and what to do", () => {
  const most = maximumPages * 65536;
  const { total } = Deno.systemMemoryInfo();
  const [bytes, limit] = most <= total
    ? [most, "the most that WebAssembly addresses"]
    : [total, "all that the machine has"];
  const gibibytes = (bytes / 2 ** 30).toFixed(1).replace(".", "\\.");
  for (const asked of [64, 128, 512]) {
    assert.throws(
      () => new Memory().allocate(asked * 2 ** 30),
      new RegExp(
        `${asked}\\.0 GiB were asked .* of ${gibibytes} GiB, ${limit}.* batch smaller, .*"checkpoint"`,
      ),
    );
  }
});

Deno.test("memory that is full says what was asked for and what is in use", () => {
  const memory = new Memory(2 ** 20);
  memory.allocate(600_000);
  assert.throws(
    () => memory.allocate(500_000),
    /out of memory: 488\.3 KiB were asked for, 585\.9 KiB are in use/,
  );
  const rest = memory.allocate(300_000);
  memory.release(rest);
  assert.throws(() => memory.release(rest), /released twice/);
});

Deno.test("memory keeps its content when it grows", () => {
  const own = createCpuDevice({ threads: 1 });
  const first = allocateView(own, [1000], "float32");
  wordsOf(first, own).fill(3);
  const before = own.memory.totalBytes;
  const second = allocateView(own, [before / 4], "float32");
  assert.ok(own.memory.totalBytes > before);
  own.map(s.identity, [{ ...second, source: 2, strides: [0] }], second);
  assert.ok(valuesOf(first, own).every((value) => value === 3));
  assert.ok(valuesOf(second, own).every((value) => value === 2));
});

Deno.test("reading copies, so that what comes later does not show", () => {
  const view = allocateView(device, [3], "int32");
  device.write(view.source, Int32Array.of(1, 2, 3));
  const read = device.readSync(view);
  device.write(view.source, Int32Array.of(4, 5, 6));
  assert.deepEqual([...read], [1, 2, 3]);
  assert.ok(read.buffer instanceof ArrayBuffer);
});

/** Kernels large enough to be shared among threads, on one device. */
function largeResults(on: CpuDevice): number[][] {
  const upload = (shape: number[], dtype: DType) => {
    const random = randomNumbers(21);
    const view = allocateView(on, shape, dtype);
    wordsOf(view, on).forEach((_, i, words) => words[i] = randomValue(random, dtype));
    return view;
  };
  const results: BufferView[] = [];
  const output = (shape: number[], dtype: DType) => {
    results.push(allocateView(on, shape, dtype));
    return results.at(-1)!;
  };
  for (const dtype of floats) {
    const [a, b] = [upload([300, 310], dtype), upload([310, 290], dtype)];
    on.matmul(a, b, output([300, 290], dtype));
    const batch = [upload([600, 20, 21], dtype), upload([600, 21, 22], dtype)];
    on.matmul(batch[0], batch[1], output([600, 20, 22], dtype));
    const wide = upload([1100, 1201], dtype);
    const few = upload([9, 1100], dtype);
    on.matmul(few, wide, output([9, 1201], dtype));
    on.matmul(
      upload([9, 1201], dtype),
      { ...wide, shape: [1201, 1100], strides: [1, 1201] },
      output([9, 1100], dtype),
    );
    on.reduce("sum", wide, output([1, 1], dtype));
    on.reduce("sum", wide, output([1100, 1], dtype));
    on.reduce("sum", wide, output([1, 1201], dtype));
    const transposed = { ...wide, shape: [1201, 1100], strides: [1, 1201] };
    on.map({ name: "shared", build: (x) => s.tanh(s.add(x, 1)) }, [transposed], output([1201, 1100], dtype));
    const bands = [0, 1, 2].map(() => upload([400, 101], dtype));
    on.tridiagonal(bands[0], bands[1], bands[2], upload([400, 101], dtype), output([400, 101], dtype));
  }
  return results.map((view) => valuesOf(view, on));
}

Deno.test("results do not depend on the number of threads, to the last bit", async () => {
  const expected = largeResults(createCpuDevice({ threads: 1 }));
  const threaded = createCpuDevice({ threads: 3 });
  let found: number[][] = [];
  // Workers take a while to start, and until they have the main thread does everything.
  for (let attempt = 0; attempt < 100 && threaded.pool.tasksOfWorkers < 100; attempt++) {
    found = largeResults(threaded);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.ok(threaded.pool.tasksOfWorkers >= 100, "no worker has taken part");
  for (const [i, result] of found.entries()) {
    const wrong = result.findIndex((value, at) => !Object.is(value, expected[i][at]));
    assert.equal(
      wrong,
      -1,
      `result ${i}, element ${wrong}: ${result[wrong]}, with one thread ${expected[i][wrong]}`,
    );
  }
  threaded.destroy();
  assert.equal(largeResults(threaded).length, found.length, "a destroyed device still computes");
});

Deno.test("a number of threads that makes no sense is refused", () => {
  for (const threads of [0, -1, 1.5, NaN]) assert.throws(() => createCpuDevice({ threads }), RangeError);
});

/** A program that has started workers, and then ends in some way. */
function endingProgram(ending: string): string {
  const mod = new URL("../../src/device/cpu/device.ts", import.meta.url);
  const view = new URL("../../src/device/view.ts", import.meta.url);
  return `
    const { createCpuDevice } = await import("${mod}");
    const { allocateView } = await import("${view}");
    const device = createCpuDevice({ threads: 2 });
    const [a, b, c] = [0, 1, 2].map(() => allocateView(device, [256, 256], "float32"));
    device.matmul(a, b, c);
    ${ending}
  `;
}

const endings: { name: string; code: string; exit: number }[] = [
  { name: "at its last line", code: "", exit: 0 },
  { name: "after its workers have slept", code: "await new Promise((r) => setTimeout(r, 300));", exit: 0 },
  { name: "by Deno.exit", code: "Deno.exit(7);", exit: 7 },
  { name: "by an error that nobody catches", code: "throw new Error('as meant');", exit: 1 },
  { name: "after destroy", code: "device.destroy();", exit: 0 },
];

for (const { name, code, exit } of endings) {
  Deno.test(`a process with worker threads ends ${name}`, async () => {
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    try {
      await Deno.writeTextFile(file, endingProgram(code));
      const command = new Deno.Command(Deno.execPath(), {
        // The imports need to be read; neither the device nor its threads need a permission.
        args: ["run", "--no-check", "--no-prompt", "--allow-read", file],
        signal: AbortSignal.timeout(20_000),
        stdout: "null",
        stderr: "piped",
      });
      const { code: found, signal, stderr } = await command.output();
      assert.equal(signal, null, "it had to be killed");
      assert.equal(found, exit, new TextDecoder().decode(stderr));
    } finally {
      await Deno.remove(file);
    }
  });
}

/** Runs a function without parameters that an assembler has filled. */
function assembleAndRun(result: "i32" | "f32" | "f64", fill: (f: FunctionBuilder) => void): number {
  const module = new ModuleBuilder();
  fill(module.addFunction("run", [], [result]));
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()));
  return (exports.run as () => number)();
}

Deno.test("constants come through the assembler as they are", () => {
  const random = randomNumbers(18);
  const integers = [0, 1, -1, 63, 64, -64, -65, 127, 128, 8191, 8192, 2 ** 31 - 1, -(2 ** 31)];
  for (let i = 0; i < 200; i++) integers.push((random() - 0.5) * 2 ** below(random, 33) | 0);
  for (const value of integers) assert.equal(assembleAndRun("i32", (f) => f.i32(value)), value);
  for (const value of [0.1, -0, NaN, Infinity, 1e-310, 2 ** 60]) {
    assert.ok(Object.is(assembleAndRun("f64", (f) => f.f64(value)), value));
    assert.ok(Object.is(assembleAndRun("f32", (f) => f.f32(value)), fround(value)));
  }
});

Deno.test("loops, branches and calls come through the assembler", () => {
  const module = new ModuleBuilder();
  const host = module.importFunction("env", "twice", ["f64"], ["f64"]);
  const f = module.addFunction("sumOfSquares", ["i32"], ["f64"]);
  const g = module.addFunction("square", ["i32"], ["i32"]);
  const [n] = f.params;
  const [i, sum] = [f.local("i32"), f.local("i32")];
  f.block((end) => {
    f.loop((again) => {
      f.branchIf(end, () => f.op("i32.ge_s", i, n));
      f.increment(sum, () => f.call(g, i));
      f.increment(i, 1);
      f.branch(again);
    });
  });
  f.if(() => f.op("i32.gt_s", sum, 100), () => f.i32(100), () => f.get(sum), "i32");
  f.op("f64.convert_i32_s");
  f.call(host);
  g.op("i32.mul", g.params[0], g.params[0]);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()), {
    env: { twice: (x: number) => 2 * x },
  });
  const run = exports.sumOfSquares as (n: number) => number;
  assert.deepEqual([0, 3, 5, 50].map(run), [0, 10, 60, 200]);
});

Deno.test("a body of 100,000 instructions is assembled in less than a second", () => {
  const start = performance.now();
  const value = assembleAndRun("i32", (f) => {
    const sum = f.local("i32");
    for (let i = 0; i < 25_000; i++) f.set(sum, () => f.op("i32.add", sum, i));
    f.get(sum);
  });
  assert.equal(value, 25_000 * 24_999 / 2);
  assert.ok(performance.now() - start < 1000);
});
