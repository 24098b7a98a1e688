/**
 * A command of Weft with an experiment that reads and writes a path outside of its files, and prints what happened:
 * `probing.ts PATH COMMAND ARGUMENTS`.
 */
import { main } from "../../src/commands/command.ts";
import { experimentCommands } from "../../src/commands/mod.ts";
import { narrowPermissions } from "../../src/commands/permissions.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import type { Experiment } from "../../src/train/experiment.ts";

const [path, name, ...args] = Deno.args;

function probe(): void {
  const attempts = {
    read: () => Deno.readTextFileSync(path),
    write: () => Deno.writeTextFileSync(path, "changed"),
    list: () => Array.from(Deno.readDirSync("/")),
  };
  for (const [what, attempt] of Object.entries(attempts)) {
    try {
      attempt();
      console.log(`${what}: possible`);
    } catch (error) {
      console.log(`${what}: ${(error as Error).name}`);
    }
  }
}

const probing: Experiment = {
  ...ownSeries,
  prepare(settings, record) {
    probe();
    return ownSeries.prepare(settings, record);
  },
  open(settings, record) {
    probe();
    return ownSeries.open!(settings, record);
  },
};

narrowPermissions();
const run = await experimentCommands[name].load();
await main(() => run(args, [probing]));
