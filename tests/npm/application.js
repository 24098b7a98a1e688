/** An application that uses paths, solvers and the Neural CDE, to measure its size. */
import { cdeint, CubicSpline, init, key, naturalCubicCoeffs, NeuralCDE, normal, odeint, ones } from "@weft/weft";

async function main() {
  await init();
  const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [2, 5, 3])));
  const sizes = { inputChannels: 3, hiddenChannels: 8, outputChannels: 2, width: 16, depth: 1 };
  const states = odeint((_t, y) => y.neg(), ones([2, 4]), [0, 1], { method: "rk4", stepSize: 0.5 });
  const solved = cdeint(X, (_t, z) => z.expandDims(-1).mul(ones([3])), ones([2, 8]), X.interval);
  console.log(NeuralCDE({ ...sizes, key: key(1) })(X).shape, states.shape, solved.shape);
}

main();
