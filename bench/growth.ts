/**
 * Times a training step of a Neural CDE while varying length, batch size or hidden size one at a time. Writes
 * a table and a plot.
 */
import { markdownTable } from "../tasks/markdown.ts";
import { main } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { neuralCde, type NeuralCdeSizes, training } from "./models.ts";
import type { Chart } from "../src/charts/chart.ts";
import { chartFile } from "../src/charts/file.ts";
import { type DeviceOptions, openDevice, timeStep, withTimingOptions } from "./timing.ts";

/** The base sizes: the sizes of CharacterTrajectories. */
const base: NeuralCdeSizes = { batch: 32, length: 101, channels: 4, hidden: 32, width: 32, depth: 3 };

interface Series {
  readonly name: string;
  readonly values: readonly number[];
  readonly sizes: (value: number) => NeuralCdeSizes;
}

const series: readonly Series[] = [
  {
    name: "length",
    values: [100, 300, 1000, 3000, 10_000, 20_000],
    sizes: (steps) => ({ ...base, length: steps + 1 }),
  },
  {
    name: "batch",
    values: [1, 4, 16, 32, 64, 256, 1024, 4096],
    sizes: (batch) => ({ ...base, batch }),
  },
  {
    name: "hidden size",
    values: [8, 16, 32, 64, 128, 256],
    sizes: (hidden) => ({ ...base, hidden, width: hidden }),
  },
];

interface Point {
  readonly value: number;
  readonly seconds: number;
  /** In bytes, if known. */
  readonly memory?: number;
  /** Multiplications and additions per second of the vector field's products, forward and backward. */
  readonly rate: number;
}

/**
 * Floating-point operations of a step's matrix products: forward, recomputation from each saved state, and
 * backward (twice the forward operations).
 */
function operations({ batch, length, channels, hidden, width, depth }: NeuralCdeSizes): number {
  const field = hidden * width + (depth - 1) * width * width + width * hidden * channels + hidden * channels;
  return 4 * 2 * field * batch * 4 * (length - 1);
}

function rowsOf({ name }: Series, points: readonly Point[]): string[][] {
  const rows = points.map(({ value, seconds, memory, rate }) => [
    value.toLocaleString("en"),
    seconds.toPrecision(3),
    (rate / 1e9).toPrecision(3),
    memory === undefined ? "" : (memory / 2 ** 20).toPrecision(3),
  ]);
  return [[name, "step (s)", "GFLOP/s", "memory (MiB)"], ...rows];
}

const program = withTimingOptions(
  benchCommand("growth"),
)
  .option("--out <folder>", "folder for growth.md and growth.svg", "bench/results");

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { out, repeats, ...options } = program.opts<DeviceOptions & { out: string; repeats: number }>();
  const device = await openDevice(options);
  const measured: { series: Series; points: Point[] }[] = [];
  for (const one of series) {
    const points: Point[] = [];
    for (const value of one.values) {
      const sizes = one.sizes(value);
      const { step, memory } = await timeStep(
        device,
        training(neuralCde(sizes, { method: "rk4", stepSize: 1 })),
        repeats,
      );
      points.push({ value, seconds: step, memory, rate: operations(sizes) / step });
      console.log(`${one.name} ${value}: ${step.toPrecision(3)} s`);
    }
    measured.push({ series: one, points });
  }
  const { batch, length, channels, hidden, depth } = base;
  const text = [
    "# Growth of a training step",
    `A Neural CDE: batch ${batch}, ${
      length - 1
    } steps, ${channels} channels, hidden size and width ${hidden}, ` +
    `${depth} hidden layers; each table varies one of these. \`rk4\`, exact gradients, float32. ` +
    `Measured on ${device.info.description} by \`deno task bench growth\`; the fastest of ${repeats} repeats.`,
    "![Seconds per step against length, batch and hidden size](growth.svg)",
    ...measured.map(({ series, points }) => markdownTable(rowsOf(series, points), [])),
  ];
  await Deno.mkdir(out, { recursive: true });
  await Deno.writeTextFile(`${out}/growth.md`, text.join("\n\n") + "\n");
  const all = measured.flatMap(({ points }) => points.map(({ seconds }) => seconds));
  const charts = measured.map(({ series: { name }, points }): Chart => {
    const x = points.map(({ value }) => value);
    const { value, seconds } = points.at(-1)!;
    const proportional = (one: number) => seconds * one / value;
    const shown = x.filter((one) => proportional(one) >= Math.min(...all));
    return {
      title: `Time of a training step by ${name}`,
      panels: [{
        x: { title: name, scale: "log" },
        // All charts have the same vertical axis.
        y: { title: "time of a step", unit: "s", scale: "log", includes: all },
        marks: [
          { kind: "line", name: "measured", x, y: points.map(({ seconds }) => seconds) },
          {
            ...{ kind: "line", name: "proportional", style: "reference" },
            x: shown,
            y: shown.map(proportional),
          },
        ],
      }],
    };
  });
  await Deno.writeTextFile(`${out}/growth.svg`, chartFile(charts));
  return 0;
});
