/**
 * Times the gradient of a solve by each adjoint against the number of steps, and measures its peak memory.
 * Writes a table and a plot.
 */
import {
  type Adjoint,
  key,
  type MethodName,
  MLP,
  normal,
  odeint,
  type Tensor,
  valueAndGrad,
} from "../mod.ts";
import { treeLeaves } from "../src/tensor/tree.ts";
import { markdownTable } from "../tasks/markdown.ts";
import { main, wholeFrom } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import type { Chart } from "../src/charts/chart.ts";
import { chartFile } from "../src/charts/file.ts";
import { type DeviceOptions, openDevice, secondsOf, watchMemory, withTimingOptions } from "./timing.ts";

const adjoints: readonly (readonly [method: MethodName, adjoint: Adjoint])[] = [
  ["rk4", "direct"],
  ["rk4", "checkpoint"],
  ["rk4", "continuous"],
  ["reversible_rk4", "reversible"],
  ["reversible_heun", "reversible"],
];
const allSteps = [100, 1000, 10_000, 100_000];

/** Batch size, features of a sample, and hidden units of the vector field. */
const sizes = { batch: 16, features: 16, width: 16 };
const end = 10;

interface Point {
  readonly steps: number;
  readonly seconds: number;
  /** In bytes. Only available on the CPU device. */
  readonly memory?: number;
  /** The largest difference from the `direct` gradient, relative to its largest element. */
  readonly error: number;
}

/** The gradient of a neural ODE's loss with respect to its parameters, as one list. */
function gradientOf(method: MethodName, adjoint: Adjoint, steps: number): Tensor[] {
  const { batch, features, width } = sizes;
  const field = MLP({
    inputs: features,
    outputs: features,
    width,
    depth: 1,
    activation: "tanh",
    key: key(0),
  });
  const y0 = normal(key(1), [batch, features]);
  const options = { method, adjoint, stepSize: end / steps } as const;
  const loss = () => odeint((_t, y) => field(y), y0, [0, end], options).select(0, 1).square().mean();
  return treeLeaves(valueAndGrad(loss)(field.parameters)[1]);
}

async function distance(found: readonly Tensor[], expected: readonly Tensor[]): Promise<number> {
  const numbers = async (x: Tensor) => await x.item();
  const apart = await Promise.all(found.map((x, i) => numbers(x.sub(expected[i]).abs().max())));
  const largest = await Promise.all(expected.map((x) => numbers(x.abs().max())));
  return Math.max(...apart) / Math.max(...largest);
}

/** Two digits, or all digits before the decimal point. */
const short = (value: number) => value < 99.5 ? value.toPrecision(2) : value.toFixed(0);

const program = withTimingOptions(
  benchCommand("adjoints"),
)
  .option("--out <folder>", "folder for adjoints.md and adjoints.svg", "bench/results")
  .option("--steps <number>", "largest number of steps", wholeFrom(100), 100_000);

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { out, repeats, steps: maxSteps, ...options } = program.opts<
    DeviceOptions & { out: string; repeats: number; steps: number }
  >();
  const device = await openDevice(options);
  const measured = new Map(adjoints.map((one) => [one, [] as Point[]]));
  for (const steps of allSteps.filter((steps) => steps <= maxSteps)) {
    for (const one of adjoints) {
      const [method, adjoint] = one;
      const run = () => gradientOf(method, adjoint, steps);
      const peak = watchMemory(device);
      await secondsOf(device, run);
      const memory = peak();
      const times: number[] = [];
      for (let i = 0; i < repeats; i++) times.push(await secondsOf(device, run));
      const error = await distance(run(), gradientOf(method, "direct", steps));
      const point = { steps, seconds: Math.min(...times), memory, error };
      measured.get(one)!.push(point);
      console.log(`${method} ${adjoint}, ${steps} steps: ${point.seconds.toPrecision(3)} s`);
    }
  }

  const name = ([method, adjoint]: readonly [string, Adjoint]) => `${method}, ${adjoint}`;
  const megabytes = (memory: number) => memory / 2 ** 20;
  const cells = ({ seconds, memory, error }: Point) =>
    [
      `${seconds.toPrecision(2)} s`,
      ...memory === undefined ? [] : [`${short(megabytes(memory))} MiB`],
      error === 0 ? "exact" : error.toExponential(0),
    ].join(", ");
  const [lines] = measured.values();
  const rows = [
    ["method, adjoint", ...lines.map(({ steps }) => `${steps.toLocaleString("en")} steps`)],
    ...[...measured].map(([one, points]) => [name(one), ...points.map(cells)]),
  ];
  const chart = (title: string, unit: string, of: (point: Point) => number): Chart => ({
    title: `${title} by the number of steps`,
    panels: [{
      x: { title: "steps of the solver", scale: "log" },
      y: { title: title.toLowerCase(), unit, scale: "log" },
      marks: [...measured].map(([one, points]) => ({
        ...{ kind: "line", name: name(one) },
        x: points.map(({ steps }) => steps),
        y: points.map(of),
      })),
    }],
  });
  const { batch, features, width } = sizes;
  const text = [
    "# Time and memory of each adjoint",
    `Value and gradient of a neural ODE from t = 0 to ${end}: ${batch} samples of ${features} features, one hidden layer of ` +
    `${width}, float32. Time; peak memory besides parameters and data; and the difference of the gradient from ` +
    "the `direct` gradient of the same method, relative to its largest element. " +
    `Measured on ${device.info.description} by \`deno task bench adjoints\`; the fastest of ${repeats} repeats.`,
    "![Seconds and memory against the number of steps](adjoints.svg)",
    markdownTable(rows),
  ];
  await Deno.mkdir(out, { recursive: true });
  await Deno.writeTextFile(`${out}/adjoints.md`, text.join("\n\n") + "\n");
  const charts = [chart("Time", "s", ({ seconds }) => seconds)];
  if (lines[0].memory !== undefined) {
    charts.push(chart("Memory", "MiB", ({ memory }) => megabytes(memory!)));
  }
  await Deno.writeTextFile(`${out}/adjoints.svg`, chartFile(charts));
  return 0;
});
