/** Steps of implicit Runge-Kutta methods whose stages are solved one after another. */
import { formatShape, ShapeError } from "../../device/shape.ts";
import { full } from "../../tensor/creation.ts";
import { derivativeOrder, hasValues } from "../../tensor/primitive.ts";
import type { Tensor, TensorLike } from "../../tensor/tensor.ts";
import { doSamplesMix, jacobian, newtonMatrix, refine, solveStage } from "./newton.ts";
import { readNumber, type Tolerances } from "../adaptive/step_control.ts";
import {
  type Parts,
  type PartsField,
  type StageRule,
  type Step,
  type StepArguments,
  takeStep,
} from "../runge_kutta.ts";
import type { ImplicitTableau } from "../tableaus.ts";

/** An implicit tableau with a step, whose stages are solved to some tolerances. */
export interface ImplicitMethod<Name extends string = string> extends ImplicitTableau<Name> {
  readonly step: (...given: StepArguments) => Step;
}

/** Tolerances of stages where a solve gives none. */
const tightest: Tolerances = { rtol: 1e-12, atol: 1e-14 };

/** The method with its steps, of one solve, whose stages are solved as exactly as tolerances ask for. */
export function withSteps<Name extends string>(
  tableau: ImplicitTableau<Name>,
  tolerances = tightest,
): ImplicitMethod<Name> {
  let isFirst = true;
  return {
    ...tableau,
    step(...given) {
      const step = implicitStep(tableau, tolerances, ...given);
      const [f, at, , [y]] = given;
      const asks = isFirst && y.rank > 1 && y.shape[0] > 1;
      isFirst = false;
      if (!asks) return step;
      if (doSamplesMix((z) => f(at(0), [z])[0], y)) {
        throw new ShapeError(
          `odeint: in a state of shape ${
            formatShape(y.shape)
          } the samples along the first axis depend on one another, so that ` +
            `${tableau.name} cannot solve for each on its own; use a state of one axis, as y.flatten()`,
        );
      }
      return { ...step, evaluations: step.evaluations! + 1 };
    },
  };
}

/** One step, of states of one part. Where a stage cannot be solved it is NaN, and so is the state: a shorter step may do. */
function implicitStep(
  tableau: ImplicitTableau,
  tolerances: Tolerances,
  f: PartsField,
  timeAt: (fraction: number) => Tensor,
  dt: TensorLike,
  [y]: Parts,
  [slope]: Parts,
): Step {
  if (!hasValues(y) || (typeof dt !== "number" && dt.size > 1)) {
    throw new Error(
      `odeint: ${tableau.name} solves the equations of its stages while it runs, with one step length for all samples, and cannot ` +
        "be part of a traced loop or of vmap; use an explicit method",
    );
  }
  const scale = tableau.diagonal * (typeof dt === "number" ? dt : readNumber(dt));
  const factors = newtonMatrix(jacobian((z) => f(timeAt(0), [z])[0], y), scale, y);
  let evaluations = 1;
  let [guess, isSolved] = [slope, true];
  const solve: StageRule = (_, t, [known]) => {
    const field = (z: Tensor) => {
      evaluations++;
      return f(t, [z])[0];
    };
    const solution = isSolved ? solveStage(field, known, scale, guess, factors, tolerances) : undefined;
    if (!solution) {
      isSolved = false;
      const missing = [full(y.shape, NaN, { dtype: y.dtype })];
      return { state: missing, slope: missing };
    }
    // Each recording tape adds one order of gradients.
    const orders = derivativeOrder();
    guess = orders > 0 ? refine(field, known, scale, solution, orders) : solution;
    return { state: [known.add(guess.mul(dt).mul(tableau.diagonal))], slope: [guess] };
  };
  const step = takeStep(tableau, solve, timeAt, dt, [y], [slope]);
  return { ...step, evaluations };
}
