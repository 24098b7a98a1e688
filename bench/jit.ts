/**
 * Times training steps with and without `jit`: a small model, where overhead dominates, and the README's
 * example. Also times a chain of elementwise operations, which `jit` fuses. Prints the wall time of the fastest repeat, and the mean CPU time of the whole process over
 * all threads, which other programs disturb less.
 */
import { cpuUsage } from "node:process";
import {
  Adam,
  bernoulli,
  crossEntropy,
  CubicSpline,
  jit,
  key,
  type MethodName,
  naturalCubicCoeffs,
  NeuralCDE,
  normal,
  type Tensor,
  tensor,
  tidy,
  valueAndGrad,
} from "../mod.ts";
import type { Device } from "../src/device/device.ts";
import { main, wholeFrom } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { type DeviceOptions, openDevice, secondsOf, withTimingOptions } from "./timing.ts";

/** A training step: the loss, the gradients, and Adam. */
function stepOf(X: CubicSpline, labels: Tensor, sizes: { width: number; method?: MethodName }): () => Tensor {
  const model = NeuralCDE({
    ...{ inputChannels: 3, hiddenChannels: 8, outputChannels: 2, depth: 1, key: key(2) },
    ...sizes,
  });
  const optimizer = Adam(model.parameters, { learningRate: 0.01 });
  const lossAndGradients = valueAndGrad(() => crossEntropy(model(X), labels));
  return () => {
    const [loss, gradients] = lossAndGradients(model.parameters);
    optimizer.step(gradients);
    return loss;
  };
}

/** Batch size 1, 10 steps of rk4, hidden size and width 8. */
function small(): () => Tensor {
  const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [1, 11, 3]).cumsum(1)));
  return stepOf(X, tensor([1], { dtype: "int32" }), { width: 8, method: "rk4" });
}

/** 256 random walks of 8 irregular observations with missing values, 40 steps of rk4. */
function readme(): () => Tensor {
  const t = [0, 0.4, 0.5, 1.3, 2, 2.1, 3.7, 4];
  const walks = normal(key(0), [256, t.length, 3]).cumsum(1);
  const rose = walks.select(1, -1).greater(walks.select(1, 0)).select(-1, 0).cast("int32");
  const x = bernoulli(key(1), 0.7, walks.shape).where(walks, NaN);
  return stepOf(CubicSpline(naturalCubicCoeffs(x, t), t), rose, { width: 16 });
}

/** One multiplication, a chain of twenty elementwise operations, and its gradient, of 10^6 elements. */
function elementwise(): Record<string, () => unknown> {
  const [x, y] = [normal(key(0), [1e6]), normal(key(1), [1e6])];
  const chain = (x: Tensor) => {
    for (let i = 0; i < 10; i++) x = x.mul(y).add(0.1);
    return x;
  };
  const gradient = valueAndGrad((x: Tensor) => chain(x).sum());
  const call = <R>(f: (x: Tensor) => R) => () => f(x);
  return {
    multiplication: call((x) => x.mul(y)),
    "multiplication, jit": call(jit((x: Tensor) => x.mul(y))),
    chain: call(chain),
    "chain, jit": call(jit(chain)),
    "chain and gradient": call(gradient),
    "chain and gradient, jit": call(jit(gradient)),
  };
}

/** Milliseconds of a step: wall time, and CPU time of all threads together. */
interface StepMilliseconds {
  readonly wall: number;
  readonly processor: number;
}

/** Measures a step: the wall time of the fastest repeat, and the mean CPU time of all repeats. */
async function timesOf(
  device: Device,
  step: () => unknown,
  { steps, repeats }: { steps: number; repeats: number },
): Promise<StepMilliseconds> {
  let taken = 0;
  const run = () =>
    secondsOf(device, () => {
      for (let i = 0; i < steps; i++) tidy(() => void step());
      taken += steps;
    });
  await run();
  taken = 0;
  const before = cpuUsage();
  let wall = Infinity;
  for (let i = 0; i < repeats; i++) wall = Math.min(wall, 1000 * await run() / steps);
  const { user, system } = cpuUsage(before);
  return { wall, processor: (user + system) / 1000 / taken };
}

await main(async (args) => {
  const program = withTimingOptions(benchCommand("jit")).option(
    "--steps <number>",
    "steps per repeat",
    wholeFrom(1),
    50,
  ).addHelpText(
    "after",
    "\nMilliseconds per step: wall time of the fastest repeat, and mean CPU time of all threads.",
  );
  program.parse(args, { from: "user" });
  const { steps, repeats, ...options } = program.opts<DeviceOptions & { steps: number; repeats: number }>();
  const device = await openDevice(options);
  for (const [workload, make] of Object.entries({ small, readme })) {
    const plain = await timesOf(device, make(), { steps, repeats });
    const jitted = await timesOf(device, jit(make()), { steps, repeats });
    console.log(JSON.stringify({ workload, device: device.info.kind, plain, jit: jitted }));
  }
  for (const [workload, call] of Object.entries(elementwise())) {
    const times = await timesOf(device, call, { steps, repeats });
    console.log(JSON.stringify({ workload, device: device.info.kind, ...times }));
  }
  return 0;
});
