/** Scalar expressions as JavaScript, for float64 and for checking the others. */
import { type Scalar, topological } from "../scalar.ts";

export function emitJs(root: Scalar): string {
  const names = new Map<Scalar, string>();
  const lines: string[] = [];
  for (const node of topological(root)) {
    const a = node.args.map((arg) => names.get(arg)!);
    const name = `v${names.size}`;
    names.set(node, name);
    lines.push(`const ${name} = ${wrap(node, expression(node, a))};`);
  }
  return lines.join("\n") + `\nreturn ${names.get(root)};`;
}

function wrap(node: Scalar, text: string): string {
  switch (node.type) {
    case "float32":
      return `Math.fround(${text})`;
    case "int32":
      return `((${text}) | 0)`;
    case "uint32":
      return `((${text}) >>> 0)`;
    default:
      return text;
  }
}

function expression(node: Scalar, a: string[]): string {
  const integer = node.type === "int32" || node.type === "uint32";
  switch (node.op) {
    case "constant":
      return node.type === "bool" ? `${!!node.value}` : `${node.value}`;
    case "input":
      return node.type === "bool" ? `!!x${node.value}` : `x${node.value}`;
    case "index":
      return "index";
    case "add":
      return `${a[0]} + ${a[1]}`;
    case "sub":
      return `${a[0]} - ${a[1]}`;
    case "mul":
      return integer ? `Math.imul(${a[0]}, ${a[1]})` : `${a[0]} * ${a[1]}`;
    case "div":
      return `${a[0]} / ${a[1]}`;
    case "fma":
      return `${a[0]} * ${a[1]} + ${a[2]}`;
    case "neg":
      return `-${a[0]}`;
    case "abs":
    case "floor":
    case "ceil":
    case "sqrt":
    case "exp":
    case "log":
    case "log1p":
    case "sin":
    case "cos":
    case "tanh":
      return `Math.${node.op}(${a[0]})`;
    case "min":
    case "max":
      return `Math.${node.op}(${a[0]}, ${a[1]})`;
    case "erf":
      return `erf(${a[0]})`;
    case "round":
      return `roundEven(${a[0]})`;
    case "lt":
      return `${a[0]} < ${a[1]}`;
    case "le":
      return `${a[0]} <= ${a[1]}`;
    case "eq":
      return `${a[0]} === ${a[1]}`;
    case "isNaN":
      return `${a[0]} !== ${a[0]}`;
    case "and":
      return node.type === "bool" ? `${a[0]} && ${a[1]}` : `${a[0]} & ${a[1]}`;
    case "or":
      return node.type === "bool" ? `${a[0]} || ${a[1]}` : `${a[0]} | ${a[1]}`;
    case "xor":
      return node.type === "bool" ? `${a[0]} !== ${a[1]}` : `${a[0]} ^ ${a[1]}`;
    case "not":
      return node.type === "bool" ? `!${a[0]}` : `~${a[0]}`;
    case "shl":
      return `${a[0]} << ${a[1]}`;
    case "shr":
      return node.type === "uint32" ? `${a[0]} >>> ${a[1]}` : `${a[0]} >> ${a[1]}`;
    case "select":
      return `${a[0]} ? ${a[1]} : ${a[2]}`;
    case "convert":
      return integer && !node.args[0].type.startsWith("float") ? a[0] : `Number(${a[0]})`;
    case "bitcast":
      return `bitcast.${node.type}(${a[0]})`;
  }
}
