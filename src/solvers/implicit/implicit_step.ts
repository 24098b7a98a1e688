/** Steps of diagonally implicit Runge-Kutta methods, whose stages are solved one after another. */
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

/** An implicit tableau with its step function. */
export interface ImplicitMethod<Name extends string = string> extends ImplicitTableau<Name> {
  readonly step: (...given: StepArguments) => Step;
}

/** Default tolerances of stages. */
const tightest: Tolerances = { rtol: 1e-12, atol: 1e-14 };

/** A method whose stages are solved to the accuracy that tolerances require. Its first step checks that samples are independent. */
export function implicitMethod<Name extends string>(
  tableau: ImplicitTableau<Name>,
  tolerances = tightest,
): ImplicitMethod<Name> {
  let isFirst = true;
  return {
    ...tableau,
    step(...given) {
      const step = implicitStep(tableau, tolerances, ...given);
      const [f, at, , [y]] = given;
      const mustCheck = isFirst && y.rank > 1 && y.shape[0] > 1;
      isFirst = false;
      if (!mustCheck) return step;
      if (doSamplesMix((z) => f(at(0), [z])[0], y)) {
        throw new ShapeError(
          `odeint: the samples along the first axis of the state ${
            formatShape(y.shape)
          } depend on each other, so ` +
            `${tableau.name} cannot solve for each separately; use a state with one axis, such as y.flatten()`,
        );
      }
      return { ...step, evaluations: step.evaluations! + 1 };
    },
  };
}

/** One step of a state of one part. If a stage cannot be solved, the state is NaN, so that the step is rejected. */
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
      `odeint: ${tableau.name} reads values to solve the equations of its stages, with one step size for all samples, and cannot ` +
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
