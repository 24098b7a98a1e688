/** Converts options of experiments to options of a command. */
import { type Command, InvalidArgumentError, Option as CommandOption } from "commander";
import { flag, type Option, optionGroups, type OptionSchema } from "../train/option.ts";

const titles: Readonly<Record<typeof optionGroups[number], string>> = {
  data: "Data:",
  model: "Model:",
  training: "Training:",
  run: "Run:",
};

/** Adds options to a command, by group. */
export function addOptions(program: Command, schema: OptionSchema): Command {
  for (const group of optionGroups) {
    const options = Object.entries(schema).filter(([, option]) => option.group === group);
    for (const [name, option] of options) {
      program.addOption(commandOption(name, option).helpGroup(titles[group]));
    }
  }
  return program;
}

function commandOption(name: string, option: Option): CommandOption {
  const { placeholder, help } = option;
  const flags = placeholder === undefined ? flag(name) : `${flag(name)} <${placeholder}>`;
  const parser = new CommandOption(flags, `${help}${rangeAndDefault(option)}`);
  if (placeholder === undefined) return parser;
  return parser.argParser((text) => {
    const value = option.parse(text);
    if (!option.accepts(value)) throw new InvalidArgumentError(`Expected ${option.expected}.`);
    return value;
  });
}

/** Range and default of an option, for help. */
function rangeAndDefault({ range, default: value, implied }: Option): string {
  const shown = value ?? implied;
  const parts = [
    ...(range === undefined ? [] : [range]),
    ...(shown === undefined ? [] : [`default: ${shown}`]),
  ];
  return parts.length > 0 ? ` (${parts.join("; ")})` : "";
}

/** Name of an option in the parsed command line: commander stores `--no-refit` as the negation of `refit`. */
function parsedName(name: string): string {
  return /^no[A-Z]/.test(name) ? name[2].toLowerCase() + name.slice(3) : name;
}

/** Options given on the command line, in the form of a run's configuration. */
export function chosenOptions(program: Command, schema: OptionSchema): Record<string, unknown> {
  const chosen: Record<string, unknown> = {};
  const values = program.opts();
  for (const [name, { within }] of Object.entries(schema)) {
    const parsed = parsedName(name);
    if (program.getOptionValueSource(parsed) !== "cli") continue;
    const value = parsed === name ? values[name] : !values[parsed];
    if (within === undefined) chosen[name] = value;
    else chosen[within] = { ...chosen[within] as object, [name]: value };
  }
  return chosen;
}
