/**
 * Checks a random program in float64 on the CPU. Values are compared with naive loops, gradients with central
 * differences of the naive loops, second gradients with central differences of the gradients. `jit`, `vmap` and
 * compiled loops are compared with eager operations, `jvp` with gradients, and the adjoints of a solve with its
 * direct gradient.
 */
import type { Adjoint, MethodName, Tensor } from "../../mod.ts";
import { evaluate, type Evaluation, type Program, resultsOf } from "./random_program.ts";
import {
  everythingOf,
  gradientsOf,
  inputsOf,
  type Results,
  runInLoop,
  runInSolve,
  runJitted,
  runMapped,
  runOperations,
  secondGradientsOf,
  tangentsOf,
  weightedGradients,
  weightsOf,
} from "./run_program.ts";

/** The first check that fails. */
interface Failure {
  readonly check: "values" | "gradients" | "second gradients" | "jit" | "vmap" | "jvp" | "loop" | "adjoints";
  readonly message: string;
}

/** The result of all checks of a program. */
interface Report {
  readonly failure?: Failure;
  /** Number of compiled loops that ran. */
  readonly loops: number;
  /** Number of derivatives that were compared with differences. */
  readonly derivatives: number;
}

/** The largest allowed difference, relative to the largest element of an array. */
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
    ["vmap", () => checkVmap(program)],
    ["jvp", () => checkJvp(program)],
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

/** Describes the first element that differs; returns undefined if none does. */
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

/** Compares every value with naive loops. Exact values must be equal. */
async function checkValues(program: Program): Promise<string | undefined> {
  const expected = evaluate(program, 0).values;
  const found = runOperations(program, inputsOf(program, 0));
  for (const [number, x] of found.entries()) {
    const value = expected[number];
    const what = `v${number}${describe(program, number)}`;
    if (x.dtype !== value.dtype || `${x.shape}` !== `${value.shape}`) {
      return `${what} is ${x.dtype} (${x.shape}), expected ${value.dtype} (${value.shape})`;
    }
    const wrong = difference(await x.data(), value.values, value.isExact ? 0 : tolerance);
    if (wrong) return `${what}: ${wrong}`;
  }
}

function describe({ inputs, operations }: Program, number: number): string {
  return number < inputs.length ? "" : `, ${operations[number - inputs.length].name}`;
}

/** The weighted sum of the results, by naive loops. */
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

/** The direction along which an input is differentiated. */
const directionOf = (input: number, count: number) => weightsOf(100 + input, count);

const moved = (values: readonly number[], direction: readonly number[], by: number) =>
  values.map((x, i) => x + by * direction[i]);

/**
 * The derivative of a function at zero, from central differences and two Richardson extrapolations, with an
 * error estimate.
 */
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

/** Compares the gradient of each input, along one direction, with differences of naive loops. */
async function checkGradients(program: Program): Promise<Compared> {
  const base = evaluate(program, 0);
  let compared = 0;
  if (program.hasEdgeCases || !isFloatResult(program, base)) return { compared };
  const gradients = gradientsOf(program, inputsOf(program, 0));
  const values = program.inputs.map(({ sets }) => sets[0]);
  for (const [input, elements] of values.entries()) {
    const direction = directionOf(input, elements.length);
    const gradient = await gradients[input].data();
    const { value, error } = await derivative((step) =>
      weighted(program, evaluate(program, 0, values.with(input, moved(elements, direction, step)), base))
    );
    const terms = direction.map((d, i) => d * gradient[i]);
    const wrong = wrongDerivative(terms, value, error);
    if (wrong) return { message: `gradient of input ${input}: ${wrong}`, compared };
    compared++;
  }
  return { compared };
}

/** Describes how a directional derivative, a sum of terms, differs from central differences. */
function wrongDerivative(terms: readonly number[], expected: number, error: number): string | undefined {
  const found = terms.reduce((sum, term) => sum + term, 0);
  const scale = Math.max(1e-3, Math.abs(expected), ...terms.map(Math.abs));
  if (Math.abs(found - expected) <= 1e-7 * scale + error) return;
  return `along a direction ${found}, differences give ${expected} within ${error.toExponential(1)}`;
}

/** Compares second gradients, along one direction of all inputs, with differences of the gradients. */
async function checkSecondGradients(program: Program): Promise<Compared> {
  const base = evaluate(program, 0);
  if (!hasSecondGradient(program, base)) return { compared: 0 };
  const values = program.inputs.map(({ sets }) => sets[0]);
  const directions = values.map((elements, input) => directionOf(input, elements.length));
  const seconds = secondGradientsOf(program, inputsOf(program, 0));
  const terms: number[] = [];
  for (const [input, x] of seconds.entries()) {
    const data = await x.data();
    terms.push(...directions[input].map((d, i) => d * data[i]));
  }
  const { value, error } = await derivative(async (step) => {
    const changed = values.map((elements, input) => moved(elements, directions[input], step));
    return await weightedGradients(program, inputsOf(program, 0, changed)).item();
  });
  return { message: wrongDerivative(terms, value, error), compared: 1 };
}

/**
 * Whether differences of the gradients give the second gradient. `stopGradient` prevents that: the gradient
 * still depends on the stopped value. So does an infinite slope at a constant zero, whose second gradient is
 * NaN.
 */
function hasSecondGradient(program: Program, base: Evaluation): boolean {
  return !program.hasEdgeCases && !base.isSingular && isFloatResult(program, base) &&
    program.operations.every(({ name }) => name !== "stopGradient");
}

/** Options of {@linkcode compare}. */
interface Comparison {
  /** Computes the expected results from inputs that differ by rounding errors. */
  readonly perturbed?: () => Results;
  readonly allowed?: number;
  /**
   * Whether NaN and Infinity count as equal in gradients: with an infinite c, (a + b) c is infinite where a c
   * + b c is NaN.
   */
  readonly mayReorder?: boolean;
}

/** Describes the first array that differs by more than rounding errors; returns undefined if none does. */
async function compare(
  found: Results,
  expected: Results,
  { perturbed, allowed = tolerance, mayReorder = false }: Comparison = {},
): Promise<string | undefined> {
  let other: Results | undefined;
  for (const [name, x] of Object.entries(expected)) {
    if (found[name].dtype !== x.dtype || `${found[name].shape}` !== `${x.shape}`) {
      return `${name} is ${found[name].dtype} (${found[name].shape}), expected ${x.dtype} (${x.shape})`;
    }
    const [a, b] = [await found[name].data(), await x.data()];
    const wrong = difference(a, b, allowed, mayReorder && name.includes("gradient"));
    if (!wrong) continue;
    // An ill-conditioned program amplifies rounding errors: its differences may be as large as the
    // differences of perturbed inputs.
    other ??= perturbed?.();
    if (!other || await isWorse(a, b, other[name])) return `${name}: ${wrong}`;
  }
}

async function isWorse(a: ArrayLike<number>, b: ArrayLike<number>, perturbed: Tensor): Promise<boolean> {
  const c = await perturbed.data();
  const largest = (x: ArrayLike<number>) =>
    Math.max(0, ...Array.from(x, (value, i) => Math.abs(value - b[i])));
  return !(largest(a) <= 10 * largest(c));
}

/** Gradients that flow through float32 have its precision. */
const toleranceOf = ({ operations }: Program) =>
  operations.some(({ args }) => args.includes("float32")) ? 1e-5 : tolerance;

/** The relative perturbation of inputs that simulates rounding errors. */
const perturbation = 1e-13;

/** Compares two calls of one jitted function, with different inputs, with eager operations. */
async function checkJit(program: Program): Promise<string | undefined> {
  const allowed = toleranceOf(program);
  const second = program.seed % 3 === 0 && hasSecondGradient(program, evaluate(program, 0));
  const lists = [0, 1].map((set) => inputsOf(program, set));
  const jitted = runJitted(program, lists, second);
  for (const [call, inputs] of lists.entries()) {
    const perturbed = () => everythingOf(program, perturbedInputs(program, call), second);
    const wrong = await compare(
      jitted[call],
      everythingOf(program, inputs, second),
      program.hasEdgeCases ? { allowed } : { allowed, perturbed },
    );
    if (wrong) return `call ${call}: ${wrong}`;
  }
}

/** A set of inputs with simulated rounding errors. */
function perturbedInputs(program: Program, set: number): Tensor[] {
  const changed = program.inputs.map(({ sets }) =>
    sets[set].map((x, i) => x * (1 + perturbation * Math.cos(i + 1)))
  );
  return inputsOf(program, set, changed);
}

/** Compares `vmap` over the sets of inputs with eager operations for each set. */
async function checkVmap(program: Program): Promise<string | undefined> {
  const allowed = toleranceOf(program);
  const second = program.seed % 3 === 2 && hasSecondGradient(program, evaluate(program, 0));
  for (const [set, results] of runMapped(program, second).entries()) {
    const perturbed = () => everythingOf(program, perturbedInputs(program, set), second);
    const wrong = await compare(
      results,
      everythingOf(program, inputsOf(program, set), second),
      program.hasEdgeCases ? { allowed, mayReorder: true } : { allowed, perturbed },
    );
    if (wrong) return `example ${set}: ${wrong}`;
  }
}

/**
 * Compares the derivative along directions by `jvp` with the derivative from gradients. They differ at infinite slopes of
 * constants: the tangent is 0 * Infinity = NaN, and a gradient may ignore the slope.
 */
async function checkJvp(program: Program): Promise<string | undefined> {
  const base = evaluate(program, 0);
  if (program.hasEdgeCases || base.isSingular || !isFloatResult(program, base)) return;
  const directions = inputsOf(
    program,
    0,
    program.inputs.map(({ sets }, i) => directionOf(i, sets[0].length)),
  );
  const run = (inputs: Tensor[]) => tangentsOf(program, inputs, directions);
  const { tangent, expected } = run(inputsOf(program, 0));
  const perturbed = () => ({ tangent: run(perturbedInputs(program, 0)).expected });
  return await compare({ tangent }, { tangent: expected }, { allowed: toleranceOf(program), perturbed });
}

/** Compares the program as the body of a compiled loop with the same loop step by step. */
async function checkLoop(program: Program): Promise<Compared & { compiled: number }> {
  const { seed, hasEdgeCases } = program;
  const second = seed % 3 === 1 && hasSecondGradient(program, evaluate(program, 0));
  const allowed = toleranceOf(program);
  const options = { checkpoint: seed % 5 === 0, executor: seed % 4 === 1 ? "stepped" as const : undefined };
  const { results, compiled } = runInLoop(program, options, second);
  const plain = runInLoop(program, { compile: false }, second).results;
  const perturbed = () => runInLoop(program, { compile: false }, second, perturbation).results;
  return {
    message: await compare(
      results,
      plain,
      hasEdgeCases ? { allowed, mayReorder: true } : { allowed, perturbed },
    ),
    compared: 0,
    compiled,
  };
}

/**
 * Compares the gradients of a solve, with the program in the vector field, by each adjoint with the direct
 * gradient.
 */
async function checkAdjoints(program: Program): Promise<string | undefined> {
  const base = evaluate(program, 0);
  const state = program.inputs.find(({ role }) => role === "state");
  // A value of `stopGradient` has no gradient, but may jump when the state changes.
  const isSmooth = hasSecondGradient(program, base);
  if (!isSmooth || !state?.sets[0].length) return;
  let steepest = 1;
  for (const gradient of gradientsOf(program, inputsOf(program, 0))) {
    steepest = Math.max(steepest, ...Array.from(await gradient.data(), Math.abs));
  }
  const bounds = { offset: weighted(program, base), scale: 1 / steepest };
  const run = (method: MethodName, adjoint: Adjoint, stepSize?: number) =>
    runInSolve(program, bounds, { method, adjoint, stepSize });
  const direct = run("rk4", "direct");
  const continuous = await compare(run("rk4", "continuous"), direct, { allowed: 1e-5 });
  // A solution that crosses a kink depends on the steps. The continuous adjoint is only valid for smooth
  // solutions.
  if (continuous && await compare(run("rk4", "direct", 1e-4), direct, { allowed: 1e-7 })) return;
  if (continuous) return `continuous: ${continuous}`;
  const method = "reversible_rk4";
  const reversible = await compare(run(method, "reversible"), run(method, "direct"), { allowed: 1e-7 });
  if (reversible) return `reversible: ${reversible}`;
}
