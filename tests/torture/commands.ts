/** Runs commands as a user would, in this process or in a separate process, and checks how they end. */
import { type CommandBody, outcome } from "../../src/commands/command.ts";
import { evaluate } from "../../src/commands/evaluate.ts";
import { predict } from "../../src/commands/predict.ts";
import { train } from "../../src/commands/train.ts";
import { experiments } from "../runs.ts";
import { type Outcome, task } from "../tasks/command_line.ts";

const bodies: Record<"train" | "evaluate" | "predict", CommandBody> = {
  train: (args) => train(args, experiments),
  evaluate: (args) => evaluate(args, experiments),
  predict: (args) => predict(args, experiments),
};

/** A command and its arguments. */
export interface Call {
  readonly command: keyof typeof bodies;
  readonly args: readonly string[];
}

/** Runs a command in this process, without output to the console. */
export async function callHere({ command, args }: Call): Promise<Outcome> {
  const lines: Record<"log" | "error", string[]> = { log: [], error: [] };
  const { log, error, warn } = console;
  // Formatted like the console does: an error that is not a plain message shows its stack.
  const write = (to: string[]) => (...values: unknown[]) =>
    void to.push(values.map((value) => typeof value === "string" ? value : Deno.inspect(value)).join(" "));
  Object.assign(console, { log: write(lines.log), error: write(lines.error), warn: write(lines.error) });
  try {
    const code = await outcome(bodies[command], [...args]);
    return { code, stdout: lines.log.join("\n"), stderr: lines.error.join("\n") };
  } finally {
    Object.assign(console, { log, error, warn });
  }
}

/** Sends a signal to a process that may already have ended. */
export function signal(process: Deno.ChildProcess, name: Deno.Signal): void {
  try {
    process.kill(name);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

/** Runs a command in a separate process, which can be stopped. */
export function startProcess({ command, args }: Call): {
  readonly process: Deno.ChildProcess;
  readonly outcome: Promise<Outcome & { readonly signal: Deno.Signal | null }>;
} {
  const process = task(command, [...args]).spawn();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return {
    process,
    outcome: process.output().then(({ code, signal, stdout, stderr }) => ({
      code,
      signal,
      stdout: text(stdout),
      stderr: text(stderr),
    })),
  };
}

/** Patterns of messages that come from the JavaScript engine, not from the command. */
const raw = new RegExp(
  [
    "Cannot read propert",
    "Cannot destructure",
    "is not a function",
    "is not iterable",
    "is not defined",
    // A message may state that a value was undefined where another value was expected.
    "(?<!got )undefined(?!, expected)",
    "\\[object ",
    "Maximum call stack",
    "Array buffer allocation",
    "Invalid (typed )?array length",
    "Invalid string length",
    "out of bounds",
    "Cannot convert",
    "Cannot mix",
    "in JSON at position",
    "unreachable",
  ].join("|"),
);

/**
 * Removes quoted text, lists of column names and paths: a series or a folder may be called NaN, and a column or a
 * field "undefined".
 */
function withoutNames(text: string): string {
  return text.replaceAll(/"[^"]*"/g, '""').replaceAll(/ among [^;]*;/g, " among <names>;").replaceAll(
    /\S*\/[a-z]\S*/g,
    "<path>",
  );
}

/** Describes the fault of a message, if any. */
export function faultOfMessage(message: string): string | undefined {
  if (message.trim() === "") return "an error without a message";
  if (/^\s+at .*[:)]/m.test(message)) return `a stack trace: ${message}`;
  if (raw.test(withoutNames(message))) return `an error of the engine: ${message}`;
  return message.includes("\n") ? `a message of several lines: ${message}` : undefined;
}

/**
 * Describes the fault of a command's outcome, for any command. Returns `undefined` if the outcome is valid.
 */
export function faultOfOutcome({ code, stdout, stderr }: Outcome): string | undefined {
  if (code === 0) {
    const odd = /\b(NaN|Infinity|undefined|null)\b/.exec(withoutNames(stdout));
    if (odd) return `${odd[0]} in the output: ${stdout}`;
    return stderr.includes("    at ") ? `a stack trace in spite of a result: ${stderr}` : undefined;
  }
  // The error follows notices about a table. Help on wrong options may follow the error.
  const at = stderr.search(/^error: /m);
  if (at < 0) return `status ${code}, without an error message: ${stderr || stdout}`;
  const [message] = stderr.slice(at).trimEnd().split(/\n+Usage: /);
  const before = stderr.slice(0, at).split("\n").map(faultOfNotice).find(Boolean);
  return before ?? faultOfMessage(message);
}

/**
 * Describes the fault of a line that a command printed before its error. Such a line must begin with a file
 * name.
 */
function faultOfNotice(line: string): string | undefined {
  return line === "" || /^\S+: \S/.test(line) ? undefined : `a line before the error: ${line}`;
}

/** Durations at the end of a line, in one or two units. */
const durations = /( +\d\S* (second|minute|hour|day)s?){1,2}$/gm;

/** The output of a command, without durations and paths. */
export function timelessOutput({ stdout }: Outcome): string {
  return stdout.replaceAll(durations, "")
    .replaceAll(/\/\S+/g, "<path>").trimEnd();
}
