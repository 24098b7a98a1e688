/**
 * Times the workloads of the papers, as those of the reference implementations are timed: the same shapes, in the same
 * order, with the same JSON line for each. `step` is forward and backward of one batch, in seconds, the fastest of the
 * repeats; `first` is the very first one, with tracing and compiling; `memory` is what the reverse pass needs, in bytes.
 * Data and coefficients of splines are made before.
 */
import {
  arange,
  bernoulli,
  cdeint,
  concatenate,
  CubicSpline,
  key,
  naturalCubicCoeffs,
  normal,
  type SolveOptions,
  split,
  type Tensor,
} from "../mod.ts";
import type { Device } from "../src/device/device.ts";
import { command, main, number } from "../tasks/command.ts";
import {
  type FastWeightOptions,
  fastWeightProgrammer,
  neuralField,
  type NeuralFieldSizes,
} from "./models.ts";
import { openDevice, secondsOf, type StepTimes, timeStep } from "./timing.ts";

/** Random walks with the time as first channel: `(batch, length, channels)`. */
export function randomPath(batch: number, length: number, channels: number): Tensor {
  const time = arange(length).reshape([1, length, 1]).broadcastTo([batch, length, 1]);
  const walks = normal(key(0), [batch, length, channels - 1]).cumsum(1).div(Math.sqrt(length));
  return concatenate([time, walks], 2);
}

/** A solve of a neural CDE: the gradient is that of the vector field. */
export function neuralCde(
  batch: number,
  length: number,
  sizes: NeuralFieldSizes,
  solver: SolveOptions,
): { loss: () => Tensor; parameters: ReturnType<typeof neuralField>["parameters"] } {
  const [fieldKey, stateKey] = split(key(1), 2);
  const X = new CubicSpline(naturalCubicCoeffs(randomPath(batch, length, sizes.channels)));
  const field = neuralField(sizes, fieldKey);
  const z0 = normal(stateKey, [batch, sizes.hidden]);
  const loss = () => cdeint(X, field, z0, X.interval, solver).at(1, -1).square().mean();
  return { loss, parameters: field.parameters };
}

type Sizes = Omit<FastWeightOptions, "key" | "solver">;

function fastWeights(batch: number, length: number, sizes: Sizes, solver: SolveOptions) {
  const X = new CubicSpline(naturalCubicCoeffs(randomPath(batch, length, sizes.inputs)));
  const model = fastWeightProgrammer({ ...sizes, solver, key: key(1) });
  return { loss: () => model(X).square().mean(), parameters: model.parameters };
}

interface Setting {
  device: Device;
  repeats: number;
  /** Instead of the workload's own. */
  adjoint?: SolveOptions["adjoint"];
}

type Figures = StepTimes | { seconds: number; first: number };

async function spline(
  { device, repeats }: Setting,
  shape: readonly [batch: number, length: number, channels: number],
  missing: number,
): Promise<Figures> {
  const complete = normal(key(0), shape);
  const x = missing > 0 ? bernoulli(key(1), missing, shape).where(NaN, complete) : complete;
  const run = () => secondsOf(device, () => naturalCubicCoeffs(x));
  const first = await run();
  const times: number[] = [];
  for (let i = 0; i < repeats; i++) times.push(await run());
  return { seconds: Math.min(...times), first };
}

type Model = { loss: () => Tensor; parameters: Parameters<typeof timeStep>[2] };

/** A step of a model that is solved by the 3/8 rule with a step an observation. */
function step(make: (solver: SolveOptions) => Model, own: SolveOptions["adjoint"] = "direct") {
  return ({ device, repeats, adjoint = own }: Setting): Promise<Figures> => {
    const { loss, parameters } = make({ method: "rk4", stepSize: 1, adjoint });
    return timeStep(device, loss, parameters, repeats);
  };
}

const character = { channels: 4, hidden: 32, width: 32, depth: 3 };
const speech = { channels: 21, hidden: 90, width: 40, depth: 4 };
const workloads: Record<string, (setting: Setting) => Promise<Figures>> = {
  // Kidger et al. (2020), appendix D.2.
  "ncde-character-direct": step((solver) => neuralCde(32, 182, character, solver)),
  "ncde-character-adjoint": step((solver) => neuralCde(32, 182, character, solver), "continuous"),
  // Appendix D.4, an eighth of its batch.
  "ncde-speech-adjoint": step((solver) => neuralCde(128, 161, speech, solver), "continuous"),
  // Irie et al. (2022), table 3.
  "fwp-ode-speech-hebb": step((solver) =>
    fastWeights(
      64,
      161,
      { rule: "hebb", inputs: 21, features: 128, heads: 32, feedForward: 512, outputs: 10 },
      solver,
    )
  ),
  "fwp-cde-speech-delta": step((solver) =>
    fastWeights(
      64,
      161,
      { rule: "delta", inputs: 21, features: 80, heads: 4, feedForward: 320, outputs: 10 },
      solver,
    )
  ),
  // EigenWorms, a quarter of its length.
  "fwp-cde-worms-delta": step((solver) =>
    fastWeights(
      16,
      1125,
      { rule: "delta", inputs: 7, features: 128, heads: 16, feedForward: 64, outputs: 5, postTanh: true },
      solver,
    )
  ),
  "spline-dense": (setting) => spline(setting, [1024, 161, 21], 0),
  // PhysioNet sepsis: a tenth of the values was observed.
  "spline-missing": (setting) => spline(setting, [64, 72, 34], 0.9),
};

if (import.meta.main) {
  const program = command("bench:workloads", "Times the workloads of the papers; a line of JSON for each")
    .argument("[workloads...]", `some of ${Object.keys(workloads).join(", ")}; all by default`)
    .option("--device <name>", "auto, cpu or webgpu", "cpu")
    .option("--implementation <name>", "of WebGPU: native or dawn", "native")
    .option(
      "--threads <number>",
      "of the CPU",
      number({ from: 1, whole: true }),
      navigator.hardwareConcurrency,
    )
    .option("--repeats <number>", "of which the fastest counts", number({ from: 1, whole: true }), 3)
    .option("--adjoint <name>", "direct, checkpoint or continuous, instead of the workload's own")
    .parse(["deno", "workloads", ...Deno.args]);
  await main(async () => {
    const { device: name, implementation, threads, repeats, adjoint } = program.opts();
    const names = program.args.length > 0 ? program.args : Object.keys(workloads);
    const unknown = names.find((workload) => !(workload in workloads));
    if (unknown) {
      throw new Error(`there is no workload ${unknown}; there are ${Object.keys(workloads).join(", ")}`);
    }
    const device = await openDevice({ device: name, implementation, threads });
    for (const workload of names) {
      const figures = await workloads[workload]({ device, repeats, adjoint });
      const where = device.info.kind === "cpu" ? { threads } : { device: device.info.description };
      console.log(JSON.stringify({ workload, ...where, ...figures }));
    }
    return 0;
  });
}
