/** Scalar expressions as WGSL. */
import { type DType, isFloat } from "../../dtype.ts";
import { lower } from "../../scalar/float32_math.ts";
import { type Scalar, topological } from "../../scalar/scalar.ts";

/** The WGSL type of a value in an expression. */
export function valueType(dtype: DType): string {
  switch (dtype) {
    case "float32":
      return "f32";
    case "int32":
      return "i32";
    case "uint32":
      return "u32";
    case "bool":
      return "bool";
    case "float64":
      throw new TypeError("float64 is only available on the CPU: WGSL has no such type");
  }
}

/** WGSL expressions for the leaves of a scalar expression. */
interface ScalarNames {
  /** The operands, with their {@linkcode valueType}. */
  readonly inputs: readonly string[];
  /** The row-major position of the element, a u32. */
  readonly index: string;
  /**
   * A u32 that is zero at run time, which the compiler cannot know. WGSL has no constants for infinity and
   * NaN.
   */
  readonly zero: string;
  /** Prefix of the names of intermediate results. Default: `v`. */
  readonly prefix?: string;
}

/** Statements of an expression, and the expression of its result. */
export interface EmittedScalar {
  readonly lines: readonly string[];
  readonly result: string;
}

/**
 * Generates code for an expression, each node once. Functions such as `exp` become arithmetic, because those
 * of WGSL are inaccurate. Statements with different prefixes can be combined in one function.
 */
export function emitScalar(root: Scalar, names: ScalarNames): EmittedScalar {
  const { prefix = "v" } = names;
  const text = new Map<Scalar, string>();
  const lines: string[] = [];
  const define = (expression: string) => {
    const name = `${prefix}${lines.length}`;
    lines.push(`let ${name} = ${expression};`);
    return name;
  };
  const nodes = topological(lower(root));
  for (const node of nodes) {
    if (node.op === "constant") text.set(node, literal(node.value!, node.type, names.zero));
    else if (node.op === "input") text.set(node, names.inputs[node.value!]);
    else if (node.op === "index") text.set(node, names.index);
    else {
      const args = node.args.map((arg) => text.get(arg)!);
      // The compiler would evaluate an expression of constants, and reject overflow.
      if (node.args.every(({ op }) => op === "constant")) args[0] = define(args[0]);
      text.set(node, define(expression(node, args)));
    }
  }
  return { lines, result: text.get(nodes.at(-1)!)! };
}

function literal(value: number, type: DType, zero: string): string {
  switch (type) {
    case "bool":
      return value ? "true" : "false";
    case "int32":
      return `i32(${value | 0})`;
    case "uint32":
      return `${value >>> 0}u`;
    default: {
      const rounded = Math.fround(value);
      if (Number.isNaN(rounded)) return `bitcast<f32>(0x7fc00000u | ${zero})`;
      if (!Number.isFinite(rounded)) {
        return `bitcast<f32>(${rounded > 0 ? "0x7f800000u" : "0xff800000u"} | ${zero})`;
      }
      if (Object.is(rounded, -0)) return `bitcast<f32>(0x80000000u | ${zero})`;
      valueType(type);
      return /[.e]/.test(`${rounded}`) ? `f32(${rounded})` : `f32(${rounded}.0)`;
    }
  }
}

function expression({ op, type, args }: Scalar, a: readonly string[]): string {
  switch (op) {
    case "add":
      return `${a[0]} + ${a[1]}`;
    case "sub":
      return `${a[0]} - ${a[1]}`;
    case "mul":
      return `${a[0]} * ${a[1]}`;
    case "div":
      return `${a[0]} / ${a[1]}`;
    case "fma":
      return isFloat(type) ? `fma(${a[0]}, ${a[1]}, ${a[2]})` : `${a[0]} * ${a[1]} + ${a[2]}`;
    case "neg":
      return type === "uint32" ? `0u - ${a[0]}` : `-${a[0]}`;
    case "min":
    case "max":
      return isFloat(type) ? extremum(op, args, a) : `${op}(${a[0]}, ${a[1]})`;
    case "abs":
    case "floor":
    case "ceil":
    case "round":
    case "sqrt":
      return `${op}(${a[0]})`;
    case "lt":
      return comparison("<", args, a);
    case "le":
      return comparison("<=", args, a);
    case "eq":
      return comparison("==", args, a);
    case "isNaN":
      return isNaNText(a[0]);
    case "and":
      return `${a[0]} & ${a[1]}`;
    case "or":
      return `${a[0]} | ${a[1]}`;
    case "xor":
      return type === "bool" ? `${a[0]} != ${a[1]}` : `${a[0]} ^ ${a[1]}`;
    case "not":
      return type === "bool" ? `!${a[0]}` : `~${a[0]}`;
    case "shl":
      return `${a[0]} << ${shift(args[1], a[1])}`;
    case "shr":
      return `${a[0]} >> ${shift(args[1], a[1])}`;
    case "select":
      return `select(${a[2]}, ${a[1]}, ${a[0]})`;
    case "bitcast":
      return `bitcast<${valueType(type)}>(${a[0]})`;
    case "opaque":
      // Adds the sign bit of a positive number: zero.
      return `bitcast<f32>(bitcast<u32>(${a[0]}) ^ (bitcast<u32>(${a[1]}) >> 31u))`;
    case "convert":
      return `${valueType(type)}(${a[0]})`;
    default:
      throw new Error(`WGSL: no rule for ${op} of ${type}`);
  }
}

/** Whether two values compare, and neither is NaN. Drivers may assume that no float is NaN, so its bits are tested. */
function comparison(operator: "<" | "<=" | "==", args: readonly Scalar[], a: readonly string[]): string {
  const compared = `${a[0]} ${operator} ${a[1]}`;
  if (!isFloat(args[0].type)) return compared;
  const tested = new Set(a.filter((_, i) => args[i].op !== "constant" || Number.isNaN(args[i].value)));
  return [compared, ...[...tested].map((text) => `(bitcast<u32>(${text}) & 0x7fffffffu) <= 0x7f800000u`)]
    .map((text) => `(${text})`).join(" & ");
}

/** Tests the bits of a float, because comparisons of NaN are undefined in WGSL. */
export function isNaNText(x: string): string {
  return `(bitcast<u32>(${x}) & 0x7fffffffu) > 0x7f800000u`;
}

/** The smaller or larger of two floats, or NaN if either is NaN. WGSL's functions may ignore NaN. */
function extremum(op: "min" | "max", args: readonly Scalar[], a: readonly string[]): string {
  return args.reduce(
    (text, arg, i) =>
      arg.op === "constant" && !Number.isNaN(arg.value)
        ? text
        : `select(${text}, ${a[i]}, ${isNaNText(a[i])})`,
    `${op}(${a[0]}, ${a[1]})`,
  );
}

/** The shift distance: the low five bits, as in JavaScript. */
function shift(arg: Scalar, text: string): string {
  return arg.op === "constant" ? `${arg.value! & 31}u` : `(u32(${text}) & 31u)`;
}
