/**
 * Benchmarks for machines with a GPU: first the wait, launches, products, loops and compile times; then the large workloads on WebGPU compared with PyTorch and JAX on the same
 * GPU, and the constants that `src/compile/program/cost.ts` uses to choose executors. Writes a table and a file of
 * JSON lines.
 */
import { join } from "node:path";
import { Option } from "commander";
import { key, normal, scan, type Tensor, valueAndGrad, zeros } from "../mod.ts";
import { Uncompilable } from "../src/compile/trace/uncompilable.ts";
import type { Device } from "../src/device/device.ts";
import { machineOf } from "./plans/machines.ts";
import type { WebGpuDevice } from "../src/device/webgpu/device.ts";
import { markdownTable } from "../tasks/markdown.ts";
import { main, path, prepareDrivers, wholeFrom } from "../src/commands/command.ts";
import { benchCommand } from "./programs.ts";
import { compare, type Comparison, comparisonTable, type PeerOptions, weft } from "./peers/compare.ts";
import { openDevice, timeBest } from "./timing.ts";
import { dependentLaunch, type Probe, type ProbeScale, runProbes } from "./gpu_probes.ts";
import { prepare } from "./workloads.ts";

/**
 * Sizes of the probes, of the workloads, of and of the recurrences that compare two executors.
 */
interface Scale {
  readonly probes: ProbeScale;
  readonly workloads: readonly string[];
  readonly recurrence: { readonly batch: number; readonly steps: number; readonly sizes: readonly number[] };
}

const scales: Record<string, Scale> = {
  // As in the papers: Kidger et al. (2020), D.4; Irie et al. (2022), table 3; Nzoyem et al. (2025), appendix
  // C.
  paper: {
    probes: {
      ...{ launches: 1000, repeats: 3 },
      products: [
        ["of squares", 4096, 4096, 4096],
        ["of few rows", 128, 4898, 4898],
        ["gradient of a transition", 4898, 4096, 4898],
        ["of a narrow layer", 16384, 40, 1890],
      ],
      loops: ["ncde-character-direct", "ncde-speech-adjoint", "fwp-cde-speech-delta", "warp-msd"],
    },
    workloads: [
      "ncde-speech-adjoint@1024",
      "fwp-cde-speech-delta",
      "warp-msd@1024x256",
      "spline-dense",
      "matmul@4096",
    ],
    recurrence: { batch: 1024, steps: 64, sizes: [64, 128, 192, 256, 384, 512, 768, 1024] },
  },
  small: {
    probes: {
      ...{ launches: 20, repeats: 1 },
      products: [
        ["of squares", 64, 64, 64],
        ["of few rows", 8, 70, 70],
        ["gradient of a transition", 70, 40, 70],
        ["of a narrow layer", 128, 8, 90],
      ],
      loops: ["ncde-character-direct@2x4", "warp-spirals@4x8"],
    },
    workloads: [
      "ncde-speech-adjoint@2x4",
      "fwp-cde-speech-delta@2x4",
      "warp-spirals@4x8",
      "spline-dense@4x9",
      "matmul@64",
    ],
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

async function measureFigures(
  device: Device,
  scale: Scale,
  repeats: number,
  probes: readonly Probe[],
): Promise<Figure[]> {
  const at = { ...scale, repeats };
  return [
    {
      figure: "rate",
      meaning: "operations per second of the fastest product",
      value: Math.max(...probes.map(({ rate = 0 }) => rate)),
    },
    {
      figure: "launch",
      meaning: "seconds of a launch of a kernel that depends on the last one",
      value: probes.find(({ probe }) => probe === dependentLaunch)!.seconds,
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

/** Constants of the device, in the form of `cost.ts` and `machines.ts`. */
function constants(device: WebGpuDevice, figures: readonly Figure[]): string {
  const { name, rates } = machineOf(device);
  const number = (value: number) => value.toExponential(1).replace("e+", "e");
  const list = (values: Record<string, number>) =>
    Object.entries(values).map(([key, value]) => `${key}: ${number(value)}`).join(", ");
  const { rate, launch, read, sums, copies } = Object.fromEntries(
    figures.map(({ figure, value }) => [figure, value]),
  );
  return [
    "```ts",
    `// src/compile/program/cost.ts, machineOf: ${name}`,
    `return { ${list({ read, copies, sums, rate, launch })} };`,
    `// bench/plans/machines.ts, rates of ${name}; products: the share of ${
      number(rates.arithmetic)
    } operations per second`,
    `${list({ launch, products: rate / rates.arithmetic })},`,
    "```",
  ].join("\n");
}

function probeTable(probes: readonly Probe[]): string {
  const seconds = (value: number) => `${(1e6 * value).toPrecision(3)} us`;
  return markdownTable([
    ["probe", "time", "GFLOP/s", "estimate"],
    ...probes.map(({ probe, seconds: measured, rate, estimate }) => [
      probe,
      seconds(measured),
      rate === undefined ? "" : (rate / 1e9).toPrecision(3),
      estimate === undefined ? "" : seconds(estimate),
    ]),
  ]);
}

function page(
  device: WebGpuDevice,
  probes: readonly Probe[],
  comparisons: readonly Comparison[],
  figures: readonly Figure[],
): string {
  return [
    "# On a GPU",
    `Single parts on ${device.info.description}, without the time of a wait. Estimates: from the constants of the most similar ` +
    "GPU in `bench/plans/machines.ts`.",
    probeTable(probes),
    "## Workloads",
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
    "As code:",
    constants(device, figures),
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
    const device = await openDevice(deviceOptions) as WebGpuDevice;
    const lines: object[] = [];
    const write = (line: object) => {
      lines.push({ device: device.info.description, scale: options.scale, ...line });
      console.error(JSON.stringify(lines.at(-1)));
    };
    const probes = await runProbes(device, scale.probes, write);
    const comparisons: Comparison[] = [];
    for (const workload of scale.workloads) {
      try {
        const comparison = await compare(
          workload,
          () => weft(() => prepare(workload).step, deviceOptions),
          peers,
        );
        comparisons.push(comparison);
        write(comparison);
      } catch (error) {
        // A workload that exceeds the GPU's memory must not stop the others.
        write({ workload, error: (error as Error).message.split("\n")[0] });
      }
    }
    const figures = await measureFigures(device, scale, repeats, probes);
    figures.forEach(write);
    const text = page(device, probes, comparisons, figures);
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
