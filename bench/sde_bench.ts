/** A neural SDE: 64 samples of 8 channels, networks of width 32, 1,000 steps; a training step under `jit`. */
import { Adam, foldIn, jit, type Key, key, MLP, normal, sdeint, type Tensor, valueAndGrad } from "../mod.ts";
import { benchOnDevices } from "./devices.ts";

for (const [method, adjoint] of [["euler_maruyama", "direct"], ["reversible_heun", "reversible"]] as const) {
  await benchOnDevices(`neural SDE of 1,000 steps, ${method}, ${adjoint}, training step`, () => {
    const make = (seed: number) => MLP({ inputs: 8, outputs: 8, width: 32, depth: 1, key: key(seed) });
    const [f, g] = [make(0), make(1)];
    const parameters = [f.parameters, g.parameters];
    const optimizer = Adam(parameters, { learningRate: 1e-3 });
    const y0 = normal(key(2), [64, 8]);
    const solve = (key: Key) =>
      sdeint((_t, y: Tensor) => f(y).tanh(), (_t, y) => g(y).sigmoid(), y0, [0, 1], key, {
        ...{ method, adjoint },
        stepSize: 1e-3,
      });
    const step = jit((key: Key) => {
      const [value, gradients] = valueAndGrad(() => solve(key).select(0, 1).square().mean())(parameters);
      optimizer.step(gradients);
      return value;
    });
    let count = 0;
    return () => step(foldIn(key(3), count++));
  });
}
