/** The programs that `deno task bench` runs by name. */
import type { Command } from "commander";
import { command } from "../src/commands/command.ts";

/** A program of this folder. */
interface Program {
  readonly file: string;
  /** Description of the program in help texts. */
  readonly summary: string;
  /** Permission set in `deno.json`. */
  readonly permissions: "default" | "figures" | "processes";
}

const described = {
  workloads: {
    file: "time_workloads.ts",
    summary: "Time the papers' workloads; print one line of JSON per workload",
    permissions: "default",
  },
  runtimes: {
    file: "runtimes.ts",
    summary: "Time the workloads of the papers in Deno, Node and Chromium in turns; write a page",
    permissions: "processes",
  },
  jit: {
    file: "jit.ts",
    summary: "Time training steps with and without jit; print one line of JSON per workload",
    permissions: "default",
  },
  peers: {
    file: "peers/compare.ts",
    summary: "Compare the times of the papers' workloads with PyTorch, Diffrax and WARP's published code",
    permissions: "processes",
  },
  adaptive: {
    file: "adaptive.ts",
    summary: "Time adaptive solves, events and stochastic equations beside Diffrax",
    permissions: "processes",
  },
  gpu: {
    file: "gpu.ts",
    summary:
      "Time launches, products, loops and large workloads on a GPU, beside PyTorch and JAX; measure the constants of the cost model",
    permissions: "processes",
  },
  "gpu-layouts": {
    file: "gpu_layouts.ts",
    summary: "Write the layouts of all workloads on a GPU and estimate their times; needs no GPU",
    permissions: "figures",
  },
  "gpu-code": {
    file: "gpu_code.ts",
    summary:
      "Write the shaders of all workloads, and figures of a compiler about their machine code; needs no GPU",
    permissions: "processes",
  },
  "series-models": {
    file: "series_models.ts",
    summary: "Measure a training step of every model that reads series: seconds and memory",
    permissions: "figures",
  },
  growth: {
    file: "growth.ts",
    summary: "Time a training step against length, batch and hidden size",
    permissions: "figures",
  },
  adjoints: {
    file: "adjoints.ts",
    summary: "Measure time and memory of the gradient against the number of steps, for each adjoint",
    permissions: "figures",
  },
  "fast-weight-memory": {
    file: "fast_weight_memory.ts",
    summary: "Measure the memory of fast weight gradients against the number of steps",
    permissions: "figures",
  },
  warp: {
    file: "warp.ts",
    summary: "Time training steps of WARP's states in each mode",
    permissions: "figures",
  },
  "state-tracking": {
    file: "state_tracking.ts",
    summary: "Train models on words that change a state, and test them on longer words",
    permissions: "figures",
  },
  recall: {
    file: "recall.ts",
    summary: "Train each learning rule on the long recall task",
    permissions: "figures",
  },
  "learning-curves": {
    file: "learning_curves.ts",
    summary: "Write the table and the figure of the returns of runs with MuJoCo",
    permissions: "processes",
  },
  "associative-memory": {
    file: "associative_memory.ts",
    summary: "Plot the recall errors of learning rules after each write",
    permissions: "figures",
  },
  table: {
    file: "read_table.ts",
    summary: "Read a table of a million rows and 20,000 series; print seconds and peak memory as JSON",
    permissions: "processes",
  },
  serve: {
    file: "serve.ts",
    summary: "Time a server with many streams, or send it malformed requests",
    permissions: "processes",
  },
  stream: {
    file: "stream.ts",
    summary: "Time predictions of a stream, and measure its memory",
    permissions: "default",
  },
} as const satisfies Record<string, Program>;

/** The programs by name. */
export const programs: Readonly<Record<string, Program>> = described;

/** The command line of a program. */
export function benchCommand(name: keyof typeof described): Command {
  return command(`bench ${name}`, described[name].summary);
}
