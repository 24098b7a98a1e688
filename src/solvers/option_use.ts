/** Options that a method looks at: one that it would ignore is refused, by name. */
import type { Method } from "./methods.ts";
import type { SolveOptions } from "./solve_options.ts";

/** The kinds of methods that look at an option, in words, and whether a method is of them. */
type Use = readonly [kinds: string, isUsed: (method: Method, options: SolveOptions) => boolean];

const fixed: Use = [
  "methods of fixed steps, rk4 say,",
  ({ kind }) => kind === "explicit" || kind === "adams" || kind === "reversible",
];
const adaptive: Use = [
  "adaptive methods, dopri5 say,",
  ({ kind }) => kind === "embedded" || kind === "implicit",
];
const tolerant: Use = [
  "adaptive methods, dopri5 say, and implicit_adams",
  (method, options) => adaptive[1](method, options) || (method.kind === "adams" && method.implicit),
];
const continuous: Use = [
  "the continuous adjoint of adaptive methods",
  (method, options) => options.adjoint === "continuous" && adaptive[1](method, options),
];

const uses: { readonly [option in keyof SolveOptions]?: Use } = {
  grid: fixed,
  check: fixed,
  rtol: tolerant,
  atol: tolerant,
  norm: adaptive,
  steps: adaptive,
  controller: adaptive,
  maxSteps: adaptive,
  jumpTimes: adaptive,
  adjointRtol: continuous,
  adjointAtol: continuous,
  coupling: ["reversible methods, reversible_rk4 say,", ({ kind }) => kind === "reversible"],
  executor: [
    "methods whose solve is compiled, rk4 say,",
    (method) => method.kind !== "implicit" && !(method.kind === "adams" && method.implicit),
  ],
};

/** @throws {RangeError} If an option was given that the method, or another option, makes meaningless. */
export function checkOptionUse(method: Method, options: SolveOptions): void {
  for (const [option, [kinds, isUsed]] of Object.entries(uses)) {
    const value = options[option as keyof SolveOptions];
    if (value === undefined || value === false || isUsed(method, options)) continue;
    throw new RangeError(
      `odeint: ${method.name} has no use for the option ${option}: ${kinds} have; leave it out`,
    );
  }
  if (options.grid && options.stepSize !== undefined) {
    throw new RangeError("odeint: grid and stepSize both say where steps end; leave one out");
  }
}
