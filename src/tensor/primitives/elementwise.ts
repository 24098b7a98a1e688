/**
 * Operations on each element alone. Each is a {@linkcode ScalarFunction}, from which both devices make their kernels,
 * and a gradient rule for each operand. Operands have one shape: `Tensor`'s methods broadcast first.
 */
import type { DType } from "../../device/dtype.ts";
import * as s from "../../device/scalar.ts";
import type { Scalar, ScalarFunction } from "../../device/scalar.ts";
import { formatShape, sameShape, ShapeError } from "../../device/shape.ts";
import { allocateView } from "../../device/view.ts";
import type { Primitive, TensorSpec } from "../primitive.ts";
import type { Tensor } from "../tensor.ts";

/** The gradient with respect to one operand. */
type Gradient = (cotangent: Tensor, inputs: readonly Tensor[], output: Tensor) => Tensor;

/** A primitive whose scalar function a compiler can emit. */
export interface Elementwise extends Primitive<void> {
  readonly fn: ScalarFunction;
}

/** The result's type of a function, by the types of its operands: kept, since every operation asks. */
function typeRule(fn: ScalarFunction): (inputs: readonly TensorSpec[]) => DType {
  interface Known {
    type?: DType;
    readonly next: Partial<Record<DType, Known>>;
  }
  const root: Known = { next: {} };
  return (inputs) => {
    let known = root;
    for (const { dtype } of inputs) known = known.next[dtype] ??= { next: {} };
    return known.type ??= s.instantiate(fn, inputs.map((input) => input.dtype)).type;
  };
}

/** Makes a primitive of a scalar function; operands without a gradient rule get none. */
export function elementwise(
  name: string,
  build: ScalarFunction["build"],
  gradients: readonly (Gradient | undefined)[] = [],
): Elementwise {
  const fn = { name, build };
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
    vjp: gradients.some((gradient) => gradient)
      ? (cotangent, inputs, output, _, input) => gradients[input]?.(cotangent, inputs, output)
      : undefined,
  };
}

export const add: Elementwise = elementwise("add", s.add, [(g) => g, (g) => g]);
export const sub: Elementwise = elementwise("sub", s.sub, [(g) => g, (g) => g.neg()]);
export const mul: Elementwise = elementwise("mul", s.mul, [(g, [, b]) => g.mul(b), (g, [a]) => g.mul(a)]);
export const div: Elementwise = elementwise("div", s.div, [
  (g, [, b]) => g.div(b),
  (g, [, b], y) => g.mul(y).div(b).neg(),
]);
export const pow: Elementwise = elementwise("pow", power, [
  // The gradient is zero where p is, even at x = 0, where x^(p - 1) is infinite.
  (g, [x, p]) => g.mul(p).mul(x.pow(p.equal(0).where(1, p.sub(1)))),
  (g, [x], y) => g.mul(y).mul(x.greater(0).where(x, 1).log()),
]);

/** The larger of two; where they are equal each gets half of the gradient. */
export const maximum: Elementwise = elementwise("maximum", s.max, [
  (g, [a, b]) => g.mul(shareOfGreater(a, b)),
  (g, [a, b]) => g.mul(shareOfGreater(b, a)),
]);
export const minimum: Elementwise = elementwise("minimum", s.min, [
  (g, [a, b]) => g.mul(shareOfGreater(b, a)),
  (g, [a, b]) => g.mul(shareOfGreater(a, b)),
]);

function shareOfGreater(a: Tensor, b: Tensor): Tensor {
  return a.greater(b).where(1, a.equal(b).where(0.5, a.zerosLike()));
}

/** The same values, through which no gradient flows: an operation, so that a traced loop knows of it too. */
export const stopGradient: Elementwise = {
  ...elementwise("stopGradient", s.identity.build),
  run: (_device, [view]) => view,
};
export const neg: Elementwise = elementwise("neg", s.neg, [(g) => g.neg()]);
export const abs: Elementwise = elementwise("abs", s.abs, [(g, [x]) => g.mul(x.sign())]);
export const sign: Elementwise = elementwise(
  "sign",
  // What is neither above nor below zero is its own sign: zero and NaN.
  (x) => x.type === "uint32" ? s.min(x, 1) : s.select(s.gt(x, 0), 1, s.select(s.lt(x, 0), -1, x)),
);

export const floor: Elementwise = elementwise("floor", s.floor);
export const ceil: Elementwise = elementwise("ceil", s.ceil);
export const round: Elementwise = elementwise("round", s.round);

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
export const relu: Elementwise = elementwise("relu", (x) => s.max(x, 0), [
  // The result tells as much as the input does, which then need not be kept.
  (g, _, y) => y.greater(0).where(g, 0),
]);

export const less: Elementwise = elementwise("less", s.lt);
export const lessEqual: Elementwise = elementwise("lessEqual", s.le);
export const equal: Elementwise = elementwise("equal", s.eq);
export const isNaN: Elementwise = elementwise("isNaN", s.isNaN);
export const and: Elementwise = elementwise("and", s.and);
export const or: Elementwise = elementwise("or", s.or);
export const xor: Elementwise = elementwise("xor", s.xor);
export const not: Elementwise = elementwise("not", s.not);

/** condition ? a : b. */
export const where: Elementwise = elementwise("where", s.select, [
  undefined,
  (g, [condition]) => condition.where(g, 0),
  (g, [condition]) => condition.where(g.zerosLike(), g),
]);

/** 1 / (1 + exp(-x)). */
function logistic(x: Scalar): Scalar {
  return s.div(s.constant(1, x.type), s.add(s.exp(s.neg(x)), 1));
}

/**
 * x to the power p. A negative x takes whole powers only, and one is one to every power, as in C's `pow`. In float32 the
 * relative error grows with |p log x|, which is rounded before the exponential: 1e-7 for small powers, 1e-5 where the
 * result nears 1e35 or 1e-35.
 */
function power(x: Scalar, p: Scalar): Scalar {
  const isUnit = s.eq(s.abs(x), 1);
  const magnitude = s.select(isUnit, 1, s.exp(s.mul(p, s.log(s.abs(x)))));
  const half = s.mul(p, 0.5);
  const isWhole = s.eq(s.floor(p), p);
  const isEven = s.eq(s.floor(half), half);
  const ofNegative = s.select(
    isWhole,
    s.select(isEven, magnitude, s.neg(magnitude)),
    s.constant(NaN, x.type),
  );
  return s.select(s.eq(p, 0), 1, s.select(s.lt(x, 0), ofNegative, magnitude));
}

const casts = new Map<DType, Elementwise>();

/** Conversion to another type, by value. */
export function cast(dtype: DType): Elementwise {
  let primitive = casts.get(dtype);
  if (!primitive) {
    primitive = elementwise(`cast to ${dtype}`, (x) => s.convert(x, dtype), [(g, [x]) => g.cast(x.dtype)]);
    casts.set(dtype, primitive);
  }
  return primitive;
}
