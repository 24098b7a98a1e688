/** Step size controllers as data. The functions beside this file make them. */
import { namesOf } from "../../device/options.ts";
import { hostTimes } from "../../tensor/host.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { checkFinite } from "../fixed/step_times.ts";

/**
 * Chooses the sizes of steps. `constantStepSize` and `stepTo` suit every method. `integralController`, `piController` and
 * `pidController` need an adaptive method, whose error they control.
 */
export type StepController = FixedSteps | ErrorController;

/** Steps that do not depend on errors: of a constant size, or between given times. */
export interface FixedSteps {
  /** The kind of controller. */
  readonly kind: "fixed";
  /** Size of the steps, in units of time. */
  readonly stepSize?: number;
  /** End times of the steps. */
  readonly grid?: Float64Array;
}

/** Limits of step sizes, and times at which steps end. Sizes and times are in units of time. */
export interface ErrorControllerOptions {
  /**
   * Safety factor of the next step size, above 0 and at most 1.
   *
   * @default {0.9}
   */
  safety?: number;
  /**
   * Smallest factor between step sizes, between 0 and 1. After an accepted step the size does not decrease.
   *
   * @default {0.2}
   */
  factorMin?: number;
  /**
   * Largest factor between step sizes, above 1.
   *
   * @default {10}
   */
  factorMax?: number;
  /** Smallest step size. If its error is too large, the solve fails. Steps that end at a given time may be shorter. */
  dtMin?: number;
  /** Largest step size. */
  dtMax?: number;
  /**
   * Whether a step of size {@linkcode dtMin} is accepted with any finite error, instead of a failure.
   *
   * @default {false}
   */
  forceDtMin?: boolean;
  /**
   * Times at which a step ends, in any order. They are constants: the exact solution does not depend on them, and a gradient would be
   * that of the errors of the steps. Requesting the gradient throws an error.
   */
  stepTimes?: Tensor | ArrayLike<number>;
  /** Times at which the vector field may jump, as the option `jumpTimes` of a solve. */
  jumpTimes?: Tensor | ArrayLike<number>;
}

/** Coefficients of a {@linkcode pidController}. */
export interface ErrorControllerCoefficients {
  /** Proportional coefficient. */
  pCoeff?: number;
  /** Integral coefficient. */
  iCoeff?: number;
  /** Derivative coefficient. */
  dCoeff?: number;
}

/** A controller that keeps the error of each step within tolerances. */
export interface ErrorController
  extends
    Readonly<Required<ErrorControllerCoefficients>>,
    Readonly<Required<Pick<ErrorControllerOptions, "safety" | "factorMin" | "factorMax" | "forceDtMin">>>,
    Readonly<Pick<ErrorControllerOptions, "dtMin" | "dtMax" | "jumpTimes">> {
  /** The kind of controller. */
  readonly kind: "error";
  /** Times at which a step ends. */
  readonly stepTimes?: Float64Array;
}

export const limitNames = namesOf<ErrorControllerOptions>()(
  "safety? factorMin? factorMax? dtMin? dtMax? forceDtMin? stepTimes? jumpTimes?",
);

/** The default: the integral controller of torchdiffeq. */
export const defaultController: ErrorController = {
  kind: "error",
  ...{ pCoeff: 0, iCoeff: 1, dCoeff: 0 },
  ...{ safety: 0.9, factorMin: 0.2, factorMax: 10, forceDtMin: false },
};

/** A controller whose steps have one size, except those that end at a given time. */
export function sizeOnly(stepSize: number): ErrorController {
  return { ...defaultController, dtMin: stepSize, dtMax: stepSize, forceDtMin: true };
}

/**
 * Makes a controller of errors.
 *
 * @param operation The name of the caller, for messages.
 * @param coefficients Coefficients that differ from those of {@linkcode defaultController}.
 * @throws {RangeError} If a number is out of range.
 */
export function errorController(
  operation: string,
  options: ErrorControllerOptions & ErrorControllerCoefficients,
  coefficients: ErrorControllerCoefficients = {},
): ErrorController {
  const chosen = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const controller: ErrorController = { ...defaultController, ...coefficients, ...chosen };
  const { safety, factorMin, factorMax, dtMin, dtMax, forceDtMin, jumpTimes } = controller;
  for (const name of ["pCoeff", "iCoeff", "dCoeff", "factorMax"] as const) {
    check(operation, name, controller[name], Number.isFinite(controller[name]), "a finite number");
  }
  check(operation, "safety", safety, safety > 0 && safety <= 1, "a number above 0 and at most 1");
  check(operation, "factorMin", factorMin, factorMin > 0 && factorMin < 1, "a number between 0 and 1");
  check(operation, "factorMax", factorMax, factorMax > 1, "a number above 1");
  for (const [name, size] of Object.entries({ dtMin, dtMax })) {
    check(operation, name, size, size === undefined || isSize(size), "a positive, finite number");
  }
  check(operation, "dtMax", dtMax, !(dtMax! < dtMin!), `at least dtMin, ${dtMin}`);
  check(operation, "forceDtMin", forceDtMin, typeof forceDtMin === "boolean", "true or false");
  if (forceDtMin) check(operation, "dtMin", dtMin, dtMin !== undefined, "a size, because forceDtMin is set");
  const stepTimes = options.stepTimes && hostTimes(options.stepTimes, `${operation}: stepTimes`);
  if (stepTimes) checkFinite(stepTimes, "stepTimes", operation);
  if (jumpTimes && !(jumpTimes instanceof Tensor)) {
    checkFinite(hostTimes(jumpTimes, `${operation}: jumpTimes`), "jumpTimes", operation);
  }
  return { ...controller, stepTimes };
}

function isSize(size: unknown): boolean {
  return typeof size === "number" && size > 0 && size < Infinity;
}

function check(operation: string, name: string, value: unknown, isValid: boolean, expected: string): void {
  if (!isValid) throw new RangeError(`${operation}: ${name} is ${value}, expected ${expected}`);
}

/** @throws {TypeError} If an option is not a controller. */
export function checkController(controller: StepController | undefined): void {
  if (controller === undefined || ["fixed", "error"].includes(controller?.kind)) return;
  throw new TypeError(
    "odeint: the option controller is not a controller, expected the result of integralController, piController, pidController, " +
      "constantStepSize or stepTo",
  );
}
