/**
 * Benchmarks for machines with a GPU: the large workloads on WebGPU compared with PyTorch and JAX on the same
 * GPU, and the constants that `src/compile/program/cost.ts` uses to choose executors. Writes a table and a file of
 * JSON lines.
 */
import { join } from "node:path";
import { Option } from "commander";
import { key, normal, scan, type Tensor, valueAndGrad, zeros } from "../mod.ts";
import { Uncompilable } from "../src/compile/trace/uncompilable.ts";
import type { Device } from "../src/device/device.ts";
import { markdownTable } from "../tasks/markdown.ts";
import { main, path, prepareDrivers, wholeFrom } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { compare, type Comparison, comparisonTable, type PeerOptions, weft } from "./peers/compare.ts";
import { openDevice, timeBest } from "./timing.ts";
import { prepare } from "./workloads.ts";

/**
 * Sizes of the workloads, of the product that measures the arithmetic rate, and of the recurrences that
 * compare two executors.
 */
interface Scale {
  readonly workloads: readonly string[];
  readonly product: number;
  readonly recurrence: { readonly batch: number; readonly steps: number; readonly sizes: readonly number[] };
}

const scales: Record<string, Scale> = {
  // As in the papers: Kidger et al. (2020), D.4; Irie et al. (2022), table 3; Nzoyem et al. (2025), appendix
  // C.
  paper: {
    workloads: [
      "ncde-speech-adjoint@1024",
      "fwp-cde-speech-delta",
      "warp-msd@1024x256",
      "spline-dense",
      "matmul@4096",
    ],
    product: 4096,
    recurrence: { batch: 1024, steps: 64, sizes: [64, 128, 192, 256, 384, 512, 768, 1024] },
  },
  small: {
    workloads: [
      "ncde-speech-adjoint@2x4",
      "fwp-cde-speech-delta@2x4",
      "warp-spirals@4x8",
      "spline-dense@4x9",
      "matmul@64",
    ],
    product: 128,
    recurrence: { batch: 8, steps: 4, sizes: [16, 32] },
  },
};

interface Options extends PeerOptions {
  readonly scale: keyof typeof scales;
  readonly implementation: "native" | "dawn";
  readonly out: string;
}

/** A constant of the machine, as in `machineOf` in `src/compile/program/cost.ts`. */
interface Figure {
  readonly figure: "rate" | "launch" | "read" | "sums" | "copies";
  readonly meaning: string;
  readonly value: number;
}

/** Times a recurrence h' = tanh(h W) and its gradient with each executor; seconds per run. */
async function recurrence(
  device: Device,
  { size, batch, steps, gradient }: { size: number; batch: number; steps: number; gradient: boolean },
  repeats: number,
): Promise<Record<"fused" | "stepped", number>> {
  const w = normal(key(0), [size, size], { standardDeviation: 0.5 / Math.sqrt(size) });
  const times = { fused: Infinity, stepped: Infinity };
  for (const executor of ["fused", "stepped"] as const) {
    const loss = (w: Tensor) => {
      const step = (h: Tensor, _row: Tensor): [Tensor, Record<string, never>] => [h.matmul(w).tanh(), {}];
      const [last] = scan(step, zeros([batch, size]).add(1), zeros([steps, 1]), { executor });
      return last.square().mean();
    };
    try {
      const work = gradient ? () => valueAndGrad(loss)(w) : () => loss(w);
      times[executor] = (await timeBest(device, work, repeats)).seconds;
    } catch (error) {
      // A GPU's workgroups may be too small for the state of a sample.
      if (!(error instanceof Uncompilable)) throw error;
      console.error(
        `${executor} with ${size} values is left out: ${(error as Error).message.split("\n")[0]}`,
      );
    }
  }
  return times;
}

/**
 * Bytes of the largest matrix where the fused executor is at least as fast as the stepped executor; zero if
 * there is no such matrix.
 */
async function crossing(
  device: Device,
  { recurrence: { batch, steps, sizes }, repeats, single, gradient }: Scale & {
    repeats: number;
    single: boolean;
    gradient: boolean;
  },
): Promise<number> {
  let bytes = 0;
  for (const size of sizes) {
    const times = await recurrence(device, { size, batch: single ? 1 : batch, steps, gradient }, repeats);
    console.error(JSON.stringify({ size, single, gradient, ...times }));
    if (!(times.fused <= times.stepped && times.fused < Infinity)) break;
    bytes = 4 * size * size;
  }
  return bytes;
}

async function measureFigures(device: Device, scale: Scale, repeats: number): Promise<Figure[]> {
  const size = scale.product;
  const product = await timeBest(device, prepare(`matmul@${size}`).step, repeats);
  const launches = 1000;
  const one = zeros([1]);
  const small = await timeBest(device, () => {
    let x = one;
    for (let i = 0; i < launches; i++) x = x.add(1);
    return x;
  }, repeats);
  const at = { ...scale, repeats };
  return [
    {
      figure: "rate",
      meaning: `operations per second of a product of ${size} rows, columns and terms`,
      value: 2 * size ** 3 / product.seconds,
    },
    {
      figure: "launch",
      meaning: `seconds per kernel on one number, for ${launches} kernels in sequence`,
      value: small.seconds / launches,
    },
    {
      figure: "read",
      meaning: "largest weights, in bytes, for which fused loops are at least as fast as stepped loops",
      value: await crossing(device, { ...at, single: false, gradient: false }),
    },
    {
      figure: "sums",
      meaning:
        "largest weights, in bytes, for which fused loops with the gradient of the weights are at least as fast as stepped loops",
      value: await crossing(device, { ...at, single: false, gradient: true }),
    },
    {
      figure: "copies",
      meaning:
        "largest weights, in bytes, for which fused loops of a single sample are at least as fast as stepped loops",
      value: await crossing(device, { ...at, single: true, gradient: false }),
    },
  ];
}

function page(device: Device, comparisons: readonly Comparison[], figures: readonly Figure[]): string {
  return [
    "# On a GPU",
    `Measured by \`deno task bench gpu\` on ${device.info.description}; seconds of a training step (of splines: coefficients; of ` +
    "matmul: one product), medians of repeats in turns.",
    comparisonTable(comparisons),
    "Constants that `src/compile/program/cost.ts` uses to choose executors:",
    markdownTable(
      [
        ["constant", "meaning", "measured"],
        ...figures.map(({ figure, meaning, value }) => [
          figure,
          meaning,
          value.toPrecision(3),
        ]),
      ],
      [0, 1],
    ),
  ].join("\n\n") + "\n";
}

if (import.meta.main) {
  const program = benchCommand("gpu")
    .addOption(
      new Option("--scale <name>", "paper: sizes of the papers; small: to test the command").choices(
        Object.keys(scales),
      )
        .default("paper"),
    )
    .option("--implementation <name>", "WebGPU implementation: native or dawn", "native")
    .option(
      "--python <path>",
      "path of a Python with the packages that the scripts in bench/peers import",
      "python3",
    )
    .option("--checkouts <folder>", "a folder with the checkouts that the scripts name", path)
    .option("--repeats <number>", "timed steps per implementation", wholeFrom(1), 5)
    .option("--out <folder>", "folder for gpu.md and gpu.jsonl", path, "bench/results");
  await main(async (args) => {
    program.parse(args, { from: "user" });
    prepareDrivers();
    const options = program.opts<Options>();
    const { implementation, repeats, out } = options;
    const scale = scales[options.scale];
    const peers: PeerOptions = { ...options, device: "gpu", threads: navigator.hardwareConcurrency };
    const deviceOptions = { device: "webgpu", implementation, threads: peers.threads } as const;
    const device = await openDevice(deviceOptions);
    const lines: object[] = [];
    const write = (line: object) => {
      lines.push({ device: device.info.description, scale: options.scale, ...line });
      console.error(JSON.stringify(lines.at(-1)));
    };
    const comparisons: Comparison[] = [];
    for (const workload of scale.workloads) {
      try {
        const comparison = await compare(workload, () => weft(workload, deviceOptions), peers);
        comparisons.push(comparison);
        write(comparison);
      } catch (error) {
        // A workload that exceeds the GPU's memory must not stop the others.
        write({ workload, error: (error as Error).message.split("\n")[0] });
      }
    }
    const figures = await measureFigures(device, scale, repeats);
    figures.forEach(write);
    const text = page(device, comparisons, figures);
    await Deno.mkdir(out, { recursive: true });
    await Deno.writeTextFile(join(out, "gpu.md"), text);
    await Deno.writeTextFile(
      join(out, "gpu.jsonl"),
      lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
    console.log(text);
    return 0;
  });
}
