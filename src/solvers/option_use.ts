/** Options that a method uses. An option that the method would ignore is rejected by name. */
import { OptionError } from "../device/errors.ts";
import { isAdaptive, type Method } from "./methods.ts";
import type { SolveOptions } from "./solve_options.ts";

/** The methods that use an option: their kinds as a text for messages, and a predicate. */
type Use = readonly [kinds: string, isUsed: (method: Method, options: SolveOptions) => boolean];

const fixed: Use = [
  "fixed-step methods, such as rk4,",
  ({ kind }) => kind === "explicit" || kind === "adams" || kind === "reversible",
];
const adaptive: Use = [
  "adaptive methods, such as dopri5,",
  isAdaptive,
];

/** Whether a method uses the tolerances of a solve. */
export function usesTolerances(method: Method): boolean {
  return isAdaptive(method) || (method.kind === "adams" && method.implicit);
}

const tolerant: Use = ["adaptive methods, such as dopri5, and implicit_adams", usesTolerances];
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
  coupling: ["reversible methods, such as reversible_rk4,", ({ kind }) => kind === "reversible"],
  executor: [
    "compiled methods, such as rk4,",
    (method) => !(method.kind === "adams" && method.implicit),
  ],
};

/**
 * Checks that options suit the method and each other.
 *
 * @param isDefault Whether the options name no method, so that the default applies.
 * @throws {OptionError} If the method, or another option, excludes an option.
 */
export function checkOptionUse(method: Method, options: SolveOptions, isDefault = false): void {
  const name = isDefault ? `${method.name}, the default method,` : method.name;
  for (const [option, [kinds, isUsed]] of Object.entries(uses)) {
    const value = options[option as keyof SolveOptions];
    if (value === undefined || value === false || isUsed(method, options)) continue;
    throw new OptionError(
      "unusable-option",
      `odeint: ${name} does not use the option ${option}; ${kinds} use it`,
      { option, fixes: [isDefault ? "choose a method, or leave it out" : "leave it out"] },
    );
  }
  if (isDefault && isAdaptive(method) && options.stepSize !== undefined) {
    throw new OptionError(
      "missing-option",
      `odeint: stepSize is given without a method, and ${name} would use it for its first step only`,
      {
        option: "method",
        fixes: ['choose method "rk4" for steps of that length, or method "dopri5" for a first step'],
      },
    );
  }
  if (options.grid && options.stepSize !== undefined) {
    throw new OptionError("conflicting-options", "odeint: grid and stepSize both determine the steps", {
      option: "grid",
      fixes: ["leave one out"],
    });
  }
}
