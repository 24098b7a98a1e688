/** Rules of elementwise operations. */
import type { DType } from "../../mod.ts";
import { at, broadcast, build, map, size } from "../tensor/nd.ts";
import { roundToEven } from "../tensor/primitive_case.ts";
import {
  activity,
  type Argument,
  asValue,
  type Draw,
  flow,
  isFloat,
  isNumber,
  leastDistance,
  type Reference,
  type Resolved,
  type Rule,
  type Value,
} from "./rule.ts";

type Scalar = (...x: number[]) => number;

interface Options extends Partial<Rule> {
  /** The distance of operands from the next kink, jump or pole; negative outside the domain. */
  readonly distance?: Scalar;
  readonly integers?: boolean;
}

/** The error function, by a series of positive terms. */
function erf(x: number): number {
  if (!(Math.abs(x) < 6)) return Math.sign(x);
  let [term, sum] = [x, x];
  for (let n = 1; n < 200; n++) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
const fromWhole = (x: number) => Math.abs(x - Math.round(x));

/** C's `pow`: 1 for a base of 1 and any exponent, where Math.pow returns NaN. */
function power(x: number, p: number): number {
  if (x === 1 || x === -1 && Math.abs(p) === Infinity) return 1;
  return Math.pow(x, p);
}

/** The power of integers, without its fraction; 0 for a negative power of 0. */
function wholePower(x: number, p: number): number {
  return x === 0 && p < 0 ? 0 : Math.trunc(Math.pow(x, p));
}

/**
 * A constant whole exponent is smooth everywhere, or, if it is negative, away from zero. Other exponents need
 * positive bases.
 */
function powerMargin([x, p]: [Value, Value | number]): number {
  const [base, exponent] = [asValue(x), asValue(p)];
  const shape = broadcast(base.shape, exponent.shape);
  return Math.min(
    ...build(shape, (position) => {
      const [b, e] = [at(base, position), at(exponent, position)];
      if (at(activity(exponent), position) > 0) return b;
      if (at(activity(base), position) === 0) return Infinity;
      return Number.isInteger(e) ? e < 0 ? Math.abs(b) : Infinity : b;
    }).values,
  );
}

function unary(f: Scalar, { distance, integers = false, ...options }: Options = {}): Rule {
  return {
    draw: (draw) => {
      const x = draw.value(integers ? isNumber : isFloat);
      return x && [x];
    },
    evaluate: (args) => map(f, ...args),
    active: flow.each,
    margin: distance && ((args) => leastDistance(args, distance)),
    ...options,
  };
}

const hasComputedZero = (x: Resolved) => !asValue(x).isGiven && asValue(x).values.includes(0);

const isConstantZero = ([x]: [Value]) => {
  const { values, active } = x;
  return values.some((value, i) => value === 0 && active[i] === 0);
};

const isRadicand = ({ dtype, values }: Value) => dtype === "float64" && values.every((x) => x >= 0);

/**
 * Whether a square root has an infinite slope at constants, as after relu: that slope must not reach the
 * inputs.
 */
export const hasConstantZeros = (x: Value): boolean =>
  isRadicand(x) && x.values.some((value, i) => value === 0 && x.active[i] === 0);

const numbers = [0.5, 2, -1.5, 0, 1, -1, 3, 0.25, -0.75];
const exponents = [0, 1, 2, 3, 4, 5, -1, -2, -3, 0.5, 1.5, -0.5, 2.5];

/**
 * Draws a number, or a value of the type of an operand that broadcasts against a shape, by default the
 * type of the operand.
 */
function secondOperand(
  draw: Draw,
  x: Reference,
  list: readonly number[] = numbers,
  { shape, dtype }: Pick<Value, "shape" | "dtype"> = draw.of(x),
): Argument {
  if (!draw.chance(35)) {
    const found = draw.value((y) => y.dtype === dtype && canBroadcast(shape, y.shape));
    if (found) return found;
  }
  const number = draw.pick(list);
  return dtype === "int32" ? Math.trunc(number) : number;
}

function canBroadcast(a: readonly number[], b: readonly number[]): boolean {
  return Array.from({ length: Math.min(a.length, b.length) }, (_, i) => [a.at(-1 - i)!, b.at(-1 - i)!])
    .every(([m, n]) => m === n || m === 1 || n === 1);
}

const number = (x: number): Argument => ({ constant: [x], shape: [], dtype: "float64" });

function binary(
  f: Scalar,
  { distance, integers = true, ...options }: Options = {},
  list: readonly number[] = numbers,
): Rule {
  return {
    draw: (draw) => {
      const x = draw.value(integers ? isNumber : isFloat);
      if (!x) return undefined;
      // A number on the left is a tensor of rank 0.
      if (isFloat(draw.of(x)) && draw.chance(12)) return [number(draw.pick(list)), x];
      return [x, secondOperand(draw, x, list)];
    },
    evaluate: ([a, b]) => map(f, asValue(a), asValue(b)),
    active: flow.each,
    margin: distance && ((args) => leastDistance(args, distance)),
    isExact: true,
    ...options,
  };
}

/**
 * An operation that selects one of two operands. The result has the activity of the selected one, or of both
 * if they are equal.
 */
function choice(f: Scalar, list: readonly number[]): Rule {
  return binary(f, {
    distance: (a, b) => Math.abs(a - b),
    active: (args) => {
      const [a, b] = args.map(asValue);
      return map(
        (x, y, isX, isY) => x === y ? Math.max(isX, isY) : f(x, y) === x ? isX : isY,
        a,
        b,
        ...args.map(activity),
      );
    },
  }, list);
}

function comparison(f: (a: number, b: number) => boolean): Rule {
  return binary((a, b) => Number(f(a, b)), {
    distance: (a, b) => Math.abs(a - b),
    active: flow.none,
    dtype: () => "bool",
  });
}

/** Logical on bool, bitwise on int32. */
function logical(f: (a: number, b: number) => number): Rule {
  return {
    draw: (draw) => {
      const x = draw.value(({ dtype }) => dtype === "bool" || dtype === "int32");
      const y = x &&
        draw.value((y) => y.dtype === draw.of(x).dtype && canBroadcast(draw.of(x).shape, y.shape));
      return x && y && [x, y];
    },
    evaluate: ([a, b]) => map(f, asValue(a), asValue(b)),
    active: flow.none,
    isExact: true,
  };
}

const conditional: Rule = {
  draw: (draw) => {
    const known = draw.chance(60) ? draw.value(({ dtype }) => dtype === "bool") : undefined;
    const a = draw.value((x) => isNumber(x) && (!known || canBroadcast(x.shape, draw.of(known).shape)));
    if (!a) return undefined;
    const conditionShape = draw.of(a).shape.slice(draw.below(2));
    const made: Argument = {
      constant: Array.from({ length: size(conditionShape) }, () => draw.below(2)),
      shape: conditionShape,
      dtype: "bool",
    };
    const condition = known ?? made;
    const shape = broadcast(known ? draw.of(known).shape : conditionShape, draw.of(a).shape);
    const b = draw.chance(70) &&
      draw.value((x) => x.dtype === draw.of(a).dtype && canBroadcast(x.shape, shape));
    const operands = [a, b || (isFloat(draw.of(a)) ? draw.pick(numbers) : 2)];
    return [condition, ...draw.chance(50) ? operands : operands.toReversed()];
  },
  evaluate: ([condition, a, b]) => map((c, x, y) => c ? x : y, asValue(condition), asValue(a), asValue(b)),
  active: ([condition, a, b]) => map((c, x, y) => c ? x : y, asValue(condition), activity(a), activity(b)),
  dtype: ([, a, b]) => (typeof a === "number" ? b as Value : a as Value).dtype,
  isExact: true,
};

/** Target types of casts. No other operation takes float32 or uint32. */
const conversions: Partial<Record<DType, readonly DType[]>> = {
  float64: ["int32", "bool", "float32"],
  int32: ["float64", "float64", "bool", "uint32", "float32"],
  uint32: ["float64", "int32"],
  bool: ["float64", "float64", "int32", "float32"],
  float32: ["float64"],
};

function convert(x: number, from: DType, to: DType): number {
  if (to === "bool") return Number(x !== 0);
  if (to === "float32") return Math.fround(x);
  if (to === "int32" && from !== "float64") return x | 0;
  if (to === "uint32") return x >>> 0;
  return to === "int32" ? Math.trunc(x) : x;
}

const cast: Rule = {
  draw: (draw) => {
    const x = draw.value(({ dtype }) => draw.chance(dtype === "float64" ? 30 : 100));
    if (!x) return undefined;
    const { dtype, values } = draw.of(x);
    const to = draw.pick(conversions[dtype]!);
    // Casting a number outside the range of int32 is undefined.
    const isHeld = values.every((value) => Math.abs(value) < 1e6);
    const isExact = values.every((value) => Object.is(Math.fround(value), value));
    return to === "int32" && !isHeld || to === "float32" && !isExact ? undefined : [x, to];
  },
  evaluate: ([x, to]: [Value, DType]) => map((element) => convert(element, x.dtype, to) + 0, x),
  dtype: ([, to]) => to as DType,
  active: (args, result) => {
    const [x, to] = args as [Value, DType];
    return to === "float64" && x.dtype === "float32" || to === "float32" && x.dtype === "float64"
      ? activity(x)
      : flow.none(args, result);
  },
  margin: ([x, to]: [Value, DType]) =>
    x.dtype !== "float64"
      ? Infinity
      // Rounding to float32 is a step function, but its gradient is the identity's.
      : to === "float32"
      ? leastDistance([x], () => 0)
      : leastDistance(
        [x],
        to === "bool" ? Math.abs : (value) => Math.max(fromWhole(value), 1 - Math.abs(value)),
      ),
  isExact: true,
};

const clip: Rule = {
  draw: (draw) => {
    const x = draw.value(isNumber);
    if (!x) return undefined;
    const whole = !isFloat(draw.of(x));
    if (draw.chance(70)) return [x, draw.pick([-1, 0, -2]), draw.pick(whole ? [1, 2] : [0.5, 1, 2])];
    const { shape, dtype } = draw.of(x);
    const low = secondOperand(draw, x);
    const other = typeof low === "object" ? draw.of(low as Reference).shape : [];
    return [x, low, secondOperand(draw, x, numbers, { shape: broadcast(shape, other), dtype })];
  },
  evaluate: (args) => map((x, low, high) => Math.min(Math.max(x, low), high), ...args.map(asValue)),
  active: (args) =>
    map(
      (x, low, high, isX, isLow, isHigh) => {
        const larger = x === low ? Math.max(isX, isLow) : x > low ? isX : isLow;
        const value = Math.max(x, low);
        return value === high ? Math.max(larger, isHigh) : value < high ? larger : isHigh;
      },
      ...args.map(asValue),
      ...args.map(activity),
    ),
  margin: (args) =>
    leastDistance(args, (x, low, high) => Math.min(Math.abs(x - low), Math.abs(Math.max(x, low) - high))),
  isExact: true,
};

const noSlope = { active: flow.none, isExact: true };

export const elementwiseRules: Readonly<Record<string, Rule>> = {
  add: binary((a, b) => a + b),
  sub: binary((a, b) => a - b),
  mul: binary((a, b) => a * b),
  div: binary((a, b) => a / b, {
    distance: (_, b) => Math.abs(b),
    integers: false,
    isAmbiguous: ([, b]) => hasComputedZero(b),
  }),
  atan2: binary(Math.atan2, {
    distance: (y, x) => x < 0 ? Math.abs(y) : Math.hypot(y, x),
    integers: false,
    isAmbiguous: ([y, x]) => hasComputedZero(y) || hasComputedZero(x),
  }),
  maximum: choice(Math.max, [...numbers, 0, 0, 0]),
  minimum: choice(Math.min, [...numbers, 0, 0, 0]),
  pow: {
    ...binary(power, {}, exponents),
    draw: (draw) => {
      const args = binary(power, {}, exponents).draw(draw);
      // Negative exponents of integers throw.
      const isInteger = args && draw.of(args[0] as Reference)?.dtype === "int32";
      return isInteger && typeof args[1] === "number" ? [args[0], Math.abs(args[1])] : args;
    },
    evaluate: ([x, p]: [Value, Value | number]) =>
      // The number 0.5 gives the square root, which is NaN at -Infinity. Integers lose the fraction: 2 to the
      // power -1 is 0.
      p === 0.5 ? map(Math.sqrt, x) : map(x.dtype === "int32" ? wholePower : power, asValue(x), asValue(p)),
    margin: (args) => powerMargin(args as [Value, Value | number]),
    isAmbiguous: ([x, p]) => hasComputedZero(x) && asValue(p).values.some((exponent) => exponent < 0),
    isSingular: ([x, p]: [Value, Value | number]) =>
      map((b, e, isB) => Number(b === 0 && isB === 0 && e < 1 && e > 0), asValue(x), asValue(p), activity(x))
        .values.includes(1),
  },
  clip,
  neg: unary((x) => -x, { integers: true, isExact: true }),
  abs: unary(Math.abs, { distance: Math.abs, integers: true, isExact: true }),
  sign: unary(Math.sign, { ...noSlope, distance: Math.abs, integers: true }),
  floor: unary(Math.floor, { ...noSlope, distance: fromWhole }),
  ceil: unary(Math.ceil, { ...noSlope, distance: fromWhole }),
  round: unary(roundToEven, { ...noSlope, distance: (x) => fromWhole(x + 0.5) }),
  square: unary((x) => x * x, { integers: true, isExact: true }),
  sqrt: {
    ...unary(Math.sqrt, { distance: (x) => x, isSingular: isConstantZero, isExact: true }),
    draw: (draw) => {
      const x = draw.chance(50)
        ? draw.value(hasConstantZeros) ?? draw.value(isRadicand)
        : draw.value(draw.chance(60) ? isRadicand : isFloat);
      return x && [x];
    },
  },
  exp: unary(Math.exp),
  log: unary(Math.log, { distance: (x) => x, isSingular: isConstantZero }),
  log1p: unary(Math.log1p, { distance: (x) => 1 + x }),
  sin: unary(Math.sin),
  cos: unary(Math.cos),
  tanh: unary(Math.tanh),
  erf: unary(erf),
  sigmoid: unary(sigmoid),
  relu: unary((x) => Math.max(x, 0), {
    distance: Math.abs,
    active: ([x]) => map((value, isX) => value > 0 ? isX : 0, asValue(x), activity(x)),
    isExact: true,
  }),
  softplus: unary((x) => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)))),
  silu: unary((x) => x * sigmoid(x)),
  gelu: unary((x) => x * (1 + erf(x / Math.SQRT2)) / 2),
  less: comparison((a, b) => a < b),
  lessEqual: comparison((a, b) => a <= b),
  greater: comparison((a, b) => a > b),
  greaterEqual: comparison((a, b) => a >= b),
  equal: comparison((a, b) => a === b),
  notEqual: comparison((a, b) => a !== b),
  isNaN: unary((x) => Number(Number.isNaN(x)), { ...noSlope, dtype: () => "bool" }),
  isFinite: unary((x) => Number(Number.isFinite(x)), { ...noSlope, dtype: () => "bool" }),
  and: logical((a, b) => a & b),
  or: logical((a, b) => a | b),
  xor: logical((a, b) => a ^ b),
  not: {
    draw: (draw) => {
      const x = draw.value(({ dtype }) => dtype === "bool" || dtype === "int32");
      return x && [x];
    },
    evaluate: ([x]: [Value]) => map((element) => x.dtype === "bool" ? 1 - element : ~element, x),
    active: flow.none,
    isExact: true,
  },
  where: conditional,
  cast,
  zerosLike: {
    draw: (draw) => {
      const x = draw.value(() => true);
      return x && [x];
    },
    evaluate: ([x]: [Value]) => map(() => 0, x),
    active: flow.none,
    isExact: true,
  },
  stopGradient: unary((x) => x, { active: flow.none, isExact: true }),
};
