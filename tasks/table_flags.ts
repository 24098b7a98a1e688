/** Options of tables, for the commands that read them. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { timeUnits } from "../src/data/format.ts";
import {
  delimiters,
  duplicateRules,
  encodings,
  tableOptionNames,
  type TableOptions,
} from "../src/data/table/options.ts";
import { experimentNamed, type RunConfig } from "../src/train/mod.ts";
import { refuseUnusable } from "../src/train/experiments/experiment.ts";

/** Adds the options of a table to train on. */
export function addTableFlags(program: Command): Command {
  return addNotation(program.optionsGroup("Tables of own-series (docs/own_data.md):"))
    .option("--group <column>", "what series have in common, such as a patient")
    .option("--static <columns>", "one value for a whole series", list)
    .option("--known <columns>", "known ahead of time, such as a holiday", list)
    .option("--category <columns>", "categories, though they look like numbers or are many", list);
}

/** Adds the options of another table than that of the run, which say what differs. */
export function addOtherTableFlags(program: Command): Command {
  return addNotation(
    program.optionsGroup("What differs from the table that the run was trained on (docs/own_data.md):"),
  ).option("--no-wide", "a row is an observation");
}

function addNotation(program: Command): Command {
  return program
    .option("--series <column>", "names the series (default: series)")
    .option("--time <column>", "time of an observation (default: time)")
    .option("--target <columns>", "what is learned, divided by commas (default: label)", list)
    .option("--ignore <columns>", "not read", list)
    .option("--missing <texts>", "stand for a missing value too, divided by commas, as -999,none", list)
    .option("--wide", "a row is a time, and every other column a series")
    .addOption(new Option("--time-unit <name>", "notation of times").choices(timeUnits))
    .option("--zone <name>", "of dates that name none, as Europe/Berlin (default: UTC)")
    .addOption(
      new Option("--duplicates <rule>", "observations at one time that differ (default: refuse)")
        .choices(duplicateRules),
    )
    .addOption(new Option("--encoding <name>", "of a text table").choices(encodings))
    .option("--delimiter <character>", "between the fields of a row, or tab", delimiter)
    .addOption(new Option("--decimal <sign>", "of numbers").choices([".", ","]))
    .option("--query <sql>", "gives the table of a SQLite file");
}

/** Options of a command in two: those of tables, and the others. */
export function splitTable<T extends object>(options: T): { table: TableOptions; others: T } {
  const entries = Object.entries(options);
  const isTable = ([name]: [string, unknown]) => tableOptionNames.includes(name);
  return {
    table: Object.fromEntries(entries.filter(isTable)),
    others: Object.fromEntries(entries.filter((entry) => !isTable(entry))) as T,
  };
}

/** @throws {Error} If options of a table are given, and the run's experiment reads none. */
export function refuseTable(config: RunConfig, table: TableOptions): void {
  if (Object.keys(table).length > 0) {
    refuseUnusable(experimentNamed(config.experiment), { table });
  }
}

/** Names of columns, divided by commas. */
function list(text: string): string[] {
  return text.split(",").map((name) => name.trim()).filter((name) => name !== "");
}

function delimiter(text: string): string {
  const found = text === "tab" || text === "\\t" ? "\t" : text;
  if (delimiters.some((one) => one === found)) return found;
  throw new InvalidArgumentError("Expected one of , ; | or tab.");
}
