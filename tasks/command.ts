/** What the commands have in common. */
import { Command, InvalidArgumentError } from "commander";

/** A command that shows its options when it is given others. */
export function command(name: string, description: string): Command {
  return new Command()
    .name(`deno task ${name}`)
    .description(description)
    .showHelpAfterError()
    .allowExcessArguments(false)
    // Asking the environment about colours would take a permission.
    .configureOutput({ getOutHasColors: () => false, getErrHasColors: () => false });
}

/** A reader of numbers within bounds, for an option. */
export function number(
  { from = -Infinity, above = -Infinity, below = Infinity, whole = false }: {
    from?: number;
    above?: number;
    below?: number;
    whole?: boolean;
  },
): (text: string) => number {
  const bounds = [
    ...(from > -Infinity ? [`of at least ${from}`] : []),
    ...(above > -Infinity ? [`above ${above}`] : []),
    ...(below < Infinity ? [`below ${below}`] : []),
  ];
  return (text) => {
    const value = text.trim() === "" ? NaN : Number(text);
    if (
      !Number.isFinite(value) || value < from || value <= above || value >= below ||
      (whole && !Number.isSafeInteger(value))
    ) {
      throw new InvalidArgumentError(`Expected a ${whole ? "whole " : ""}number ${bounds.join(" and ")}.`);
    }
    return value;
  };
}

/**
 * Names a folder for drivers where the session has none (a container, a service), or Mesa's write of an error that is none.
 */
export function prepareDrivers(): void {
  if (!Deno.env.get("XDG_RUNTIME_DIR")) Deno.env.set("XDG_RUNTIME_DIR", "/tmp");
}

/** Runs a command to its exit code. What went wrong for a reason that its user can mend is told in a line. */
export async function main(body: () => Promise<number>): Promise<never> {
  try {
    Deno.exit(await body());
  } catch (error) {
    const isDefect = !(error instanceof Error) || error instanceof TypeError ||
      error instanceof ReferenceError;
    console.error(isDefect ? error : `error: ${error.message}`);
    Deno.exit(1);
  }
}
