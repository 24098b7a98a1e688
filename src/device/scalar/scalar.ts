/**
 * Scalar functions as data. An elementwise operation is written once, as an expression of its operands. Each
 * device generates code from it: WGSL on a GPU, SIMD instructions on the CPU. An expression is a directed
 * acyclic graph: a node that is used twice is computed once.
 */
import { type DType, isFloat } from "../dtype.ts";
import { postOrder } from "./post_order.ts";

/**
 * Functions that {@link ./float32_math.ts} replaces by arithmetic for float32. For float64 the CPU calls
 * `Math`.
 */
export type Transcendental = "exp" | "log" | "log1p" | "sin" | "cos" | "tanh" | "erf" | "pow" | "normalTail";

/** Operation of a node on its arguments. */
export type Op =
  | "constant" // `value`, of `type`
  | "input" // the element of operand number `value`
  | "index" // the row-major position of the element in the output, uint32
  | "add"
  | "sub"
  | "mul"
  | "div"
  | "fma" // a * b + c, rounded once or twice, whichever is cheaper
  | "neg"
  | "abs"
  | "min"
  | "max"
  | "floor"
  | "ceil"
  | "round" // to the nearest integer, ties to even
  | "sqrt"
  | "lt"
  | "le"
  | "eq"
  | "isNaN"
  | "and" // bitwise on integers, logical on bool; likewise `or`, `xor`, `not`
  | "or"
  | "xor"
  | "not"
  | "shl"
  | "shr" // logical on uint32, arithmetic on int32
  | "select" // condition ? a : b
  | "bitcast" // between float32, int32 and uint32
  | "convert" // by value; floats to integers towards zero
  | "opaque" // a: float32, hidden from compilers that reorder arithmetic; b: an int32 >= 0, unknown to them
  | Transcendental;

/** A node of a scalar expression. */
export interface Scalar {
  readonly op: Op;
  readonly type: DType;
  readonly args: readonly Scalar[];
  /** The value of a `constant`, or the position of an `input` among the operands. */
  readonly value?: number;
}

/**
 * A scalar function with a name for messages. Names need not be unique, because kernels are cached by
 * expression.
 *
 * @internal
 */
export interface ScalarFunction {
  readonly name: string;
  readonly build: (...inputs: Scalar[]) => Scalar;
}

/** Builds the expression of a function for the types of its operands. */
export function instantiate(fn: ScalarFunction, types: readonly DType[]): Scalar {
  return fn.build(...types.map((type, position) => input(position, type)));
}

function node(op: Op, type: DType, args: readonly Scalar[], value?: number): Scalar {
  return { op, type, args, value };
}

/** A node, or a number with the type of the other operand. */
export type ScalarLike = Scalar | number;

/** The element of an operand. */
export function input(position: number, type: DType): Scalar {
  return node("input", type, [], position);
}

/** A constant of the kernel. */
export function constant(value: number, type: DType): Scalar {
  return node("constant", type, [], value);
}

/** The row-major position of the computed element. */
export function index(): Scalar {
  return node("index", "uint32", []);
}

function pair(op: Op, a: ScalarLike, b: ScalarLike): [Scalar, Scalar] {
  const type = typeof a === "number" ? typeof b === "number" ? undefined : b.type : a.type;
  if (type === undefined) throw new TypeError(`${op}: one of two operands must be an expression`);
  const lift = (x: ScalarLike) => typeof x === "number" ? constant(x, type) : x;
  const [x, y] = [lift(a), lift(b)];
  if (x.type !== y.type) {
    throw new TypeError(`${op}: operands must have one type, got ${x.type} and ${y.type}`);
  }
  return [x, y];
}

function arithmetic(op: Op): (a: ScalarLike, b: ScalarLike) => Scalar {
  return (a, b) => {
    const args = numbers(op, pair(op, a, b));
    return node(op, args[0].type, args);
  };
}

function order(op: Op): (a: ScalarLike, b: ScalarLike) => Scalar {
  return (a, b) => node(op, "bool", numbers(op, pair(op, a, b)));
}

function numbers<T extends readonly Scalar[]>(op: Op, args: T): T {
  if (args[0].type === "bool") throw new TypeError(`${op}: takes numbers, got bool; cast first`);
  return args;
}

function bitwise(op: Op): (a: ScalarLike, b: ScalarLike) => Scalar {
  return (a, b) => {
    const args = pair(op, a, b);
    if (isFloat(args[0].type)) throw new TypeError(`${op}: takes integers or bool, got ${args[0].type}`);
    return node(op, args[0].type, args);
  };
}

function floating(op: Op): (a: Scalar) => Scalar {
  return (a) => {
    if (!isFloat(a.type)) throw new TypeError(`${op}: takes float32 or float64, got ${a.type}; cast first`);
    return node(op, a.type, [a]);
  };
}

export const add: (a: ScalarLike, b: ScalarLike) => Scalar = arithmetic("add");
export const sub: (a: ScalarLike, b: ScalarLike) => Scalar = arithmetic("sub");
export const mul: (a: ScalarLike, b: ScalarLike) => Scalar = arithmetic("mul");
export const min: (a: ScalarLike, b: ScalarLike) => Scalar = arithmetic("min");
export const max: (a: ScalarLike, b: ScalarLike) => Scalar = arithmetic("max");

/** True division. Integers have none. */
export function div(a: ScalarLike, b: ScalarLike): Scalar {
  const args = pair("div", a, b);
  if (!isFloat(args[0].type)) {
    throw new TypeError(`div: takes float32 or float64, got ${args[0].type}; cast first`);
  }
  return node("div", args[0].type, args);
}

/** a * b + c. */
export function fma(a: Scalar, b: ScalarLike, c: ScalarLike): Scalar {
  return node("fma", a.type, [a, pair("fma", a, b)[1], pair("fma", a, c)[1]]);
}

export const neg = (a: Scalar): Scalar => node("neg", a.type, numbers("neg", [a]));
export const abs = (a: Scalar): Scalar => node("abs", a.type, numbers("abs", [a]));
export const floor: (a: Scalar) => Scalar = floating("floor");
export const ceil: (a: Scalar) => Scalar = floating("ceil");
export const round: (a: Scalar) => Scalar = floating("round");
export const sqrt: (a: Scalar) => Scalar = floating("sqrt");
export const exp: (a: Scalar) => Scalar = floating("exp");
export const log: (a: Scalar) => Scalar = floating("log");
export const log1p: (a: Scalar) => Scalar = floating("log1p");
export const sin: (a: Scalar) => Scalar = floating("sin");
export const cos: (a: Scalar) => Scalar = floating("cos");
export const tanh: (a: Scalar) => Scalar = floating("tanh");
export const erf: (a: Scalar) => Scalar = floating("erf");

/** x to the power p, as C's `pow`: exact for integer p if the result is representable. */
export function pow(x: Scalar, p: ScalarLike): Scalar {
  const args = pair("pow", x, p);
  if (!isFloat(x.type)) throw new TypeError(`pow: takes float32 or float64, got ${x.type}; cast first`);
  return node("pow", x.type, args);
}

/** `factor` times the probability that a standard normal number is above `t`, for t >= 0. */
export function normalTail(t: Scalar, factor: ScalarLike): Scalar {
  const args = pair("normalTail", t, factor);
  if (!isFloat(t.type)) {
    throw new TypeError(`normalTail: takes float32 or float64, got ${t.type}; cast first`);
  }
  return node("normalTail", t.type, args);
}

export const lt: (a: ScalarLike, b: ScalarLike) => Scalar = order("lt");
export const le: (a: ScalarLike, b: ScalarLike) => Scalar = order("le");
export const eq = (a: ScalarLike, b: ScalarLike): Scalar => node("eq", "bool", pair("eq", a, b));
export const gt = (a: ScalarLike, b: ScalarLike): Scalar => lt(b, a);
export const ge = (a: ScalarLike, b: ScalarLike): Scalar => le(b, a);

/** Whether a float is NaN. Always false for integers. */
export function isNaN(a: Scalar): Scalar {
  return isFloat(a.type) ? node("isNaN", "bool", [a]) : constant(0, "bool");
}

export const and: (a: ScalarLike, b: ScalarLike) => Scalar = bitwise("and");
export const or: (a: ScalarLike, b: ScalarLike) => Scalar = bitwise("or");
export const xor: (a: ScalarLike, b: ScalarLike) => Scalar = bitwise("xor");
export const shl: (a: ScalarLike, b: ScalarLike) => Scalar = bitwise("shl");
export const shr: (a: ScalarLike, b: ScalarLike) => Scalar = bitwise("shr");
export function not(a: Scalar): Scalar {
  if (isFloat(a.type)) throw new TypeError(`not: takes integers or bool, got ${a.type}`);
  return node("not", a.type, [a]);
}

/** `condition ? a : b`. */
export function select(condition: Scalar, a: ScalarLike, b: ScalarLike): Scalar {
  if (condition.type !== "bool") {
    throw new TypeError(`select: the condition must be bool, got ${condition.type}`);
  }
  const args = pair("select", a, b);
  return node("select", args[0].type, [condition, ...args]);
}

/** The same 32 bits as another type. */
export function bitcast(a: Scalar, type: "float32" | "int32" | "uint32"): Scalar {
  return a.type === type ? a : node("bitcast", type, [a]);
}

/**
 * The same float32 number, hidden from the shader compiler. The compiler cannot reorder sums across it.
 *
 * @param positive An int32 that is not negative, which the compiler cannot know.
 */
export function opaque(a: Scalar, positive: Scalar): Scalar {
  return node("opaque", a.type, [a, positive]);
}

/** Converts to another type. Floats are truncated to integers; nonzero numbers become true. */
export function convert(a: Scalar, type: DType): Scalar {
  if (a.type === type) return a;
  if (type === "bool") return not(eq(a, 0));
  return node("convert", type, [a]);
}

/** Horner's rule. Coefficients start with the highest power. */
export function polynomial(x: Scalar, coefficients: readonly number[]): Scalar {
  const [first, ...rest] = coefficients;
  return rest.reduce((sum, coefficient) => fma(x, sum, coefficient), constant(first, x.type));
}

/**
 * x to the power of an integer with `bits` bits, by repeated multiplication. Exact if the result is
 * representable.
 */
export function wholePower(x: Scalar, p: Scalar, bits: number): Scalar {
  let [result, square] = [constant(1, x.type), x];
  for (let bit = 0; bit < bits; bit++) {
    if (bit > 0) square = mul(square, square);
    const isSet = eq(and(shr(p, bit), 1), 1);
    result = select(isSet, bit === 0 ? square : mul(result, square), result);
  }
  return result;
}

const orders = new WeakMap<Scalar, readonly Scalar[]>();

/** Every node once, after its arguments. */
export function topological(root: Scalar): readonly Scalar[] {
  let order = orders.get(root);
  if (!order) orders.set(root, order = postOrder([root], ({ args }) => args));
  return order;
}

/** The same expression with some nodes replaced. */
export function rewrite(root: Scalar, replace: (scalar: Scalar) => Scalar | undefined): Scalar {
  const done = new Map<Scalar, Scalar>();
  const order = postOrder([root], (scalar) => {
    const other = replace(scalar);
    if (other) done.set(scalar, other);
    return other ? [] : scalar.args;
  });
  for (const scalar of order) {
    if (done.has(scalar)) continue;
    const { args } = scalar;
    done.set(scalar, args.length === 0 ? scalar : { ...scalar, args: args.map((arg) => done.get(arg)!) });
  }
  return done.get(root)!;
}

/** The same expression with other operand positions. */
export function renumbered(root: Scalar, positionOf: (position: number) => number): Scalar {
  return rewrite(
    root,
    (scalar) => scalar.op === "input" ? { ...scalar, value: positionOf(scalar.value!) } : undefined,
  );
}

/** Copies an element. */
export const identity: ScalarFunction = { name: "identity", build: (x) => x };
