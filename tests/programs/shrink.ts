/** Shrinks random programs. */
import {
  evaluate,
  type Input,
  isValid,
  type Operation,
  type Program,
  referencesIn,
  resultsOf,
} from "./random_program.ts";
import type { Argument, Reference } from "./rule.ts";

/**
 * Removes operations, or replaces their results by inputs, as long as the program still fails.
 *
 * @param fails Whether a program fails in the same way as the first one.
 */
export async function shrink(
  program: Program,
  fails: (program: Program) => Promise<boolean>,
): Promise<Program> {
  for (;;) {
    let smaller: Program | undefined;
    for (const candidate of smallerPrograms(program)) {
      if (!isValid(candidate) || !await fails(candidate)) continue;
      smaller = candidate;
      break;
    }
    if (!smaller) return program;
    program = smaller;
  }
}

function* smallerPrograms(program: Program): Generator<Program> {
  const { inputs, operations } = program;
  const results = resultsOf(program);
  for (const number of results) if (operations.length > 1) yield withoutValue(program, number);
  const read = new Set(operations.flatMap(({ args }) => referencesIn(args)));
  for (const i of inputs.keys()) if (!read.has(i) && inputs.length > 1) yield withoutValue(program, i);
  const { values } = evaluate(program, 0);
  for (const [i, { args }] of operations.entries()) {
    const number = inputs.length + i;
    if (results.includes(number)) continue;
    const { shape, dtype } = values[number];
    const sameShaped = referencesIn(args).find((number) =>
      values[number].dtype === dtype && `${values[number].shape}` === `${shape}`
    );
    if (sameShaped !== undefined) yield withoutValue(withReferences(program, number, sameShaped), number);
    if (dtype === "float64") yield withInput(program, number);
  }
}

function renumbered(arg: Argument, numberOf: (value: number) => number): Argument {
  if (typeof arg !== "object") return arg;
  if (Array.isArray(arg)) return arg.map((item) => renumbered(item, numberOf));
  if ("value" in arg) return { value: numberOf((arg as Reference).value) };
  if ("constant" in arg) return arg;
  return Object.fromEntries(Object.entries(arg).map(([name, item]) => [name, renumbered(item, numberOf)]));
}

const renumber = (operations: readonly Operation[], numberOf: (value: number) => number): Operation[] =>
  operations.map(({ name, args }) => ({ name, args: args.map((arg) => renumbered(arg, numberOf)) }));

const withReferences = (program: Program, from: number, to: number): Program => ({
  ...program,
  operations: renumber(program.operations, (value) => value === from ? to : value),
});

/** Removes an input or a result that no operation reads. */
function withoutValue({ inputs, operations, ...rest }: Program, number: number): Program {
  return {
    ...rest,
    inputs: inputs.filter((_, i) => i !== number),
    operations: renumber(
      operations.filter((_, i) => inputs.length + i !== number),
      (value) => value > number ? value - 1 : value,
    ),
  };
}

/** Replaces the result of an operation by an input. */
function withInput(program: Program, number: number): Program {
  const { inputs, operations, ...rest } = program;
  const all = inputs[0].sets.map((_, set) => evaluate(program, set).values[number]);
  const input: Input = { shape: all[0].shape, role: "state", sets: all.map(({ values }) => values) };
  const place = inputs.length;
  return {
    ...rest,
    inputs: [...inputs, input],
    operations: renumber(
      operations.filter((_, i) => inputs.length + i !== number),
      (value) => value === number ? place : value >= place && value < number ? value + 1 : value,
    ),
  };
}
