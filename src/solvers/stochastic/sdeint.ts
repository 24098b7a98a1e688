/** Solves of stochastic differential equations with fixed steps. */
import { scan, type ScanOptions, scanOptionsOf } from "../../compile/loop/scan.ts";
import { OptionError } from "../../device/errors.ts";
import { checkOptions, namesOf } from "../../device/options.ts";
import { formatShape, sameShape, ShapeError } from "../../device/shape.ts";
import { describe } from "../../device/describe.ts";
import { checkFunction, checkTensor } from "../../tensor/checks.ts";
import { tensor } from "../../tensor/creation.ts";
import { concatenate, stack } from "../../tensor/functions.ts";
import { hostTimes } from "../../tensor/host.ts";
import { isWatched, withoutRecording } from "../../tensor/primitive.ts";
import type { Key } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import { Tensor } from "../../tensor/tensor.ts";
import type { Tree } from "../../tensor/tree.ts";
import { solveReversibly, type StepTimes } from "../adjoints/reversible.ts";
import { checkStates } from "../divergence.ts";
import { statesAt } from "../fixed/fixed_steps.ts";
import { shiftTimes, stepTimes } from "../fixed/step_times.ts";
import { reversibleHeunWith } from "../methods/reversible_heun.ts";
import { checkSlope, packField, packState } from "../packed_state.ts";
import type { VectorField } from "../runge_kutta.ts";
import { solveTimes } from "../time_gradients.ts";
import { checkTimeResolution, originOf, usesTime } from "../time_origin.ts";
import { brownianKey, checkIncreasing, incrementOf, stepNumbers } from "./brownian.ts";
import { type SdeMethodName, sdeMethodOf, type SdeNoise } from "./sde_methods.ts";

/** The method that computes the gradient of a solve of a stochastic equation. */
export type SdeAdjoint = "direct" | "checkpoint" | "reversible";

/** Options of {@linkcode sdeint}. */
export interface SdeOptions {
  /**
   * The method, which determines the meaning of the equation. Strong orders are for diagonal or scalar noise; with general noise
   * that does not commute, all are of order 0.5.
   *
   * - Ito: `euler_maruyama` (0.5), `milstein` (1).
   * - Stratonovich: `euler_heun` (1), `stratonovich_milstein` (1), `heun` (1), `reversible_heun` (0.5; 1 for additive noise;
   *   Kidger et al., 2021), which can be undone.
   *
   * The methods of Milstein compute the derivative of the diffusion by `jvp`. They take no general noise. With diagonal noise,
   * element i of the diffusion must depend on element i of the state only.
   */
  method: SdeMethodName;
  /** Step size in units of time. By default one step leads from each output time to the next. */
  stepSize?: number;
  /** End times of the steps, instead of a step size. The first and the last of `t` are added. */
  grid?: Tensor | ArrayLike<number>;
  /**
   * `"diagonal"` (default): a Brownian motion for each element of the state; `g` has the shape of the state.
   * `"scalar"`: one motion for each sample, which is a position along the first axis of a state of two or more axes; `g` has the
   * shape of the state. A state of fewer axes is one sample.
   * `"general"`: `g` is `(..., d, motions)` for a state `(..., d)`, and multiplies the increments `(..., motions)`.
   */
  noise?: SdeNoise;
  /**
   * `"direct"` (default), `"checkpoint"`: as in `odeint`. `"reversible"`: states are reconstructed, so that memory is
   * independent of the number of steps; for `reversible_heun`. All are gradients of the discrete solution along the same path.
   */
  adjoint?: SdeAdjoint;
  /** Whether to check for infinite and NaN states, as in `odeint`. */
  check?: boolean | readonly string[];
  /** {@linkcode ScanOptions.compile}. */
  compile?: boolean;
  /** {@linkcode ScanOptions.executor}. */
  executor?: ScanOptions["executor"];
}

const optionNames = namesOf<SdeOptions>()(
  "method stepSize? grid? noise? adjoint? check? compile? executor?",
);

const noises: readonly SdeNoise[] = ["diagonal", "scalar", "general"];
const adjoints: readonly SdeAdjoint[] = ["direct", "checkpoint", "reversible"];

/**
 * Solves the stochastic differential equation dy = f(t, y) dt + g(t, y) dW, in the sense of Ito or of Stratonovich, as the method
 * says. Steps are fixed.
 *
 * The increments dW of a step depend on the key and the number of the step alone: the same key gives the same path on each
 * device, and for each adjoint. They are drawn in one pass before the loop and kept for the gradient. If they would not fit into
 * memory, and with the adjoints `"checkpoint"` and `"reversible"`, they are drawn in one pass for each segment of steps, and
 * again for its gradient. With another step size, a key gives another path; {@linkcode brownianIncrements} with `refine` gives
 * the increments of one path for several step sizes.
 *
 * @example An Ornstein-Uhlenbeck process, 1,000 samples
 * ```ts
 * import { key, sdeint, type Tensor, zeros } from "@weft/weft";
 *
 * const drift = (_t: Tensor, y: Tensor) => y.neg();
 * const diffusion = (_t: Tensor, y: Tensor) => y.zerosLike().add(0.5);
 * const y = sdeint(drift, diffusion, zeros([1000]), [0, 1, 5], key(0), { method: "euler_maruyama", stepSize: 0.01 });
 * console.log(y.shape); // [3, 1000]
 * console.log(await y.select(0, 2).std().item()); // about 0.5 / sqrt(2)
 * ```
 *
 * @param f The drift. `t` is a scalar tensor. The result has the structure and shapes of `y`.
 * @param g The diffusion. The option `noise` determines the shape of its result.
 * @param y0 The state at the first time: a float tensor, or plain objects and arrays of float tensors of one type.
 * @param t Output times, at least two, increasing.
 * @param key A random key, or the Brownian increments of all steps, `(steps, ...)`, with gradients. In `vmap`, map an
 * array of keys for a path of each example.
 * @returns `(length(t), ...y0.shape)`, for each tensor of a tree. States within steps are interpolated linearly.
 * @throws {OptionError} If the method does not take the noise or the adjoint, or options conflict.
 * @throws {RangeError} If a method, noise or adjoint is unknown, a step size is not positive, or times do not increase.
 * @throws {ShapeError | TypeError} If results of `f`, `g`, or the increments have another structure, shape or type than expected.
 */
export function sdeint<S extends Tree>(
  f: VectorField<S>,
  g: VectorField<S>,
  y0: S,
  t: Tensor | ArrayLike<number>,
  key: Key,
  options: SdeOptions,
): S {
  checkFunction("sdeint", "f", f);
  checkFunction("sdeint", "g", g);
  checkOptions("sdeint", options ?? {} as SdeOptions, optionNames);
  const { noise = "diagonal", adjoint = "direct", check = false, stepSize, compile, executor } = options;
  const method = sdeMethodOf(options.method);
  checkChoices(options, noise, adjoint);
  const { host: times, watched } = solveTimes(t, "sdeint");
  if (watched) {
    throw new Error(
      "sdeint: a gradient with respect to t is requested, which does not exist; pass stopGradient(t)",
    );
  }
  checkIncreasing(times, "sdeint");
  const state = packState(y0, "sdeint");
  const { dtype, shape } = state.y0;
  if (noise === "general" && (!(y0 instanceof Tensor) || shape.length === 0)) {
    throw new ShapeError(
      "sdeint: general noise needs a state of one tensor with an axis, such as (batch, channels)",
    );
  }
  const drift = packField(state, f);
  const diffusion: VectorField = noise === "general" ? g as never : packField(state, g);
  const equation = checkedEquation(drift, diffusion, noise);

  const uses = () =>
    usesTime((t, y) => equation.f(t, y).add(total(equation.g(t, y), noise)), state.y0, "batch");
  const far = originOf(times, dtype);
  const origin = far !== 0 && uses() ? 0 : far;
  const shifted = shiftTimes(times, origin);
  const gridTimes = options.grid && hostTimes(options.grid, "sdeint: grid");
  const grid = stepTimes(shifted, { stepSize, grid: gridTimes && shiftTimes(gridTimes, origin) });
  checkTimeResolution(shiftTimes(grid, -origin), dtype, uses);

  const source = noiseSource(key, equation.g, state.y0, grid, noise);
  const keepsStates = Boolean(check) || times.length > 2;
  const scanOptions: ScanOptions = {
    ...{ compile, executor },
    checkpoint: adjoint === "checkpoint",
    memory: adjoint === "reversible" ? "constant" : undefined,
  };
  const { final, states } = method.step
    ? solveInSteps(method.step, equation, source, noise, state.y0, grid, keepsStates, scanOptions)
    : solveByReversibleHeun(equation, source, noise, state.y0, grid, keepsStates, {
      ...scanOptions,
      backwards: adjoint === "reversible",
    });
  if (check) {
    const ends = shiftTimes(grid.subarray(1), -origin);
    checkStates(states!, ends, state.locate, check === true ? undefined : check);
  }
  return state.unpack(statesAt(shifted, grid, state.y0, final, states), 1);
}

/** Drift and diffusion. */
interface Equation {
  readonly f: VectorField;
  readonly g: VectorField;
}

/** Brownian increments of steps, from the rows of a loop. */
interface NoiseSource {
  /** The numbers of the steps, or their increments. */
  readonly rows: Tensor;
  readonly increment: (row: Tensor, dt: Tensor) => Tensor;
}

function checkChoices(
  { method: name, stepSize, grid }: SdeOptions,
  noise: SdeNoise,
  adjoint: SdeAdjoint,
): void {
  if (!noises.includes(noise)) {
    throw new RangeError(`sdeint: noise ${describe(noise)} is unknown; use one of ${noises.join(", ")}`);
  }
  if (!adjoints.includes(adjoint)) {
    throw new RangeError(
      `sdeint: adjoint ${describe(adjoint)} is unknown; use one of ${adjoints.join(", ")}`,
    );
  }
  if (noise === "general" && !sdeMethodOf(name).isGeneral) {
    throw new OptionError("conflicting-options", `sdeint: ${name} does not take general noise`, {
      option: "noise",
      fixes: ["use euler_maruyama (Ito), or euler_heun (Stratonovich)"],
    });
  }
  if (adjoint === "reversible" && name !== "reversible_heun") {
    throw new OptionError("conflicting-options", `sdeint: the steps of ${name} cannot be undone`, {
      option: "adjoint",
      fixes: ['use the method "reversible_heun" (Stratonovich), or the adjoint "direct"'],
    });
  }
  if (grid && stepSize !== undefined) {
    throw new OptionError("conflicting-options", "sdeint: grid and stepSize both determine the steps", {
      option: "grid",
      fixes: ["leave one out"],
    });
  }
}

/** The equation, whose functions throw if their results have an unexpected shape or type. */
function checkedEquation(f: VectorField, g: VectorField, noise: SdeNoise): Equation {
  return {
    f(t, y) {
      const drift = f(t, y);
      checkTensor("sdeint: the result of f", drift);
      checkSlope(drift, y, "", "sdeint: f");
      return drift;
    },
    g(t, y) {
      const diffusion = g(t, y);
      checkTensor("sdeint: the result of g", diffusion);
      if (noise !== "general") checkSlope(diffusion, y, "", "sdeint: g");
      else if (diffusion.rank !== y.rank + 1 || !sameShape(diffusion.shape.slice(0, -1), y.shape)) {
        throw new ShapeError(
          `sdeint: g returned ${formatShape(diffusion.shape)} for a state of ${
            formatShape(y.shape)
          }, expected the shape of the state and an axis for the motions, for general noise`,
        );
      }
      return diffusion;
    },
  };
}

/** The diffusion with the shape of the state: summed over the motions. */
function total(diffusion: Tensor, noise: SdeNoise): Tensor {
  return noise === "general" ? diffusion.sum(-1) : diffusion;
}

/** The product of a diffusion and increments. */
function product(diffusion: Tensor, dw: Tensor, noise: SdeNoise): Tensor {
  return noise === "general" ? diffusion.matmul(dw.expandDims(-1)).squeeze(-1) : diffusion.mul(dw);
}

/** The shape of the increments of a step. */
function noiseShape(g: VectorField, y0: Tensor, start: number, noise: SdeNoise): readonly number[] {
  const { shape, dtype } = y0;
  if (noise === "diagonal") return shape;
  if (noise === "scalar") return shape.length < 2 ? [] : shape.map((length, axis) => axis === 0 ? length : 1);
  const diffusion = withoutRecording(() => tidy(() => g(tensor(start, { dtype }), y0)));
  return [...shape.slice(0, -1), diffusion.shape.at(-1)!];
}

function noiseSource(key: Key, g: VectorField, y0: Tensor, grid: Float64Array, noise: SdeNoise): NoiseSource {
  const { dtype } = y0;
  const shape = noiseShape(g, y0, grid[0], noise);
  const steps = grid.length - 1;
  if (!(key instanceof Tensor) || key.dtype === "uint32") {
    const own = brownianKey(key);
    return {
      rows: stepNumbers(steps),
      increment: (step, dt) => incrementOf(own, step, dt.sqrt(), shape, dtype),
    };
  }
  if (key.dtype !== dtype || !sameShape(key.shape, [steps, ...shape])) {
    throw new ShapeError(
      `sdeint: the increments are ${key.dtype} ${formatShape(key.shape)}, expected ${dtype} ${
        formatShape([steps, ...shape])
      }, one row for each step`,
    );
  }
  return { rows: key, increment: (dw) => dw };
}

/** The last state and, if needed, the states after all steps. */
function solveInSteps(
  take: NonNullable<ReturnType<typeof sdeMethodOf>["step"]>,
  { f, g }: Equation,
  source: NoiseSource,
  noise: SdeNoise,
  y0: Tensor,
  grid: Float64Array,
  keepsStates: boolean,
  options: ScanOptions,
): { final: Tensor; states?: Tensor } {
  const { dtype } = y0;
  const rows = {
    t: tensor(grid.slice(0, -1), { dtype }),
    end: tensor(grid.slice(1), { dtype }),
    dt: tensor(Float64Array.from(grid.subarray(1), (end, i) => end - grid[i]), { dtype }),
    noise: source.rows,
  };
  const [final, states] = scan(
    (y: Tensor, { noise: row, ...times }: typeof rows) => {
      const dw = source.increment(row, times.dt);
      const next = take({ f, g, dw, times: (diffusion) => product(diffusion, dw, noise), ...times }, y);
      return [next, { states: keepsStates ? next : undefined }];
    },
    y0,
    rows,
    scanOptionsOf(options),
  );
  return { final, ...states };
}

/** Solves with drift and diffusion as one slope, along a new last axis. */
function solveByReversibleHeun(
  { f, g }: Equation,
  { rows, increment }: NoiseSource,
  noise: SdeNoise,
  y0: Tensor,
  grid: Float64Array,
  keepsStates: boolean,
  options: ScanOptions & { readonly backwards: boolean },
): { final: Tensor; states?: Tensor } {
  if (options.backwards && isWatched(rows)) {
    throw new Error(
      'sdeint: the adjoint "reversible" has no gradient with respect to increments; use the adjoint "direct", or stopGradient',
    );
  }
  const dwOf = ({ noise: row, dt }: StepTimes) => increment(row!, dt);
  const isGeneral = noise === "general";
  const method = reversibleHeunWith({
    of(slope, times) {
      const drift = slope.select(-1, 0);
      const diffusion = isGeneral ? slope.slice(-1, 1) : slope.select(-1, 1);
      return drift.mul(times.dt).add(product(diffusion, dwOf(times), noise));
    },
    pull(gradient, times) {
      const [dw, ofDrift] = [dwOf(times), gradient.mul(times.dt)];
      if (!isGeneral) return stack([ofDrift, gradient.mul(dw)], -1);
      return concatenate([ofDrift.expandDims(-1), gradient.expandDims(-1).mul(dw.expandDims(-2))], -1);
    },
  });
  const field: VectorField = (t, y) => {
    const [drift, diffusion] = [f(t, y), g(t, y)];
    return isGeneral ? concatenate([drift.expandDims(-1), diffusion], -1) : stack([drift, diffusion], -1);
  };
  return solveReversibly(method, field, y0, grid, keepsStates, { ...options, noise: rows });
}
