/** Steps of implicit Runge-Kutta methods whose stages are solved one after another. */
import { formatShape, ShapeError } from "../../device/shape.ts";
import { full } from "../../tensor/creation.ts";
import { derivativeOrder, hasValues } from "../../tensor/primitive.ts";
import type { Tensor, TensorLike } from "../../tensor/tensor.ts";
import {
  type EmbeddedStep,
  type Parts,
  type PartsField,
  type StepArguments,
  weigh,
} from "../adaptive/embedded.ts";
import { doSamplesMix, jacobian, newtonMatrix, refine, solveStage } from "./newton.ts";
import { readNumber, type Tolerances } from "../adaptive/step_control.ts";
import type { RungeKutta } from "../fixed/tableau.ts";

/**
 * An implicit method whose first stage is explicit and whose others each depend on themselves, with one weight: ESDIRK. The
 * last stage is the step's end. (Hairer, Wanner, "Solving Ordinary Differential Equations II", section IV.6.)
 */
export interface ImplicitTableau extends RungeKutta {
  readonly kind: "implicit";
  /** Weights of the stages in the error and in the middle, as of an {@linkcode EmbeddedTableau}. */
  readonly error: readonly number[];
  readonly middle: readonly number[];
  /** The weight of each stage but the first in its own state. */
  readonly diagonal: number;
}

/** An implicit tableau with a step, whose stages are solved to some tolerances. */
export interface ImplicitMethod extends ImplicitTableau {
  readonly step: (...given: StepArguments) => EmbeddedStep;
}

/** Tolerances of stages where a solve gives none. */
const tightest: Tolerances = { rtol: 1e-12, atol: 1e-14 };

/** The method with its steps, of one solve, whose stages are solved as exactly as tolerances ask for. */
export function withSteps(tableau: ImplicitTableau, tolerances = tightest): ImplicitMethod {
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
  { name, a, c, diagonal }: ImplicitTableau,
  tolerances: Tolerances,
  f: PartsField,
  at: (fraction: number) => Tensor,
  dt: TensorLike,
  [y]: Parts,
  [slope]: Parts,
): EmbeddedStep {
  if (!hasValues(y) || (typeof dt !== "number" && dt.size > 1)) {
    throw new Error(
      `odeint: ${name} solves the equations of its stages while it runs, with one step length for all samples, and cannot ` +
        "be part of a traced loop; use an explicit method",
    );
  }
  const scale = diagonal * (typeof dt === "number" ? dt : readNumber(dt));
  const factors = newtonMatrix(jacobian((z) => f(at(0), [z])[0], y), scale, y);
  const stages: Parts[] = [[slope]];
  let last = y;
  let evaluations = 1;
  for (const [i, row] of a.entries()) {
    const known = y.add(weigh(row, stages, dt)[0]);
    const field = (z: Tensor) => {
      evaluations++;
      return f(at(c[i + 1]), [z])[0];
    };
    const solution = solveStage(field, known, scale, stages[i][0], factors, tolerances);
    if (!solution) {
      const missing = [full(y.shape, NaN, { dtype: y.dtype })];
      return { y: missing, stages: [[slope], ...a.map(() => missing)], evaluations };
    }
    // Each tape that watches asks for gradients of one order more.
    const orders = derivativeOrder();
    const stage = orders > 0 ? refine(field, known, scale, solution, orders) : solution;
    stages.push([stage]);
    last = known.add(stage.mul(dt).mul(diagonal));
  }
  return { y: [last], stages, evaluations };
}
