/**
 * Compares random loops and random programs of tensor operations with their expected results, and forecasts of random
 * calendars with their true times.
 */
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
import { checkForecasts, checkTimes, modelOf } from "../calendars/check_calendar.ts";
import { randomCalendar } from "../calendars/random_calendar.ts";
import { Option } from "commander";

const program = command(
  "fuzz",
  "Compares random loops, compiled and step by step, and, in float64 on the CPU, random programs of tensor operations with " +
    "naive loops and central differences, at once, under jit, vmap and jvp, in loops and in solves. With --kind calendars, " +
    "compares forecasts of tables of weekdays, opening hours, months and other steps with their true times. With --kind tables, trains every model on random tables that leave the " +
    "range of the training table.",
)
  .addOption(
    new Option("--kind <kind>", "kind of cases").choices(["both", "loops", "programs", "calendars", "tables"])
      .default(
        "both",
      ),
  )
  .option("--models <number>", "a model is fitted to every n-th calendar", wholeFrom(1), 4)
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
  const codes: number[] = [];
  if (kind === "both" || kind === "loops") codes.push(await fuzzLoops(options));
  if (kind === "both" || kind === "programs") codes.push(await fuzzPrograms(options));
  if (kind === "calendars") codes.push(await fuzzCalendars(options));
  if (kind === "tables") codes.push(await fuzzTables(options));
  return Math.max(...codes);
});

interface Options {
  readonly cases: number;
  readonly models: number;
  readonly seed: number;
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

async function fuzzCalendars({ cases, seed, models }: Options): Promise<number> {
  let [failures, tried] = [0, 0];
  const fitted = new Map<string, number>();
  while (tried < cases && failures < maxFailures) {
    const place = tried++;
    const one = randomCalendar(seed * 1_000_000 + place);
    const model = place % models === 0 ? modelOf(place / models) : undefined;
    if (model) fitted.set(model, (fitted.get(model) ?? 0) + 1);
    const failure = await checkTimes(one).catch((error: Error) => error.stack) ??
      (model && await checkForecasts(one, model).catch((error: Error) => error.stack));
    if (!failure) continue;
    failures++;
    const { kind, zone = "UTC", calendar = "auto", rows } = one;
    console.error(`calendar ${place}, ${kind}, ${zone}, --calendar ${calendar}: ${failure}`);
    console.error(rows.map(({ series, time, x }) => `${series},${time},${x ?? ""}`).join("\n"));
  }
  const counts = [...fitted].map(([model, count]) => `${model} ${count}`).join(", ");
  console.log(`${tried} random calendars, models fitted: ${counts}; ${failures} cases failed`);
  return failures > 0 ? 1 : 0;
}
