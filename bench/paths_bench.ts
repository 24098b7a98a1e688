/**
 * Coefficients of paths, for complete data and with 90 % of the observations missing, and signatures.
 * torchcde takes 4.7 to 7 s for a natural cubic spline of 64 x 72 x 34 with missing observations.
 */
import {
  grad,
  hermiteCubicCoeffs,
  key,
  linearCoeffs,
  logsignature,
  logsigWindows,
  naturalCubicCoeffs,
  normal,
  type Tensor,
  uniform,
} from "../mod.ts";
import { benchOnDevices } from "./devices.ts";

const dense = (shape: number[]) => normal(key(0), shape);
const missing = (shape: number[]) => uniform(key(1), shape).less(0.9).where(NaN, dense(shape));

/** Times a function of observations. */
const bench = (
  name: string,
  make: () => Tensor,
  f: (x: Tensor) => Tensor,
  options?: Parameters<typeof benchOnDevices>[2],
) =>
  benchOnDevices(name, () => {
    const x = make();
    return () => f(x);
  }, options);

for (const shape of [[64, 72, 34], [1024, 161, 21]]) {
  const size = shape.join(" x ");
  await bench(`natural cubic, ${size}, dense`, () => dense(shape), (x) => naturalCubicCoeffs(x));
  await bench(`natural cubic, ${size}, 90 % missing`, () => missing(shape), (x) => naturalCubicCoeffs(x));
  const gradient = grad((x: Tensor) => naturalCubicCoeffs(x).sum());
  await bench(`gradient of natural cubic, ${size}, dense`, () => dense(shape), gradient);
  await bench(`Hermite cubic, ${size}, dense`, () => dense(shape), (x) => hermiteCubicCoeffs(x));
  await bench(`Hermite cubic, ${size}, 90 % missing`, () => missing(shape), (x) => hermiteCubicCoeffs(x));
  await bench(`linear, ${size}, 90 % missing`, () => missing(shape), (x) => linearCoeffs(x));
}
await bench("natural cubic, 1 x 17984 x 6, dense", () => dense([1, 17_984, 6]), (x) => naturalCubicCoeffs(x));
// EigenWorms: 107 MiB of observations.
const worms = [259, 17_984, 6];
await bench(`natural cubic, ${worms.join(" x ")}, dense`, () => dense(worms), (x) => naturalCubicCoeffs(x), {
  runs: 3,
  large: true,
});
const paths = () => normal(key(2), [32, 1000, 5]);
await bench("log-signature, 32 x 1000 x 5 to depth 3", paths, (x) => logsignature(x, 3));
await bench("windows of 20, 32 x 1000 x 5 to depth 3", paths, (x) => logsigWindows(x, 3, 20));
