/** Every method: those that have a name, and tableaus that users bring. */
import { type AdamsMethod, explicitAdams, implicitAdams } from "./fixed/adams.ts";
import { checkTableau } from "./check_tableau.ts";
import type { AdaptiveMethod } from "./adaptive/embedded.ts";
import { type ImplicitMethod, withSteps } from "./implicit/implicit_step.ts";
import { adaptiveHeun } from "./methods/adaptive_heun.ts";
import { bosh3 } from "./methods/bosh3.ts";
import { dopri5 } from "./methods/dopri5.ts";
import { dopri8 } from "./methods/dopri8.ts";
import { euler } from "./methods/euler.ts";
import { fehlberg2 } from "./methods/fehlberg2.ts";
import { heun2 } from "./methods/heun2.ts";
import { heun3 } from "./methods/heun3.ts";
import { kvaerno3 } from "./methods/kvaerno3.ts";
import { kvaerno5 } from "./methods/kvaerno5.ts";
import { midpoint } from "./methods/midpoint.ts";
import { ralston } from "./methods/ralston.ts";
import { reversibleHeun } from "./methods/reversible_heun.ts";
import { rk4 } from "./methods/rk4.ts";
import { rk4Classic } from "./methods/rk4_classic.ts";
import { tsit5 } from "./methods/tsit5.ts";
import type { ReversibleMethod } from "./adjoints/reversible.ts";
import { reversible } from "./adjoints/reversible_runge_kutta.ts";
import type { Tolerances } from "./adaptive/step_control.ts";
import type { ButcherTableau, EmbeddedMethod, EmbeddedTableau } from "./tableaus.ts";

/** A method of solving equations; `kind` tells which. */
export type Method = ButcherTableau | EmbeddedMethod | ImplicitMethod | AdamsMethod | ReversibleMethod;

/** A method as users choose it: its name, or a tableau of their own. */
export type MethodChoice = string | ButcherTableau | EmbeddedTableau;

/** Runge-Kutta methods of fixed steps. */
export const fixedMethods: readonly ButcherTableau[] = [
  euler,
  midpoint,
  heun2,
  heun3,
  ralston,
  rk4,
  rk4Classic,
];

/** Runge-Kutta methods whose steps are as long as tolerances allow. */
export const adaptiveMethods: readonly EmbeddedMethod[] = [
  fehlberg2,
  adaptiveHeun,
  bosh3,
  dopri5,
  tsit5,
  dopri8,
];

/** The same for stiff equations. */
export const implicitMethods: readonly ImplicitMethod[] = [kvaerno3, kvaerno5].map((own) => withSteps(own));

/** Multistep methods. */
export const adamsMethods: readonly AdamsMethod[] = [explicitAdams, implicitAdams];

const methods: readonly Method[] = [
  ...fixedMethods,
  reversibleHeun,
  ...adamsMethods,
  ...adaptiveMethods,
  ...implicitMethods,
];

/** Prefix of the names of reversible forms: `reversible_rk4` is that of `rk4`. */
const reversiblePrefix = "reversible_";

/**
 * A method, from its name or a tableau.
 *
 * @throws {RangeError} If there is none of that name: the message lists those there are; or if a tableau is none.
 */
export function methodOf(choice: MethodChoice): Method {
  if (typeof choice !== "string") return checkTableau(choice);
  const found = methods.find(({ name }) => name === choice);
  if (found) return found;
  const base = [...fixedMethods, ...adaptiveMethods].find(({ name }) => reversiblePrefix + name === choice);
  if (base) return reversible(base);
  throw new RangeError(
    `method "${choice}" is unknown; use one of ${methods.map(({ name }) => name).join(", ")}, or ` +
      `${reversiblePrefix}rk4, say, for the reversible form of a Runge-Kutta method`,
  );
}

/** The name of a method. */
export function nameOf(choice: MethodChoice): string {
  return typeof choice === "string" ? choice : choice.name;
}

/**
 * Whether the states of a method within its steps are worse than those at their ends: of a tableau without a middle, and of
 * implicit methods, whose steps are far longer than stiff parts of the solution take, which no polynomial follows.
 */
export function hasCoarseMiddle(choice: MethodChoice): boolean {
  if (typeof choice === "string") return implicitMethods.some(({ name }) => name === choice);
  return choice.kind === "embedded" && !choice.middle;
}

/** Whether a method chooses the length of its steps. */
export function isAdaptive(method: Method): method is AdaptiveMethod {
  return method.kind === "embedded" || method.kind === "implicit";
}

/** An adaptive method, whose stages are solved as exactly as tolerances ask for where they are equations. */
export function solvedTo(method: AdaptiveMethod, tolerances: Tolerances): AdaptiveMethod {
  return method.kind === "implicit" ? withSteps(method, tolerances) : method;
}
