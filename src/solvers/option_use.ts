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

/** Whether the controller, and no search before the solve, determines steps without their errors. */
const isFixed = ({ controller, steps }: SolveOptions) => controller?.kind === "fixed" && !steps;

/** Whether a solve uses its tolerances. */
export function usesTolerances(method: Method, options: SolveOptions): boolean {
  if (method.kind === "embedded") return !isFixed(options);
  return method.kind === "implicit" || (method.kind === "adams" && method.implicit);
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
  controller: [adaptive[0], (method, options) => isAdaptive(method) || options.controller?.kind === "fixed"],
  maxSteps: [adaptive[0], (method, options) => isAdaptive(method) && !isFixed(options)],
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
  const kind = isAdaptive(method) && isFixed(options) ? `${method.name} with fixed steps` : method.name;
  const name = isDefault ? `${kind}, the default method,` : kind;
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
  const { controller } = options;
  if (options.grid) rejectOther(options, "grid", "stepSize");
  if (controller?.kind === "fixed") rejectOther(options, "controller", "stepSize", "grid");
  else if (controller?.jumpTimes) rejectOther(options, "controller", "jumpTimes");
}

/** @throws {OptionError} If one of the other options is given. */
function rejectOther(options: SolveOptions, option: string, ...others: (keyof SolveOptions)[]): void {
  const other = others.find((other) => options[other] !== undefined);
  if (!other) return;
  const what = other === "jumpTimes" ? "the times of jumps" : "the steps";
  throw new OptionError("conflicting-options", `odeint: ${option} and ${other} both determine ${what}`, {
    option,
    fixes: ["leave one out"],
  });
}
