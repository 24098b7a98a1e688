/**
 * Every differentiable primitive in a vector field. Each adjoint, compiled and step by step, must give the
 * same gradient, and central differences in float64 must confirm it. The cases come from
 * `primitive_cases.ts`, so that new primitives are included.
 */
import assert from "node:assert/strict";
import { full, grad, odeint, type SolveOptions, type Tensor, tensor } from "../../mod.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import type { Primitive } from "../../src/tensor/primitive.ts";
import { tidy } from "../../src/tensor/scope.ts";
import { cpu, testLong } from "../devices.ts";
import { type Case, cases, modules, type Operand } from "../tensor/primitive_cases.ts";
import { type Nd, random, size, toTensor } from "../tensor/nd.ts";

/** Shapes of the state, of each rank. */
const stateShapes = [[], [3], [2, 3], [2, 1, 2]] as const;

const times = [0, 0.1, 0.3];

/** How the floating-point operands of the primitive change during a solve. */
type Course = "with the state" | "with time";
const courses: readonly Course[] = ["with the state", "with time"];

/** The first elements of an operand, in another shape. */
const resized = ({ values }: Nd, shape: readonly number[]): Nd => ({
  shape,
  values: Array.from({ length: size(shape) }, (_, i) => values[i % values.length]),
});

/** An operand as a tensor: a parameter, a constant, or the same number in every element without memory. */
interface Given {
  readonly x: Tensor;
  readonly isParameter: boolean;
}

/** The operands of a case. With `only`, all other floating-point operands are numbers. */
const givenBy = (
  operands: readonly Operand[],
  shapeOf: (operand: Operand, i: number) => readonly number[],
  only?: number,
): Given[] =>
  operands.map((operand, i) => {
    const [shape, { array: { values }, dtype }] = [shapeOf(operand, i), operand];
    const isNumber = dtype === undefined && only !== undefined && i !== only;
    const x = isNumber
      ? full([...shape], values[0] ?? 0, { dtype: "float64" })
      : toTensor(resized(operand.array, shape), dtype ?? "float64");
    return { x, isParameter: dtype === undefined && !isNumber };
  });

/** A vector field, and the floating-point tensors that its solution depends on. */
interface Problem {
  readonly field: (t: Tensor, y: Tensor) => Tensor;
  readonly y0: Tensor;
  readonly parameters: readonly Tensor[];
}

const matrix = (rows: number, columns: number, seed: number, scale: number): Tensor =>
  toTensor({
    shape: [rows, columns],
    values: random([rows, columns], seed, { low: -scale, high: scale }).values,
  }, "float64");

/** Operands change by at most this amount, so that no kink of a primitive is reached. */
const movement = 0.01;

/**
 * The reciprocal of the largest element of a primitive's result, at most one: a factor for vector fields that
 * change the state slowly.
 */
async function tamed(value: Tensor): Promise<number> {
  return 1 / Math.max(1, ...(await value.data()).map(Math.abs));
}

/**
 * The equation dy/dt = B p(w + A y) - y / 2 for a primitive p with parameters w and fixed matrices A and B.
 * If its operands only change with time, w + A t replaces w + A y.
 */
async function problemOf(
  { operands, run }: Case,
  shape: readonly number[],
  course: Course,
  only?: number,
): Promise<Problem> {
  const n = size(shape);
  const tensors = givenBy(operands, ({ array }) => array.shape, only);
  const inward = tensors.map(({ x }, i) => matrix(n, x.size, 40 + i, movement / n));
  const along = tensors.map(({ x }, i) => matrix(1, x.size, 40 + i, movement));
  const value = run(...tensors.map(({ x }) => x));
  const m = value.size;
  const outward = matrix(m, n, 80, await tamed(value) / Math.sqrt(m));
  return {
    y0: toTensor(random(shape, 70, { low: -1, high: 1 }), "float64"),
    parameters: tensors.flatMap(({ x, isParameter }) => isParameter ? [x] : []),
    field(t, y) {
      const row = y.reshape([1, n]);
      const change = (i: number) => course === "with the state" ? row.matmul(inward[i]) : along[i].mul(t);
      const moved = tensors.map(({ x, isParameter }, i) =>
        isParameter ? x.add(change(i).reshape(x.shape)) : x
      );
      return run(...moved).reshape([1, m]).matmul(outward).reshape(shape).sub(y.mul(0.5));
    },
  };
}

/**
 * The same for elementwise operations, whose operands have the state's shape: dy/dt = c p(w + y / 100) - y /
 * 2. The samples along the first axis share every other parameter.
 */
async function elementwiseProblemOf(
  { operands, run }: Case,
  shape: readonly number[],
  course: Course,
  only?: number,
): Promise<Problem> {
  const tensors = givenBy(operands, (_, i) => i % 2 === 0 ? shape.slice(1) : shape, only);
  const factor = await tamed(run(...tensors.map(({ x }) => x.broadcastTo(shape))));
  return {
    y0: toTensor(random(shape, 70, { low: -1, high: 1 }), "float64"),
    parameters: tensors.flatMap(({ x, isParameter }) => isParameter ? [x] : []),
    field(t, y) {
      const change = (course === "with the state" ? y : t).mul(movement);
      const moved = tensors.map(({ x, isParameter }) => isParameter ? x.add(change) : x);
      return run(...moved.map((x) => x.broadcastTo(shape))).mul(factor).sub(y.mul(0.5));
    },
  };
}

const loss = (states: Tensor): Tensor => states.sub(0.3).square().sum();

/** The gradients of a solve with respect to the first state and the parameters, one after another. */
async function gradientsOf({ field, y0, parameters }: Problem, options: SolveOptions): Promise<number[]> {
  const gradients = grad(([y0]: readonly Tensor[]) => loss(odeint(field, y0, times, options)))([
    y0,
    ...parameters,
  ]);
  const values = await Promise.all(gradients.map((x) => x.data()));
  return values.flatMap((list) => Array.from(list, Number));
}

/** A direction for each element of a tensor. */
const directionOf = ({ shape }: Tensor, i: number): Nd => random(shape, 60 + i, { low: -1, high: 1 });

/** The derivative of the loss along a direction in each of the tensors, by central differences. */
async function differencesOf(
  { field, y0, parameters }: Problem,
  options: SolveOptions,
): Promise<number[]> {
  const step = 1e-5;
  const slopes: number[] = [];
  for (const [i, x] of [y0, ...parameters].entries()) {
    const before = tensor(await x.data(), { shape: x.shape, dtype: "float64" });
    const direction = toTensor(directionOf(x, i), "float64");
    const at = async (shift: number) => {
      tidy(() => x.assign(before.add(direction.mul(shift))));
      return await loss(odeint(field, y0, times, options)).item();
    };
    slopes.push((await at(step) - await at(-step)) / (2 * step));
    tidy(() => x.assign(before));
  }
  return slopes;
}

/** Solves with equal steps, whose gradients are compared. */
interface Comparison {
  readonly title: string;
  readonly options: SolveOptions;
  readonly adjoints: readonly NonNullable<SolveOptions["adjoint"]>[];
}

/** Steps are short enough for the error of the continuous adjoint to stay below {@linkcode solverError}. */
const comparisons: readonly Comparison[] = [
  {
    title: "fixed steps",
    options: { method: "rk4", stepSize: 0.1 },
    adjoints: ["direct", "checkpoint", "continuous"],
  },
  {
    title: "reversible steps",
    options: { method: "reversible_rk4", stepSize: 0.1 },
    adjoints: ["direct", "checkpoint", "reversible"],
  },
  {
    title: "dopri5",
    options: { method: "dopri5", rtol: 1e-8, atol: 1e-9 },
    adjoints: ["direct", "checkpoint", "continuous"],
  },
];

/**
 * Largest relative differences between gradients of the same discrete solution, gradients of the equation,
 * and differences.
 */
const [roundingError, solverError, differenceError] = [1e-9, 1e-6, 1e-6];

function assertClose(found: number, expected: number, tolerance: number, what: string): void {
  const difference = Math.abs(found - expected) / Math.max(1, Math.abs(found), Math.abs(expected));
  assert.ok(difference <= tolerance, `${what} is ${found}, expected ${expected}`);
}

/** Compares the gradients of all adjoints with each other and with central differences. */
async function check(
  problem: Problem,
  what: string,
  { title, options, adjoints }: Comparison,
): Promise<void> {
  const directions = [problem.y0, ...problem.parameters].map((x, i) => directionOf(x, i).values);
  const slopes = await differencesOf(problem, { ...options, compile: false });
  let reference: number[] | undefined;
  for (const [adjoint, compile] of adjoints.flatMap((name) => [[name, true], [name, false]] as const)) {
    const found = await gradientsOf(problem, { ...options, adjoint, compile });
    reference ??= found;
    const how = `${what}: ${title}, ${adjoint}, ${compile ? "compiled" : "step by step"}`;
    const tolerance = adjoint === "continuous" ? solverError : roundingError;
    found.forEach((value, i) =>
      assertClose(value, reference![i], tolerance, `${how}: element ${i} of the gradient`)
    );
    let start = 0;
    directions.forEach((direction, i) => {
      const along = direction.reduce((sum, unit, j) => sum + unit * found[start + j], 0);
      start += direction.length;
      assertClose(
        along,
        slopes[i],
        differenceError,
        `${how}: the derivative along a direction of tensor ${i}`,
      );
    });
  }
}

/** Whether a primitive has a gradient rule. Functions that make primitives have none. */
const hasGradient = (exported: unknown): exported is Primitive<unknown> =>
  typeof exported !== "function" && (exported as Primitive<unknown>).reverse !== "zero";

/** Settings of a check: the shape of the state, how the operands change, and the compared adjoints. */
type Setting = readonly [shape: typeof stateShapes[number], course: Course, comparison: Comparison];

/**
 * A setting for every shape, with both courses and all comparisons. Six turns have every combination. The primitives share the
 * code of solves and adjoints.
 */
const settingsOf = (turn: number): Setting[] =>
  stateShapes.map((shape, i) => [
    shape,
    courses[(i + Math.floor(turn / 3)) % courses.length],
    comparisons[(i + turn) % comparisons.length],
  ]);

let turn = 0;
for (const [name, list] of Object.entries(cases)) {
  const [module, exported] = name.split(".");
  const primitive = modules[module][exported];
  if (!hasGradient(primitive)) continue;
  const makeProblem = "fn" in primitive ? elementwiseProblemOf : problemOf;
  list.filter(({ smooth }) => smooth >= 1).forEach((example, position) => {
    const test = (
      register: typeof testLong,
      what: string,
      settings: readonly Setting[],
      only?: number,
    ) =>
      register(`adjoints of a field with ${name}: ${example.name} (${position})${what}`, async () => {
        setCurrentDevice(cpu);
        for (const [shape, course, comparison] of settings) {
          const problem = await makeProblem(example, shape, course, only);
          await check(
            problem,
            `${example.name}, state of shape (${shape}), operands change ${course}`,
            comparison,
          );
        }
      });
    // The first case has one rank and one kind of steps, in rotation. The long tests have every case, rank and kind,
    // and operands that change with time.
    const now = turn++;
    const shape = stateShapes[now % stateShapes.length];
    const comparison = comparisons[now % comparisons.length];
    test(position === 0 ? Deno.test : testLong, "", [[shape, "with the state", comparison]]);
    test(testLong, ", every rank of the state", settingsOf(now));
    const floats = example.operands.flatMap(({ dtype }, i) => dtype === undefined ? [i] : []);
    if (floats.length === 1) return;
    for (const only of floats) {
      test(
        testLong,
        `, with numbers for all operands except ${only}`,
        [[stateShapes[position === 0 ? 0 : 2], "with the state", comparisons[0]]],
        only,
      );
    }
  });
}

Deno.test("every primitive with a gradient rule has a differentiable case", () => {
  for (const [name, list] of Object.entries(cases)) {
    const [module, exported] = name.split(".");
    if (hasGradient(modules[module][exported])) assert.ok(list.some(({ smooth }) => smooth >= 1), name);
  }
});
