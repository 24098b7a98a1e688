/**
 * The commands `train`, `evaluate`, `predict` and `serve`, for experiments of a program.
 *
 * Needs `npm:commander`; reads and writes files, and `serve` listens on a port.
 *
 * @example A program with the commands for an experiment of its own: `deno run -A my_experiment.ts train --help`
 * ```ts ignore
 * import { runCommands } from "@weft/weft/commands";
 * import { myExperiment } from "./my_experiment.ts";
 *
 * Deno.exit(await runCommands([myExperiment], Deno.args));
 * ```
 *
 * @module
 */
import { checkOptions, type OptionNames } from "../device/options.ts";
import type { Experiment } from "../train/experiment.ts";
import { callAs, command, outcome } from "./command.ts";

/** A command: what it does with its arguments for some experiments, and its exit code. */
export type ExperimentCommand = (args: string[], experiments: readonly Experiment[]) => Promise<number>;

/** A command by its name, its summary, and how it is loaded. */
export interface Subcommand {
  /** Description in a line. */
  readonly summary: string;
  /** Loads the command. */
  load(): Promise<ExperimentCommand>;
}

/** The commands by name; each is loaded when it is called. */
export const experimentCommands: Readonly<Record<string, Subcommand>> = {
  train: { summary: "train a model", load: async () => (await import("./train.ts")).train },
  predict: {
    summary: "predict the series of a table",
    load: async () => (await import("./predict.ts")).predict,
  },
  evaluate: {
    summary: "measure a run's best weights",
    load: async () => (await import("./evaluate.ts")).evaluate,
  },
  serve: {
    summary: "answer requests with a run's best weights",
    load: async () => (await import("./serve.ts")).serve,
  },
};

const runCommandsNames: OptionNames<{ name?: string }> = { name: "optional" };

/**
 * Runs the command that the arguments name, and prints errors of its user in a line.
 *
 * @param experiments Those that the commands know; the first is the default of `train`.
 * @param args Arguments of the program: the name of a command, then its arguments.
 * @param options `name`: how the program is called, for help.
 * @returns The exit code.
 */
export async function runCommands(
  experiments: readonly Experiment[],
  args: readonly string[],
  options: { name?: string } = {},
): Promise<number> {
  checkOptions("runCommands", options, runCommandsNames);
  const { name = "deno run -A <program>" } = options;
  callAs(name);
  return await outcome(async (args) => {
    let code = 0;
    const program = command(name, "Train, measure and serve the experiments of this program.")
      .enablePositionalOptions();
    for (const [name, { summary, load }] of Object.entries(experimentCommands)) {
      program.command(name).description(summary)
        .argument("[arguments...]").passThroughOptions().allowUnknownOption().helpOption(false)
        .action(async (own: string[]) => {
          code = await (await load())(own, experiments);
        });
    }
    await program.helpCommand(false).parseAsync(args, { from: "user" });
    return code;
  }, [...args]);
}
