/**
 * Solves and transformations as data: every transformation of every kind of solve has the values of a loop over
 * samples, or of central differences.
 */
import {
  cdeint,
  constantStepSize,
  CubicSpline,
  type DenseSolution,
  type DType,
  grad,
  GRU,
  integralController,
  jacobian,
  jvp,
  key,
  naturalCubicCoeffs,
  normal,
  odeint,
  odeintEvent,
  piController,
  type SaveAt,
  scan,
  sdeint,
  type SdeOptions,
  solve,
  type SolveOptions,
  stack,
  stepTo,
  type Tensor,
  tensor,
  vjp,
  vmap,
} from "../../mod.ts";
import { eventKinds } from "./event_kinds.ts";

/** The axes of a state: samples and channels. */
const shape = [2, 2];

/** Solves from the state of a batch of samples `(2, 2)`, with weights `(2, 2)`. Returns a tensor of any shape. */
type Solve = (w: Tensor, x: Tensor) => Tensor;

/** A kind of solve. */
export interface Kind {
  readonly name: string;
  readonly solve: Solve;
  /** Transformations, or `jit` of them, that throw an error instead, and a part of its message. */
  readonly except?: Readonly<Record<string, RegExp>>;
  /** A part of the message of the error that every transformation throws inside `jit`. */
  readonly inJit?: RegExp;
  /** Largest relative difference. Default: 1e-7. */
  readonly tolerance?: number;
  /** Whether the table runs on a GPU too. */
  readonly onGpu?: boolean;
}

function ode(name: string, options: SolveOptions, more: Partial<Kind> = {}): Kind {
  return {
    name,
    solve: (w, x) => odeint((t, y) => y.matmul(w).sin().add(t), x, [0, 0.3, 1], options),
    ...more,
  };
}

/** Tolerances below the errors of central differences. */
const tight = { rtol: 1e-11, atol: 1e-12 } as const;

function adaptive(name: string, options: SolveOptions = {}): Kind {
  return ode(name, { method: "dopri5", ...tight, ...options }, { tolerance: 1e-5 });
}

/** Steps whose number does not depend on small changes, so that differences with them are smooth. */
const coarse: SolveOptions = { method: "dopri5", rtol: 1e-9, atol: 1e-11 };

function saving(name: string, save: SaveAt<Tensor>, options: SolveOptions = coarse): Kind {
  return {
    name: `solve: ${name}`,
    solve(w, x) {
      const { y, dense } = solve((t, y) => y.matmul(w).sin().add(t), x, [0, 1], { ...options, save });
      return dense ? (dense as DenseSolution<Tensor>).evaluate([[0.3, 0.7], [0.5, 1]]) : y;
    },
    tolerance: 1e-5,
    inJit: save.dense && options === coarse ? /inside jit the number of steps is unknown/ : undefined,
  };
}

function sde(options: SdeOptions, more: Partial<Kind> = {}): Kind {
  const { method, noise = "diagonal", adjoint = "direct" } = options;
  return {
    name: `sdeint: ${method}, ${noise}, ${adjoint}`,
    solve: (w, x) =>
      sdeint(
        (_t, y) => y.matmul(w).sin(),
        (t, y) => {
          const g = y.matmul(w).cos().mul(0.3).add(t);
          return noise === "general" ? stack([g, y.sin(), g.square()], -1) : g;
        },
        x,
        [0, 0.3, 1],
        key(7),
        { stepSize: 0.2, ...options },
      ),
    ...more,
  };
}

/** Made once, because a layer cannot be made in the function of `jit`. */
let gru: ReturnType<typeof GRU> | undefined;

/** All kinds of solves. A new kind needs a single entry. */
export const kinds: readonly Kind[] = [
  {
    name: "scan",
    solve: (w, x) =>
      scan(
        (y: Tensor, c: Tensor) => {
          const next = y.matmul(w).add(c).tanh();
          return [next, next];
        },
        x,
        w,
      )[1],
    onGpu: true,
  },
  {
    name: "GRU",
    solve(w, x) {
      gru ??= GRU({ inputs: 2, hidden: 2, key: key(0), dtype: w.dtype });
      return gru(stack([x, x.matmul(w), x.sin()], 1));
    },
  },
  ode("rk4", { method: "rk4", stepSize: 0.25 }, { onGpu: true }),
  saving("times of each sample, rk4", { t: [[0.3, 1], [0.7, 0.9]] }, { method: "rk4", stepSize: 0.25 }),
  saving("times of each sample", { t: [[0.3, 1], [0.7, 0.9]] }),
  saving("fn", { t: [0.3, 1], fn: (t, y) => y.sin().mul(t) }, { ...coarse, norm: "sample" }),
  saving("dense, rk4", { dense: true }, { method: "rk4", stepSize: 0.25 }),
  saving("dense", { dense: true }),
  saving("steps, rk4", { steps: true }, { method: "rk4", stepSize: 0.25 }),
  ode("rk4, checkpoint", { method: "rk4", stepSize: 0.25, adjoint: "checkpoint" }),
  ode("rk4, stepped", { method: "rk4", stepSize: 0.5, executor: "stepped" }),
  ode("rk4, not compiled", { method: "rk4", stepSize: 0.5, compile: false }),
  ode("reversible_rk4, reversible", { method: "reversible_rk4", stepSize: 0.25, adjoint: "reversible" }),
  ode("reversible_heun, reversible", { method: "reversible_heun", stepSize: 0.25, adjoint: "reversible" }),
  ode("reversible_heun, direct", { method: "reversible_heun", stepSize: 0.25 }),
  ode("rk4, continuous", { method: "rk4", stepSize: 0.05, adjoint: "continuous" }, { tolerance: 1e-5 }),
  // Implicit methods differ in their tableaus alone. implicit_euler has the norm of the batch and the direct adjoint.
  adaptive("kvaerno3, norm sample, checkpoint", {
    ...{ method: "kvaerno3", rtol: 1e-6, atol: 1e-8, norm: "sample", adjoint: "checkpoint" },
  }),
  // Every step ends at a jump, so that no step depends on the state.
  adaptive("implicit_euler", {
    ...{ method: "implicit_euler", rtol: 1e-2, atol: 1e-2, stepSize: 1 },
    jumpTimes: Array.from({ length: 20 }, (_, i) => (i + 1) / 20),
  }),
  ode("explicit_adams", { method: "explicit_adams", stepSize: 0.1 }),
  adaptive("dopri5"),
  adaptive("dopri5, sample", { norm: "sample" }),
  adaptive("dopri5, checkpoint", { adjoint: "checkpoint" }),
  adaptive("dopri5, limits", {
    controller: piController({ dtMin: 1e-6, dtMax: 0.2, stepTimes: [0.15, 0.7], jumpTimes: [0.5] }),
    norm: "sample",
  }),
  adaptive("dopri5, forced", { controller: integralController({ dtMin: 0.01, forceDtMin: true }) }),
  adaptive("tsit5, tolerances of elements", { method: "tsit5", rtol: [1e-10, 1e-11], norm: "sample" }),
  ode("dopri5, constant steps", { method: "dopri5", controller: constantStepSize(0.3) }),
  ode("rk4, stepTo", { method: "rk4", controller: stepTo([0.1, 0.5]) }),
  {
    name: "event",
    tolerance: 1e-5,
    solve(w, x) {
      const { t, y } = odeintEvent(
        (t, y) => y.matmul(w).sin().add(t),
        x,
        0,
        (t, y) => t.add(y.sum().tanh().mul(0.1)).sub(0.5),
        { ...tight, method: "dopri5", controller: integralController({ dtMax: 0.2 }) },
      );
      return y.add(t);
    },
  },
  {
    name: "cdeint: rk4",
    solve(w, x) {
      const observations = normal(key(3), [2, 4, 2], { dtype: w.dtype });
      const X = CubicSpline(naturalCubicCoeffs(observations));
      return cdeint(X, (_t, z) => stack([z.matmul(w).tanh(), z.sin()], -1), x, X.interval, {
        method: "rk4",
        stepSize: 1,
      });
    },
  },
  ...eventKinds,
  sde({ method: "euler_maruyama" }, { onGpu: true }),
  sde({ method: "milstein", noise: "scalar" }),
  sde({ method: "stratonovich_milstein" }),
  sde({ method: "euler_heun" }),
  sde({ method: "heun", noise: "general", adjoint: "checkpoint" }),
  sde({ method: "reversible_heun", noise: "general" }),
  sde({ method: "reversible_heun", noise: "scalar", adjoint: "reversible" }),
  sde({ method: "reversible_heun", adjoint: "reversible" }),
];

/** Arguments of a transformed solve: weights, states `(3, 2, 2)` of three batches, and a direction like them. */
export interface Arguments {
  readonly w: Tensor;
  readonly xs: Tensor;
  readonly directions: Tensor;
}

export function makeArguments(dtype: DType): Arguments {
  return {
    w: normal(key(1), shape, { dtype }).mul(0.5),
    xs: normal(key(2), [3, ...shape], { dtype }),
    directions: normal(key(4), [3, ...shape], { dtype }),
  };
}

/** A transformation of a solve. */
interface Transformation {
  readonly run: (solve: Solve, args: Arguments) => Tensor;
  /** The same values by other means. */
  readonly expected: (solve: Solve, args: Arguments) => Tensor | Promise<Tensor>;
}

/** A solve as a number, whose gradients differ between the elements. */
function lossOf(solve: Solve): Solve {
  return (w, x) => {
    const y = solve(w, x);
    return y.square().mul(tensor(Float64Array.from({ length: y.size }, (_, i) => 1 + i % 3), {
      shape: y.shape,
      dtype: y.dtype,
    })).sum();
  };
}

/** The gradients of weights and state as one tensor. */
function gradientsOf(solve: Solve, w: Tensor, x: Tensor): Tensor {
  const loss = lossOf(solve);
  const gradients = grad(({ w, x }: { w: Tensor; x: Tensor }) => loss(w, x))({ w, x });
  return stack([gradients.w, gradients.x]);
}

/** Stacks the results of a function of each of the three batches. */
function each({ xs, directions }: Arguments, f: (x: Tensor, direction: Tensor) => Tensor): Tensor {
  return stack([0, 1, 2].map((i) => f(xs.select(0, i), directions.select(0, i))));
}

/** The Jacobian matrix of a function by central differences, `(...f(x).shape, ...x.shape)`. */
async function differences(f: (x: Tensor) => Tensor, x: Tensor): Promise<Tensor> {
  const values = Float64Array.from(await x.data());
  const at = (i: number, shift: number) =>
    f(tensor(values.with(i, values[i] + shift), { shape: x.shape, dtype: "float64" }));
  const columns = Array.from(values, (_, i) => at(i, 1e-5).sub(at(i, -1e-5)).div(2e-5));
  return stack(columns, -1).reshape([...columns[0].shape, ...x.shape]);
}

const tangent = (solve: Solve, w: Tensor, x: Tensor, direction: Tensor) =>
  jvp((w: Tensor, x: Tensor) => solve(w, x))([w, x], [w.sin(), direction])[1];

/** A solve in the body of a loop, after another operation on the state of the loop. */
function inScan(solve: Solve): (w: Tensor, xs: Tensor) => Tensor {
  return (w, xs) =>
    scan(
      (carry: Tensor, x: Tensor) => {
        const y = solve(w, x.add(carry.mul(0.5)));
        return [y.reshape([-1, ...shape]).mean(0), y];
      },
      w,
      xs,
    )[1];
}

function inHostLoop(solve: Solve): (w: Tensor, xs: Tensor) => Tensor {
  return (w, xs) => {
    let carry = w;
    return stack([0, 1, 2].map((i) => {
      const y = solve(w, xs.select(0, i).add(carry.mul(0.5)));
      carry = y.reshape([-1, ...shape]).mean(0);
      return y;
    }));
  };
}

/** All transformations. A new transformation needs a single entry. */
export const transformations: Readonly<Record<string, Transformation>> = {
  vmap: {
    run: (solve, { w, xs }) => vmap(solve, { inAxes: [null, 0] })(w, xs),
    expected: (solve, args) => each(args, (x) => solve(args.w, x)),
  },
  "vmap over weights and states": {
    run: (solve, { directions, xs }) => vmap(solve)(directions, xs),
    expected: (solve, args) => each(args, (x, w) => solve(w, x)),
  },
  "vmap(vmap)": {
    run: (solve, { w, xs, directions }) => vmap(vmap((x: Tensor) => solve(w, x)))(stack([xs, directions])),
    expected: (solve, args) =>
      stack([each(args, (x) => solve(args.w, x)), each(args, (_x, direction) => solve(args.w, direction))]),
  },
  grad: {
    run: (solve, { w, xs }) => gradientsOf(solve, w, xs.select(0, 0)),
    async expected(solve, { w, xs }) {
      const loss = lossOf(solve);
      const x = xs.select(0, 0);
      return stack([await differences((w) => loss(w, x), w), await differences((x) => loss(w, x), x)]);
    },
  },
  "vmap(grad)": {
    run: (solve, { w, xs }) => vmap((x: Tensor) => gradientsOf(solve, w, x))(xs),
    expected: (solve, args) => each(args, (x) => gradientsOf(solve, args.w, x)),
  },
  "grad(vmap)": {
    run: (solve, { w, xs }) => grad((w: Tensor) => vmap((x: Tensor) => lossOf(solve)(w, x))(xs).sum())(w),
    expected: (solve, args) => each(args, (x) => gradientsOf(solve, args.w, x).select(0, 0)).sum(0),
  },
  jvp: {
    run: (solve, { w, xs, directions }) => tangent(solve, w, xs.select(0, 0), directions.select(0, 0)),
    async expected(solve, { w, xs, directions }) {
      const x = xs.select(0, 0);
      const ofX = (await differences((x) => solve(w, x), x)).mul(directions.select(0, 0)).sum([-1, -2]);
      return ofX.add((await differences((w) => solve(w, x), w)).mul(w.sin()).sum([-1, -2]));
    },
  },
  "vmap(jvp)": {
    run: (solve, { w, xs, directions }) =>
      vmap((x: Tensor, direction: Tensor) => tangent(solve, w, x, direction))(xs, directions),
    expected: (solve, args) => each(args, (x, direction) => tangent(solve, args.w, x, direction)),
  },
  "jvp(vmap)": {
    run: (solve, { w, xs, directions }) =>
      tangent((w, xs) => vmap((x: Tensor) => solve(w, x))(xs), w, xs, directions),
    expected: (solve, args) => each(args, (x, direction) => tangent(solve, args.w, x, direction)),
  },
  "vmap(pullback)": {
    run(solve, { w, xs }) {
      const { value, pullback } = vjp(() => solve(w, xs.select(0, 0)), w);
      return vmap(pullback)(stack([value, value.sin(), value.cos()]));
    },
    expected(solve, { w, xs }) {
      const { value, pullback } = vjp(() => solve(w, xs.select(0, 0)), w);
      return stack([value, value.sin(), value.cos()].map(pullback));
    },
  },
  "jvp(pullback)": {
    run(solve, { w, xs }) {
      const { value, pullback } = vjp(() => solve(w, xs.select(0, 0)), w);
      return jvp(pullback)([value], [value.sin()])[1];
    },
    expected(solve, { w, xs }) {
      const { value, pullback } = vjp(() => solve(w, xs.select(0, 0)), w);
      return pullback(value.sin());
    },
  },
  "jacobian, reverse": {
    run: (solve, { w, xs }) => jacobian((w: Tensor) => solve(w, xs.select(0, 0)), { mode: "reverse" })(w),
    expected: (solve, { w, xs }) => differences((w) => solve(w, xs.select(0, 0)), w),
  },
  "jacobian, forward": {
    run: (solve, { w, xs }) => jacobian((w: Tensor) => solve(w, xs.select(0, 0)), { mode: "forward" })(w),
    expected: (solve, { w, xs }) => differences((w) => solve(w, xs.select(0, 0)), w),
  },
  "second gradients": {
    run: (solve, { w, xs }) =>
      grad((w: Tensor) => gradientsOf(solve, w, xs.select(0, 0)).mul(tensor(3, { dtype: w.dtype })).sum())(w),
    expected: (solve, { w, xs }) =>
      differences((w) => gradientsOf(solve, w, xs.select(0, 0)).mul(3).sum(), w),
  },
  "jvp(grad)": {
    run: (solve, { w, xs, directions }) =>
      jvp((x: Tensor) => gradientsOf(solve, w, x))([xs.select(0, 0)], [directions.select(0, 0)])[1],
    expected: async (solve, { w, xs, directions }) =>
      (await differences((x) => gradientsOf(solve, w, x), xs.select(0, 0)))
        .mul(directions.select(0, 0)).sum([-1, -2]),
  },
  "inside scan": {
    run: (solve, { w, xs }) => inScan(solve)(w, xs),
    expected: (solve, { w, xs }) => inHostLoop(solve)(w, xs),
  },
  "grad of scan": {
    run: (solve, { w, xs }) => grad((w: Tensor) => inScan(solve)(w, xs).square().sum())(w),
    expected: (solve, { w, xs }) => grad((w: Tensor) => inHostLoop(solve)(w, xs).square().sum())(w),
  },
};
