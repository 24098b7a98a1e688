/**
 * Times the workloads of the papers. `step` is a loss on one batch and its gradient, in seconds, the fastest repeat; `first` is the
 * first step, including tracing and compilation; `memory` is the peak memory in bytes. Data and spline coefficients are prepared
 * before.
 */
import type { SolveOptions } from "../mod.ts";
import { main } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { type DeviceOptions, openDevice, timeStep, withTimingOptions } from "./timing.ts";
import { prepare, workloadNames } from "./workloads.ts";

interface MeasureOptions extends DeviceOptions {
  repeats: number;
  adjoint?: SolveOptions["adjoint"];
}

const program = withTimingOptions(
  benchCommand("workloads"),
)
  .option("--adjoint <name>", "direct, checkpoint or continuous; default: the workload's adjoint")
  .argument(
    "[workloads...]",
    `names from ${workloadNames.join(", ")}, optionally with sizes, such as warp-msd@1024x256 (default: all)`,
  );
await main(async (args) => {
  program.parse(args, { from: "user" });
  const { repeats, adjoint, ...options } = program.opts<MeasureOptions>();
  const device = await openDevice(options);
  const where = device.info.kind === "cpu"
    ? { threads: options.threads }
    : { device: device.info.description };
  for (const workload of program.args.length > 0 ? program.args : workloadNames) {
    const times = await timeStep(device, prepare(workload, adjoint), repeats);
    console.log(JSON.stringify({ workload, ...where, ...times }));
  }
  return 0;
});
