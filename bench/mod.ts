/**
 * `deno task bench [program] [options]`: runs a program of this folder. Without a program,
 * runs `deno bench` with the options.
 */
import { command, main } from "../src/commands/command.ts";
import { programs } from "./programs.ts";

/** Runs a command of Deno with a permission set of `deno.json`, and returns its exit code. */
async function deno(name: "bench" | "run", permissions: string, args: string[]): Promise<number> {
  // --quiet suppresses Deno's warning about permission sets.
  const words = [name, "--quiet", `--permission-set=${permissions}`, ...args];
  const { code } = await new Deno.Command(Deno.execPath(), { args: words }).spawn().status;
  return code;
}

/** `deno task bench`. */
async function bench(args: string[]): Promise<number> {
  const [first = ""] = args;
  if (!["-h", "--help"].includes(first) && (first === "" || first.startsWith("-"))) {
    return await deno("bench", "default", [...args, "bench/"]);
  }
  let code = 0;
  const program = command(
    "bench",
    "Times primitives, paths and training steps on each device, or runs a program.",
  )
    .usage("[program] [options]")
    .commandsGroup("Programs:")
    .configureHelp({ helpWidth: 110, subcommandTerm: (program) => program.name() })
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .helpCommand(false);
  for (const [name, { file, summary, permissions }] of Object.entries(programs)) {
    program.command(name).description(summary)
      // All arguments after the name belong to the program.
      .argument("[arguments...]").passThroughOptions().allowUnknownOption().helpOption(false)
      .action(async (benchArgs: string[]) => {
        code = await deno("run", permissions, [`bench/${file}`, ...benchArgs]);
      });
  }
  program.addHelpText(
    "after",
    "\ndeno task bench <program> --help shows the options of a program. Without a program, deno task bench has the options of deno bench.",
  );
  await program.parseAsync(args, { from: "user" });
  return code;
}

await main(bench);
