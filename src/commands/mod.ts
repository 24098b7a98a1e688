/**
 * The commands `train`, `evaluate`, `predict`, `serve` and `view`, for the experiments of a program.
 *
 * Needs `npm:commander`. Reads and writes files; `serve`, `view` and `train --view` listen
 * on a port.
 *
 * @example A program with commands for a custom experiment: `deno run -A my_experiment.ts train --help`
 * ```ts ignore
 * import { runCommands } from "@weft/weft/commands";
 * import { myExperiment } from "./my_experiment.ts";
 *
 * Deno.exit(await runCommands([myExperiment], Deno.args));
 * ```
 *
 * @module
 */
import { checkOptions, namesOf } from "../device/options.ts";
import type { Experiment } from "../train/experiment.ts";
import { callAs, command, outcome } from "./command.ts";

/** Runs a command for some experiments, and returns the exit code. */
export type ExperimentCommand = (args: string[], experiments: readonly Experiment[]) => Promise<number>;

/** Summary and loader of a command. */
export interface Subcommand {
  /** Description in one line. */
  readonly summary: string;
  /** Loads the command. */
  load(): Promise<ExperimentCommand>;
}

/** All commands by name. Each is loaded when it is called. */
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
  view: {
    summary: "show runs in a browser, also while they train",
    load: async () => (await import("./view.ts")).view,
  },
};

const runCommandsNames = namesOf<{ name?: string }>()("name?");

/**
 * Runs the command given by the arguments. User errors are printed in one line.
 *
 * @param experiments Known experiments. The first one is the default of `train`.
 * @param args Arguments of the program: the name of a command, then its arguments.
 * @param options `name`: name of the program, for help.
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
        .action(async (commandArgs: string[]) => {
          code = await (await load())(commandArgs, experiments);
        });
    }
    await program.helpCommand(false).parseAsync(args, { from: "user" });
    return code;
  }, [...args]);
}
