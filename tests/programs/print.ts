/** Prints random programs as code. */
import type { Argument, Constant, Reference } from "./rule.ts";
import { type Program, resultsOf, rules } from "./random_program.ts";

/** A literal in TypeScript. Unlike JSON, it covers NaN, infinities, -0 and undefined. */
function literal(x: unknown): string {
  if (typeof x === "number") return Object.is(x, -0) ? "-0" : `${x}`;
  if (Array.isArray(x)) return `[${x.map(literal).join(", ")}]`;
  if (typeof x === "object" && x !== null) {
    return `{ ${Object.entries(x).map(([name, item]) => `${name}: ${literal(item)}`).join(", ")} }`;
  }
  return typeof x === "string" ? JSON.stringify(x) : `${x}`;
}

function argument(arg: Argument): string {
  if (typeof arg !== "object") return literal(arg);
  if (Array.isArray(arg)) return `[${arg.map(argument).join(", ")}]`;
  if ("value" in arg) return `v${(arg as Reference).value}`;
  if ("constant" in arg) {
    const { constant, shape, dtype } = arg as Constant;
    if (shape.length === 0) return `scalar(${literal(constant[0])}, "${dtype}")`;
    return `tensor(${literal(constant)}, ${literal({ shape, dtype })})`;
  }
  return `{ ${Object.entries(arg).map(([name, item]) => `${name}: ${argument(item)}`).join(", ")} }`;
}

/** One statement for each operation. */
function operationsOf({ inputs, operations }: Program): string[] {
  return operations.map(({ name, args }, i) => {
    const [first, ...rest] = args.map(argument);
    const call = rules[name].isProperty
      ? `${first}.${name}`
      : isMethod(name)
      ? `${first}.${name}(${rest.join(", ")})`
      : `${name}(${[first, ...rest].join(", ")})`;
    return `  const v${inputs.length + i} = ${call};`;
  });
}

/** Operations that are functions instead of methods. */
const functions = [
  "concatenate",
  "stack",
  "einsum",
  "linearRecurrence",
  "tridiagonalSolve",
  "stopGradient",
];

export function isMethod(name: string): boolean {
  return !functions.includes(name);
}

/** Code that runs the checks of a program, with the program as a function of tensors in comments. */
export function asCode(program: Program): string {
  const names = program.inputs.map((_, i) => `v${i}`).join(", ");
  const inputs = program.inputs.map(({ shape, sets }) =>
    `tensor(${literal(sets[0])}, ${literal({ shape, dtype: "float64" })})`
  );
  const body = [
    `const f = (${names}) => {`,
    ...operationsOf(program),
    `  return [${resultsOf(program).map((number) => `v${number}`).join(", ")}];`,
    "};",
    `f(${inputs.join(", ")});`,
  ];
  return `import { checkProgram } from "./tests/programs/check.ts";

${body.map((line) => `// ${line}`).join("\n")}
console.log(await checkProgram(${literal(program)}));`;
}
