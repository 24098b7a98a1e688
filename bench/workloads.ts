/**
 * Times the workloads of the papers, as those of the reference implementations are timed: the same shapes, in the same
 * order, with the same line of JSON for each. `step` is forward and backward of one batch, in seconds, the fastest of
 * the repeats; `first` is the very first one, with tracing and compiling; `memory` is what it needs at most, in bytes. Data
 * and coefficients of splines are made before.
 */
import {
  bernoulli,
  delta,
  FastWeightCDE,
  type FastWeightModelOptions,
  FastWeightODE,
  hebb,
  key,
  naturalCubicCoeffs,
  normal,
  type SolveOptions,
} from "../mod.ts";
import type { Device } from "../src/device/device.ts";
import type { Command } from "commander";
import { command, main } from "../tasks/command.ts";
import { neuralCde, type Problem, randomControl } from "./models.ts";
import {
  type DeviceOptions,
  openDevice,
  type StepTimes,
  timeBest,
  timeStep,
  withTimingOptions,
} from "./timing.ts";

interface Setting {
  device: Device;
  repeats: number;
  /** Instead of the workload's own. */
  adjoint?: SolveOptions["adjoint"];
}

type Figures = StepTimes | { seconds: number; first: number };

/** A step of a model that is solved by the 3/8 rule with a step an observation. */
function step(make: (solver: SolveOptions) => Problem, own: SolveOptions["adjoint"] = "direct") {
  return ({ device, repeats, adjoint = own }: Setting): Promise<Figures> =>
    timeStep(device, make({ method: "rk4", stepSize: 1, adjoint }), repeats);
}

function fastWeight(
  model: typeof FastWeightODE,
  [batch, length]: readonly [number, number],
  options: Omit<FastWeightModelOptions, "key">,
) {
  return step((solver) => {
    const X = randomControl(batch, length, options.inputChannels);
    const apply = model({ ...options, ...solver, key: key(1) });
    return { loss: () => apply(X).square().mean(), parameters: apply.parameters };
  });
}

function spline(shape: readonly [batch: number, length: number, channels: number], missing: number) {
  return async ({ device, repeats }: Setting): Promise<Figures> => {
    const complete = normal(key(0), shape);
    const x = missing > 0 ? bernoulli(key(1), missing, shape).where(NaN, complete) : complete;
    return await timeBest(device, () => naturalCubicCoeffs(x), repeats);
  };
}

const character = { batch: 32, length: 182, channels: 4, hidden: 32, width: 32, depth: 3 };
const speech = { batch: 128, length: 161, channels: 21, hidden: 90, width: 40, depth: 4 };

const workloads: Record<string, (setting: Setting) => Promise<Figures>> = {
  // Kidger et al. (2020), appendix D.2.
  "ncde-character-direct": step((solver) => neuralCde(character, solver)),
  "ncde-character-adjoint": step((solver) => neuralCde(character, solver), "continuous"),
  // Appendix D.4, at an eighth of its batch.
  "ncde-speech-adjoint": step((solver) => neuralCde(speech, solver), "continuous"),
  // Irie et al. (2022), table 3.
  "fwp-ode-speech-hebb": fastWeight(FastWeightODE, [64, 161], {
    inputChannels: 21,
    modelDim: 128,
    heads: 32,
    feedForward: 512,
    outputChannels: 10,
    rule: hebb(),
  }),
  "fwp-cde-speech-delta": fastWeight(FastWeightCDE, [64, 161], {
    inputChannels: 21,
    modelDim: 80,
    heads: 4,
    feedForward: 320,
    outputChannels: 10,
    rule: delta(),
  }),
  // EigenWorms, at a quarter of its length.
  "fwp-cde-worms-delta": fastWeight(FastWeightCDE, [16, 1125], {
    inputChannels: 7,
    modelDim: 128,
    heads: 16,
    feedForward: 64,
    outputChannels: 5,
    rule: delta({ postTanh: true }),
  }),
  "spline-dense": spline([1024, 161, 21], 0),
  // The sepsis data of PhysioNet: a tenth of the values was observed.
  "spline-missing": spline([64, 72, 34], 0.9),
};

/** Names of the workloads, in order. */
export const workloadNames: readonly string[] = Object.keys(workloads);

/** A line of the output: what was measured, on what, and the figures. */
export type Line = { workload: string; threads?: number; device?: string } & Figures;

/** What to measure, and on what. */
export interface MeasureOptions extends DeviceOptions {
  /** Some of {@linkcode workloadNames}. */
  names: readonly string[];
  repeats: number;
  /** Instead of the workload's own. */
  adjoint?: SolveOptions["adjoint"];
}

/** Times workloads one after another. */
export async function* measure(
  { names, repeats, adjoint, ...options }: MeasureOptions,
): AsyncGenerator<Line> {
  const unknown = names.find((name) => !workloadNames.includes(name));
  if (unknown) throw new Error(`there is no workload ${unknown}; there are ${workloadNames.join(", ")}`);
  const device = await openDevice(options);
  const where = device.info.kind === "cpu"
    ? { threads: options.threads }
    : { device: device.info.description };
  for (const workload of names) {
    yield { workload, ...where, ...await workloads[workload]({ device, repeats, adjoint }) };
  }
}

/** Adds the options that say how to measure. */
export function withMeasureOptions(program: Command): Command {
  return withTimingOptions(program)
    .option("--adjoint <name>", "direct, checkpoint or continuous, instead of the workload's own");
}

if (import.meta.main) {
  const program = withMeasureOptions(
    command("bench:workloads", "Times the workloads of the papers; prints a line of JSON for each"),
  )
    .argument("[workloads...]", `some of ${workloadNames.join(", ")}; all by default`)
    .parse(["deno", "workloads", ...Deno.args]);
  await main(async () => {
    const names = program.args.length > 0 ? program.args : workloadNames;
    for await (const line of measure({ ...program.opts<MeasureOptions>(), names })) {
      console.log(JSON.stringify(line));
    }
    return 0;
  });
}
