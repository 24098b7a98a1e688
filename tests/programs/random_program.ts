/**
 * Random programs of tensor operations, as data: inputs of several sets of values, and operations on what came before. They are
 * evaluated by naive loops while they are drawn, so that every element stays away from kinks and poles, or, at the edges, hits
 * them with numbers that rounding has not touched.
 */
import { threefry2x32 } from "../../src/tensor/random.ts";
import { size } from "../tensor/nd.ts";
import { algebraRules } from "./algebra_rules.ts";
import { elementwiseRules } from "./elementwise_rules.ts";
import {
  type Argument,
  type Draw,
  type Reference,
  type Resolved,
  type Rule,
  type Value,
  valuesIn,
} from "./rule.ts";
import { structuralRules } from "./structural_rules.ts";

/** Every public operation of tensors. */
export const rules: Readonly<Record<string, Rule>> = {
  ...elementwiseRules,
  ...structuralRules,
  ...algebraRules,
};

/** An input; where the program is the body of a loop, part of the state, a row of a sequence, or closed over. */
export interface Input {
  readonly shape: readonly number[];
  readonly role: "state" | "row" | "constant";
  /** Values of the first call, and of others. */
  readonly sets: readonly (readonly number[])[];
}

/** An operation by its name in {@linkcode rules}. */
export interface Operation {
  readonly name: string;
  readonly args: readonly Argument[];
}

/** Values are numbered: inputs first, then results of operations in order. */
export interface Program {
  readonly seed: number;
  /** Whether elements may be NaN, infinite, and at kinks; then no gradient is compared with differences. */
  readonly edges: boolean;
  readonly inputs: readonly Input[];
  readonly operations: readonly Operation[];
}

/** Values of a program for one set of inputs. */
export interface Evaluation {
  readonly values: readonly Value[];
  /** Whether an infinite slope is met at an element that does not change. */
  readonly isSingular: boolean;
}

/** Sets of values of every input. */
export const sets = 3;

const maxSize = 120;
/** Larger elements have few digits left after the point. */
const largestElement = 1e3;
/** How far elements stay from kinks and poles: differences step across less, and rounding across much less. */
const margins = { differences: 0.02, others: 1e-4, rounding: 1e-6 };

function randomNumbers(seed: number): (below: number) => number {
  let count = 0;
  const key = [Math.floor(seed / 2 ** 32) ^ 0x9106, seed >>> 0] as const;
  return (below) => threefry2x32(key, [count++, 0])[0] % below;
}

/** Arguments with arrays in place of references and constants. */
export function resolve(arg: Argument, values: readonly Value[]): Resolved {
  if (typeof arg !== "object") return arg;
  if (Array.isArray(arg)) return arg.map((own) => resolve(own, values));
  if ("value" in arg) return values[(arg as Reference).value];
  if ("constant" in arg) {
    const { constant, shape, dtype } = arg as { constant: number[]; shape: number[]; dtype: Value["dtype"] };
    return { shape, values: constant, dtype, active: constant.map(() => 0), exact: isExact(constant) };
  }
  return Object.fromEntries(Object.entries(arg).map(([name, own]) => [name, resolve(own, values)]));
}

/** Numbers of which small sums and products are exact. */
function isExact(values: readonly number[]): boolean {
  return values.every((x) => !Number.isFinite(x) || Number.isInteger(x * 2 ** 8) && Math.abs(x) < 2 ** 24);
}

function inputValue({ shape }: Input, values: readonly number[]): Value {
  return { shape, values, dtype: "float64", active: values.map(() => 1), exact: isExact(values) };
}

/** The result of an operation, by naive loops. */
function evaluateOperation({ name, args }: Operation, values: readonly Value[]) {
  const rule = rules[name];
  const resolved = args.map((arg) => resolve(arg, values));
  const tensors = valuesIn(resolved);
  const { shape, values: elements } = rule.evaluate(resolved);
  const dtype = rule.dtype?.(resolved) ?? tensors[0].dtype;
  const active = dtype === "float64" || dtype === "float32"
    ? rule.active(resolved, { shape, values: elements }).values
    : elements.map(() => 0);
  const exact = (rule.exact ?? false) && tensors.every((x) => x.exact) && isExact(elements);
  return {
    result: { shape, values: elements, dtype, active, exact } satisfies Value,
    margin: rule.margin?.(resolved) ?? Infinity,
    isSingular: rule.isSingular?.(resolved) ?? false,
    isFromExact: tensors.every((x) => x.exact),
  };
}

/**
 * Evaluates a program by naive loops.
 *
 * @param inputs Values in place of the first set's.
 * @param frozen An evaluation whose values `stopGradient` repeats: what differences must not see.
 */
export function evaluate(
  { inputs, operations }: Program,
  set: number,
  changed: readonly (readonly number[])[] = inputs.map((input) => input.sets[set]),
  frozen?: Evaluation,
): Evaluation {
  const values = inputs.map((input, i) => inputValue(input, changed[i]));
  let isSingular = false;
  for (const operation of operations) {
    const found = evaluateOperation(operation, values);
    isSingular ||= found.isSingular;
    values.push(operation.name === "stopGradient" && frozen ? frozen.values[values.length] : found.result);
  }
  return { values, isSingular };
}

/** Whether an operation may follow: its result is not too large, and its operands suit it in every set of inputs. */
function suits(operation: Operation, evaluations: readonly Value[][], edges: boolean): Value[] | undefined {
  const results: Value[] = [];
  for (const [set, values] of evaluations.entries()) {
    const { result, margin, isFromExact } = evaluateOperation(operation, values);
    const isTame = result.values.every((x) => edges && !Number.isFinite(x) || Math.abs(x) <= largestElement);
    const needed = edges
      ? isFromExact ? -Infinity : margins.rounding
      : set === 0
      ? margins.differences
      : margins.others;
    if (result.values.length > maxSize || result.shape.length > 5 || !isTame || !(margin >= needed)) return;
    results.push(result);
  }
  return results;
}

/** Whether a program that was changed keeps to what is asked of those that are drawn. */
export function isValid({ inputs, operations, edges }: Program): boolean {
  const evaluations = Array.from({ length: sets }, (_, set) => inputs.map((x) => inputValue(x, x.sets[set])));
  if (!inputs.some(({ role }) => role === "state")) return false;
  return operations.every((operation) => {
    const results = suits(operation, evaluations, edges);
    if (results) evaluations.forEach((values, set) => values.push(results[set]));
    return results !== undefined;
  });
}

function drawInputs(random: (below: number) => number, edges: boolean): Input[] {
  const pick = <T>(list: readonly T[]) => list[random(list.length)];
  const lengths = [1, 2, 3, 5, 2, 3, 2, 3, 2, 3, 1, 2, 3, 2, 3, 0];
  const base = Array.from({ length: pick([0, 1, 2, 2, 2, 3, 3, 4]) }, () => pick(lengths));
  const related = () => {
    const shape = pick([base, base, base.slice(random(base.length + 1)), base.toReversed(), [
      ...base,
      pick(lengths),
    ]]);
    return shape.slice(-4).map((length) => random(5) === 0 ? 1 : random(12) === 0 ? pick(lengths) : length);
  };
  const drawn = Array.from({ length: 1 + random(3) }, (_, i): Input => {
    let shape = i === 0 ? base : related();
    while (size(shape) > 60) shape = shape.slice(1);
    const [low, high] = pick([[-2, 2], [-1, 1], [0.2, 2]]);
    const wholes = edges ? [-2, -1, 0, 1, 2, 3, 0, 1, 2, -1, 0.5, -0] : [-1, 0, 1, 2];
    const odd = [NaN, Infinity, -Infinity];
    const isOdd = edges && random(3) === 0;
    const element = () =>
      isOdd && random(6) === 0
        ? pick(odd)
        : random(edges ? 10 : 100) < 8
        ? pick(wholes)
        : low + (high - low) * (random(2 ** 20) + 0.5) / 2 ** 20;
    const whole = () => isOdd && random(6) === 0 ? pick(odd) : pick(wholes);
    const isWhole = edges && random(3) > 0;
    return {
      shape,
      role: pick(["state", "row", "constant"] as const),
      sets: Array.from(
        { length: sets },
        () => Array.from({ length: size(shape) }, isWhole ? whole : element),
      ),
    };
  });
  // What does not depend on the state is computed before the loop.
  return drawn.some(({ role }) => role === "state") ? drawn : drawn.with(0, { ...drawn[0], role: "state" });
}

/** How often operations are tried that few values suit; others once. */
const tries: Readonly<Record<string, number>> = {
  where: 3,
  cast: 4,
  div: 2,
  sqrt: 3,
  pow: 4,
  matmul: 3,
  linearRecurrence: 3,
  tridiagonalSolve: 2,
};
const weighted = Object.keys(rules).flatMap((name) => new Array<string>(tries[name] ?? 1).fill(name));

/** Draws a program. */
export function randomProgram(seed: number): Program {
  const random = randomNumbers(seed);
  const edges = random(4) === 0;
  const inputs = drawInputs(random, edges);
  const evaluations = Array.from({ length: sets }, (_, set) => inputs.map((x) => inputValue(x, x.sets[set])));
  const draw: Draw = {
    below: random,
    pick: (list) => list[random(list.length)],
    chance: (percent) => random(100) < percent,
    value: (suits) => {
      const known = evaluations[0].map((x, i) => suits(x) ? i : -1).filter((i) => i >= 0);
      if (known.length === 0) return undefined;
      return { value: known[Math.max(random(known.length), random(known.length))] };
    },
    of: ({ value }) => evaluations[0][value],
    edges,
  };
  const operations: Operation[] = [];
  const count = 1 + random(12);
  for (let i = 0; operations.length < count && i < 20 * count; i++) {
    const name = draw.pick(weighted);
    const args = rules[name].draw(draw);
    const operation = args && { name, args };
    const results = operation && suits(operation, evaluations, edges);
    if (!results) continue;
    operations.push(operation);
    evaluations.forEach((values, set) => values.push(results[set]));
  }
  return { seed, edges, inputs, operations };
}

/** Numbers of the values that an argument refers to. */
export function referencesIn(arg: Argument): number[] {
  if (typeof arg !== "object") return [];
  if ("value" in arg) return [(arg as Reference).value];
  if ("constant" in arg) return [];
  return Object.values(arg).flatMap(referencesIn);
}

/** Numbers of the values that are results of the program: those that no operation reads, and all where none is left. */
export function resultsOf({ inputs, operations }: Program): number[] {
  const read = new Set(operations.flatMap(({ args }) => referencesIn(args)));
  return operations.map((_, i) => inputs.length + i).filter((number) => !read.has(number));
}
