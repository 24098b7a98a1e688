/**
 * Measures the peak memory of the gradient of a fast weight programmer against the number of steps, for each
 * adjoint. Writes a table and a plot.
 */
import { type Adjoint, deltaRule, FastWeightCDE, key, type MethodName, valueAndGrad } from "../mod.ts";
import { markdownTable } from "../tasks/markdown.ts";
import { main, wholeFrom } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { randomControl } from "./models.ts";
import type { Chart, Mark } from "../src/charts/chart.ts";
import { chartFile } from "../src/charts/file.ts";
import { openDevice, secondsOf, watchMemory } from "./timing.ts";

const adjoints: readonly (readonly [method: MethodName, adjoint: Adjoint])[] = [
  ["rk4", "direct"],
  ["rk4", "checkpoint"],
  ["rk4", "continuous"],
  ["reversible_heun", "reversible"],
];
const allSteps = [100, 1000, 10_000, 100_000];
const sizes = { batch: 4, observations: 33, inputChannels: 4, modelDim: 32, heads: 2 };

const program = benchCommand("fast-weight-memory")
  .option("--out <folder>", "folder for fast_weight_memory.md and .svg", "bench/results")
  .option("--steps <number>", "largest number of steps", wholeFrom(100), 100_000);

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { out, steps: maxSteps } = program.opts<{ out: string; steps: number }>();
  const device = await openDevice({ device: "cpu", threads: navigator.hardwareConcurrency });
  const { batch, observations, inputChannels, modelDim, heads } = sizes;
  const X = randomControl(batch, observations, inputChannels);
  const counts = allSteps.filter((steps) => steps <= maxSteps);
  const rows: string[][] = [];
  const marks: Mark[] = [];
  for (const [method, adjoint] of adjoints) {
    const points: { x: number; y: number }[] = [];
    const cells: string[] = [];
    for (const steps of counts) {
      const model = FastWeightCDE({
        ...{ inputChannels, modelDim, heads, outputChannels: 2, rule: deltaRule(), key: key(1) },
        ...{ method, adjoint, stepSize: (observations - 1) / steps },
      });
      const run = () => valueAndGrad(() => model(X).square().mean())(model.parameters);
      await secondsOf(device, run); // compiles
      const peak = watchMemory(device);
      const seconds = await secondsOf(device, run);
      const kibibytes = peak()! / batch / 1024;
      points.push({ x: steps, y: kibibytes });
      cells.push(`${Math.round(kibibytes).toLocaleString("en")} KiB, ${seconds.toPrecision(2)} s`);
      console.log(`${method} ${adjoint}, ${steps} steps: ${cells.at(-1)}`);
    }
    rows.push([`${method}, ${adjoint}`, ...cells]);
    marks.push({
      ...{ kind: "line", name: `${method}, ${adjoint}` },
      x: points.map(({ x }) => x),
      y: points.map(({ y }) => y),
    });
  }
  const head = ["method, adjoint", ...counts.map((steps) => `${steps.toLocaleString("en")} steps`)];
  const weights = modelDim * modelDim / heads * 4 / 1024;
  const text = [
    "# Memory of the gradient of fast weights",
    `Value and gradient of a FastWeightCDE with the delta rule: ${batch} samples, ${observations} observations of ` +
    `${inputChannels} channels, modelDim ${modelDim}, ${heads} heads, so that the fast weights of a sample take ${weights} ` +
    "KiB. Peak memory per sample besides parameters and data, and seconds. Adjoints that keep no states store " +
    "W a few times, the keys, values and rates of some steps ahead, up to 16 MiB for the whole batch, and the times of " +
    "the steps." +
    ` Measured on ${device.info.description} by \`deno task bench fast-weight-memory\`.`,
    "![KiB per sample against the number of steps](fast_weight_memory.svg)",
    markdownTable([head, ...rows]),
  ];
  await Deno.mkdir(out, { recursive: true });
  await Deno.writeTextFile(`${out}/fast_weight_memory.md`, text.join("\n\n") + "\n");
  const chart: Chart = {
    title: "Memory of the gradient against the number of steps",
    panels: [{
      x: { title: "steps of the solver", scale: "log" },
      y: { title: "memory per sample", unit: "KiB", scale: "log" },
      marks,
    }],
  };
  await Deno.writeTextFile(`${out}/fast_weight_memory.svg`, chartFile([chart]));
  return 0;
});
