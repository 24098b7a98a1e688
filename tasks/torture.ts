/** Attacks the commands and the library: each case must end in the same result, or in an error in a line. */
import { attack } from "../tests/torture/attack.ts";
import { command, main, number } from "./command.ts";

const program = command(
  "torture",
  "Damages run folders, tables and archives, calls the library wrongly and kills trainings. Each case must end in the same " +
    "result as without the fault, or in an error in a line with a status above zero.",
)
  .option("--seed <number>", "decides the cases", number({ from: 0, whole: true }), 0)
  .option("--cases <number>", "how many", number({ from: 1, whole: true }), 500)
  .option("--from <number>", "the first one, to see a case again", number({ from: 0, whole: true }), 0)
  .option("--seconds <number>", "after which no more are begun", number({ above: 0 }), Infinity)
  .option(
    "--processes <number>",
    "that run cases",
    number({ from: 1, whole: true }),
    navigator.hardwareConcurrency,
  )
  .option("--verbose", "tells every case");

type Options = {
  seed: number;
  cases: number;
  from: number;
  seconds: number;
  processes: number;
  verbose?: true;
};

await main(async (args) => {
  program.parse(args, { from: "user" });
  const { verbose, ...options } = program.opts<Options>();
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
