/**
 * Times a training step of a Neural CDE against length, batch and hidden size, one of them at a time, and writes a table
 * and a plot.
 */
import { command, main, number } from "../tasks/command.ts";
import { neuralCde, type NeuralCdeSizes } from "./models.ts";
import { type DeviceOptions, openDevice, timeStep } from "./timing.ts";

/** Where the others grow from: as for CharacterTrajectories. */
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
  /** In bytes, where it is known. */
  readonly memory?: number;
  /** Multiplications and additions a second of the vector field's products, forward and backward. */
  readonly rate: number;
}

/** Floating-point operations of a step's matrix products: forward, again from each saved state, and twice backward. */
function operations({ batch, length, channels, hidden, width, depth }: NeuralCdeSizes): number {
  const field = hidden * width + (depth - 1) * width * width + width * hidden * channels + hidden * channels;
  return 4 * 2 * field * batch * 4 * (length - 1);
}

function table({ name }: Series, points: readonly Point[]): string {
  const rows = points.map(({ value, seconds, memory, rate }) => [
    value.toLocaleString("en"),
    seconds.toPrecision(3),
    (rate / 1e9).toPrecision(3),
    memory === undefined ? "" : (memory / 2 ** 20).toPrecision(3),
  ]);
  return [[name, "step (s)", "GFLOP/s", "memory (MiB)"], Array(4).fill("---:"), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

const panel = { width: 300, height: 260, left: 52, right: 12, top: 34, bottom: 44 };

/** Panels side by side, both axes logarithmic; the dashed lines grow in proportion. */
function plot(measured: readonly { series: Series; points: readonly Point[] }[]): string {
  const all = measured.flatMap(({ points }) => points.map(({ seconds }) => seconds));
  const [low, high] = [Math.floor(Math.log10(Math.min(...all))), Math.ceil(Math.log10(Math.max(...all)))];
  const panels = measured.map(({ series: { name }, points }, i) => {
    const [first, last] = [points[0], points[points.length - 1]];
    const share = (value: number) => Math.log(value / first.value) / Math.log(last.value / first.value);
    const x = (value: number) => panel.left + share(value) * (panel.width - panel.left - panel.right);
    const y = (seconds: number) =>
      panel.top + (high - Math.log10(seconds)) / (high - low) * (panel.height - panel.top - panel.bottom);
    const at = ({ value, seconds }: { value: number; seconds: number }) =>
      `${x(value).toFixed(1)},${y(seconds).toFixed(1)}`;
    const grid = Array.from({ length: high - low + 1 }, (_, k) => 10 ** (low + k)).map((seconds) =>
      `<path class="grid" d="M${panel.left},${y(seconds).toFixed(1)}H${panel.width - panel.right}"/>` +
      `<text x="${panel.left - 6}" y="${(y(seconds) + 4).toFixed(1)}" text-anchor="end">${seconds}</text>`
    );
    // Through the last point; cut off at the bottom.
    const from = Math.max(first.value, last.value * 10 ** low / last.seconds);
    const proportional = [from, last.value].map((value) =>
      at({ value, seconds: last.seconds * value / last.value })
    );
    return `<g transform="translate(${i * panel.width})">` +
      `<text class="title" x="${panel.left}" y="18">${
        i === 0 ? "seconds a step against " : ""
      }${name}</text>` +
      grid.join("") +
      `<path class="proportional" d="M${proportional.join("L")}"/>` +
      `<path class="line" d="M${points.map(at).join("L")}"/>` +
      points.map((point) => {
        const [cx, cy] = at(point).split(",");
        const label = `<text x="${cx}" y="${panel.height - panel.bottom + 18}" text-anchor="middle">` +
          `${point.value}</text>`;
        return `<circle cx="${cx}" cy="${cy}" r="3"/>${label}`;
      }).join("") +
      "</g>";
  });
  const [width, height] = [measured.length * panel.width, panel.height];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}">
<style>
text { font: 10px sans-serif; fill: #444 } .title { font-size: 12px; font-weight: bold }
.grid { stroke: #ddd } .line { stroke: #1762a6; stroke-width: 2; fill: none } circle { fill: #1762a6 }
.proportional { stroke: #999; stroke-dasharray: 4 3 }
</style>
<rect width="100%" height="100%" fill="white"/>
${panels.join("\n")}
</svg>
`;
}

const program = command("bench:growth", "Times a training step against length, batch and hidden size")
  .option("--out <folder>", "where growth.md and growth.svg go", "bench/results")
  .option("--device <name>", "auto, cpu or webgpu", "cpu")
  .option("--implementation <name>", "of WebGPU: native or dawn", "native")
  .option("--threads <number>", "of the CPU", number({ from: 1, whole: true }), navigator.hardwareConcurrency)
  .option("--repeats <number>", "of which the fastest counts", number({ from: 1, whole: true }), 3)
  .parse(["deno", "growth", ...Deno.args]);

await main(async () => {
  const { out, repeats, ...options } = program.opts<DeviceOptions & { out: string; repeats: number }>();
  const device = await openDevice(options);
  const measured: { series: Series; points: Point[] }[] = [];
  for (const one of series) {
    const points: Point[] = [];
    for (const value of one.values) {
      const sizes = one.sizes(value);
      const { step, memory } = await timeStep(
        device,
        neuralCde(sizes, { method: "rk4", stepSize: 1 }),
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
    `${depth} hidden layers, but for what a table varies; \`rk4\`, exact gradients, float32. ` +
    `Measured on ${device.info.description} by \`deno task bench:growth\`; the fastest of ${repeats}.`,
    "![Seconds a step against length, batch and hidden size](growth.svg)",
    ...measured.map(({ series, points }) => table(series, points)),
  ];
  await Deno.mkdir(out, { recursive: true });
  await Deno.writeTextFile(`${out}/growth.md`, text.join("\n\n") + "\n");
  await Deno.writeTextFile(`${out}/growth.svg`, plot(measured));
  return 0;
});
