/** Options for a table that differs from the training table. */
import type { Command } from "commander";
import type { TableOptions } from "../data/table/options.ts";
import { tableOptions } from "../series/record/settings.ts";
import { checkValues, type Experiment } from "../train/experiment.ts";
import { addOptions, chosenOptions } from "./experiment_options.ts";

/** Options that are fixed by the trained model and cannot differ for another table. */
const trained = ["group", "static", "known", "category"];

const schema = Object.fromEntries(Object.entries(tableOptions).filter(([name]) => !trained.includes(name)));

/** Adds the table options to a command. */
export function addTableOptions(program: Command): Command {
  return addOptions(program, schema).addHelpText(
    "after",
    "\nOptions of data describe a table in another format than the run's training table.",
  ).option("--no-wide", "each row is an observation of one series");
}

/**
 * Table options given on the command line.
 *
 * @throws {OptionError} If there are table options and the experiment does not read tables.
 */
export function tableOf(program: Command, experiment: Experiment): TableOptions {
  const chosen = chosenOptions(program, schema);
  checkValues(experiment, chosen);
  return chosen.table ?? {};
}
