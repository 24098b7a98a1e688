/**
 * Elementwise operations. An operation has a {@linkcode ScalarFunction}, from which both devices generate kernels, and a gradient rule
 * for each operand. Operands have the same shape: the methods of `Tensor` broadcast first.
 */
import { type DType, isFloat } from "../../device/dtype.ts";
import * as s from "../../device/scalar/scalar.ts";
import type { Scalar, ScalarFunction } from "../../device/scalar/scalar.ts";
import { formatShape, sameShape, ShapeError } from "../../device/shape.ts";
import { allocateView } from "../../device/view.ts";
import { apply, type Primitive, type TensorSpec } from "../primitive.ts";
import { forEachInput } from "../reverse.ts";
import type { Tensor } from "../tensor.ts";

/** The gradient with respect to one operand. */
type Gradient = (cotangent: Tensor, inputs: readonly Tensor[], output: Tensor) => Tensor;

/** A primitive with a scalar function, from which compilers generate code. */
export interface Elementwise extends Primitive<void> {
  readonly fn: ScalarFunction;
}

/** The type of the result of a function, by the types of the operands. Cached, since every operation reads it. */
function typeRule(fn: ScalarFunction): (inputs: readonly TensorSpec[]) => DType {
  interface TypeNode {
    type?: DType;
    readonly next: Partial<Record<DType, TypeNode>>;
  }
  const root: TypeNode = { next: {} };
  return (inputs) => {
    let node = root;
    for (const { dtype } of inputs) node = node.next[dtype] ??= { next: {} };
    return node.type ??= s.instantiate(fn, inputs.map((input) => input.dtype)).type;
  };
}

/**
 * Makes a primitive of a scalar function.
 *
 * @param gradients A gradient rule for each operand; `"zero"` for an operand whose gradient is zero, or for all operands.
 */
export function elementwise<A extends Scalar[]>(
  name: string,
  build: (...operands: A) => Scalar,
  gradients: { readonly [K in keyof A]: Gradient | "zero" } | "zero",
): Elementwise {
  const fn: ScalarFunction = { name, build: build as ScalarFunction["build"] };
  const typeOf = typeRule(fn);
  return {
    name,
    fn,
    infer(inputs) {
      const [{ shape }] = inputs;
      if (inputs.some((input) => !sameShape(input.shape, shape))) {
        const shapes = inputs.map((input) => formatShape(input.shape)).join(" and ");
        throw new ShapeError(`${name}: operands of shapes ${shapes} must have one shape`);
      }
      return { shape, dtype: typeOf(inputs) };
    },
    run(device, inputs, _, { shape, dtype }) {
      const output = allocateView(device, shape, dtype);
      device.map(fn, inputs, output);
      return output;
    },
    reverse: gradients === "zero" ? "zero" : forEachInput<void>(...gradients),
    batch: "elementwise",
    lower: "map",
  };
}

export const add: Elementwise = elementwise("add", s.add, [(g) => g, (g) => g]);
export const sub: Elementwise = elementwise("sub", s.sub, [(g) => g, (g) => g.neg()]);
export const mul: Elementwise = elementwise("mul", s.mul, [(g, [, b]) => g.mul(b), (g, [a]) => g.mul(a)]);
export const div: Elementwise = elementwise("div", s.div, [
  (g, [, b]) => g.div(b),
  (g, [, b], y) => g.mul(y).div(b).neg(),
]);
export const pow: Elementwise = elementwise("pow", power, [powerGradientOfBase, powerGradientOfExponent]);

/** p x^(p - 1). At x = 0 and p = 0, where x^(p - 1) is infinite, the gradient is 0. */
function powerGradientOfBase(g: Tensor, [x, p]: readonly Tensor[]): Tensor {
  const isPole = x.equal(0).and(p.equal(0));
  return isPole.where(0, g).mul(p).mul(isPole.where(1, x).pow(p.sub(1)));
}

/** x^p log(x). At x < 0, where only whole exponents have a value, and at x = 0 with p >= 0 the gradient is 0. */
function powerGradientOfExponent(g: Tensor, [x, p]: readonly Tensor[], y: Tensor): Tensor {
  const isFlat = x.less(0).or(x.equal(0).and(p.greaterEqual(0)));
  return isFlat.where(0, g).mul(y).mul(isFlat.where(1, x).log());
}

/**
 * The larger of two; NaN propagates. The gradient flows to the larger operand, or to NaN. If both operands are equal or NaN, each gets
 * half of the gradient. The other operand gets 0, even if the cotangent is infinite or NaN.
 */
export const maximum: Elementwise = elementwise("maximum", s.max, [
  (g, [a, b]) => gradientOfChosen(g, isAbove(a, b), isAbove(b, a)),
  (g, [a, b]) => gradientOfChosen(g, isAbove(b, a), isAbove(a, b)),
]);
/** The smaller of two, with the rules of {@linkcode maximum}. */
export const minimum: Elementwise = elementwise("minimum", s.min, [
  (g, [a, b]) => gradientOfChosen(g, isBelow(a, b), isBelow(b, a)),
  (g, [a, b]) => gradientOfChosen(g, isBelow(b, a), isBelow(a, b)),
]);

function isAbove(a: Tensor, b: Tensor): Tensor {
  return a.greater(b).or(a.isNaN());
}

function isBelow(a: Tensor, b: Tensor): Tensor {
  return a.less(b).or(a.isNaN());
}

/** The cotangent where only this operand is chosen, half of it where both or neither are, else 0. */
function gradientOfChosen(g: Tensor, isChosen: Tensor, isOtherChosen: Tensor): Tensor {
  // A selection: the product of 0 and an infinite cotangent would be NaN.
  return isChosen.equal(isOtherChosen).where(g.mul(0.5), isChosen.where(g, 0));
}

/** The same values without a gradient. A separate operation, so that traces contain it. */
export const stopGradient: Elementwise = {
  ...elementwise("stopGradient", s.identity.build, "zero"),
  run: (_device, [view]) => view,
};
export const neg: Elementwise = elementwise("neg", s.neg, [(g) => g.neg()]);
/** The gradient is 0 at 0 and NaN at NaN. */
export const abs: Elementwise = elementwise("abs", s.abs, [
  (g, [x]) => x.equal(0).where(0, g.mul(x.sign())),
]);
export const sign: Elementwise = elementwise(
  "sign",
  // Zero and NaN are neither above nor below zero. They are the result.
  (x) => x.type === "uint32" ? s.min(x, 1) : s.select(s.gt(x, 0), 1, s.select(s.lt(x, 0), -1, x)),
  "zero",
);

export const floor: Elementwise = elementwise("floor", s.floor, "zero");
export const ceil: Elementwise = elementwise("ceil", s.ceil, "zero");
export const round: Elementwise = elementwise("round", s.round, "zero");

export const exp: Elementwise = elementwise("exp", s.exp, [(g, _, y) => g.mul(y)]);
export const log: Elementwise = elementwise("log", s.log, [(g, [x]) => g.div(x)]);
export const log1p: Elementwise = elementwise("log1p", s.log1p, [(g, [x]) => g.div(x.add(1))]);
export const sqrt: Elementwise = elementwise("sqrt", s.sqrt, [(g, _, y) => g.div(y).mul(0.5)]);
export const sin: Elementwise = elementwise("sin", s.sin, [(g, [x]) => g.mul(x.cos())]);
export const cos: Elementwise = elementwise("cos", s.cos, [(g, [x]) => g.mul(x.sin()).neg()]);
export const tanh: Elementwise = elementwise("tanh", s.tanh, [(g, _, y) => g.mul(y.square().neg().add(1))]);
export const erf: Elementwise = elementwise("erf", s.erf, [
  (g, [x]) => g.mul(x.square().neg().exp()).mul(2 / Math.sqrt(Math.PI)),
]);
export const sigmoid: Elementwise = elementwise("sigmoid", logistic, [(g, _, y) => g.mul(y.sub(y.square()))]);
export const softplus: Elementwise = elementwise(
  "softplus",
  (x) => s.add(s.max(x, 0), s.log1p(s.exp(s.neg(s.abs(x))))),
  [(g, [x]) => g.mul(x.sigmoid())],
);
/** x times the probability that a standard normal number is below x. The sum of 1 and `erf` would cancel for negative x. */
export const gelu: Elementwise = elementwise(
  "gelu",
  (x) => {
    const t = normalDistance(x);
    return s.sub(s.max(x, 0), s.normalTail(t, t));
  },
  [(g, [x]) => g.mul(apply(normalBelow, [x], undefined).add(x.mul(normalDensity(x))))],
);
/** The probability that a standard normal number is below x. */
export const normalBelow: Elementwise = elementwise(
  "normalBelow",
  (x) => {
    const tail = s.normalTail(normalDistance(x), 1);
    return s.select(s.gt(x, 0), s.sub(s.constant(1, x.type), tail), tail);
  },
  [(g, [x]) => g.mul(normalDensity(x))],
);

/** |x|, at most 40: further tails are 0, and an infinite x would give 0 times infinity. */
function normalDistance(x: Scalar): Scalar {
  return s.min(s.abs(x), 40);
}

function normalDensity(x: Tensor): Tensor {
  return x.clip(-40, 40).square().mul(-0.5).exp().mul(1 / Math.sqrt(2 * Math.PI));
}

/** The gradient is 0 at 0, and the cotangent at NaN. */
export const relu: Elementwise = elementwise("relu", (x) => s.max(x, 0), [
  // Reads only the result, so that the input is not a residual.
  (g, _, y) => y.lessEqual(0).where(0, g),
]);

export const less: Elementwise = elementwise("less", s.lt, "zero");
export const lessEqual: Elementwise = elementwise("lessEqual", s.le, "zero");
export const equal: Elementwise = elementwise("equal", s.eq, "zero");
export const isNaN: Elementwise = elementwise("isNaN", s.isNaN, "zero");
export const isFinite: Elementwise = elementwise(
  "isFinite",
  (x) => isFloat(x.type) ? s.le(s.abs(x), largestOf(x.type)) : s.constant(1, "bool"),
  "zero",
);

/** The largest finite number of a float type. */
function largestOf(dtype: DType): number {
  return dtype === "float64" ? Number.MAX_VALUE : 2 ** 128 - 2 ** 104;
}
export const and: Elementwise = elementwise("and", s.and, "zero");
export const or: Elementwise = elementwise("or", s.or, "zero");
export const xor: Elementwise = elementwise("xor", s.xor, "zero");
export const not: Elementwise = elementwise("not", s.not, "zero");

/** condition ? a : b. */
export const where: Elementwise = elementwise("where", s.select, [
  "zero",
  (g, [condition]) => condition.where(g, 0),
  (g, [condition]) => condition.where(g.zerosLike(), g),
]);

/** The angle of the points (x, y); its gradient at the origin is NaN. */
export const atan2: Elementwise = elementwise("atan2", angle, [
  (g, [y, x]) => g.mul(x).div(x.square().add(y.square())),
  (g, [y, x]) => g.mul(y).div(x.square().add(y.square())).neg(),
]);

/**
 * The angle of (x, y) from -pi to pi, as C's `atan2`, with the rational approximation of Cephes (Moshier, "Methods and Programs
 * for Mathematical Functions", 1989): accurate to float64.
 */
function angle(y: Scalar, x: Scalar): Scalar {
  if (!isFloat(y.type)) throw new TypeError(`atan2: takes float32 or float64, got ${y.type}; cast first`);
  const [height, width] = [s.abs(y), s.abs(x)];
  const [large, small] = [s.max(height, width), s.min(height, width)];
  // 0 / 0 and Infinity / Infinity are NaN: the slope is 0 at the origin, and 1 elsewhere on a diagonal.
  const isDiagonal = s.eq(small, large);
  const slope = s.select(
    isDiagonal,
    s.select(s.eq(large, 0), large, s.constant(1, y.type)),
    s.div(small, large),
  );
  const isSteep = s.gt(slope, 0.66);
  const reduced = s.select(isSteep, s.div(s.sub(slope, 1), s.add(slope, 1)), slope);
  const z = s.mul(reduced, reduced);
  const ratio = s.div(s.mul(z, s.polynomial(z, numerator)), s.polynomial(z, denominator));
  const octant = s.add(
    s.add(s.mul(reduced, ratio), reduced),
    s.select(isSteep, s.constant(Math.PI / 4, y.type), 0),
  );
  const quadrant = s.select(s.gt(height, width), s.sub(s.constant(Math.PI / 2, y.type), octant), octant);
  const half = s.select(hasMinus(x), s.sub(s.constant(Math.PI, y.type), quadrant), quadrant);
  return s.select(hasMinus(y), s.neg(half), half);
}

/** Coefficients of polynomials in z, the highest power first. */
const numerator = [
  -8.750608600031904122785e-1,
  -1.615753718733365076637e1,
  -7.500855792314704667340e1,
  -1.228866684490136173410e2,
  -6.485021904942025371773e1,
];
const denominator = [
  1,
  2.485846490142306297962e1,
  1.650270098316988542046e2,
  4.328810604912902668951e2,
  4.853903996359136964868e2,
  1.945506571482613964425e2,
];

/** Whether the sign is minus, as for -0. */
function hasMinus(x: Scalar): Scalar {
  if (x.type === "float32") return s.lt(s.bitcast(x, "int32"), 0);
  return s.or(s.lt(x, 0), s.lt(s.div(s.constant(1, x.type), x), 0));
}

/** 1 / (1 + exp(-x)). */
function logistic(x: Scalar): Scalar {
  return s.div(s.constant(1, x.type), s.add(s.exp(s.neg(x)), 1));
}

/**
 * x to the power p, as C's `pow`: NaN for negative x unless p is whole, and 1 for x = 1 and any p. Integers wrap around as in
 * products. An integer to a negative power is 1 / x rounded towards zero, and 0 for x = 0.
 */
function power(x: Scalar, p: Scalar): Scalar {
  if (isFloat(x.type)) return s.pow(x, p);
  const result = s.wholePower(x, p, 32);
  if (x.type === "uint32") return result;
  // Powers of 1 and -1 depend only on the lowest bit of the exponent, for negative exponents too.
  return s.select(s.or(s.ge(p, 0), s.eq(s.abs(x), 1)), result, 0);
}

const casts = new Map<DType, Elementwise>();

/** Converts values to another type. */
export function cast(dtype: DType): Elementwise {
  let primitive = casts.get(dtype);
  if (!primitive) {
    primitive = elementwise(`cast to ${dtype}`, (x) => s.convert(x, dtype), [(g, [x]) => g.cast(x.dtype)]);
    casts.set(dtype, primitive);
  }
  return primitive;
}
