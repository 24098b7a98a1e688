/** Attacks the commands and the library. Each case must give the same result, or a one-line error. */
import { attack } from "./attack.ts";
import { killTrainings } from "./kills.ts";
import { killServers } from "./serving/restarts.ts";
import { describeSoak, soakServer } from "./serving/soak.ts";
import { command, main, number, wholeFrom } from "../../src/commands/command.ts";

const program = command(
  "torture",
  "Damages run folders, tables and archives, calls the library wrongly and kills trainings. Each case must give the same " +
    "result as without the fault, or a one-line error with a nonzero exit code.",
)
  .option("--seed <number>", "seed of the cases", wholeFrom(0), 0)
  .option("--cases <number>", "number of cases", wholeFrom(1), 500)
  .option("--from <number>", "the first case, to repeat a case", wholeFrom(0), 0)
  .option(
    "--seconds <number>",
    "time after which no more cases start, in seconds",
    number({ above: 0 }),
    Infinity,
  )
  .option(
    "--processes <number>",
    "number of processes that run cases",
    wholeFrom(1),
    navigator.hardwareConcurrency,
  )
  .option("--verbose", "print every case")
  .option(
    "--kills <number>",
    "kills of each of three trainings, on one and on two threads, instead of cases",
    wholeFrom(1),
  )
  .option("--server <seconds>", "attack a server for this time, instead of cases", number({ above: 0 }))
  .option("--attacks <names...>", "attacks on the server (default: all)")
  .option("--restarts <number>", "kills of a server that keeps its streams, instead of cases", wholeFrom(1));

type Options = {
  seed: number;
  cases: number;
  from: number;
  seconds: number;
  processes: number;
  verbose?: true;
  kills?: number;
  server?: number;
  attacks?: string[];
  restarts?: number;
};

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { verbose, kills, server, attacks, restarts, ...options } = program.opts<Options>();
  if (kills !== undefined) return await killed(kills, options.seed);
  if (server !== undefined) {
    return await inFolder(async (folder) => {
      const soaked = await soakServer(folder, server, attacks);
      console.log(describeSoak(soaked));
      return soaked.faults.length > 0 ? 1 : 0;
    });
  }
  if (restarts !== undefined) {
    return await inFolder(async (folder) => {
      const { kills, answers, fault } = await killServers(folder, restarts, options.seed);
      console.log(`${kills} kills of a server, ${answers} answers: ${fault ?? "as without kills"}`);
      return fault ? 1 : 0;
    });
  }
  const counts: Record<string, number> = {};
  let faults = 0;
  const done = await attack({
    ...options,
    onResult({ number, family, what, fault }) {
      counts[family] = (counts[family] ?? 0) + 1;
      if (fault) faults++;
      if (fault || verbose) console.log(`case ${number}, ${family}: ${what}${fault ? `\n  ${fault}` : ""}`);
    },
  });
  const shares = Object.entries(counts).map(([family, count]) => `${count} ${family}`).sort().join(", ");
  console.log(`${done} cases of seed ${options.seed} (${shares}): ${faults} faults`);
  if (faults > 0) {
    console.log(`to repeat a case: deno task torture --seed ${options.seed} --cases 1 --from <its number>`);
  }
  return faults > 0 ? 1 : 0;
});

/** Kills trainings, prints the results, and returns the exit code. */
async function killed(kills: number, seed: number): Promise<number> {
  let faults = 0;
  await killTrainings(kills, seed, ({ training, threads, phases, ended, fault }) => {
    if (fault) faults++;
    const moments = Object.entries(phases).map(([phase, count]) => `${count} ${phase}`).sort().join(", ");
    console.log(
      `${training} on ${threads} ${threads === 1 ? "thread" : "threads"}, killed ${moments}: ` +
        (fault ?? `${ended} gave the results of an uninterrupted training`),
    );
  });
  return faults > 0 ? 1 : 0;
}

/** Calls a function with a temporary folder. */
async function inFolder<T>(body: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "torture" });
  try {
    return await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
