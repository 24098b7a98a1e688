/** Attacks the commands and the library. Each case must give the same result, or a one-line error. */
import { attack } from "./attack.ts";
import { killTrainings } from "./kills.ts";
import { command, main, number, wholeFrom } from "../../src/commands/command.ts";

const program = command(
  "torture",
  "Damages run folders, tables and archives, calls the library wrongly and kills trainings. Each case must end in the same " +
    "result as without the fault, or in an error in a line with a status above zero.",
)
  .option("--seed <number>", "decides the cases", wholeFrom(0), 0)
  .option("--cases <number>", "how many", wholeFrom(1), 500)
  .option("--from <number>", "the first one, to see a case again", wholeFrom(0), 0)
  .option("--seconds <number>", "after which no more are begun", number({ above: 0 }), Infinity)
  .option(
    "--processes <number>",
    "that run cases",
    wholeFrom(1),
    navigator.hardwareConcurrency,
  )
  .option("--verbose", "tells every case")
  .option(
    "--kills <number>",
    "instead of cases, kills each of three trainings so often on one thread and on two",
    wholeFrom(1),
  );

type Options = {
  seed: number;
  cases: number;
  from: number;
  seconds: number;
  processes: number;
  verbose?: true;
  kills?: number;
};

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { verbose, kills, ...options } = program.opts<Options>();
  if (kills !== undefined) return await killed(kills, options.seed);
  const counts: Record<string, number> = {};
  let faults = 0;
  const done = await attack({
    ...options,
    onVerdict({ number, family, what, fault }) {
      counts[family] = (counts[family] ?? 0) + 1;
      if (fault) faults++;
      if (fault || verbose) console.log(`case ${number}, ${family}: ${what}${fault ? `\n  ${fault}` : ""}`);
    },
  });
  const shares = Object.entries(counts).map(([family, count]) => `${count} ${family}`).sort().join(", ");
  console.log(`${done} cases of seed ${options.seed} (${shares}): ${faults} faults`);
  if (faults > 0) {
    console.log(`to see one again: deno task torture --seed ${options.seed} --cases 1 --from <its number>`);
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
        (fault ?? `${ended} came to the numbers of one that was not killed`),
    );
  });
  return faults > 0 ? 1 : 0;
}
