import assert from "node:assert/strict";
import { lower } from "../../src/device/scalar/float32_math.ts";
import * as s from "../../src/device/scalar/scalar.ts";
import type { Scalar, ScalarFunction } from "../../src/device/scalar/scalar.ts";
import { type DType, toDeviceArray, type TypedArray } from "../../src/device/dtype.ts";
import { pow, sigmoid, softplus } from "../../src/tensor/primitives/elementwise.ts";
import { testLong } from "../devices.ts";

/** How a device computes `a * b + c`, and how it treats numbers below 2^-126. */
interface Arithmetic {
  fused: boolean;
  flush: boolean;
}

const arithmetics: Arithmetic[] = [
  { fused: false, flush: false },
  { fused: true, flush: false },
  { fused: true, flush: true },
];

/** Evaluates an expression for many inputs, every node rounded to its type. V8 compiles its generated code. */
function evaluate(root: Scalar, inputs: readonly TypedArray[], arithmetic: Arithmetic): TypedArray {
  const nodes = s.topological(root);
  const names = new Map(nodes.map((node, i) => [node, `v${i}`]));
  const lines = nodes.map((node) => {
    const value = rounded(rule(node, node.args.map((arg) => names.get(arg)!), arithmetic), node.type);
    return `const ${names.get(node)} = ${isFlushed(node, arithmetic) ? `flush(${value})` : value};`;
  });
  const loop = new Function(
    "inputs",
    "results",
    "flush",
    "roundToEven",
    "bits",
    `
    const [float32, int32, uint32] = bits;
    for (let i = 0; i < results.length; i++) {
      ${lines.join("\n")}
      results[i] = ${names.get(root)};
    }
    return results;`,
  );
  const Constructor = toDeviceArray(new Float64Array(0), root.type).constructor as Float32ArrayConstructor;
  const bits = [Float32Array, Int32Array, Uint32Array].map((Bits) => new Bits(bitBuffer));
  return loop(inputs, new Constructor(inputs[0].length), flush, roundToEven, bits);
}

/** Memory of one number, to reinterpret its bits. */
const bitBuffer = new ArrayBuffer(4);

/** JavaScript that rounds a number to a type. */
function rounded(value: string, type: DType): string {
  if (type === "float32") return `Math.fround(${value})`;
  if (type === "int32") return `${value} | 0`;
  return type === "uint32" ? `${value} >>> 0` : `Number(${value})`;
}

const flush = (x: number) => Math.abs(x) < 2 ** -126 ? 0 : x;

function isFlushed({ type, op }: Scalar, { flush }: Arithmetic): boolean {
  const isMove = op === "input" || op === "bitcast" || op === "select" || op === "constant" ||
    op === "opaque";
  return flush && type === "float32" && !isMove;
}

/** JavaScript of a node before it is rounded, with the names of its operands. */
function rule({ op, type, value, args }: Scalar, [a, b, c]: string[], { fused }: Arithmetic): string {
  switch (op) {
    case "input":
      return `inputs[${value}][i]`;
    case "constant":
      return Object.is(value, -0) ? "-0" : `(${value})`;
    case "add":
      return `(${a} + ${b})`;
    case "sub":
      return `(${a} - ${b})`;
    case "mul":
      return type === "float32" ? `(${a} * ${b})` : `Math.imul(${a}, ${b})`;
    case "div":
      return `(${a} / ${b})`;
    case "fma":
      return fused ? `(${a} * ${b} + ${c})` : `(Math.fround(${a} * ${b}) + ${c})`;
    case "min":
      return `Math.min(${a}, ${b})`;
    case "max":
      return `Math.max(${a}, ${b})`;
    case "neg":
      return `(-${a})`;
    case "abs":
      return `Math.abs(${a})`;
    case "floor":
      return `Math.floor(${a})`;
    case "round":
      return `roundToEven(${a})`;
    case "lt":
      return `(${a} < ${b})`;
    case "le":
      return `(${a} <= ${b})`;
    case "eq":
      return `(${a} === ${b})`;
    case "isNaN":
      return `(${a} !== ${a})`;
    case "and":
      return `(${a} & ${b})`;
    case "or":
      return `(${a} | ${b})`;
    case "xor":
      return `(${a} ^ ${b})`;
    case "not":
      return type === "bool" ? `(1 - ${a})` : `(~${a})`;
    case "shl":
      return `(${a} << ${b})`;
    case "shr":
      return type === "uint32" ? `(${a} >>> ${b})` : `(${a} >> ${b})`;
    case "select":
      return `(${a} ? ${b} : ${c})`;
    case "convert":
      return args[0].type === "float32" && type !== "bool" ? `Math.trunc(${a})` : a;
    case "opaque":
      return a;
    case "bitcast":
      return `(${args[0].type}[0] = ${a}, ${type}[0])`;
    default:
      throw new Error(`the test's evaluator has no rule for ${op}`);
  }
}

function roundToEven(x: number): number {
  const nearest = Math.round(x);
  return nearest - x === 0.5 && nearest % 2 !== 0 ? nearest - 1 : nearest;
}

/** A function of float32 as devices compute it. */
function compute(fn: ScalarFunction, inputs: readonly TypedArray[], arithmetic: Arithmetic): Float32Array {
  const types = inputs.map(() => "float32" as const);
  return evaluate(lower(s.instantiate(fn, types)), inputs, arithmetic) as Float32Array;
}

const functions = {
  exp: { name: "exp", build: s.exp },
  log: { name: "log", build: s.log },
  log1p: { name: "log1p", build: s.log1p },
  sin: { name: "sin", build: s.sin },
  cos: { name: "cos", build: s.cos },
  tanh: { name: "tanh", build: s.tanh },
  erf: { name: "erf", build: s.erf },
};

const even = (low: number, high: number, count = 100_000) =>
  Float32Array.from({ length: count }, (_, i) => low + (high - low) * i / (count - 1));
const logarithmic = (low: number, high: number, count = 100_000) =>
  Float32Array.from({ length: count }, (_, i) => low * (high / low) ** (i / (count - 1)));
const bothSigns = (x: Float32Array) => Float32Array.from([...x, ...x.map((value) => -value)]);

/** The largest error in units in the last place of the true value. */
function worstUlp(
  x: Float32Array,
  y: Float32Array,
  exact: (x: number) => number,
): { ulp: number; at: number } {
  let worst = { ulp: 0, at: 0 };
  for (let i = 0; i < x.length; i++) {
    const truth = exact(x[i]);
    const spacing = 2 ** (Math.max(-126, Math.floor(Math.log2(Math.abs(truth)))) - 23);
    const ulp = truth === y[i] ? 0 : Math.abs(truth - y[i]) / spacing;
    if (!(ulp <= worst.ulp)) worst = { ulp, at: x[i] };
  }
  return worst;
}

/** The error function from its series, and from its continued fraction where the series loses digits. */
function erf(x: number): number {
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  let [term, sum] = [a, a];
  for (let n = 1; n < 200 && term > sum * 1e-17; n++) sum += term *= 2 * a * a / (2 * n + 1);
  return Math.sign(x) * 2 / Math.sqrt(Math.PI) * Math.exp(-a * a) * sum;
}

const accuracy: {
  fn: keyof typeof functions;
  on: string;
  x: Float32Array;
  exact: (x: number) => number;
  ulp: number;
}[] = [
  { fn: "exp", on: "[-87.336, 88.72]", x: even(-87.336, 88.72), exact: Math.exp, ulp: 1.6 },
  { fn: "exp", on: "+-[1e-30, 1]", x: bothSigns(logarithmic(1e-30, 1)), exact: Math.exp, ulp: 1.6 },
  { fn: "log", on: "[1e-38, 3e38]", x: logarithmic(1.2e-38, 3e38), exact: Math.log, ulp: 1 },
  { fn: "log", on: "[0.5, 2]", x: even(0.5, 2), exact: Math.log, ulp: 1 },
  { fn: "log1p", on: "+-[1e-30, 0.9]", x: bothSigns(logarithmic(1e-30, 0.9)), exact: Math.log1p, ulp: 1.5 },
  { fn: "log1p", on: "[0.5, 3e38]", x: logarithmic(0.5, 3e38), exact: Math.log1p, ulp: 1.5 },
  { fn: "log1p", on: "[-1, -0.9]", x: even(-1 + 2 ** -24, -0.9), exact: Math.log1p, ulp: 1.5 },
  { fn: "sin", on: "[-10, 10]", x: even(-10, 10), exact: Math.sin, ulp: 1.6 },
  { fn: "cos", on: "[-10, 10]", x: even(-10, 10), exact: Math.cos, ulp: 1.6 },
  { fn: "sin", on: "[-1e4, 1e4]", x: even(-1e4, 1e4), exact: Math.sin, ulp: 2.3 },
  { fn: "cos", on: "[-1e4, 1e4]", x: even(-1e4, 1e4), exact: Math.cos, ulp: 2.3 },
  { fn: "sin", on: "+-[1e-30, 1]", x: bothSigns(logarithmic(1e-30, 1)), exact: Math.sin, ulp: 2.3 },
  { fn: "tanh", on: "[-10, 10]", x: even(-10, 10), exact: Math.tanh, ulp: 3.6 },
  { fn: "tanh", on: "+-[1e-30, 1]", x: bothSigns(logarithmic(1e-30, 1)), exact: Math.tanh, ulp: 3.6 },
  { fn: "erf", on: "[-5, 5]", x: even(-5, 5), exact: erf, ulp: 3.6 },
  { fn: "erf", on: "+-[1e-30, 1]", x: bothSigns(logarithmic(1e-30, 1)), exact: erf, ulp: 3.6 },
];

for (const { fn, on, x, exact, ulp } of accuracy) {
  Deno.test(`float32 ${fn} is within ${ulp} ulp on ${on}`, () => {
    for (const arithmetic of arithmetics) {
      const worst = worstUlp(x, compute(functions[fn], [x], arithmetic), exact);
      assert.ok(worst.ulp <= ulp, `${worst.ulp} ulp at ${worst.at}, ${JSON.stringify(arithmetic)}`);
    }
  });
}

const specialValues: Record<keyof typeof functions, [x: number, y: number][]> = {
  exp: [
    [0, 1],
    [-0, 1],
    [88.73, Infinity],
    [89, Infinity],
    [1e30, Infinity],
    [Infinity, Infinity],
    [-104, 0],
    [-105, 0],
    [-1e30, 0],
    [
      -Infinity,
      0,
    ],
  ],
  log: [[1, 0], [0, -Infinity], [-0, -Infinity], [-1, NaN], [-1e-40, NaN], [-Infinity, NaN], [
    Infinity,
    Infinity,
  ]],
  log1p: [[0, 0], [-1, -Infinity], [-1.5, NaN], [-Infinity, NaN], [Infinity, Infinity]],
  sin: [[0, 0], [Infinity, NaN], [-Infinity, NaN]],
  cos: [[0, 1], [Infinity, NaN], [-Infinity, NaN]],
  tanh: [[0, 0], [20, 1], [-20, -1], [3e38, 1], [Infinity, 1], [-Infinity, -1]],
  erf: [[0, 0], [5, 1], [-5, -1], [3e38, 1], [Infinity, 1], [-Infinity, -1]],
};

for (const [name, cases] of Object.entries(specialValues)) {
  Deno.test(`float32 ${name} is correct for zero, infinity, NaN and values outside its domain`, () => {
    const x = Float32Array.from([...cases.map(([x]) => x), NaN]);
    const expected = [...cases.map(([, y]) => y), NaN];
    for (const arithmetic of arithmetics) {
      const y = compute(functions[name as keyof typeof functions], [x], arithmetic);
      y.forEach((value, i) => {
        const same = value === expected[i] || Number.isNaN(value) && Number.isNaN(expected[i]);
        assert.ok(same, `${name}(${x[i]}) is ${value}, expected ${expected[i]}`);
      });
    }
  });
}

for (const name of ["sin", "cos"] as const) {
  Deno.test(`float32 ${name} is within 1.2e-7 for angles up to 2e7`, () => {
    const x = bothSigns(Float32Array.from([...logarithmic(1, 2e7), ...even(1e7, 2e7)]));
    for (const arithmetic of arithmetics) {
      const y = compute(functions[name], [x], arithmetic);
      const errors = y.map((value, i) => Math.abs(value - Math[name](x[i])));
      const outside = errors.findIndex((error) => !(error <= 1.2e-7));
      assert.equal(outside, -1, `off by ${errors[outside]} at ${x[outside]}, ${JSON.stringify(arithmetic)}`);
    }
  });
}

Deno.test("float32 exp gives numbers below 2^-126, or 0 where such numbers are flushed", () => {
  const x = even(-103.9, -87.34);
  for (const arithmetic of arithmetics) {
    const y = compute(functions.exp, [x], arithmetic);
    if (arithmetic.flush) assert.ok(y.every((value) => value === 0));
    else {
      const worst = worstUlp(x, y, Math.exp);
      assert.ok(worst.ulp <= 1.6, `${worst.ulp} ulp at ${worst.at}`);
    }
  }
});

Deno.test("float32 log accepts numbers below 2^-126", () => {
  const x = logarithmic(1e-44, 1e-38);
  const worst = worstUlp(x, compute(functions.log, [x], arithmetics[0]), Math.log);
  assert.ok(worst.ulp <= 1, `${worst.ulp} ulp at ${worst.at}`);
});

for (const name of ["sin", "cos", "tanh", "erf"] as const) {
  Deno.test(`float32 ${name} stays within [-1, 1]`, () => {
    const x = bothSigns(Float32Array.from([...logarithmic(1, 3.4e38), ...even(2, 10)]));
    for (const arithmetic of arithmetics) {
      const outside = compute(functions[name], [x], arithmetic).findIndex((y) => !(Math.abs(y) <= 1));
      assert.equal(outside, -1, `at ${x[outside]}`);
    }
  });
}

function assertRelative(
  fn: ScalarFunction,
  x: readonly Float32Array[],
  exact: (...x: number[]) => number,
  bound: number,
) {
  for (const arithmetic of arithmetics) {
    compute(fn, x, arithmetic).forEach((y, i) => {
      const at = x.map((values) => values[i]);
      const error = Math.abs(y / exact(...at) - 1);
      assert.ok(error <= bound, `${fn.name}(${at}) is ${y}, off by ${error}, ${JSON.stringify(arithmetic)}`);
    });
  }
}

Deno.test("float32 sigmoid is within 1e-6 relative on [-87.33, 88]", () => {
  assertRelative(sigmoid.fn, [even(-87.33, 88)], (x) => 1 / (1 + Math.exp(-x)), 1e-6);
});

Deno.test("float32 softplus is within 1e-6 relative on [-87.33, 88]", () => {
  assertRelative(
    softplus.fn,
    [even(-87.33, 88)],
    (x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x))),
    1e-6,
  );
});

testLong("float32 pow is within 3e-7 relative while |p log x| < 80", () => {
  const x = logarithmic(1e-30, 1e30, 20_000);
  for (const share of [-79.5, -40, -10, -1, -0.1, 0.1, 1, 10, 40, 79.5]) {
    const p = x.map((value) => Math.max(-1e6, Math.min(1e6, share / Math.log(value))));
    assertRelative(pow.fn, [x, p], Math.pow, 3e-7);
  }
});

/** Pairs of a base and an exponent. */
function pairsOf(bases: readonly number[], exponents: readonly number[]): [Float32Array, Float32Array] {
  const pairs = bases.flatMap((x) => exponents.map((p) => [x, p]));
  return [0, 1].map((i) => Float32Array.from(pairs, (pair) => pair[i])) as [Float32Array, Float32Array];
}

/** Whole numbers from the first to the second. */
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

Deno.test("float32 pow is exact for integer exponents if the result is representable", () => {
  const powersOfTwo = range(-20, 20).flatMap((e) => [2 ** e, -(2 ** e)]);
  for (
    const [x, p] of [
      pairsOf([...range(-300, 300), 0.75, -1.5], range(0, 16)),
      pairsOf(powersOfTwo, range(-160, 160)),
    ]
  ) {
    for (const arithmetic of arithmetics) {
      compute(pow.fn, [x, p], arithmetic).forEach((y, i) => {
        const exact = x[i] ** p[i];
        const isFlushed = arithmetic.flush && Math.abs(exact) < 2 ** -126;
        if (Math.fround(exact) === exact && !isFlushed) assert.ok(y === exact, `${x[i]} ** ${p[i]} is ${y}`);
      });
    }
  }
});

Deno.test("float32 pow is correct for zeros, infinities, NaN and negative bases", () => {
  const values = [0, -0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 17, -17, Infinity, -Infinity, NaN];
  const [x, p] = pairsOf(values, values);
  const isUnit = (x: number, p: number) => x === 1 || x === -1 && Math.abs(p) === Infinity;
  for (const arithmetic of arithmetics) {
    compute(pow.fn, [x, p], arithmetic).forEach((y, i) => {
      const expected = isUnit(x[i], p[i]) ? 1 : x[i] ** p[i];
      // The sign of 0 is lost if small numbers are flushed to zero.
      const isSame = Object.is(y, expected) || arithmetic.flush && y === expected;
      const isClose = isSame || Math.abs(y / expected - 1) <= 3e-7;
      assert.ok(isClose, `${x[i]} ** ${p[i]} is ${y}, expected ${expected}`);
    });
  }
});

Deno.test("lower does not change float64 expressions and keeps shared nodes shared", () => {
  const double = s.instantiate(functions.exp, ["float64"]);
  assert.equal(lower(double), double);
  const power = s.exp(s.constant(1, "float32"));
  const sum = lower(s.add(power, power));
  assert.equal(sum.args[0], sum.args[1]);
  assert.ok(s.topological(sum).every(({ op }) => op !== "exp"));
});
