/** Compares random loops and random programs of tensor operations with their expected results. */
import { init } from "../../mod.ts";
import { checkProgram } from "../programs/check.ts";
import { asCode as asCodeOfProgram } from "../programs/print.ts";
import { type Program, randomProgram } from "../programs/random_program.ts";
import { shrink as shrinkProgram } from "../programs/shrink.ts";
import { asCode, type RandomBody, randomBody, shrink } from "./random_body.ts";
import { difference, optionsOf, tolerances } from "./run_body.ts";
import { hardwareLayouts, withLayouts } from "./check_loops.ts";
import type { WebGpuDevice } from "../../src/device/webgpu/device.ts";
import { fuzzTables } from "../series/fuzz_tables.ts";
import { command, main, number, wholeFrom } from "../../src/commands/command.ts";
import { Option } from "commander";

const program = command(
  "fuzz",
  "Compares random loops, compiled and step by step, and, in float64 on the CPU, random programs of tensor operations with " +
    "naive loops and central differences, at once, under jit, vmap and jvp, in loops and in solves.",
)
  .addOption(
    new Option("--kind <kind>", "kind of cases").choices(["both", "loops", "programs"]).default("both"),
  )
  .option("--tables", "instead: every model on random tables that leave the range of the training table")
  .option("--cases <number>", "cases of each kind", wholeFrom(1), 100)
  .option("--seed <number>", "seed of the first case; later cases use the next seeds", wholeFrom(0), 0)
  .option("--device <name>", "device of the loops: cpu or webgpu", "cpu")
  .option("--implementation <name>", "WebGPU implementation: native or dawn", "native")
  .option("--hardware", "loops on WebGPU run with the workgroups of hardware GPUs", false)
  .option("--jit", "run compiled loops under jit", false)
  .option("--tolerance <number>", "largest relative difference of loops", number({ above: 0 }));

/** Number of failures after which the run stops. */
const maxFailures = 5;

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { kind, ...options } = program.opts<Options & { kind: string }>();
  if (options.tables) return await fuzzTables(options);
  const codes: number[] = [];
  if (kind !== "programs") codes.push(await fuzzLoops(options));
  if (kind !== "loops") codes.push(await fuzzPrograms(options));
  return Math.max(...codes);
});

interface Options {
  readonly cases: number;
  readonly seed: number;
  readonly tables?: true;
  readonly device: "cpu" | "webgpu";
  readonly implementation: "native" | "dawn";
  readonly hardware: boolean;
  readonly jit: boolean;
  readonly tolerance?: number;
}

async function fuzzLoops(
  { cases, seed, device, implementation, hardware, jit, tolerance }: Options,
): Promise<number> {
  const chosen = await init({ device, implementation });
  const run = (body: RandomBody) => difference(body, dtype, { ...optionsOf(body), jit });
  const compare = (body: RandomBody) => {
    if (!hardware) return run(body);
    let found!: ReturnType<typeof run>;
    withLayouts(hardwareLayouts(chosen as WebGpuDevice), () => {
      found = run(body);
    });
    return found;
  };
  const dtype = device === "cpu" ? "float64" : "float32";
  const allowed = tolerance ?? tolerances[dtype];

  let [failures, loops, tried] = [0, 0, 0];
  while (tried < cases && failures < maxFailures) {
    const body = randomBody(seed * 1_000_000 + tried++);
    const outcome = await compare(body).catch((error: Error) => ({
      worst: Infinity,
      where: error.stack ?? "",
      loops: 0,
    }));
    loops += outcome.loops;
    if (outcome.worst <= allowed) continue;
    failures++;
    console.error(`loop ${tried - 1}: ${outcome.where} differs by ${outcome.worst.toExponential(2)}`);
    const fails = async (smaller: RandomBody) =>
      await compare(smaller).then(
        ({ worst }) => !(worst <= allowed),
        () => outcome.worst === Infinity,
      );
    console.error(asCode(await shrink(body, fails), dtype));
  }
  console.log(
    `${tried} random loops on ${chosen.info.description}, ${dtype}: ${loops} loops compiled, ${failures} cases failed`,
  );
  // Fail if no loop was compiled: then nothing was compared.
  return failures > 0 || loops === 0 ? 1 : 0;
}

async function fuzzPrograms({ cases, seed }: Options): Promise<number> {
  const chosen = await init({ device: "cpu" });
  let [failures, loops, derivatives, tried] = [0, 0, 0, 0];
  while (tried < cases && failures < maxFailures) {
    const drawn = randomProgram(seed * 1_000_000 + tried++);
    const report = await checkProgram(drawn);
    loops += report.loops;
    derivatives += report.derivatives;
    const { failure } = report;
    if (!failure) continue;
    failures++;
    console.error(`program ${tried - 1}, ${failure.check}: ${failure.message}`);
    const fails = async (smaller: Program) => (await checkProgram(smaller)).failure?.check === failure.check;
    console.error(asCodeOfProgram(await shrinkProgram(drawn, fails)));
  }
  console.log(
    `${tried} random programs on ${chosen.info.description}, float64: ${derivatives} derivatives compared with differences, ` +
      `${loops} loops compiled, ${failures} cases failed`,
  );
  return failures > 0 || loops === 0 || derivatives === 0 ? 1 : 0;
}
