/** How random programs draw and evaluate an operation. */
import type { DType } from "../../mod.ts";
import { at, broadcast, build, map, type Nd } from "../tensor/nd.ts";

/**
 * An array with its type and its activity: 1 for elements that depend on the inputs of the program, 0 for
 * constants.
 */
export interface Value extends Nd {
  readonly dtype: DType;
  readonly active: readonly number[];
  /** Whether no operation has rounded: every device and order of operations must give the same numbers. */
  readonly isExact: boolean;
  /**
   * Whether it is an input or a constant. The sign of a zero that is computed depends on the order of
   * additions.
   */
  readonly isGiven: boolean;
}

/** Refers to an earlier value of the program by its number. */
export interface Reference {
  readonly value: number;
}

/** A tensor that is written out in the program. */
export interface Constant {
  readonly constant: readonly number[];
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** An argument of an operation. */
export type Argument =
  | Reference
  | Constant
  | number
  | string
  | boolean
  | undefined
  | readonly Argument[]
  | { readonly [name: string]: Argument };

/** An argument with arrays in place of references and constants. */
export type Resolved =
  | Value
  | number
  | string
  | boolean
  | undefined
  | readonly Resolved[]
  | { readonly [name: string]: Resolved };

/** Resolved arguments of one operation. Each rule declares the types that it draws. */
// deno-lint-ignore no-explicit-any
type Drawn = any[];

/** Draws arguments from the earlier values of a program. */
export interface Draw {
  /** A whole number from 0 to `count - 1`. */
  below(count: number): number;
  pick<T>(list: readonly T[]): T;
  /** True with a probability in percent. */
  chance(percent: number): boolean;
  /** One of the values that `accepts` returns true for, later ones with a higher probability. */
  value(accepts: (x: Value) => boolean): Reference | undefined;
  of(reference: Reference): Value;
  /** Whether elements may be NaN, infinite, or at kinks. */
  readonly hasEdgeCases: boolean;
}

/** The rule of one operation. */
export interface Rule {
  /** Draws arguments, the tensor of a method first; undefined if no value fits. */
  draw(draw: Draw): readonly Argument[] | undefined;
  /** Computes the result by naive loops. */
  evaluate(args: Drawn): Nd;
  /** The type of the result. By default the type of the first tensor. */
  dtype?(args: Drawn): DType;
  /** The activity of the result, from those of the operands: see {@linkcode Value}. */
  active(args: Drawn, result: Nd): Nd;
  /** The smallest distance of an active operand from a kink, a jump or a pole. Infinity by default. */
  margin?(args: Drawn): number;
  /** Whether the result depends on the sign of a computed zero. */
  isAmbiguous?(args: Drawn): boolean;
  /** Whether the slope is infinite at a constant element. */
  isSingular?(args: Drawn): boolean;
  /** Whether the operation is exact for exact operands and an exact result. */
  readonly isExact?: boolean;
  /** Whether the operation is a property, as `x.mT`. */
  readonly isProperty?: boolean;
}

const isValue = (x: unknown): x is Value => typeof x === "object" && x !== null && "active" in x;

/** All arrays in an argument. */
export function valuesIn(arg: Resolved): Value[] {
  if (isValue(arg)) return [arg];
  return typeof arg === "object" ? Object.values(arg).flatMap(valuesIn) : [];
}

/** Converts a number to an array of rank 0. */
export const asValue = (x: Resolved): Value =>
  typeof x === "number"
    ? { shape: [], values: [x], active: [0], dtype: "float64", isExact: true, isGiven: true }
    : x as Value;

export const activity = (x: Resolved): Nd => {
  const { shape, active } = asValue(x);
  return { shape, values: active };
};

const isAny = (...x: number[]) => Number(x.some((element) => element > 0));

/** Rules for the activity of a result, shared by many operations. */
export const flow = {
  /** An element of the result depends on one element of each operand. */
  each: (args: Drawn): Nd => map(isAny, ...args.map(activity)),
  /** The result has no slope. */
  none: (_: Drawn, result: Nd): Nd => build(result.shape, () => 0),
  /** Sums and selections: evaluates the operation on the activity of the operands. */
  linear(evaluate: Rule["evaluate"]) {
    return (args: Drawn): Nd => {
      const ones = (arg: Resolved): Resolved =>
        isValue(arg)
          ? arg.dtype === "float64" ? { ...arg, values: arg.active } : arg
          : Array.isArray(arg)
          ? arg.map(ones)
          : typeof arg === "object"
          ? Object.fromEntries(Object.entries(arg).map(([name, item]) => [name, ones(item)]))
          : arg;
      return map(isAny, evaluate(args.map(ones)));
    };
  },
  /** Products: evaluates the operation on the activity of one operand at a time, and ones for the others. */
  products(evaluate: Rule["evaluate"]) {
    return (args: Drawn): Nd => {
      const ones = (x: Resolved): Resolved => isValue(x) ? { ...x, values: x.values.map(() => 1) } : x;
      const operands = args.flatMap((arg, i) => isValue(arg) ? [i] : []);
      return map(
        isAny,
        ...operands.map((operand) =>
          evaluate(args.map((arg, i) => i === operand ? { ...arg, values: arg.active } : ones(arg)))
        ),
      );
    };
  },
  /** Every element of the result depends on every active element. */
  all: (args: Drawn, result: Nd): Nd => {
    const any = Number(args.flatMap(valuesIn).some(({ active }) => active.includes(1)));
    return build(result.shape, () => any);
  },
};

/** The smallest distance over the active elements of operands that broadcast. */
export function leastDistance(args: Drawn, distance: (...x: number[]) => number): number {
  const arrays = args.map(asValue);
  const shape = broadcast(...arrays.map(({ shape }) => shape));
  return Math.min(
    ...build(
      shape,
      (position) =>
        arrays.some((x) => at(activity(x), position) > 0)
          ? distance(...arrays.map((x) => at(x, position)))
          : Infinity,
    ).values,
  );
}

export const isFloat = (x: Value) => x.dtype === "float64";
export const isNumber = (x: Value) => x.dtype === "float64" || x.dtype === "int32";
export const hasElements = (x: Value) => x.values.length > 0;

/** Draws an axis, counted from the front or from the end. */
export function anAxis(draw: Draw, rank: number): number {
  const axis = draw.below(rank);
  return draw.chance(30) ? axis - rank : axis;
}

/** Draws a set of axes. */
export function someAxes(draw: Draw, rank: number): number[] {
  return Array.from({ length: rank }, (_, axis) => axis).filter(() => draw.chance(50))
    .map((axis) => draw.chance(20) ? axis - rank : axis);
}

export const fromFront = (axis: number, rank: number) => axis < 0 ? axis + rank : axis;
