/**
 * What must hold of every random program, in float64 on the CPU: values are those of naive loops, gradients those of central
 * differences, second gradients those of differences of gradients; `jit` and compiled loops give what single operations give.
 */
import type { Adjoint, Tensor } from "../../mod.ts";
import { evaluate, type Evaluation, type Program, resultsOf } from "./random_program.ts";
import {
  everythingOf,
  gradientsOf,
  inputsOf,
  type Results,
  runInLoop,
  runInSolve,
  runJitted,
  runOperations,
  secondGradientsOf,
  weightedGradients,
  weightsOf,
} from "./run_program.ts";

/** The first thing about a program that does not hold. */
export interface Failure {
  readonly check: "values" | "gradients" | "second gradients" | "jit" | "loop" | "adjoints";
  readonly message: string;
}

/** What was found out about a program. */
export interface Report {
  readonly failure?: Failure;
  /** Loops that ran compiled. */
  readonly loops: number;
  /** Derivatives that were compared with differences. */
  readonly derivatives: number;
}

/** Relative to the largest element of an array. */
const tolerance = 1e-9;

/** Checks a program. */
export async function checkProgram(program: Program): Promise<Report> {
  let [loops, derivatives] = [0, 0];
  const stages: [Failure["check"], () => Promise<string | undefined>][] = [
    ["values", () => checkValues(program)],
    ["gradients", async () => {
      const found = await checkGradients(program);
      derivatives += found.compared;
      return found.message;
    }],
    ["second gradients", async () => {
      const found = await checkSecondGradients(program);
      derivatives += found.compared;
      return found.message;
    }],
    ["jit", () => checkJit(program)],
    ["loop", async () => {
      const found = await checkLoop(program);
      loops += found.compiled;
      return found.message;
    }],
    ["adjoints", () => checkAdjoints(program)],
  ];
  if (program.operations.length === 0) return { loops, derivatives };
  for (const [check, run] of stages) {
    const message = await run().catch((error: Error) => error.stack ?? error.message);
    if (message !== undefined) return { failure: { check, message }, loops, derivatives };
  }
  return { loops, derivatives };
}

/** The first element that differs, or nothing. */
function difference(
  found: ArrayLike<number>,
  expected: ArrayLike<number>,
  allowed: number,
  mayReorder = false,
): string | undefined {
  const finite = Array.from(expected).filter(Number.isFinite).map(Math.abs);
  const scale = Math.max(1e-3, ...finite);
  if (found.length !== expected.length) return `has ${found.length} elements, expected ${expected.length}`;
  for (let i = 0; i < found.length; i++) {
    const [a, b] = [found[i], expected[i]];
    if (a === b || Number.isNaN(a) && Number.isNaN(b)) continue;
    if (mayReorder && !Number.isFinite(a) && !Number.isFinite(b)) continue;
    if (!(Math.abs(a - b) <= allowed * scale)) return `element ${i} is ${a}, expected ${b}`;
  }
}

/** Every value against naive loops, those that rounding does not touch bit by bit. */
async function checkValues(program: Program): Promise<string | undefined> {
  const expected = evaluate(program, 0).values;
  const found = runOperations(program, inputsOf(program, 0));
  for (const [number, x] of found.entries()) {
    const value = expected[number];
    const what = `v${number}${describe(program, number)}`;
    if (x.dtype !== value.dtype || `${x.shape}` !== `${value.shape}`) {
      return `${what} is ${x.dtype} (${x.shape}), expected ${value.dtype} (${value.shape})`;
    }
    // Of several products of sums, which come first is not said.
    const mayReorder = program.operations[number - program.inputs.length]?.name === "einsum";
    const wrong = difference(await x.data(), value.values, value.exact ? 0 : tolerance, mayReorder);
    if (wrong) return `${what}: ${wrong}`;
  }
}

function describe({ inputs, operations }: Program, number: number): string {
  return number < inputs.length ? "" : `, ${operations[number - inputs.length].name}`;
}

/** The weighted sum of results by naive loops. */
function weighted(program: Program, { values }: Evaluation): number {
  let sum = 0;
  for (const number of resultsOf(program)) {
    const { values: elements, dtype } = values[number];
    if (dtype !== "float64") continue;
    const weights = weightsOf(number, elements.length);
    elements.forEach((x, i) => sum += x * weights[i]);
  }
  return sum;
}

const isFloatResult = (program: Program, { values }: Evaluation) =>
  resultsOf(program).some((number) => values[number].dtype === "float64");

/** Directions in the space of one input. */
const directionOf = (input: number, count: number) => weightsOf(100 + input, count);

const moved = (values: readonly number[], direction: readonly number[], by: number) =>
  values.map((x, i) => x + by * direction[i]);

/** The derivative of a function at zero, and how far it may be off: twice Richardson's extrapolation of central differences. */
async function derivative(
  f: (step: number) => number | Promise<number>,
): Promise<{ value: number; error: number }> {
  const step = 1e-4;
  const central: number[] = [];
  let largest = 0;
  for (const factor of [1, 2, 4]) {
    const [ahead, behind] = [await f(factor * step), await f(-factor * step)];
    largest = Math.max(largest, Math.abs(ahead), Math.abs(behind));
    central.push((ahead - behind) / (2 * factor * step));
  }
  const [a, b] = [0, 1].map((i) => (4 * central[i] - central[i + 1]) / 3);
  return { value: (16 * a - b) / 15, error: 10 * Math.abs(a - b) + 1e-14 * largest / step };
}

interface Compared {
  readonly message?: string;
  readonly compared: number;
}

/** Gradients of each input along a direction. */
async function checkGradients(program: Program): Promise<Compared> {
  const base = evaluate(program, 0);
  let compared = 0;
  if (program.edges || !isFloatResult(program, base)) return { compared };
  const gradients = gradientsOf(program, inputsOf(program, 0));
  const values = program.inputs.map(({ sets }) => sets[0]);
  for (const [input, own] of values.entries()) {
    const direction = directionOf(input, own.length);
    const gradient = await gradients[input].data();
    const { value, error } = await derivative((step) =>
      weighted(program, evaluate(program, 0, values.with(input, moved(own, direction, step)), base))
    );
    const terms = direction.map((d, i) => d * gradient[i]);
    const wrong = wrongDerivative(terms, value, error);
    if (wrong) return { message: `gradient of input ${input}: ${wrong}`, compared };
    compared++;
  }
  return { compared };
}

/** Says how a derivative, a sum of terms, differs from what differences give. */
function wrongDerivative(terms: readonly number[], expected: number, error: number): string | undefined {
  const found = terms.reduce((sum, term) => sum + term, 0);
  const scale = Math.max(1e-3, Math.abs(expected), ...terms.map(Math.abs));
  if (Math.abs(found - expected) <= 1e-7 * scale + error) return;
  return `along a direction ${found}, differences give ${expected} within ${error.toExponential(1)}`;
}

/** Second gradients along a direction, against differences of the gradients. */
async function checkSecondGradients(program: Program): Promise<Compared> {
  const base = evaluate(program, 0);
  if (!hasSecondGradient(program, base)) return { compared: 0 };
  const values = program.inputs.map(({ sets }) => sets[0]);
  const directions = values.map((own, input) => directionOf(input, own.length));
  const seconds = secondGradientsOf(program, inputsOf(program, 0));
  const terms: number[] = [];
  for (const [input, x] of seconds.entries()) {
    const data = await x.data();
    terms.push(...directions[input].map((d, i) => d * data[i]));
  }
  const { value, error } = await derivative(async (step) => {
    const changed = values.map((own, input) => moved(own, directions[input], step));
    return await weightedGradients(program, inputsOf(program, 0, changed)).item();
  });
  return { message: wrongDerivative(terms, value, error), compared: 1 };
}

/** What is not differentiated stays in the first gradient as a value, which differences would see. */
function hasSecondGradient(program: Program, base: Evaluation): boolean {
  return !program.edges && !base.isSingular && isFloatResult(program, base) &&
    program.operations.every(({ name }) => name !== "stopGradient");
}

/** How arrays are compared. */
interface Comparison {
  /** The expected results with rounding errors, where elements are found to differ. */
  readonly noisy?: () => Results;
  readonly allowed?: number;
  /** Whether sums of infinite terms may be NaN on one side alone: (a + b) c for a c + b c. */
  readonly mayReorder?: boolean;
}

/** The first array of `found` that differs from `expected`'s by more than rounding does. */
async function compare(
  found: Results,
  expected: Results,
  { noisy, allowed = tolerance, mayReorder = false }: Comparison = {},
): Promise<string | undefined> {
  let other: Results | undefined;
  for (const [name, x] of Object.entries(expected)) {
    if (found[name].dtype !== x.dtype || `${found[name].shape}` !== `${x.shape}`) {
      return `${name} is ${found[name].dtype} (${found[name].shape}), expected ${x.dtype} (${x.shape})`;
    }
    const [a, b] = [await found[name].data(), await x.data()];
    const wrong = difference(a, b, allowed, mayReorder && name.includes("gradient"));
    if (!wrong) continue;
    // Elements that rounding changes as much say nothing.
    other ??= noisy?.();
    if (!other || await isWorse(a, b, other[name])) return `${name}: ${wrong}`;
  }
}

async function isWorse(a: ArrayLike<number>, b: ArrayLike<number>, noisy: Tensor): Promise<boolean> {
  const c = await noisy.data();
  const largest = (x: ArrayLike<number>) =>
    Math.max(0, ...Array.from(x, (value, i) => Math.abs(value - b[i])));
  return !(largest(a) <= 10 * largest(c));
}

/** Gradients through float32 are rounded to it. */
const toleranceOf = ({ operations }: Program) =>
  operations.some(({ args }) => args.includes("float32")) ? 1e-5 : tolerance;

/** How much inputs are changed to see what rounding can do. */
const noise = 1e-13;

/** Two calls of one function under `jit`, with different inputs. */
async function checkJit(program: Program): Promise<string | undefined> {
  const allowed = toleranceOf(program);
  const second = program.seed % 3 === 0 && hasSecondGradient(program, evaluate(program, 0));
  const lists = [0, 1].map((set) => inputsOf(program, set));
  const jitted = runJitted(program, lists, second);
  for (const [call, inputs] of lists.entries()) {
    const noisy = () => {
      const changed = program.inputs.map(({ sets }) =>
        sets[call].map((x, i) => x * (1 + noise * Math.cos(i + 1)))
      );
      return everythingOf(program, inputsOf(program, call, changed), second);
    };
    const wrong = await compare(
      jitted[call],
      everythingOf(program, inputs, second),
      program.edges ? { allowed } : { allowed, noisy },
    );
    if (wrong) return `call ${call}: ${wrong}`;
  }
}

/** The program as the body of a loop, compiled and step by step. */
async function checkLoop(program: Program): Promise<Compared & { compiled: number }> {
  const { seed, edges } = program;
  const second = seed % 3 === 1 && hasSecondGradient(program, evaluate(program, 0));
  const allowed = toleranceOf(program);
  const options = { checkpoint: seed % 5 === 0, executor: seed % 4 === 1 ? "stepped" as const : undefined };
  const { results, compiled } = runInLoop(program, options, second);
  const plain = runInLoop(program, { compile: false }, second).results;
  const noisy = () => runInLoop(program, { compile: false }, second, noise).results;
  return {
    message: await compare(results, plain, edges ? { allowed, mayReorder: true } : { allowed, noisy }),
    compared: 0,
    compiled,
  };
}

/** The program in the vector field of an equation: every adjoint gives the gradient that the steps themselves have. */
async function checkAdjoints(program: Program): Promise<string | undefined> {
  const base = evaluate(program, 0);
  const state = program.inputs.find(({ role }) => role === "state");
  // What is not differentiated may jump while the state moves.
  const isSmooth = hasSecondGradient(program, base);
  if (!isSmooth || !state?.sets[0].length) return;
  let steepest = 1;
  for (const gradient of gradientsOf(program, inputsOf(program, 0))) {
    steepest = Math.max(steepest, ...Array.from(await gradient.data(), Math.abs));
  }
  const bounds = { offset: weighted(program, base), scale: 1 / steepest };
  const run = (method: string, adjoint: Adjoint) => runInSolve(program, bounds, { method, adjoint });
  const continuous = await compare(run("rk4", "continuous"), run("rk4", "direct"), { allowed: 1e-5 });
  if (continuous) return `continuous: ${continuous}`;
  const method = "reversible_rk4";
  const reversible = await compare(run(method, "reversible"), run(method, "direct"), { allowed: 1e-7 });
  if (reversible) return `reversible: ${reversible}`;
}
