/** Every method by its name. */
import { type AdamsMethod, explicitAdams, implicitAdams } from "./adams.ts";
import { adaptiveHeun } from "./methods/adaptive_heun.ts";
import { bosh3 } from "./methods/bosh3.ts";
import { dopri5 } from "./methods/dopri5.ts";
import { dopri8 } from "./methods/dopri8.ts";
import type { EmbeddedTableau } from "./embedded.ts";
import { euler } from "./methods/euler.ts";
import { fehlberg2 } from "./methods/fehlberg2.ts";
import { heun2 } from "./methods/heun2.ts";
import { heun3 } from "./methods/heun3.ts";
import { type ImplicitTableau, withSteps } from "./implicit_step.ts";
import { kvaerno3 } from "./methods/kvaerno3.ts";
import { kvaerno5 } from "./methods/kvaerno5.ts";
import { midpoint } from "./methods/midpoint.ts";
import { ralston } from "./methods/ralston.ts";
import type { ReversibleMethod } from "./reversible.ts";
import { reversibleHeun } from "./methods/reversible_heun.ts";
import { reversible } from "./reversible_runge_kutta.ts";
import { rk4 } from "./methods/rk4.ts";
import { rk4Classic } from "./methods/rk4_classic.ts";
import type { Tolerances } from "./step_control.ts";
import type { ButcherTableau } from "./tableau.ts";
import { tsit5 } from "./methods/tsit5.ts";

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
export const adaptiveMethods: readonly EmbeddedTableau[] = [
  fehlberg2,
  adaptiveHeun,
  bosh3,
  dopri5,
  tsit5,
  dopri8,
];

/** The same for stiff equations. */
export const implicitMethods: readonly ImplicitTableau[] = [kvaerno3, kvaerno5];

/** A method of solving equations. */
export type Method = ButcherTableau | EmbeddedTableau | AdamsMethod | ReversibleMethod;

/** Multistep methods. */
export const adamsMethods: readonly AdamsMethod[] = [explicitAdams, implicitAdams];

const methods: readonly Method[] = [
  ...fixedMethods,
  reversibleHeun,
  ...adamsMethods,
  ...adaptiveMethods,
  ...implicitMethods,
];

/** The methods' names. */
export const methodNames: readonly string[] = methods.map(({ name }) => name);

/** Methods whose name begins with this are the reversible form of the Runge-Kutta method of the other part. */
const reversibleForm = "reversible_";

/** A method. @throws {RangeError} If there is none: the message lists those there are. */
export function methodNamed(name: string): Method {
  const found = methods.find((method) => method.name === name);
  if (found) return found;
  const base = [...fixedMethods, ...adaptiveMethods].find((method) => reversibleForm + method.name === name);
  if (base) return reversible(base);
  throw new RangeError(
    `method "${name}" is unknown; use one of ${methodNames.join(", ")}, or ` +
      `${reversibleForm}rk4, say, for the reversible form of a Runge-Kutta method`,
  );
}

/** Whether a method chooses the length of its steps. */
export function isAdaptive(method: Method): method is EmbeddedTableau {
  return "error" in method;
}

/** Whether a method solves equations at each stage. */
export function isImplicit(method: Method): method is ImplicitTableau {
  return "diagonal" in method;
}

/** An adaptive method, whose stages are solved as exactly as tolerances ask for where they are equations. */
export function solvedTo(method: EmbeddedTableau, tolerances: Tolerances): EmbeddedTableau {
  return isImplicit(method) ? withSteps(method, tolerances) : method;
}

/** Whether a method builds on the steps before. */
export function isMultistep(method: Method): method is AdamsMethod {
  return "implicit" in method;
}

/** Whether a method's steps can be undone. */
export function isReversible(method: Method): method is ReversibleMethod {
  return "reversible" in method;
}
