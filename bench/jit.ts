/**
 * Times training steps beside the same steps under `jit`: of a small model, where what is saved is nearly everything, and of the
 * README's example. Wall time, the fastest of some repeats, and the processor's time of the whole process, which others' load
 * disturbs less (Linux alone tells it).
 */
import {
  Adam,
  bernoulli,
  crossEntropy,
  CubicSpline,
  jit,
  key,
  naturalCubicCoeffs,
  NeuralCDE,
  normal,
  scope,
  type Tensor,
  tensor,
  valueAndGrad,
} from "../mod.ts";
import { command, wholeFrom } from "../tasks/command.ts";
import { openDevice, withTimingOptions } from "./timing.ts";

const program = withTimingOptions(command("bench:jit", "Times training steps with and without jit."))
  .option("--steps <number>", "of a repeat", wholeFrom(1), 50);
const { steps, repeats, device: kind, implementation, threads } = program.parse(Deno.args, { from: "user" })
  .opts();
const device = await openDevice({ device: kind, implementation, threads });

/** A training step: the loss, the gradients, and Adam. */
function stepOf(X: CubicSpline, labels: Tensor, sizes: { width: number; method?: string }): () => Tensor {
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

/** Batch 1, 10 steps of rk4, hidden size and width 8. */
function small(): () => Tensor {
  const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [1, 11, 3]).cumsum(1)));
  return stepOf(X, tensor([1], { dtype: "int32" }), { width: 8, method: "rk4" });
}

/** 256 random walks of 8 irregular observations with missing values, 40 steps of rk4. */
function readme(): () => Tensor {
  const t = [0, 0.4, 0.5, 1.3, 2, 2.1, 3.7, 4];
  const walks = normal(key(0), [256, t.length, 3]).cumsum(1);
  const rose = walks.at(1, -1).greater(walks.at(1, 0)).at(-1, 0).cast("int32");
  const x = bernoulli(key(1), 0.7, walks.shape).where(walks, NaN);
  return stepOf(CubicSpline(naturalCubicCoeffs(x, t), t), rose, { width: 16 });
}

/** Milliseconds that the process has computed so far, on all threads. */
function processorTime(): number | undefined {
  try {
    const fields = Deno.readTextFileSync("/proc/self/stat").split(") ")[1].split(" ");
    return 10 * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return undefined;
  }
}

/** Milliseconds of a step. */
async function timesOf(step: () => Tensor): Promise<{ wall: number; processor?: number }> {
  const run = async () => {
    for (let i = 0; i < steps; i++) scope(() => void step());
    await device.synchronize();
  };
  await run();
  const begun = processorTime();
  let wall = Infinity;
  for (let i = 0; i < repeats; i++) {
    const start = performance.now();
    await run();
    wall = Math.min(wall, (performance.now() - start) / steps);
  }
  const ended = processorTime();
  return { wall, processor: begun === undefined ? undefined : (ended! - begun) / steps / repeats };
}

for (const [workload, make] of Object.entries({ small, readme })) {
  const [plain, jitted] = [await timesOf(make()), await timesOf(jit(make()))];
  console.log(JSON.stringify({ workload, device: device.info.kind, plain, jit: jitted }));
}
Deno.exit();
