/**
 * Coefficients of splines, dense and with 90 % of the observations missing, and signatures. torchcde takes 4.7 to 7 s for
 * a natural cubic spline of 64 x 72 x 34 with missing observations.
 */
import {
  grad,
  hermiteCubicCoeffs,
  init,
  key,
  linearCoeffs,
  logsignature,
  logsigWindows,
  naturalCubicCoeffs,
  normal,
  scope,
  type Tensor,
  uniform,
} from "../mod.ts";

const device = await init({ device: "auto" });
const { kind } = device.info;

function bench(name: string, x: Tensor, f: (x: Tensor) => Tensor): void {
  Deno.bench(`${name} [${kind}]`, { n: 20, warmup: 3 }, async () => {
    scope(() => {
      f(x);
      return [];
    });
    await device.synchronize();
  });
}

for (const shape of [[64, 72, 34], [1024, 161, 21]]) {
  const dense = normal(key(0), shape);
  const missing = uniform(key(1), shape).less(0.9).where(NaN, dense);
  const size = shape.join(" x ");
  bench(`natural cubic, ${size}, dense`, dense, (x) => naturalCubicCoeffs(x));
  bench(`natural cubic, ${size}, 90 % missing`, missing, (x) => naturalCubicCoeffs(x));
  bench(`gradient of natural cubic, ${size}, dense`, dense, grad((x: Tensor) => naturalCubicCoeffs(x).sum()));
  bench(`Hermite cubic, ${size}, dense`, dense, (x) => hermiteCubicCoeffs(x));
  bench(`Hermite cubic, ${size}, 90 % missing`, missing, (x) => hermiteCubicCoeffs(x));
  bench(`linear, ${size}, 90 % missing`, missing, (x) => linearCoeffs(x));
}
const paths = normal(key(2), [32, 1000, 5]);
bench("log-signature, 32 x 1000 x 5 to depth 3", paths, (x) => logsignature(x, 3));
bench("windows of 20, 32 x 1000 x 5 to depth 3", paths, (x) => logsigWindows(x, 3, 20));
