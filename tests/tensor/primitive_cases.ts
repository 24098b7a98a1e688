/**
 * Test inputs and expected results of every primitive, by naive loops. The tests of gradients, of both
 * devices and of memory layouts use this table.
 */
import { where } from "../../mod.ts";
import { apply } from "../../src/tensor/primitive.ts";
import * as elementwise from "../../src/tensor/primitives/elementwise.ts";
import * as indexing from "../../src/tensor/primitives/indexing.ts";
import * as linear from "../../src/tensor/primitives/linear_algebra.ts";
import * as reduction from "../../src/tensor/primitives/reduction.ts";
import * as sorting from "../../src/tensor/primitives/sorting.ts";
import * as structural from "../../src/tensor/primitives/structural.ts";
import * as cubicPieces from "../../src/paths/cubic_pieces.ts";
import * as naturalCubic from "../../src/paths/natural_cubic.ts";
import { exactGelu } from "./float32_sweep.ts";
import { at, build, map, permute, random } from "./nd.ts";
import {
  appliedCase,
  argCase,
  awayFromKinks,
  binary,
  bools,
  type Case,
  castCase,
  close,
  cumsumCase,
  erf,
  flags,
  floats,
  gatherCase,
  grid,
  halves,
  integers,
  largest,
  matmulCase,
  mixed,
  outside,
  positive,
  recurrenceCase,
  reduceCase,
  roundToEven,
  rows,
  scatterCase,
  shape,
  smallest,
  sortCase,
  total,
  tridiagonalCase,
  unary,
  unsigned,
  whole,
} from "./primitive_case.ts";

export { type Case, type Operand } from "./primitive_case.ts";

export const modules: Record<string, Record<string, unknown>> = {
  elementwise,
  indexing,
  linear,
  reduction,
  sorting,
  structural,
  cubicPieces,
  naturalCubic,
};

/** By module name and export name. */
export const cases: Record<string, readonly Case[]> = {
  "elementwise.add": [
    binary("add", (a, b) => a + b),
    binary("add", (a, b) => a + b, 2, mixed),
    binary("add", (a, b) => a + b | 0, 0, integers),
    binary("add", (a, b) => a + b >>> 0, 0, unsigned),
  ],
  "elementwise.sub": [
    binary("sub", (a, b) => a - b),
    binary("sub", (a, b) => a - b, 2, mixed),
    binary("sub", (a, b) => a - b | 0, 0, integers),
    binary("sub", (a, b) => a - b >>> 0, 0, unsigned),
  ],
  "elementwise.mul": [
    binary("mul", (a, b) => a * b),
    binary("mul", (a, b) => a * b, 2, mixed),
    binary("mul", (a, b) => a * b | 0, 0, integers),
    binary("mul", (a, b) => Math.imul(a, b) >>> 0, 0, unsigned),
  ],
  "elementwise.div": [
    binary("div", (a, b) => a / b, 2, [floats(shape, 2), positive]),
    binary("div", (a, b) => a / b, 2, [floats([2, 5], 2), positive]),
  ],
  "elementwise.pow": [
    binary("pow", Math.pow, 2, [positive, floats(shape, 15)]),
    binary("pow", Math.pow, 0, [floats(shape, 16), whole("float32", shape, 17, -3, 4)]),
    binary("pow", Math.pow, 0, [close[0], close[1]]),
  ],
  "elementwise.atan2": [
    binary("atan2", Math.atan2),
    binary("atan2", Math.atan2, 2, mixed),
  ],
  "elementwise.isFinite": [
    unary("isFinite", (x) => Number(Number.isFinite(x)), 0, {
      array: { shape: [6], values: [0, NaN, Infinity, -Infinity, 1e38, -1e-38] },
    }),
    unary("isFinite", () => 1, 0, integers[0]),
    unary("isFinite", () => 1, 0, flags[0]),
  ],
  "elementwise.maximum": [
    binary("maximum", Math.max),
    binary("maximum", Math.max, 0, integers),
    binary("maximum", Math.max, 0, unsigned),
  ],
  "elementwise.minimum": [
    binary("minimum", Math.min),
    binary("minimum", Math.min, 0, integers),
    binary("minimum", Math.min, 0, unsigned),
  ],
  "elementwise.stopGradient": [{
    name: "stopGradient",
    operands: [floats(shape, 1)],
    run: (x) => apply(elementwise.stopGradient, [x], undefined),
    expected: (x) => x,
    smooth: 0,
  }],
  "elementwise.neg": [unary("neg", (x) => -x), unary("neg", (x) => -x, 0, integers[0])],
  "elementwise.abs": [
    unary("abs", Math.abs, 2, awayFromKinks(shape, 1)),
    unary("abs", Math.abs, 0, integers[0]),
    unary("abs", Math.abs, 0, unsigned[0]),
  ],
  "elementwise.sign": [
    unary("sign", Math.sign, 0),
    unary("sign", Math.sign, 0, whole("int32", shape, 5, -2, 2)),
    unary("sign", Math.sign, 0, whole("uint32", shape, 5, 0, 3)),
  ],
  "elementwise.floor": [unary("floor", Math.floor, 0)],
  "elementwise.ceil": [unary("ceil", Math.ceil, 0)],
  "elementwise.round": [unary("round", roundToEven, 0, halves), unary("round", roundToEven, 0)],
  "elementwise.exp": [
    unary("exp", Math.exp),
    unary("exp", Math.exp, 0, floats([64], 1, { low: -80, high: 80 })),
  ],
  "elementwise.log": [unary("log", Math.log, 2, positive)],
  "elementwise.log1p": [unary("log1p", Math.log1p, 2, positive)],
  "elementwise.sqrt": [unary("sqrt", Math.sqrt, 2, positive)],
  "elementwise.sin": [
    unary("sin", Math.sin),
    unary("sin", Math.sin, 0, floats([64], 1, { low: -1e3, high: 1e3 })),
  ],
  "elementwise.cos": [
    unary("cos", Math.cos),
    unary("cos", Math.cos, 0, floats([64], 1, { low: -1e3, high: 1e3 })),
  ],
  "elementwise.tanh": [
    unary("tanh", Math.tanh),
    unary("tanh", Math.tanh, 0, floats([64], 1, { low: -20, high: 20 })),
  ],
  "elementwise.erf": [unary("erf", erf), unary("erf", erf, 0, floats([64], 1, { low: -5, high: 5 }))],
  "elementwise.gelu": [
    unary("gelu", exactGelu),
    unary("gelu", exactGelu, 0, floats([64], 1, { low: -12, high: 12 })),
  ],
  "elementwise.normalBelow": [
    appliedCase(elementwise.normalBelow, (x) => (1 + erf(x * Math.SQRT1_2)) / 2),
  ],
  "elementwise.sigmoid": [
    unary("sigmoid", (x) => 1 / (1 + Math.exp(-x))),
    unary("sigmoid", (x) => 1 / (1 + Math.exp(-x)), 0, floats([64], 1, { low: -80, high: 80 })),
  ],
  "elementwise.softplus": [
    unary("softplus", (x) => Math.log1p(Math.exp(x))),
    unary("softplus", (x) => Math.log1p(Math.exp(x)), 0, floats([64], 1, { low: -80, high: 80 })),
  ],
  "elementwise.relu": [unary("relu", (x) => Math.max(x, 0), 2, awayFromKinks(shape, 1))],
  "elementwise.less": [
    binary("less", (a, b) => Number(a < b), 0, close),
    binary("greater", (a, b) => Number(a > b), 0, integers),
    binary("less", (a, b) => Number(a < b), 0, unsigned),
  ],
  "elementwise.lessEqual": [
    binary("lessEqual", (a, b) => Number(a <= b), 0, close),
    binary("greaterEqual", (a, b) => Number(a >= b), 0, integers),
  ],
  "elementwise.equal": [
    binary("equal", (a, b) => Number(a === b), 0, close),
    binary("notEqual", (a, b) => Number(a !== b), 0, integers),
    binary("equal", (a, b) => Number(a === b), 0, flags),
  ],
  "elementwise.isNaN": [
    unary("isNaN", (x) => Number(x !== x), 0, { array: { shape: [4], values: [NaN, 0, Infinity, -1] } }),
  ],
  "elementwise.and": [
    binary("and", (a, b) => a & b, 0, flags),
    binary("and", (a, b) => a & b, 0, integers),
    binary("and", (a, b) => (a & b) >>> 0, 0, unsigned),
  ],
  "elementwise.or": [
    binary("or", (a, b) => a | b, 0, flags),
    binary("or", (a, b) => a | b, 0, integers),
    binary("or", (a, b) => (a | b) >>> 0, 0, unsigned),
  ],
  "elementwise.xor": [
    binary("xor", (a, b) => a ^ b, 0, flags),
    binary("xor", (a, b) => a ^ b, 0, integers),
    binary("xor", (a, b) => (a ^ b) >>> 0, 0, unsigned),
  ],
  "elementwise.not": [
    unary("not", (x) => 1 - x, 0, flags[0]),
    unary("not", (x) => ~x, 0, integers[0]),
    unary("not", (x) => ~x >>> 0, 0, unsigned[0]),
  ],
  "elementwise.where": [
    {
      name: "where",
      operands: [flags[0], floats(shape, 18), floats(shape, 19)],
      run: (condition, a, b) => where(condition, a, b),
      expected: (condition, a, b) => map((c, a, b) => c ? a : b, condition, a, b),
      smooth: 2,
    },
    {
      name: "where of int32",
      operands: [flags[0], ...integers],
      run: (condition, a, b) => where(condition, a, b),
      expected: (condition, a, b) => map((c, a, b) => c ? a : b, condition, a, b),
      smooth: 0,
    },
  ],
  "elementwise.cast": [
    castCase(undefined, "int32", random(shape, 28, { low: -9, high: 9 }), Math.trunc, 0),
    castCase(undefined, "uint32", random(shape, 28, { low: 0, high: 9 }), Math.trunc, 0),
    castCase(undefined, "bool", { shape: [4], values: [0, 0.5, -1, 2] }, (x) => Number(x !== 0), 0),
    castCase("int32", "float32", integers[0].array, (x) => x, 0),
    castCase("uint32", "float32", unsigned[0].array, Math.fround, 0),
    castCase("int32", "uint32", integers[0].array, (x) => x >>> 0, 0),
    castCase("uint32", "int32", unsigned[0].array, (x) => x | 0, 0),
    castCase("bool", "float32", flags[0].array, (x) => x, 0),
    castCase("bool", "int32", flags[0].array, (x) => x, 0),
    castCase("int32", "bool", whole("int32", shape, 5, -2, 2).array, (x) => Number(x !== 0), 0),
  ],
  "indexing.gather": [
    gatherCase(rows, floats([2, 4, 3], 29), NaN),
    { ...gatherCase(rows, floats([2, 4, 3], 29), 0), smooth: 2 },
    gatherCase(outside, floats([2, 4, 3], 29), NaN),
    gatherCase(outside, whole("int32", [2, 4, 3], 29), 0),
    gatherCase(rows, bools([1, 4, 1], 29), 0),
  ],
  "indexing.scatterAdd": [
    scatterCase(rows, floats([2, 6, 3], 30)),
    scatterCase(rows, whole("int32", [2, 6, 3], 30)),
    scatterCase(outside, floats([1, 4, 1], 30)),
  ],
  "linear.matmul": [
    matmulCase([3, 4], [4, 5]),
    matmulCase([2, 3, 4], [2, 4, 5]),
    matmulCase([1, 1], [1, 1]),
    matmulCase([2, 3, 1, 7], [2, 3, 7, 1]),
    matmulCase([17, 33], [33, 19]),
    matmulCase([70, 9], [9, 67]),
  ],
  "linear.linearRecurrence": [
    recurrenceCase([2, 4, 3], [2, 5, 3], 1),
    recurrenceCase([2, 1, 17], [3, 2, 17], 0),
    recurrenceCase([1, 3], [2, 4], 1),
    recurrenceCase([2, 1], [2, 1], 1),
    recurrenceCase([2, 1, 2, 3], [2, 4, 2, 3], 1, true),
    recurrenceCase([3, 2, 9], [4, 2, 9], 0, true),
    recurrenceCase([1, 2, 2], [2, 2, 3], 2, true),
  ],
  "linear.tridiagonal": [
    tridiagonalCase(3, 3, 6),
    tridiagonalCase(4, 1, 5),
    tridiagonalCase(2, 1, 1),
    tridiagonalCase(2, 2, 2),
  ],
  "reduction.sum": [
    ...[[0], [1], [2], [0, 2], [0, 1, 2]].map((axes) => reduceCase("sum", axes, total)),
    reduceCase("sum", [1], total, whole("int32", [4, 3, 5], 20)),
    reduceCase("sum", [0, 2], (x) => total(x) >>> 0, whole("uint32", [4, 3, 5], 20, 0, 2 ** 31)),
  ],
  "reduction.max": [
    ...[[0], [1], [2], [1, 2], [0, 1, 2]].map((axes) => reduceCase("max", axes, largest)),
    reduceCase("max", [1], largest, whole("int32", [4, 3, 5], 20)),
    reduceCase("max", [2], largest, whole("uint32", [4, 3, 5], 20, 0, 2 ** 32)),
  ],
  "reduction.min": [
    ...[[0], [1], [2], [1, 2], [0, 1, 2]].map((axes) => reduceCase("min", axes, smallest)),
    reduceCase("min", [1], smallest, whole("int32", [4, 3, 5], 20)),
    reduceCase("min", [2], smallest, whole("uint32", [4, 3, 5], 20, 0, 2 ** 32)),
  ],
  "reduction.argReduce": [
    argCase("argmax", 0, floats([4, 3, 5], 31)),
    argCase("argmax", 1, whole("int32", [4, 9, 5], 31, 0, 3)),
    argCase("argmin", 2, floats([4, 3, 5], 31)),
    argCase("argmin", 1, whole("uint32", [4, 9, 5], 31, 0, 3)),
  ],
  "sorting.argSort": [
    sortCase(false, floats([4, 40], 61)),
    sortCase(true, floats([40, 4], 62)),
    sortCase(false, close[0]),
    sortCase(true, whole("int32", [3, 50], 63, -5, 5)),
    sortCase(false, whole("uint32", [3, 50], 64, 0, 2 ** 32)),
    sortCase(true, bools([5, 7], 65)),
  ],
  "reduction.cumulativeSum": [
    cumsumCase(0),
    cumsumCase(1),
    cumsumCase(2),
    cumsumCase(1, whole("int32", [4, 9, 2], 21)),
  ],
  "structural.reshape": [{
    name: "reshape",
    operands: [floats([4, 3, 2], 32)],
    run: (x) => x.reshape([2, -1]),
    expected: (x) => ({ shape: [2, 12], values: x.values }),
    smooth: 2,
  }],
  "structural.permute": [{
    name: "permute",
    operands: [floats([4, 3, 2], 32)],
    run: (x) => x.permute([2, 0, 1]),
    expected: (x) => permute(x, [2, 0, 1]),
    smooth: 2,
  }],
  "structural.broadcastTo": [{
    name: "broadcastTo",
    operands: [floats([3, 1], 32)],
    run: (x) => x.broadcastTo([2, 3, 4]),
    expected: (x) => build([2, 3, 4], (position) => at(x, position)),
    smooth: 2,
  }],
  "structural.slice": [{
    name: "slice",
    operands: [floats([6, 4, 3], 33)],
    run: (x) => apply(structural.slice, [x], { ...grid, shape: [2, 4, 3] }),
    expected: (x) => build([2, 4, 3], ([i, j, k]) => at(x, [1 + 2 * i, 3 - j, k])),
    smooth: 2,
  }],
  "structural.pad": [{
    name: "pad",
    operands: [floats([2, 4, 3], 34)],
    run: (x) => apply(structural.pad, [x], { ...grid, shape: [6, 4, 3] }),
    expected: (x) => build([6, 4, 3], ([i, j, k]) => i === 1 || i === 3 ? at(x, [(i - 1) / 2, 3 - j, k]) : 0),
    smooth: 2,
  }],
  "cubicPieces.chordCurvature": [
    appliedCase(
      cubicPieces.chordCurvature,
      (chord, start, end, inverse) => (6 * chord - 4 * start - 2 * end) * inverse,
    ),
  ],
  "cubicPieces.chordTwist": [
    appliedCase(
      cubicPieces.chordTwist,
      (chord, start, end, inverse) => 3 * (start + end - 2 * chord) * inverse ** 2,
    ),
  ],
  "cubicPieces.cubicValue": [
    appliedCase(
      cubicPieces.cubicValue,
      (a, b, twoC, threeD, t) => a + b * t + twoC / 2 * t ** 2 + threeD / 3 * t ** 3,
    ),
  ],
  "cubicPieces.cubicSlope": [
    appliedCase(cubicPieces.cubicSlope, (b, twoC, threeD, t) => b + twoC * t + threeD * t ** 2),
  ],
  "naturalCubic.slopeEquation": [
    appliedCase(
      naturalCubic.slopeEquation,
      (before, inverseBefore, after, inverseAfter) => 3 * (before * inverseBefore + after * inverseAfter),
    ),
  ],
  "structural.concatenate": [{
    name: "concatenate",
    operands: [floats([2, 1, 3], 35), floats([2, 4, 3], 36), floats([2, 0, 3], 37)],
    run: (...x) => apply(structural.concatenate, x, { axis: 1 }),
    expected: (a, b) => build([2, 5, 3], ([i, j, k]) => j === 0 ? at(a, [i, 0, k]) : at(b, [i, j - 1, k])),
    smooth: 2,
  }],
};
