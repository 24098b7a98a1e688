/** All methods: built-in methods with a name, and user-defined tableaus. */
import { type AdamsMethod, explicitAdams, implicitAdams } from "./fixed/adams.ts";
import { checkTableau } from "./check_tableau.ts";
import type { AdaptiveMethod } from "./adaptive/embedded.ts";
import type { ImplicitMethod } from "./implicit/implicit_step.ts";
import { adaptiveHeun } from "./methods/adaptive_heun.ts";
import { bosh3 } from "./methods/bosh3.ts";
import { dopri5 } from "./methods/dopri5.ts";
import { dopri8 } from "./methods/dopri8.ts";
import { euler } from "./methods/euler.ts";
import { fehlberg2 } from "./methods/fehlberg2.ts";
import { heun2 } from "./methods/heun2.ts";
import { heun3 } from "./methods/heun3.ts";
import { implicitEuler } from "./methods/implicit_euler.ts";
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
import type { Tolerances } from "./control/tolerances.ts";
import type { ButcherTableau, EmbeddedMethod, EmbeddedTableau } from "./tableaus.ts";

/** A method for differential equations. `kind` distinguishes the types. */
export type Method = ButcherTableau | EmbeddedMethod | ImplicitMethod | AdamsMethod | ReversibleMethod;

/** Names of explicit Runge-Kutta methods with fixed steps. */
export type FixedMethodName = "euler" | "midpoint" | "heun2" | "heun3" | "ralston" | "rk4" | "rk4_classic";

/** Names of explicit Runge-Kutta methods that choose their step sizes. */
export type AdaptiveMethodName = "fehlberg2" | "adaptive_heun" | "bosh3" | "dopri5" | "tsit5" | "dopri8";

/** Names of implicit Runge-Kutta methods for stiff equations. They choose their step sizes. */
export type ImplicitMethodName = "implicit_euler" | "kvaerno3" | "kvaerno5";

/** Names of multistep methods. */
export type AdamsMethodName = "explicit_adams" | "implicit_adams";

/** Names of reversible methods: `reversible_rk4` is the reversible form of `rk4`. */
export type ReversibleMethodName = "reversible_heun" | `reversible_${FixedMethodName | AdaptiveMethodName}`;

/** The name of a method. */
export type MethodName =
  | FixedMethodName
  | AdaptiveMethodName
  | ImplicitMethodName
  | AdamsMethodName
  | ReversibleMethodName;

/** A method as an option: its name, or a user-defined tableau. */
export type MethodChoice = MethodName | ButcherTableau | EmbeddedTableau;

const fixed: { readonly [Name in FixedMethodName]: ButcherTableau<Name> } = {
  ...{ euler, midpoint, heun2, heun3, ralston, rk4 },
  rk4_classic: rk4Classic,
};

const adaptive: { readonly [Name in AdaptiveMethodName]: EmbeddedMethod<Name> } = {
  fehlberg2,
  adaptive_heun: adaptiveHeun,
  ...{ bosh3, dopri5, tsit5, dopri8 },
};

const implicit: { readonly [Name in ImplicitMethodName]: ImplicitMethod<Name> } = {
  implicit_euler: implicitEuler,
  ...{ kvaerno3, kvaerno5 },
};

const adams: Readonly<Record<AdamsMethodName, AdamsMethod>> = {
  explicit_adams: explicitAdams,
  implicit_adams: implicitAdams,
};

/** Explicit Runge-Kutta methods with fixed steps. */
export const fixedMethods: readonly ButcherTableau<FixedMethodName>[] = Object.values(fixed);

/** Explicit Runge-Kutta methods that choose their step sizes. */
export const adaptiveMethods: readonly EmbeddedMethod<AdaptiveMethodName>[] = Object.values(adaptive);

/** Implicit Runge-Kutta methods for stiff equations. */
export const implicitMethods: readonly ImplicitMethod<ImplicitMethodName>[] = Object.values(implicit);

/** Multistep methods. */
export const adamsMethods: readonly AdamsMethod[] = Object.values(adams);

const methods: Readonly<Record<string, Method>> = {
  ...fixed,
  reversible_heun: reversibleHeun,
  ...adams,
  ...adaptive,
  ...implicit,
};

/** Prefix of the names of reversible forms. */
const reversiblePrefix = "reversible_";

/**
 * The method of a name, or the checked method of a tableau.
 *
 * @throws {RangeError} If the name is unknown (the message lists the known names), or the tableau is invalid.
 */
export function methodOf(choice: MethodChoice): Method {
  if (typeof choice !== "string") return checkTableau(choice);
  if (Object.hasOwn(methods, choice)) return methods[choice];
  const base = [...fixedMethods, ...adaptiveMethods].find(({ name }) => reversiblePrefix + name === choice);
  if (base) return reversible(base);
  throw new RangeError(
    `method "${choice}" is unknown; use one of ${Object.keys(methods).join(", ")}, or ` +
      `the reversible form of a Runge-Kutta method, such as ${reversiblePrefix}rk4`,
  );
}

/** The name of a method. */
export function nameOf(choice: MethodChoice): string {
  return typeof choice === "string" ? choice : choice.name;
}

/**
 * Whether states within steps are about as accurate as states at the ends of steps. They are not for a tableau without weights
 * for the middle, nor for implicit methods: in their long steps, no polynomial follows the stiff parts of a solution.
 */
export function hasDenseOutput(choice: MethodChoice): boolean {
  if (typeof choice === "string") return !Object.hasOwn(implicit, choice);
  return choice.kind !== "embedded" || choice.middle !== undefined;
}

/** Whether a method chooses its step sizes. */
export function isAdaptive(method: Method): method is AdaptiveMethod {
  return method.kind === "embedded" || method.kind === "implicit";
}

/**
 * An adaptive method whose implicit stages are solved to the accuracy that tolerances require.
 *
 * @param coupled See {@linkcode ImplicitMethod.coupled}.
 */
export function withStageTolerances(
  method: AdaptiveMethod,
  { rtol, atol }: Tolerances,
  coupled = 1,
): AdaptiveMethod {
  return method.kind === "implicit" ? { ...method, tolerances: { rtol, atol }, coupled } : method;
}
