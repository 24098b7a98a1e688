/** Options that a method looks at: one that it would ignore is refused, by name. */
import { OptionError } from "../device/errors.ts";
import { isAdaptive, type Method } from "./methods.ts";
import type { SolveOptions } from "./solve_options.ts";

/** The kinds of methods that look at an option, in words, and whether a method is of them. */
type Use = readonly [kinds: string, isUsed: (method: Method, options: SolveOptions) => boolean];

const fixed: Use = [
  "methods of fixed steps, rk4 say,",
  ({ kind }) => kind === "explicit" || kind === "adams" || kind === "reversible",
];
const adaptive: Use = [
  "adaptive methods, dopri5 say,",
  isAdaptive,
];

/** Whether the tolerances of a solve have an effect on a method. */
export function usesTolerances(method: Method): boolean {
  return isAdaptive(method) || (method.kind === "adams" && method.implicit);
}

const tolerant: Use = ["adaptive methods, dopri5 say, and implicit_adams", usesTolerances];
const continuous: Use = [
  "the continuous adjoint of adaptive methods",
  (method, options) => options.adjoint === "continuous" && isAdaptive(method),
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

/**
 * Checks that options go with the method, and with one another.
 *
 * @param isDefault Whether the method is the default, since the options name none.
 * @throws {OptionError} If an option was given that the method, or another option, makes meaningless.
 */
export function checkOptionUse(method: Method, options: SolveOptions, isDefault = false): void {
  const name = isDefault ? `${method.name}, the default method,` : method.name;
  for (const [option, [kinds, isUsed]] of Object.entries(uses)) {
    const value = options[option as keyof SolveOptions];
    if (value === undefined || value === false || isUsed(method, options)) continue;
    throw new OptionError(
      "unusable-option",
      `odeint: ${name} has no use for the option ${option}: ${kinds} have`,
      { option, fixes: [isDefault ? "choose a method, or leave it out" : "leave it out"] },
    );
  }
  if (isDefault && isAdaptive(method) && options.stepSize !== undefined) {
    throw new OptionError(
      "missing-option",
      `odeint: stepSize is given without a method, and ${name} would take it for its first step only`,
      {
        option: "method",
        fixes: ['choose method "rk4" for steps of that length, or method "dopri5" for a first step'],
      },
    );
  }
  if (options.grid && options.stepSize !== undefined) {
    throw new OptionError("conflicting-options", "odeint: grid and stepSize both say where steps end", {
      option: "grid",
      fixes: ["leave one out"],
    });
  }
}
