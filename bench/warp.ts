/**
 * Times training steps of WARP's states in each mode for different series lengths, numbers of weights and
 * input channels, and compares the mode with the fewest operations with the fastest mode. Writes a table.
 */
import process from "node:process";
import { key, normal, type Tensor, tidy, valueAndGrad, type WARPMode } from "../mod.ts";
import { cheapestMode, modeCosts } from "../src/models/warp/cost.ts";
import { allStates, finalState } from "../src/models/warp/modes.ts";
import { makeTransition } from "../src/models/warp/transition.ts";
import { markdownTable } from "../tasks/markdown.ts";
import { main, wholeFrom } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { type DeviceOptions, openDevice, withTimingOptions } from "./timing.ts";

/**
 * Series length, state size and input channels, which states are needed, and whether initial states are
 * shared.
 */
interface Shape {
  readonly length: number;
  readonly size: number;
  readonly inputs: number;
  readonly final: boolean;
  /** Whether all samples share one initial state (a learned theta_0) or have different ones (phi). */
  readonly shared: boolean;
  readonly batch?: number;
}

const modes: readonly WARPMode[] = ["recurrent", "convolutional", "chunked"];

const sizes: readonly (readonly [length: number, size: number])[] = [
  [64, 64],
  [1024, 64],
  [16_384, 64],
  [64, 300],
  [1024, 300],
  [4096, 300],
  [64, 1300],
  [784, 1300],
  [64, 4898],
];

/** Sequential MNIST: the training step of a classifier. */
const digits = { length: 784, size: 1300, inputs: 1, final: true, batch: 64 };

const shapes: readonly Shape[] = [
  { ...digits, shared: true },
  { ...digits, shared: false },
  ...[true, false].flatMap((final) =>
    [true, false].flatMap((shared) =>
      sizes.flatMap(([length, size]) =>
        [1, 7].filter((inputs) => inputs === 1 || size === 300 && length < 4096).map((inputs) => ({
          ...{ length, size, inputs, final, shared },
        }))
      )
    )
  ),
];

/** Maximum number of multiplications of a recurrent forward pass. */
const mostOperations = 1.5e9;

/** The largest batch size that fits the time limit, up to a default. */
function batchOf({ batch, length, size }: Shape): number {
  return batch ?? Math.max(16, Math.min(64, Math.floor(mostOperations / (length * size ** 2))));
}

interface Point {
  readonly shape: Shape;
  readonly seconds: Readonly<Record<WARPMode, number>>;
  readonly predicted: WARPMode;
  readonly fastest: WARPMode;
}

/** Steps longer than this number of seconds are not repeated. */
const longStep = 1;

/**
 * Processor seconds of a training step over all threads. Other programs on the machine hardly affect them.
 */
function processorSeconds(step: () => unknown, repeats: number): number {
  let best = Infinity;
  for (let i = 0; i === 0 || i < repeats && best < longStep; i++) {
    const before = process.cpuUsage();
    tidy(() => {
      step();
    });
    const { user, system } = process.cpuUsage(before);
    // The first step includes compilation, which matters for short steps.
    best = Math.min(best, (user + system) / 1e6);
  }
  return best;
}

function measure(shape: Shape, repeats: number): Point {
  const { length, size, inputs, final, shared } = shape;
  const batch = batchOf(shape);
  const transition = makeTransition("dense", size, key(0), "float32");
  const B = normal(key(1), [size, inputs], { standardDeviation: 0.01 });
  const start = normal(key(2), [shared ? 1 : batch, size]);
  const changes = normal(key(3), [batch, length - 1, inputs], { standardDeviation: length ** -0.5 });
  const run = final ? finalState : allStates;
  const step = (mode: WARPMode) =>
    valueAndGrad((_: Tensor[]) => run(mode, { transition, input: B }, start, changes).square().mean())([
      transition.first,
      B,
      start,
    ]);
  const seconds = Object.fromEntries(
    modes.map((mode) => [mode, processorSeconds(() => step(mode), repeats)]),
  ) as Record<WARPMode, number>;
  const costs = modeCosts(transition, {
    ...{ batch, inputs, size, final },
    steps: length - 1,
    starts: shared ? 1 : batch,
  });
  const fastest = modes.reduce((best, mode) => seconds[mode] < seconds[best] ? mode : best);
  return { shape, seconds, predicted: cheapestMode(costs), fastest };
}

function cellsOf({ shape, seconds, predicted, fastest }: Point): string[] {
  const { length, size, inputs, final, shared } = shape;
  const lost = seconds[predicted] / seconds[fastest];
  return [
    final ? "last" : "all",
    shared ? "one" : "each",
    ...[length, size, inputs, batchOf(shape)].map((n) => n.toLocaleString("en")),
    ...modes.map((mode) => seconds[mode].toPrecision(2)),
    (seconds.recurrent / seconds[fastest]).toPrecision(2),
    predicted,
    fastest === predicted ? "" : `${fastest}, ${lost.toFixed(2)} times`,
  ];
}

const program = withTimingOptions(benchCommand("warp"))
  .option("--out <file>", "file of the table", "bench/results/warp.md")
  .option("--skip <number>", "number of first rows to skip", wholeFrom(0), 0)
  .option("--rows <number>", "largest number of rows", wholeFrom(1), shapes.length);

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { out, repeats, skip, rows, ...options } = program.opts<
    DeviceOptions & { out: string; repeats: number; skip: number; rows: number }
  >();
  const device = await openDevice(options);
  const points: Point[] = [];
  for (const shape of shapes.slice(skip, skip + rows)) {
    const point = measure(shape, repeats);
    points.push(point);
    console.log(cellsOf(point).join(", "));
  }
  const agreeing = points.filter(({ predicted, fastest }) => predicted === fastest).length;
  const worst = Math.max(
    ...points.map(({ seconds, predicted, fastest }) => seconds[predicted] / seconds[fastest]),
  );
  const head = [
    "states",
    "starts",
    "T",
    "D",
    "Dx",
    "batch",
    ...modes,
    "faster",
    "predicted",
    "fastest, if different",
  ];
  const text = [
    "# WARP's modes",
    `CPU seconds (of all threads together) of a training step of the states alone, value and gradient of A, B ` +
    `and theta_0, float32; the fastest of ${repeats} repeats if below one second. All states or the last state; one initial state for all samples (a ` +
    "learned theta_0) or one per sample (phi). *Faster*: speedup of the fastest mode over the recurrent mode. *Predicted*: " +
    "the mode with the fewest operations, which is the default. The last column names the fastest mode if it differs, " +
    "and how much longer the predicted mode takes.",
    `Measured on ${device.info.description} by \`deno task bench warp\`. The prediction is correct in ${agreeing} of ` +
    `${points.length} rows; a wrong prediction takes at most ${worst.toFixed(2)} times as long.`,
    markdownTable([head, ...points.map(cellsOf)], [0, 1, 10, 11]),
  ];
  await Deno.writeTextFile(out, text.join("\n\n") + "\n");
  return 0;
});
