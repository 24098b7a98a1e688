/** Elementwise functions as expressions and in JavaScript. */
import type { DType } from "../../src/device/dtype.ts";
import * as s from "../../src/device/scalar/scalar.ts";
import { f32, f64, fround, i32, u32 } from "./random_views.ts";

/** Functions with every kind of instruction, and their equivalents in JavaScript. */
export const functions: {
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
