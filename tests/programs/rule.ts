/** What random programs know of an operation: how it is drawn, what it gives by naive loops, where it is not smooth. */
import type { DType } from "../../mod.ts";
import { at, broadcast, build, map, type Nd } from "../tensor/nd.ts";

/** An array with its type, and with ones where an element changes with the inputs of the program, however little. */
export interface Value extends Nd {
  readonly dtype: DType;
  readonly active: readonly number[];
  /** Whether rounding has played no part: the same bits are expected everywhere. */
  readonly exact: boolean;
}

/** An earlier value of the program, by its number. */
export interface Reference {
  readonly value: number;
}

/** A tensor that is written out. */
export interface Constant {
  readonly constant: readonly number[];
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** What an operation is called with. */
export type Argument =
  | Reference
  | Constant
  | number
  | string
  | boolean
  | undefined
  | readonly Argument[]
  | { readonly [name: string]: Argument };

/** An argument with arrays for references and constants. */
export type Resolved =
  | Value
  | number
  | string
  | boolean
  | undefined
  | readonly Resolved[]
  | { readonly [name: string]: Resolved };

/** Resolved arguments, whose types each rule declares as it draws them. */
// deno-lint-ignore no-explicit-any
export type Drawn = any[];

/** Draws arguments from the values that a program has so far. */
export interface Draw {
  /** A whole number from 0 and below. */
  below(count: number): number;
  pick<T>(list: readonly T[]): T;
  /** Whether something happens that does so in so many of a hundred cases. */
  chance(percent: number): boolean;
  /** One of the values that suit, later ones likelier. */
  value(suits: (x: Value) => boolean): Reference | undefined;
  of(reference: Reference): Value;
  /** Whether elements may be anything, or are kept away from kinks and poles. */
  readonly edges: boolean;
}

/** One operation of the table. */
export interface Rule {
  /** Arguments, the tensor of a method first; nothing if no value suits. */
  draw(draw: Draw): readonly Argument[] | undefined;
  /** What it gives, by naive loops. */
  evaluate(args: Drawn): Nd;
  /** The type of the result; that of the first tensor by default. */
  dtype?(args: Drawn): DType;
  /** Ones where the result changes with the inputs; where any element that it is made of does, by default. */
  active(args: Drawn, result: Nd): Nd;
  /** How far the nearest operand that changes is from a kink, a jump or a pole; infinitely by default. */
  margin?(args: Drawn): number;
  /** Whether the slope is infinite at an element that does not change. */
  isSingular?(args: Drawn): boolean;
  /** Whether small whole operands give exactly what they give by naive loops, where that is whole too. */
  readonly exact?: boolean;
  /** Where it can be read as a property: `x.mT`. */
  readonly property?: boolean;
}

export const isValue = (x: unknown): x is Value => typeof x === "object" && x !== null && "active" in x;

/** All arrays among arguments. */
export function valuesIn(arg: Resolved): Value[] {
  if (isValue(arg)) return [arg];
  return typeof arg === "object" ? Object.values(arg).flatMap(valuesIn) : [];
}

/** A number as an array of no axes. */
export const asValue = (x: Resolved): Value =>
  typeof x === "number" ? { shape: [], values: [x], active: [0], dtype: "float64", exact: true } : x as Value;

export const activity = (x: Resolved): Nd => {
  const { shape, active } = asValue(x);
  return { shape, values: active };
};

const isAny = (...x: number[]) => Number(x.some((element) => element > 0));

/** Rules of activity. */
export const flow = {
  /** Each element of the result is made of one of each operand. */
  each: (args: Drawn): Nd => map(isAny, ...args.map(activity)),
  /** No slope anywhere. */
  none: (_: Drawn, result: Nd): Nd => build(result.shape, () => 0),
  /** Sums and selections: the operation itself, of ones for elements that change. */
  linear(evaluate: Rule["evaluate"]) {
    return (args: Drawn): Nd => {
      const ones = (arg: Resolved): Resolved =>
        isValue(arg)
          ? arg.dtype === "float64" ? { ...arg, values: arg.active } : arg
          : Array.isArray(arg)
          ? arg.map(ones)
          : typeof arg === "object"
          ? Object.fromEntries(Object.entries(arg).map(([name, own]) => [name, ones(own)]))
          : arg;
      return map(isAny, evaluate(args.map(ones)));
    };
  },
  /** Every element of the result changes as soon as any operand does. */
  all: (args: Drawn, result: Nd): Nd => {
    const any = Number(args.flatMap(valuesIn).some(({ active }) => active.includes(1)));
    return build(result.shape, () => any);
  },
};

/** The least distance of elements that change, of operands that broadcast. */
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

/** An axis, counted from the front or from the end. */
export function anAxis(draw: Draw, rank: number): number {
  const axis = draw.below(rank);
  return draw.chance(30) ? axis - rank : axis;
}

/** Some axes, each once. */
export function someAxes(draw: Draw, rank: number): number[] {
  return Array.from({ length: rank }, (_, axis) => axis).filter(() => draw.chance(50))
    .map((axis) => draw.chance(20) ? axis - rank : axis);
}

export const fromFront = (axis: number, rank: number) => axis < 0 ? axis + rank : axis;
