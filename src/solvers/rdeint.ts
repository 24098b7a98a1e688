import { scan } from "../compile/loop/scan.ts";
import type { Path } from "../paths/path.ts";
import { tensor } from "../tensor/creation.ts";
import { hostTimes } from "../tensor/host.ts";
import { concatenate, stack } from "../tensor/functions.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { type CdeSolveOptions, checkStepsPerPiece, countSteps } from "./controlled.ts";
import { packNorm } from "./check_arguments.ts";
import { checkStates } from "./divergence.ts";
import { checkStepSize } from "./fixed/step_times.ts";
import { methodOf } from "./methods.ts";
import { normOf, odeint } from "./odeint.ts";
import { checkOptionUse } from "./option_use.ts";
import { type PackedState, packState } from "./packed_state.ts";
import { rungeKuttaSteps } from "./runge_kutta.ts";

/**
 * Solves dy/ds = f(dX/ds, y) along a piecewise linear path, such as a path of log-signatures: the log-ODE method of Morrill et
 * al., "Neural Rough Differential Equations for Long Time Series" (2021), section 3. In each piece (window) the equation does
 * not depend on time, and all stages of a step use the same window.
 *
 * @param X The path. Only its derivative inside each piece is used.
 * @param f Maps a derivative of the path `(batch, words)` and a state to the derivative of the state.
 * @param y0 The state at the first of the times: a tensor or a tree of tensors, as in {@linkcode odeint}.
 * @param t Grid points of the path.
 * @param options As of {@linkcode odeint}. By default one step per window. Explicit fixed-step methods run as one loop. Other
 * methods, and the continuous and reversible adjoints, solve window by window.
 * @returns `(length(t), ...y0.shape)`, for each tensor of a tree.
 * @throws {OptionError} If both `stepSize` and `stepsPerPiece` are given, or as {@linkcode odeint}.
 * @throws {RangeError} If a time is not a grid point, or as {@linkcode odeint}.
 */
export function rdeint<S extends Tree>(
  X: Path,
  f: (logsignature: Tensor, y: S) => S,
  y0: S,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions = {},
): S {
  const state = packState(y0, "rdeint", normOf(options));
  const field = (slope: Tensor, y: Tensor) => state.pack(f(slope, state.unpack(y)));
  const norm = typeof options.norm === "function" ? packNorm(options.norm, state) : options.norm;
  return state.unpack(solveWindows(X, field, state, t, { ...options, norm }), 1);
}

/** As {@linkcode rdeint}, for packed states. */
function solveWindows(
  X: Path,
  f: (logsignature: Tensor, y: Tensor) => Tensor,
  { y0, locate }: Pick<PackedState<Tree>, "y0" | "locate">,
  t: Tensor | ArrayLike<number>,
  options: CdeSolveOptions,
): Tensor {
  const { method = "rk4", adjoint = "direct", stepSize, stepsPerPiece, check = false, ...rest } = options;
  const tableau = methodOf(method);
  checkOptionUse(tableau, { ...rest, adjoint });
  if (rest.grid || rest.steps || rest.controller?.kind === "fixed") {
    throw new TypeError(
      "rdeint: the option grid, steps, or a controller of fixed steps is not supported, since each window is solved separately; " +
        "use stepSize or stepsPerPiece",
    );
  }
  const times = hostTimes(t, "rdeint: t");
  const indices = Array.from(times, (time) => X.times.indexOf(time));
  if (indices.includes(-1)) {
    throw new RangeError(
      `rdeint: t = ${
        times[indices.indexOf(-1)]
      } is not a grid point of the path; rdeint has no states inside a window`,
    );
  }
  const [first, last] = [indices[0], indices[indices.length - 1]];
  const pieces = Array.from({ length: last - first }, (_, i) => {
    const [start, end] = [X.times[first + i], X.times[first + i + 1]];
    return { middle: (start + end) / 2, duration: end - start };
  });
  const { dtype } = y0;
  const along = X.derivative(pieces.map(({ middle }) => middle));
  const rows = {
    slope: along.permute([along.rank - 2, ...along.shape.slice(0, -2).keys(), along.rank - 1]),
    duration: tensor(pieces.map(({ duration }) => duration), { dtype }),
  };
  const longest = pieces.reduce((longest, { duration }) => Math.max(longest, duration), 0);
  if (stepSize !== undefined) checkStepSize(stepSize, "rdeint");
  if (stepsPerPiece !== undefined) checkStepsPerPiece("rdeint", undefined, { stepSize });
  const steps = stepsPerPiece ?? (stepSize === undefined ? 1 : Math.ceil(longest / stepSize * (1 - 1e-12)));
  countSteps("rdeint", X.times, steps);
  const isLoop = tableau.kind === "explicit" && (adjoint === "direct" || adjoint === "checkpoint");

  const cross = isLoop
    ? (y: Tensor, { slope, duration }: typeof rows) =>
      rungeKuttaSteps(tableau, (y) => f(slope, y), duration, y, steps)
    : (y: Tensor, { slope, duration }: typeof rows) => {
      // The time of a window runs from 0 to 1.
      const field = (_t: Tensor, y: Tensor) => f(slope, y).mul(duration);
      return odeint(field, y, [0, 1], { ...rest, method, adjoint, stepSize: 1 / steps }).select(0, 1);
    };
  const everyPiece = times.length > 2 || check !== false;
  const [final, outputs] = scan(
    (y: Tensor, row: typeof rows) => {
      const next = cross(y, row);
      return [next, { states: everyPiece ? next : undefined }];
    },
    y0,
    rows,
    {
      compile: isLoop ? rest.compile : false,
      checkpoint: adjoint === "checkpoint",
      executor: rest.executor,
    },
  );
  const { states } = outputs as { states?: Tensor };
  if (check) {
    const ends = X.times.subarray(first + 1, last + 1);
    checkStates(states!, ends, locate, check === true ? undefined : check);
  }
  if (times.length === 2) return stack([y0, final]);
  const all = concatenate([y0.expandDims(0), states!]);
  return all.take(tensor(indices.map((index) => index - first), { dtype: "int32" }));
}
