/** Options, numbers and the exit of every command. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { numberOf } from "../data/format.ts";
import { tableOptionNames } from "../data/table/options.ts";
import { deviceChoices } from "../device/choice.ts";
import { type Bounds, describeBounds, isWithin } from "../train/bounds.ts";
import { flag } from "../train/option.ts";
import { OptionError } from "../train/option_error.ts";
import { exists } from "../files/disk.ts";

let caller = "deno task";

/** Names the program that the commands are called through: `deno task` by default. */
export function callAs(program: string): void {
  caller = program;
}

/** Words that call a command, such as `deno task train`. */
export function callOf(name: string): string {
  return name === caller ? name : `${caller} ${name}`;
}

/** Arguments of the executable of this process to train: the one of `deno task compile`, or Deno. */
export const trainWords: readonly string[] = Deno.build.standalone ? ["train"] : ["task", "--quiet", "train"];

/** A command, which refuses other options than its own in a line. What it throws then, {@linkcode outcome} tells. */
export function command(name: string, description: string): Command {
  return new Command()
    .name(callOf(name))
    .description(description)
    .exitOverride()
    .allowExcessArguments(false)
    // Asking the environment about colours would take a permission.
    .configureOutput({
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      writeOut: (text) => console.log(text.trimEnd()),
      writeErr: (text) => console.error(text.trimEnd()),
      outputError: (text, write) =>
        write(`${oneLine(text).replace(/\.$/, "")}; ${callOf(name)} --help lists the options`),
    });
}

function oneLine(message: string): string {
  return message.trim().replaceAll(/\s*\n\s*/g, " ");
}

/** A message that names options of tables by their flags: `the option timeUnit` is `--time-unit`. */
function withFlags(message: string): string {
  return message.replaceAll(
    /\bthe option (\w+)/g,
    (words, name) => tableOptionNames.includes(name) ? flag(name) : words,
  );
}

/** The option of the device that computes. */
export function deviceOption(): Option {
  return new Option("--device <device>", "where to compute; auto takes a hardware GPU if there is one")
    .choices(deviceChoices).default("auto");
}

/** A reader of numbers within bounds, for an option. */
export function number(bounds: Bounds): (text: string) => number {
  return (text) => {
    const value = numberOf(text.trim());
    if (!isWithin(value, bounds)) throw new InvalidArgumentError(`Expected a ${describeBounds(bounds)}.`);
    return value;
  };
}

/** A reader of whole numbers of at least `from`, for an option. */
export function wholeFrom(from: number): (text: string) => number {
  return number({ from, whole: true });
}

/** A reader of paths, for an option: an empty one would be the root of the file system to what is put behind it. */
export function path(text: string): string {
  if (text === "") throw new InvalidArgumentError("Expected a path.");
  return text;
}

/**
 * Checks a path that the command line gives for the data of a run.
 *
 * @throws {Error} If there is nothing at it.
 */
export async function requireOwnData(path: string): Promise<void> {
  if (await exists(path)) return;
  throw new Error(`${path}: no such file or folder; expected the data that the run was started with`);
}

/**
 * Names a folder for drivers where the session has none (a container, a service), or Mesa's write of an error that is none.
 */
export function prepareDrivers(): void {
  if (!Deno.env.get("XDG_RUNTIME_DIR")) Deno.env.set("XDG_RUNTIME_DIR", "/tmp");
}

/** Signals that ask a command to end: Windows has no SIGTERM to listen to. */
export const stopSignals: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT"]
  : ["SIGINT", "SIGTERM"];

/** A word of a command as a shell takes it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command: what it does with its arguments, to its exit code. */
export type CommandBody = (args: string[]) => Promise<number>;

/** Runs a command to its exit code. What went wrong for a reason that its user can mend is told in a line. */
export async function outcome(body: CommandBody, args: string[]): Promise<number> {
  try {
    return await body(args);
  } catch (error) {
    // Its message stands there already.
    if (error instanceof CommanderError) return error.exitCode;
    const isDefect = !(error instanceof Error) || error instanceof TypeError ||
      error instanceof ReferenceError;
    const message = error instanceof OptionError ? error.commandLineMessage : (error as Error).message;
    console.error(isDefect ? error : `error: ${withFlags(oneLine(message))}`);
    return 1;
  }
}

/** Runs a command as a process. */
export async function main(body: CommandBody): Promise<never> {
  Deno.exit(await outcome(body, Deno.args));
}
