/** Runs random programs with tensors: eagerly, under `jit`, `vmap` and `jvp`, as a loop body and in a vector field. */
import * as weft from "../../mod.ts";
import {
  grad,
  jit,
  jvp,
  odeint,
  scan,
  type ScanOptions,
  type SolveOptions,
  type Tensor,
  tensor,
  vmap,
} from "../../mod.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { isMethod } from "./print.ts";
import { type Program, resultsOf, rules } from "./random_program.ts";
import type { Argument, Constant, Reference } from "./rule.ts";

type Functions = Record<string, (...args: unknown[]) => Tensor>;

function resolve(arg: Argument, values: readonly Tensor[]): unknown {
  if (typeof arg !== "object") return arg;
  if (Array.isArray(arg)) return arg.map((item) => resolve(item, values));
  if ("value" in arg) return values[(arg as Reference).value];
  if ("constant" in arg) {
    const { constant, shape, dtype } = arg as Constant;
    return shape.length === 0 ? weft.scalar(constant[0], dtype) : tensor(constant, { shape, dtype });
  }
  return Object.fromEntries(Object.entries(arg).map(([name, item]) => [name, resolve(item, values)]));
}

/** Computes all values of a program, inputs first. */
export function runOperations({ operations }: Program, inputs: readonly Tensor[]): Tensor[] {
  const values = [...inputs];
  for (const { name, args } of operations) {
    const [first, ...rest] = args.map((arg) => resolve(arg, values));
    const methods = first as Functions;
    values.push(
      rules[name].isProperty
        ? methods[name] as unknown as Tensor
        : isMethod(name)
        ? methods[name](...rest)
        : (weft as unknown as Functions)[name](first, ...rest),
    );
  }
  return values;
}

/** Fixed weights of the elements of an array in the function that is differentiated. */
export function weightsOf(number: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => Math.sin(1 + 12.9898 * i + 78.233 * number));
}

function float64(values: ArrayLike<number>, shape: readonly number[]): Tensor {
  return tensor(Float64Array.from(values), { shape, dtype: "float64" });
}

/** The inputs of a program as tensors. */
export function inputsOf(
  { inputs }: Program,
  set: number,
  changed: readonly (readonly number[])[] = inputs.map(({ sets }) => sets[set]),
): Tensor[] {
  return inputs.map(({ shape }, i) => float64(changed[i], shape));
}

/** The weighted sum of the float64 results of a program, or undefined without such results. */
function weightedResults(program: Program, values: readonly Tensor[]): Tensor | undefined {
  const terms = resultsOf(program).filter((number) => values[number].dtype === "float64")
    .map((number) => {
      const x = values[number];
      return x.mul(float64(weightsOf(number, x.size), x.shape)).sum();
    });
  return terms.length === 0 ? undefined : terms.reduce((sum, term) => sum.add(term));
}

/** Gradients of the weighted results with respect to all inputs. */
export function gradientsOf(program: Program, inputs: Tensor[]): Tensor[] {
  return grad((x: Tensor[]) => weightedResults(program, runOperations(program, x))!)(inputs);
}

/** The weighted sum of all gradients: the function that second gradients differentiate. */
export function weightedGradients(program: Program, inputs: Tensor[]): Tensor {
  return gradientsOf(program, inputs)
    .map((x, i) => x.mul(float64(weightsOf(-1 - i, x.size), x.shape)).sum())
    .reduce((sum, term) => sum.add(term));
}

export function secondGradientsOf(program: Program, inputs: Tensor[]): Tensor[] {
  return grad((x: Tensor[]) => weightedGradients(program, x))(inputs);
}

/** Arrays by name. */
export type Results = Readonly<Record<string, Tensor>>;

const named = (name: string, list: readonly Tensor[]): [string, Tensor][] =>
  list.map((x, i) => [`${name} ${i}`, x]);

/** Computes results, gradients and, on request, second gradients. */
export function everythingOf(program: Program, inputs: Tensor[], second: boolean): Results {
  const values = runOperations(program, inputs);
  const results = resultsOf(program).map((number): [string, Tensor] => [`value ${number}`, values[number]]);
  const differentiable = weightedResults(program, values) !== undefined;
  return Object.fromEntries([
    ...results,
    ...differentiable ? named("gradient of input", gradientsOf(program, inputs)) : [],
    ...differentiable && second ? named("second gradient of input", secondGradientsOf(program, inputs)) : [],
  ]);
}

/** Runs a program under `jit`, with one call for each list of inputs. */
export function runJitted(program: Program, lists: readonly Tensor[][], second: boolean): Results[] {
  const run = jit((inputs: Tensor[]) => everythingOf(program, inputs, second));
  return lists.map((inputs) => run(inputs));
}

/** Runs a program under `vmap` with the sets of inputs as examples. The results of each example. */
export function runMapped(program: Program, second: boolean): Results[] {
  const examples = program.inputs[0].sets.length;
  const stacked = program.inputs.map(({ shape, sets }) => float64(sets.flat(), [examples, ...shape]));
  const all = vmap((inputs: Tensor[]) => everythingOf(program, inputs, second))(stacked);
  const names = Object.keys(all);
  return Array.from(
    { length: examples },
    (_, i) => Object.fromEntries(names.map((name) => [name, all[name].select(0, i)])),
  );
}

/** The derivative of the weighted results along directions, by `jvp` and by gradients. */
export function tangentsOf(
  program: Program,
  inputs: Tensor[],
  directions: Tensor[],
): { tangent: Tensor; expected: Tensor } {
  const f = (x: Tensor[]) => weightedResults(program, runOperations(program, x))!;
  const [, tangent] = jvp(f)([inputs], [directions]);
  const expected = gradientsOf(program, inputs).map((x, i) => x.mul(directions[i]).sum())
    .reduce((sum, term) => sum.add(term));
  return { tangent, expected };
}

/** Results of a loop. */
interface LoopRun {
  readonly results: Results;
  /** Number of compiled loops that ran. */
  readonly compiled: number;
}

/**
 * Runs a program as the body of a loop with one step for each set. A state moves towards a value of the same
 * shape. In programs with edge cases it is unchanged, so that exact numbers stay exact.
 */
export function runInLoop(program: Program, options: ScanOptions, second: boolean, shift = 0): LoopRun {
  const { inputs, hasEdgeCases } = program;
  const shifted = (values: readonly number[]) => values.map((x, i) => x * (1 + shift * Math.cos(i + 1)));
  const steps = inputs[0].sets.length;
  const tensors = inputs.map(({ shape, role, sets }) =>
    role === "row" ? float64(sets.flatMap(shifted), [steps, ...shape]) : float64(shifted(sets[0]), shape)
  );
  const time = float64([0.1, 0.2, 0.3].slice(0, steps), [steps]);
  const of = (role: string) => inputs.flatMap((input, i) => input.role === role ? [i] : []);
  const [states, rows] = [of("state"), of("row")];
  const results = resultsOf(program);
  const loop = (all: readonly Tensor[]) => {
    const body = (carry: Tensor[], row: { rows: Tensor[]; time: Tensor }): [Tensor[], Tensor[]] => {
      const current = [...all];
      states.forEach((input, i) => current[input] = carry[i]);
      rows.forEach((input, i) => current[input] = row.rows[i]);
      const values = runOperations(program, current);
      const next = carry.map((state) => {
        if (hasEdgeCases) return state;
        const sameShaped = values.findLast((x) =>
          x.dtype === "float64" && `${x.shape}` === `${state.shape}` && !current.includes(x)
        );
        return state.mul(0.9).add((sameShaped ?? state).tanh().mul(0.1)).add(row.time.mul(0.01));
      });
      return [next, results.map((number) => values[number])];
    };
    const sequences = { rows: rows.map((i) => all[i]), time };
    return scan(body, states.map((i) => all[i]), sequences, options) as [Tensor[], Tensor[]];
  };
  const weigh = (x: Tensor, i: number) => x.mul(float64(weightsOf(i, x.size), x.shape)).sum();
  const total = (all: readonly Tensor[]) => {
    const [finals, outputs] = loop(all);
    return [...finals, ...outputs.filter(({ dtype }) => dtype === "float64")].map(weigh)
      .reduce((sum, term) => sum.add(term));
  };
  let compiled = 0;
  let found: [string, Tensor][] = [];
  observeLoops(() => compiled++, () => {
    const [finals, outputs] = loop(tensors);
    const gradients = (all: Tensor[]) => grad((x: Tensor[]) => total(x))(all);
    const twice = (all: Tensor[]) =>
      grad((x: Tensor[]) => gradients(x).map(weigh).reduce((a, b) => a.add(b)))(all);
    found = [
      ...named("final state", finals),
      ...results.map((number, i): [string, Tensor] => [`values ${number}`, outputs[i]]),
      ...named("gradient of input", gradients(tensors)),
      ...second ? named("second gradient of input", twice(tensors)) : [],
    ];
  });
  return { results: Object.fromEntries(found), compiled };
}

/**
 * The gradients of the solution of dy/dt = tanh(scale (w(y) - offset)) - y / 2, where w(y) is the weighted
 * sum of the results of the program and y its first state. All other inputs are closed over. `offset` and
 * `scale` keep the slopes moderate.
 */
export function runInSolve(
  program: Program,
  { offset, scale }: { offset: number; scale: number },
  options: SolveOptions,
): Results {
  const tensors = inputsOf(program, 0);
  const state = program.inputs.findIndex(({ role }) => role === "state");
  const solve = (all: readonly Tensor[]) => {
    const field = (_: Tensor, y: Tensor) => {
      const total = weightedResults(program, runOperations(program, all.with(state, y)))!;
      return y.mul(-0.5).add(total.sub(offset).mul(scale).tanh());
    };
    return odeint(field, all[state], [0, 5e-4, 1e-3], options).select(0, -1);
  };
  const weights = float64(weightsOf(0, tensors[state].size), tensors[state].shape);
  const gradients = grad((all: Tensor[]) => solve(all).mul(weights).sum())(tensors);
  return Object.fromEntries(named("gradient of input", gradients));
}
