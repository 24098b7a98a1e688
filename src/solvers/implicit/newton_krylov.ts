/**
 * Stages of large states, whose Jacobian is never formed: Newton's method, with linear equations solved from products with the
 * Jacobian. (Knoll, Keyes, "Jacobian-free Newton-Krylov methods", 2004.) The number of products depends on values, so that loops
 * with such stages run step by step; the linear solves are compiled loops.
 */
import { vjp } from "../../autodiff/grad.ts";
import { jvp } from "../../autodiff/jvp.ts";
import { Transformation } from "../../autodiff/transformation.ts";
import { inEachCall } from "../../compile/jit/each_call.ts";
import { TracedFunction } from "../../compile/loop/loop.ts";
import { beneathAll, peekOutsideLoops } from "../../compile/loop/while_loop.ts";
import { scalar } from "../../tensor/creation.ts";
import { stopGradient } from "../../tensor/functions.ts";
import { beneath, record, traceOf, transforming, withoutAnyRecording } from "../../tensor/primitive.ts";
import { tidy } from "../../tensor/scope.ts";
import { Symbolic } from "../../tensor/symbolic.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { precisionOf } from "../adaptive/step_control.ts";
import { type Product, rootMeanSquare, solveLinear } from "./krylov.ts";
import {
  allowedError,
  iterations,
  type StageSolver,
  type StageTolerances,
  type TimedFunction,
} from "./newton.ts";

/** The part of a residual that may remain after the linear solve of an iteration. */
const reduction = 0.01;

/** The tensors of I - scale J: time, state, scale, and what the vector field closes over. */
type Matrix = readonly [t: Tensor, y: Tensor, scale: Tensor, ...closedOver: Tensor[]];

/** Solves the stages of a step, with the arguments of `denseStages`. */
export function krylovStages(
  f: TimedFunction,
  t: Tensor,
  y: Tensor,
  scale: Tensor,
  tolerances: StageTolerances,
  orders: number,
): StageSolver {
  // Throws in the body of a compiled loop, which then runs step by step.
  beneathAll(y);
  const field = new TracedFunction((t, z) => f(t)(z), t, y);
  const closedOver = field.closedOver.map(asConstant);
  const [rtol, atol] = [tolerances.rtol, tolerances.atol].map((x) =>
    typeof x === "number" ? scalar(x, y.dtype) : x
  );
  return (t, explicitPart, guess) => {
    const [time, base, factor] = [t, explicitPart, scale].map(asConstant);
    const inputs = [time, base, factor, asConstant(guess), rtol, atol, ...closedOver];
    const [solution, flags] = constant(() => inEachCall(inputs, (inputs) => solveStage(field, inputs)));
    const isSolved = flags.greater(0);
    if (orders === 0) return { slope: solution, isSolved };
    let slope = solution;
    const matrix: Matrix = constant(() => [time, base.add(slope.mul(factor)), factor, ...closedOver]);
    for (let order = 0; order < orders; order++) {
      const residual = field.call(t, explicitPart.add(slope.mul(scale))).sub(slope);
      // The value is zero: the solution is known, and only its derivatives are wanted.
      const change = residual.sub(stopGradient(residual));
      slope = slope.add(divide(inverseOf(field), matrix, change, false));
    }
    return { slope, isSolved };
  };
}

/** Runs a computation whose results are constants of every derivative, and frees all its other tensors. */
function constant<T>(body: () => T): T {
  return withoutAnyRecording(() => tidy(body));
}

/** A tensor without tangents. */
function asConstant(x: Tensor): Tensor {
  return x.storage instanceof Symbolic ? stopGradient(x) : x;
}

/** Products with I - scale J, or with its transpose. */
function productWith(field: TracedFunction, matrix: Matrix, isTransposed: boolean): Product {
  return {
    of: (vector, [t, y, scale, ...closedOver]) => {
      const slope = (y: Tensor) => field.callWith([t, y], closedOver);
      return vector.sub(
        isTransposed
          ? vjp(() => slope(y), y).pullback(vector.mul(scale))
          : jvp(slope)([y], [vector])[1].mul(scale),
      );
    },
    closure: { key: `${isTransposed} ${field.text}`, tensors: matrix },
  };
}

/** A product in units of the tolerances, so that all elements of residuals are comparable. */
function scaled({ of, closure: { key, tensors } }: Product, units: Tensor): Product {
  return {
    of: (vector, [units, ...rest]) => of(vector.mul(units), rest).div(units),
    closure: { key: `scaled ${key}`, tensors: [units, ...tensors] },
  };
}

/**
 * Solves for k. A sample is solved if its residual, or two changes in sequence, are within the allowed error.
 *
 * @returns k, and 1 for samples that are solved, else 0.
 */
function solveStage(
  field: TracedFunction,
  [t, base, scale, guess, rtol, atol, ...closedOver]: readonly Tensor[],
): readonly [slope: Tensor, isSolved: Tensor] {
  let slope = guess;
  const size = base.abs().maximum(slope.mul(scale).abs());
  const units = size.mul(rtol).add(atol);
  const length = scale.abs();
  const isSmall = (x: Tensor) => rootMeanSquare(x).mul(length).lessEqual(allowedError);
  const rounding = rootMeanSquare(size.mul(10 * precisionOf(size.dtype)).div(units));
  let isSolved: Tensor | undefined;
  let wasSmall: Tensor | undefined;
  for (let iteration = 0; iteration <= iterations; iteration++) {
    const y = base.add(slope.mul(scale));
    const residual = field.callWith([t, y], closedOver).sub(slope).div(units);
    isSolved = isSolved?.or(isSmall(residual)) ?? isSmall(residual);
    if (iteration === iterations || peekOutsideLoops(isSolved)?.every((flag) => flag !== 0)) break;
    const rest = isSolved.where(0, residual);
    const target = rootMeanSquare(rest).mul(reduction).maximum(length.pow(-1).mul(allowedError / 2));
    const product = productWith(field, [t, y, scale, ...closedOver], false);
    const { x, residual: left } = solveLinear(scaled(product, units), rest, target);
    slope = slope.add(x.mul(units));
    const isNear = isSmall(x).or(rootMeanSquare(x).mul(length).lessEqual(rounding)).and(
      left.lessEqual(target),
    );
    if (wasSmall) isSolved = isSolved.or(isNear.and(wasSmall));
    wasSmall = isNear;
  }
  return [slope, isSolved!.cast(slope.dtype)];
}

/** The solution x of (I - scale J) x = r, or of the equation with the transpose. */
type Inverse = (matrix: Matrix, r: Tensor, isTransposed: boolean) => Tensor;

/** Solves to the accuracy of the type. Samples whose iterations do not converge are NaN. */
function inverseOf(field: TracedFunction): Inverse {
  return (matrix, r, isTransposed) => {
    const product = productWith(field, matrix, isTransposed);
    const target = rootMeanSquare(r).mul(precisionOf(r.dtype) ** (2 / 3));
    let { x, residual } = solveLinear(product, r, target);
    // The residual of many iterations differs from that of the solution by rounding.
    for (let again = 0; again < 2; again++) {
      const more = solveLinear(product, r.sub(product.of(x, product.closure.tensors)), target);
      [x, residual] = [x.add(more.x), more.residual];
    }
    return residual.lessEqual(target.mul(100)).where(x, NaN);
  };
}

/**
 * Applies an inverse, a linear function whose matrix is a constant of every derivative. Its pullback is the inverse of the transpose,
 * and its tangent the inverse of the tangent.
 */
function divide(inverse: Inverse, matrix: Matrix, r: Tensor, isTransposed: boolean): Tensor {
  const trace = traceOf([r, ...matrix]);
  const x = trace instanceof Transformation
    ? divideParts(trace, inverse, matrix, r, isTransposed)
    : constant(() =>
      inEachCall([r, ...matrix], ([r, ...rest]) => [inverse(rest as unknown as Matrix, r, isTransposed)])[0]
    );
  record([r], [x], ([cotangent]) => [divide(inverse, matrix, cotangent!, !isTransposed)]);
  return x;
}

/** {@linkcode divide} for a symbol of a transformation. */
function divideParts(
  trace: Transformation,
  inverse: Inverse,
  matrix: Matrix,
  r: Tensor,
  isTransposed: boolean,
): Tensor {
  const parts = trace.allParts(r);
  if (!trace.isBatch) {
    return beneath(
      trace,
      () => trace.symbol(parts.map((part) => divide(inverse, matrix, part, isTransposed))),
    );
  }
  const isMapped = matrix.map((x) => trace.partsOf(x) !== undefined);
  const ofExamples: Inverse = (matrix, r, isTransposed) => {
    const inner = trace.again();
    const symbols = matrix.map((x, i) => isMapped[i] ? inner.symbol([x]) : x) as unknown as Matrix;
    const x = transforming(inner, () => inverse(symbols, inner.symbol([r]), isTransposed));
    return inner.allParts(x)[0];
  };
  const batches = matrix.map((x) => trace.partsOf(x)?.[0] ?? x) as unknown as Matrix;
  return beneath(trace, () => trace.symbol([divide(ofExamples, batches, parts[0], isTransposed)]));
}
