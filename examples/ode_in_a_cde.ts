/**
 * Neural CDEs contain equations that read their control nonlinearly (Kidger et al., 2020, theorem C.1), as a GRU-ODE does or an
 * ODE-RNN between its jumps: dy/dt = h(y, X(t)) is dz = f(z) dX with z = (X, y), where time is a channel of X and
 *
 *     f(z) = [ I            ]   one row a channel of X: z remembers it
 *            [ h(y, X) 0 .. ]   in the column of the time: dy = h(y, X) dt
 *
 * The converse is false: dz = dX_1 gives X_1(t) itself, whose derivative no function of y and X(t) knows.
 */
import { cdeint, type CdeSolveOptions, concatenate, eye, type Path, type Tensor } from "../mod.ts";

/** The vector field of the controlled equation, `(..., channels + hidden)` to `(..., channels + hidden, channels)`. */
export function asControlled(
  h: (y: Tensor, x: Tensor) => Tensor,
  channels: number,
  timeChannel = 0,
): (t: Tensor, z: Tensor) => Tensor {
  return (_t, z) => {
    const x = z.slice(-1, 0, channels);
    const slope = h(z.slice(-1, channels), x).expandDims(-1);
    const batch = z.shape.slice(0, -1);
    const remember = eye(channels, { dtype: z.dtype }).broadcastTo([...batch, channels, channels]);
    const none = slope.shape.map(() => [0, 0] as [number, number]).slice(0, -1);
    const move = slope.pad([...none, [timeChannel, channels - 1 - timeChannel]]);
    return concatenate([remember, move], -2);
  };
}

/**
 * Solves dy/dt = h(y, X(t)) as a controlled equation: z = (X, y) at some times, `(..., length(t), channels + hidden)`.
 *
 * @param options Options of `cdeint`. The default method is `"rk4"`.
 */
export function solveAsControlled(
  X: Path,
  h: (y: Tensor, x: Tensor) => Tensor,
  y0: Tensor,
  t: ArrayLike<number>,
  options: CdeSolveOptions & { timeChannel?: number } = {},
): Tensor {
  const { timeChannel, ...solver } = options;
  const x0 = X.evaluate(t[0]);
  return cdeint(X, asControlled(h, x0.shape.at(-1)!, timeChannel), concatenate([x0, y0], -1), t, {
    method: "rk4",
    ...solver,
  });
}

if (import.meta.main) {
  const { addTime, CubicSpline, key, naturalCubicCoeffs, normal, odeint, zeros } = await import("../mod.ts");
  const X = CubicSpline(naturalCubicCoeffs(addTime(normal(key(0), [2, 6, 2], { dtype: "float64" }))));
  const h = (y: Tensor, x: Tensor) => x.slice(-1, 1).square().sin().sub(y);
  const y0 = zeros([2, 2], { dtype: "float64" });
  const solver = { method: "rk4", stepSize: 0.01 } as const;
  const direct = odeint((t, y) => h(y, X.evaluate(t)), y0, [0, 5], solver).select(0, 1);
  const controlled = solveAsControlled(X, h, y0, [0, 5], solver).select(-2, 1).slice(-1, 3);
  console.log(`the two solutions differ by ${await direct.sub(controlled).abs().max().item()}`);
}
