/** Prints the texts of commands. A text can contain names of users' files, which must not control the terminal. */
import { printable, printableLines } from "../device/printable.ts";

/** Prints a line to standard output. */
export function print(line: string): void {
  console.log(printable(line));
}

/** Prints a line to standard error. */
export function printError(line: string): void {
  console.error(printable(line));
}

/** Prints a text of several lines to standard output, or to standard error. */
export function printLines(text: string, to: "output" | "error" = "output"): void {
  console[to === "output" ? "log" : "error"](printableLines(text));
}

/** Prints data to standard output. They are only escaped on a terminal: a file gets the exact texts. */
export function printData(text: string, isTerminal = Deno.stdout.isTerminal()): void {
  console.log(isTerminal ? printableLines(text) : text);
}
