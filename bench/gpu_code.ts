/**
 * The shaders of all workloads for a GPU that is not there. Writes the WGSL of each shader module to a folder. A compiler of machine
 * code, if its command is given, describes them, and the figures become `gpu_code.md`. No GPU is needed, and nothing is computed.
 */
import { tidy } from "../mod.ts";
import { openNullGpu } from "./plans/null_gpu.ts";
import { main, path } from "../src/commands/command.ts";
import { setCurrentDevice } from "../src/device/current.ts";
import type { Machine } from "./plans/machines.ts";
import { markdownTable } from "../tasks/markdown.ts";
import { layouts, readRows, steps } from "./gpu_layouts.ts";
import { benchCommand } from "./programs.ts";
import { prepare } from "./workloads.ts";

/** GPU families whose machine code is described: RDNA 2 and GCN 5 of AMD. */
const families = ["NAVI21", "VEGA10"] as const;

/** A basic block of machine code. */
interface Block {
  readonly multiplyAdds: number;
  readonly instructions: number;
  readonly sharedReads: number;
  readonly loads: number;
  readonly waits: number;
}

/** Machine code of an entry point. The hot blocks are those with most multiply-adds. */
export interface CodeRow {
  readonly family: string;
  readonly shader: string;
  readonly instructions: number;
  readonly cycles: number;
  readonly registers: number;
  readonly spilled: number;
  readonly sharedBytes: number;
  readonly waves: number;
  readonly blocks: readonly Block[];
}

/**
 * The shader modules of a training step by name: the label of the module, and its number among those with the label.
 *
 * @param make Prepares the step on the current device.
 */
export function shadersOf(
  make: () => { readonly step: () => unknown },
  machine: Machine,
): Map<string, string> {
  const { device } = openNullGpu(machine);
  const shaders = new Map<string, string>();
  const counts = new Map<string, number>();
  const gpu = device.gpuDevice as { createShaderModule: GPUDevice["createShaderModule"] };
  const create = gpu.createShaderModule;
  gpu.createShaderModule = (descriptor) => {
    const { label = "", code } = descriptor;
    const count = (counts.get(label) ?? 0) + 1;
    counts.set(label, count);
    shaders.set(`${label}-${count}`, code);
    return create.call(gpu, descriptor);
  };
  setCurrentDevice(device);
  const { step } = make();
  tidy(() => {
    step();
  });
  return shaders;
}

/**
 * Parses the lines of a compiler: `FILE ENTRY: n instructions, n cycles, n registers, n spilled, n bytes shared, n waves`, followed
 * by indented lines for its hot blocks.
 *
 * @throws {Error} If a line has another form.
 */
export function parseCode(family: string, text: string): CodeRow[] {
  const rows: (Omit<CodeRow, "blocks"> & { readonly blocks: Block[] })[] = [];
  const numbers = (line: string) => [...line.matchAll(/\b\d+(?= |$)/g)].map(([number]) => Number(number));
  for (const line of text.split("\n").filter((line) => line.trim() !== "")) {
    const [, indent, name, rest] = /^(\s*)(.+?): (.*)$/.exec(line) ?? [];
    const figures = numbers(rest?.replace(/\(.*?\)/, "") ?? "");
    if (indent === "" && figures.length === 6) {
      const [instructions, cycles, registers, spilled, sharedBytes, waves] = figures;
      const shader = name.replace(".wgsl", "");
      rows.push({ family, shader, instructions, cycles, registers, spilled, sharedBytes, waves, blocks: [] });
    } else if (indent && figures.length === 5 && rows.length > 0) {
      const [multiplyAdds, instructions, sharedReads, loads, waits] = figures;
      rows.at(-1)!.blocks.push({ multiplyAdds, instructions, sharedReads, loads, waits });
    } else {
      throw new Error(`gpu-code: ${JSON.stringify(line)} is no line of figures of a shader or a block`);
    }
  }
  return rows;
}

/** The share of multiply-adds among the instructions of the block with most of them, from 0 to 1. */
export function hotShare({ blocks: [hottest] }: CodeRow): number {
  return hottest ? hottest.multiplyAdds / hottest.instructions : 0;
}

/** Writes the shaders of workloads. Equal shaders are written once. */
async function writeShaders(folder: string, names: readonly string[], only: string): Promise<void> {
  const written = new Set<string>();
  for (const name of names) {
    for (const [memory, machine] of layouts) {
      for (const [shader, code] of shadersOf(steps[name] ?? (() => prepare(name)), machine)) {
        if (written.has(code) || !shader.includes(only)) continue;
        written.add(code);
        const file = `${name} ${memory} ${shader}`.replaceAll(/[^\w@-]+/g, "_");
        await Deno.writeTextFile(`${folder}/${file}.wgsl`, code);
      }
    }
  }
}

/** Runs the compiler for a family of GPUs. Returns what it printed. */
async function compile(compiler: string, folder: string, family: string): Promise<string> {
  const args = [folder, "--family", family, "--blocks", "3", "--rows", "10000"];
  const { code, stdout, stderr } = await new Deno.Command(compiler, { args, stderr: "piped" }).output();
  if (code === 0) return new TextDecoder().decode(stdout);
  throw new Error(`gpu-code: ${compiler} failed with code ${code}: ${new TextDecoder().decode(stderr)}`);
}

const percent = (share: number) => `${Math.round(100 * share)} %`;

function table(rows: readonly CodeRow[], before: readonly CodeRow[]): string {
  const keyOf = ({ family, shader }: CodeRow) => `${family} ${shader}`;
  const earlier = new Map(before.map((row) => [keyOf(row), row]));
  const columns: readonly (readonly [title: string, value: (row: CodeRow) => string])[] = [
    ["cycles", ({ cycles }) => cycles.toLocaleString("en")],
    ["instructions", ({ instructions }) => instructions.toLocaleString("en")],
    [
      "multiply-adds of the hottest block",
      ({ blocks: [hottest] }) => hottest ? `${hottest.multiplyAdds} of ${hottest.instructions}` : "-",
    ],
    ["share", (row) => percent(hotShare(row))],
    ["shared reads", ({ blocks: [hottest] }) => `${hottest?.sharedReads ?? 0}`],
    ["loads", ({ blocks: [hottest] }) => `${hottest?.loads ?? 0}`],
    ["waits", ({ blocks: [hottest] }) => `${hottest?.waits ?? 0}`],
    ["registers", ({ registers }) => `${registers}`],
    ["waves", ({ waves }) => `${waves}`],
  ];
  const body = rows.map((row) => {
    const then = earlier.get(keyOf(row));
    return [
      row.shader,
      ...columns.map(([, value]) => {
        const now = value(row);
        return !then || value(then) === now ? now : `${value(then)} -> ${now}`;
      }),
    ];
  });
  return markdownTable([["shader", ...columns.map(([title]) => title)], ...body]);
}

/** Shares of the hottest blocks and cycles of the shaders that also have earlier figures. */
function summary(rows: readonly CodeRow[], before: readonly CodeRow[]): string {
  const earlier = new Set(before.map(({ shader }) => shader));
  const both = rows.filter(({ shader }) => before.length === 0 || earlier.has(shader));
  const line = (all: readonly CodeRow[]) => {
    const shares = all.map(hotShare).filter((share) => share > 0).sort((a, b) => a - b);
    const enough = shares.filter((share) => share >= 0.4).length;
    const cycles = all.reduce((sum, { cycles }) => sum + cycles, 0);
    return `${enough} of ${shares.length} hottest blocks with multiply-adds have at least 40 %, the median ${
      percent(shares[Math.floor(shares.length / 2)] ?? 0)
    }; ${cycles.toLocaleString("en")} cycles in all`;
  };
  const names = new Set(both.map(({ shader }) => shader));
  const then = before.filter(({ shader }) => names.has(shader));
  return `${line(both)}.${then.length > 0 ? ` Before, ${line(then)}.` : ""}`;
}

function page(rows: readonly CodeRow[], before: readonly CodeRow[]): string {
  return [
    "# Machine code of the kernels",
    "Written by `deno task bench gpu-code --compiler COMMAND --only loop` without a GPU, from the shaders of all workloads for an " +
    "adapter with 16, 32 and 48 KiB of workgroup memory. A compiler for AMD's GPUs made the machine code: NAVI21 is RDNA 2, " +
    "VEGA10 is GCN 5. Nothing was run. Cycles: the compiler's estimate of the inverse throughput of a wave, which guesses how " +
    "often loops and branches run. The hottest block: the basic block with most multiply-adds. A multiply-add whose addend is " +
    "zero becomes a multiplication and is not counted. Names: workload, KiB of workgroup memory, kernel, number. Equal shaders have " +
    "one row. `docs/internals/compiled_loops.md` says why some blocks have fewer multiply-adds." +
    (before.length > 0 ? " `a -> b`: a before, b now." : ""),
    ...families.flatMap((family) => {
      const of = (all: readonly CodeRow[]) => all.filter((row) => row.family === family);
      return [`## ${family}`, summary(of(rows), of(before)), table(of(rows), of(before))];
    }),
  ].join("\n\n") + "\n";
}

if (import.meta.main) {
  const program = benchCommand("gpu-code")
    .option("--compiler <command>", "command that describes the machine code of a folder of WGSL files", path)
    .option("--before <file>", "printed lines of an earlier run, whose figures the table also lists", path)
    .option("--only <text>", "shaders whose names contain a text (default: all)")
    .option("--shaders <folder>", "folder for the WGSL files (default: a temporary folder)", path)
    .option("--out <folder>", "folder for gpu_code.md", path, "bench/results")
    .argument("[workloads...]", "names of workloads (default: all)");
  await main(async (args) => {
    program.parse(args, { from: "user" });
    const options = program.opts<
      { compiler?: string; before?: string; only?: string; shaders?: string; out: string }
    >();
    const { compiler, before, only = "", out } = options;
    const folder = options.shaders ?? await Deno.makeTempDir();
    await Deno.mkdir(folder, { recursive: true });
    await writeShaders(folder, program.args.length > 0 ? program.args : Object.keys(steps), only);
    console.error(`shaders: ${folder}`);
    if (!compiler) return 0;
    const rows: CodeRow[] = [];
    for (const family of families) rows.push(...parseCode(family, await compile(compiler, folder, family)));
    rows.sort((a, b) => a.shader < b.shader ? -1 : 1);
    for (const row of rows) console.log(JSON.stringify(row));
    await Deno.mkdir(out, { recursive: true });
    await Deno.writeTextFile(`${out}/gpu_code.md`, page(rows, before ? await readRows<CodeRow>(before) : []));
    return 0;
  });
}
