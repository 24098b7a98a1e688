/**
 * Draws random programs of tensor operations. A program is data: inputs with several sets of values, and
 * operations on inputs and on earlier results. Naive loops evaluate the program while it is drawn. So smooth
 * programs keep all elements away from kinks and poles, and programs with edge cases meet them only with
 * exact numbers.
 */
import { threefry2x32 } from "../../src/tensor/random.ts";
import { size } from "../tensor/nd.ts";
import { algebraRules } from "./algebra_rules.ts";
import { copyRules } from "./copy_rules.ts";
import { elementwiseRules, hasConstantZeros } from "./elementwise_rules.ts";
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

/** The rules of all public operations of tensors. */
export const rules: Readonly<Record<string, Rule>> = {
  ...elementwiseRules,
  ...structuralRules,
  ...algebraRules,
  ...copyRules,
};

/** An input. In a loop body, its role is state, row of a sequence, or closed-over constant. */
export interface Input {
  readonly shape: readonly number[];
  readonly role: "state" | "row" | "constant";
  /** Values of the first call, of the second call, and of the third step of a loop. */
  readonly sets: readonly (readonly number[])[];
}

/** A call of an operation. The name is a key of {@linkcode rules}. */
export interface Operation {
  readonly name: string;
  readonly args: readonly Argument[];
}

/** A program. Its values are numbered: inputs first, then the results of the operations in order. */
export interface Program {
  readonly seed: number;
  /** Whether elements may be NaN, infinite, or at kinks. Gradients are then not compared with differences. */
  readonly hasEdgeCases: boolean;
  readonly inputs: readonly Input[];
  readonly operations: readonly Operation[];
}

/** The values of a program for one set of inputs. */
export interface Evaluation {
  readonly values: readonly Value[];
  /** Whether an operation has an infinite slope at a constant element. */
  readonly isSingular: boolean;
}

/** Number of sets of values of every input. */
const sets = 3;

const maxSize = 120;
/** Larger elements would leave few digits for differences. */
const largestElement = 1e3;
/**
 * Smallest distances of elements from kinks and poles: in the first set, whose gradients are compared with
 * differences; in the other sets; and in programs with edge cases, where only rounding errors must not cross a
 * kink.
 */
const margins = { differences: 0.02, otherSets: 1e-4, rounding: 1e-6 };

function randomNumbers(seed: number): (below: number) => number {
  let count = 0;
  const key = [Math.floor(seed / 2 ** 32) ^ 0x9106, seed >>> 0] as const;
  return (below) => threefry2x32(key, [count++, 0])[0] % below;
}

/** Replaces references and constants by arrays. */
function resolve(arg: Argument, values: readonly Value[]): Resolved {
  if (typeof arg !== "object") return arg;
  if (Array.isArray(arg)) return arg.map((item) => resolve(item, values));
  if ("value" in arg) return values[(arg as Reference).value];
  if ("constant" in arg) {
    const { constant, shape, dtype } = arg as { constant: number[]; shape: number[]; dtype: Value["dtype"] };
    return {
      shape,
      values: constant,
      dtype,
      active: constant.map(() => 0),
      isExact: isExact(constant),
      isGiven: true,
    };
  }
  return Object.fromEntries(Object.entries(arg).map(([name, item]) => [name, resolve(item, values)]));
}

/** Whether sums and products of a few of these numbers are exact in float64. */
function isExact(values: readonly number[]): boolean {
  return values.every((x) => !Number.isFinite(x) || Number.isInteger(x * 2 ** 8) && Math.abs(x) < 2 ** 24);
}

function inputValue({ shape }: Input, values: readonly number[]): Value {
  return {
    shape,
    values,
    dtype: "float64",
    active: values.map(() => 1),
    isExact: isExact(values),
    isGiven: true,
  };
}

/** Evaluates an operation by naive loops. */
function evaluateOperation({ name, args }: Operation, values: readonly Value[]) {
  const rule = rules[name];
  const resolved = args.map((arg) => resolve(arg, values));
  const tensors = valuesIn(resolved);
  const { shape, values: elements } = rule.evaluate(resolved);
  const dtype = rule.dtype?.(resolved) ?? tensors[0].dtype;
  const active = dtype === "float64" || dtype === "float32"
    ? rule.active(resolved, { shape, values: elements }).values
    : elements.map(() => 0);
  const exact = (rule.isExact ?? false) && tensors.every((x) => x.isExact) && isExact(elements);
  return {
    result: { shape, values: elements, dtype, active, isExact: exact, isGiven: false } satisfies Value,
    margin: rule.margin?.(resolved) ?? Infinity,
    isAmbiguous: rule.isAmbiguous?.(resolved) ?? false,
    isSingular: rule.isSingular?.(resolved) ?? false,
    isFromExact: tensors.every((x) => x.isExact),
  };
}

/**
 * Evaluates a program by naive loops.
 *
 * @param changed Values of the inputs, in place of the set's values.
 * @param frozen An evaluation that supplies the results of `stopGradient`, so that differences do not see
 * them change.
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

/**
 * The results of an operation for every set; undefined if one is too large, or an operand is too close to a
 * kink or pole.
 */
function resultsIfAllowed(
  operation: Operation,
  evaluations: readonly Value[][],
  hasEdgeCases: boolean,
): Value[] | undefined {
  const results: Value[] = [];
  for (const [set, values] of evaluations.entries()) {
    const { result, margin, isAmbiguous, isFromExact } = evaluateOperation(operation, values);
    const isTame = result.values.every((x) =>
      hasEdgeCases && !Number.isFinite(x) || Math.abs(x) <= largestElement
    );
    const needed = hasEdgeCases
      ? isFromExact ? -Infinity : margins.rounding
      : set === 0
      ? margins.differences
      : margins.otherSets;
    if (
      isAmbiguous || result.values.length > maxSize || result.shape.length > 5 || !isTame ||
      !(margin >= needed)
    ) return;
    results.push(result);
  }
  return results;
}

/** Whether a changed program meets the requirements of drawn ones. */
export function isValid({ inputs, operations, hasEdgeCases }: Program): boolean {
  const evaluations = Array.from({ length: sets }, (_, set) => inputs.map((x) => inputValue(x, x.sets[set])));
  if (!inputs.some(({ role }) => role === "state")) return false;
  return operations.every((operation) => {
    const results = resultsIfAllowed(operation, evaluations, hasEdgeCases);
    if (results) evaluations.forEach((values, set) => values.push(results[set]));
    return results !== undefined;
  });
}

function drawInputs(random: (below: number) => number, hasEdgeCases: boolean): Input[] {
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
    const wholes = hasEdgeCases ? [-2, -1, 0, 1, 2, 3, 0, 1, 2, -1, 0.5, -0] : [-1, 0, 1, 2];
    const odd = [NaN, Infinity, -Infinity];
    const isOdd = hasEdgeCases && random(3) === 0;
    const element = () =>
      isOdd && random(6) === 0
        ? pick(odd)
        : random(hasEdgeCases ? 10 : 100) < 8
        ? pick(wholes)
        : low + (high - low) * (random(2 ** 20) + 0.5) / 2 ** 20;
    const whole = () => isOdd && random(6) === 0 ? pick(odd) : pick(wholes);
    const isWhole = hasEdgeCases && random(3) > 0;
    return {
      shape,
      role: pick(["state", "row", "constant"] as const),
      sets: Array.from(
        { length: sets },
        () => Array.from({ length: size(shape) }, isWhole ? whole : element),
      ),
    };
  });
  // Operations that do not depend on the state leave the loop.
  return drawn.some(({ role }) => role === "state") ? drawn : drawn.with(0, { ...drawn[0], role: "state" });
}

/** Weights of operations that are often rejected; 1 for all others. */
const weights: Readonly<Record<string, number>> = {
  where: 3,
  cast: 4,
  div: 2,
  sqrt: 3,
  pow: 4,
  matmul: 3,
  linearRecurrence: 3,
  tridiagonalSolve: 2,
  maximum: 2,
  minimum: 2,
  clip: 2,
};
const weightedNames = Object.keys(rules).flatMap((name) => new Array<string>(weights[name] ?? 1).fill(name));

/**
 * Operations whose gradient must not reach operands that they do not select, even if it is infinite, as the
 * gradient of a square root at 0.
 */
const selections = ["relu", "maximum", "minimum", "clip", "max", "min"];

/** Draws a program. */
export function randomProgram(seed: number): Program {
  const random = randomNumbers(seed);
  const hasEdgeCases = random(4) === 0;
  const inputs = drawInputs(random, hasEdgeCases);
  const evaluations = Array.from({ length: sets }, (_, set) => inputs.map((x) => inputValue(x, x.sets[set])));
  const draw: Draw = {
    below: random,
    pick: (list) => list[random(list.length)],
    chance: (percent) => random(100) < percent,
    value: (accepts) => {
      const known = evaluations[0].map((x, i) => accepts(x) ? i : -1).filter((i) => i >= 0);
      if (known.length === 0) return undefined;
      return { value: known[Math.max(random(known.length), random(known.length))] };
    },
    of: ({ value }) => evaluations[0][value],
    hasEdgeCases,
  };
  const operations: Operation[] = [];
  const count = 1 + random(12);
  for (let i = 0; operations.length < count && i < 20 * count; i++) {
    const isCandidate = selections.includes(operations.at(-1)?.name ?? "") &&
      hasConstantZeros(evaluations[0].at(-1)!) && draw.chance(60);
    const name = isCandidate ? "sqrt" : draw.pick(weightedNames);
    const args = rules[name].draw(draw);
    const operation = args && { name, args };
    const results = operation && resultsIfAllowed(operation, evaluations, hasEdgeCases);
    if (!results) continue;
    operations.push(operation);
    evaluations.forEach((values, set) => values.push(results[set]));
  }
  return { seed, hasEdgeCases, inputs, operations };
}

/** The numbers of the values that an argument refers to. */
export function referencesIn(arg: Argument): number[] {
  if (typeof arg !== "object") return [];
  if ("value" in arg) return [(arg as Reference).value];
  if ("constant" in arg) return [];
  return Object.values(arg).flatMap(referencesIn);
}

/** Indices of the results of the program: the values that no operation reads. */
export function resultsOf({ inputs, operations }: Program): number[] {
  const read = new Set(operations.flatMap(({ args }) => referencesIn(args)));
  return operations.map((_, i) => inputs.length + i).filter((number) => !read.has(number));
}
