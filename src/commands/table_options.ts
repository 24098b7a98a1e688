/** Options about a table that differs from the one that a run was trained on. */
import type { Command } from "commander";
import type { TableOptions } from "../data/table/options.ts";
import { tableOptions } from "../series/settings.ts";
import { checkValues, type Experiment } from "../train/experiment.ts";
import { addOptions, chosenOptions } from "./experiment_options.ts";

/** Columns by which a model was trained, which another table cannot change. */
const trained = ["group", "static", "known", "category"];

const schema = Object.fromEntries(Object.entries(tableOptions).filter(([name]) => !trained.includes(name)));

/** Adds the options. */
export function addTableOptions(program: Command): Command {
  return addOptions(program, schema).addHelpText(
    "after",
    "\nOptions of data describe a table that is written otherwise than the one that the run was trained on.",
  ).option("--no-wide", "a row is an observation");
}

/**
 * The options of the table on the command line.
 *
 * @throws {OptionError} If there are some, and the experiment reads no table.
 */
export function tableOf(program: Command, experiment: Experiment): TableOptions {
  const chosen = chosenOptions(program, schema);
  checkValues(experiment, chosen);
  return chosen.table ?? {};
}
