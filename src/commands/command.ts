/** Options, numbers and exit codes shared by all commands. */
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { numberOf } from "../data/format.ts";
import { deviceChoices } from "../device/choice.ts";
import { hintFor } from "../device/options.ts";
import { type Bounds, describeBounds, isWithin } from "../train/bounds.ts";
import { flag } from "../train/option.ts";
import { WeftError } from "../device/errors.ts";
import { exists } from "../files/disk.ts";
import { printError, printLines } from "./print.ts";

let caller = "deno task";

/** Sets the name of the program in help texts: `deno task` by default. */
export function callAs(program: string): void {
  caller = program;
}

/** Command line of a command, such as `deno task train`. */
export function callOf(name: string): string {
  return name === caller ? name : `${caller} ${name}`;
}

/**
 * Arguments that start a training with this process's executable: `weft` of `deno task compile`, or Deno in a
 * checkout. Without the lock file, because packages that are loaded on demand would be added to it.
 */
export const trainWords: readonly string[] = Deno.build.standalone
  ? ["train"]
  : ["run", "--quiet", "--no-prompt", "-P=train", "--no-lock", "tasks/train.ts"];

/**
 * Makes a command. Unknown options throw an error with a one-line message; {@linkcode outcome} handles the
 * error.
 */
export function command(name: string, description: string): Command {
  return new Command()
    .name(callOf(name))
    .description(description)
    .exitOverride()
    .allowExcessArguments(false)
    // Querying the environment for colours would need a permission.
    .configureOutput({
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      writeOut: (text) => printLines(text.trimEnd()),
      writeErr: (text) => printLines(text.trimEnd(), "error"),
      outputError: (text, write) =>
        write(`${oneLine(text).replace(/\.$/, "")}; ${callOf(name)} --help lists the options`),
    });
}

function oneLine(message: string): string {
  return message.trim().replaceAll(/\s*\n\s*/g, " ");
}

/** The option `--device`. */
export function deviceOption(): Option {
  return new Option(
    "--device <device>",
    "device; auto: the CPU if it trained the run, else a hardware GPU if available",
  )
    .choices(deviceChoices).default("auto");
}

/** Returns a parser of numbers within bounds, for an option. */
export function number(bounds: Bounds): (text: string) => number {
  return (text) => {
    const value = numberOf(text.trim());
    if (!isWithin(value, bounds)) throw new InvalidArgumentError(`Expected a ${describeBounds(bounds)}.`);
    return value;
  };
}

/** Returns a parser of integers of at least `from`, for an option. */
export function wholeFrom(from: number): (text: string) => number {
  return number({ from, whole: true });
}

/**
 * Makes an argument for a name from a list. The error for another name suggests the nearest one.
 *
 * @param placeholder Placeholder in help, such as `[table]`, or `[names...]` for several names.
 */
export function nameArgument(placeholder: string, description: string, names: readonly string[]): Argument {
  const argument = new Argument(placeholder, description).choices(names);
  return argument.argParser<string | readonly string[] | undefined>((text, previous) => {
    if (!names.includes(text)) {
      const hint = hintFor(text, names);
      throw new InvalidArgumentError(`${hint[0].toUpperCase()}${hint.slice(1)}`);
    }
    return argument.variadic ? [...previous ?? [], text] : text;
  });
}

/** Parses a path, for an option. Rejects "": joining it with a suffix would give an absolute path. */
export function path(text: string): string {
  if (text === "") throw new InvalidArgumentError("Expected a path.");
  return text;
}

/**
 * Checks a data path from the command line.
 *
 * @throws {Error} If the path does not exist.
 */
export async function requireOwnData(path: string): Promise<void> {
  if (await exists(path)) return;
  throw new Error(`${path}: no such file or folder; expected the data that the run was started with`);
}

/**
 * Sets XDG_RUNTIME_DIR if the session has none (container, service). This silences a harmless Mesa warning.
 */
export function prepareDrivers(): void {
  const variable = "XDG_RUNTIME_DIR";
  const { state } = Deno.permissions.querySync({ name: "env", variable });
  if (state === "granted" && !Deno.env.get(variable)) Deno.env.set(variable, "/tmp");
}

/** Signals that stop a command. Windows does not support listening to SIGTERM. */
export const stopSignals: readonly Deno.Signal[] = Deno.build.os === "windows"
  ? ["SIGINT"]
  : ["SIGINT", "SIGTERM"];

/** Whether arguments of `train` start a view. Without a view, training needs no network. */
export function showsView(args: readonly string[]): boolean {
  return args.some((arg) => /^--view(=|$)/.test(arg));
}

/** Quotes a word for a shell. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Runs a command with its arguments, and returns the exit code. */
export type CommandBody = (args: string[]) => Promise<number>;

/** The first of several errors: a failure, and not the failures of cleaning up after it. */
function firstError(error: unknown): unknown {
  return error instanceof SuppressedError ? firstError(error.suppressed) : error;
}

/** Runs a command, and returns the exit code. User errors are printed in one line. */
export async function outcome(body: CommandBody, args: string[]): Promise<number> {
  try {
    return await body(args);
  } catch (thrown) {
    const error = firstError(thrown);
    // Commander has already printed the message.
    if (error instanceof CommanderError) return error.exitCode;
    const isDefect = !(error instanceof Error) || error instanceof TypeError ||
      error instanceof ReferenceError;
    const text = error instanceof WeftError ? error.writtenWith(flag).message : (error as Error).message;
    if (isDefect) printLines(error instanceof Error ? error.stack ?? `${error}` : `${error}`, "error");
    else printError(`error: ${oneLine(text)}`);
    return 1;
  }
}

/** Runs a command as the whole process. */
export async function main(body: CommandBody): Promise<never> {
  Deno.exit(await outcome(body, Deno.args));
}
