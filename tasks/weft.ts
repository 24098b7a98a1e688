/** A single program with the commands for users. `deno task compile` makes an executable of it. */
import config from "../deno.json" with { type: "json" };
import { experimentCommands } from "../src/commands/mod.ts";
import { narrowPermissions } from "../src/commands/permissions.ts";
import { callAs, command, type CommandBody, main, showsView } from "../src/commands/command.ts";

/** A command of the program. */
interface Subcommand {
  readonly summary: string;
  /** The permissions of the executable that the command keeps, apart from the environment. */
  readonly needs: readonly Permission[];
  /** Imports the command on demand. */
  load(): Promise<CommandBody>;
}

/** Permissions of the executable that not every command needs. */
const permissions = ["read", "write", "net", "run", "sys"] as const;
type Permission = typeof permissions[number];

/** Loads the experiment of a run. */
const ofRun = async (name?: string) => await (await import("./run_experiments.ts")).experimentsOfRun(name);

/** The commands for experiments. Only a training, or a command for a run of a paper, loads the papers' experiments. */
const ofExperiments: Readonly<Record<string, Omit<Subcommand, "summary">>> = {
  train: {
    needs: ["read", "write", "net"],
    async load() {
      const { train } = await import("../src/commands/train.ts");
      const { experiments } = await import("./experiments.ts");
      return (args) => train(args, experiments);
    },
  },
  predict: {
    needs: ["read"],
    async load() {
      const { predict } = await import("../src/commands/predict.ts");
      return (args) => predict(args, ofRun);
    },
  },
  evaluate: {
    needs: ["read"],
    async load() {
      const { evaluate } = await import("../src/commands/evaluate.ts");
      return (args) => evaluate(args, ofRun);
    },
  },
  serve: {
    needs: ["read", "write", "net", "sys"],
    async load() {
      const { serve } = await import("../src/commands/serve.ts");
      return (args) => serve(args, ofRun, new URL("./serve_worker.ts", import.meta.url));
    },
  },
  view: {
    needs: ["read", "net"],
    load: async () => (await import("../src/commands/view.ts")).view,
  },
};

/** The commands, by their names. */
export const subcommands: Readonly<Record<string, Subcommand>> = {
  ...Object.fromEntries(
    Object.entries(ofExperiments).map((
      [name, rest],
    ) => [name, { summary: experimentCommands[name].summary, ...rest }]),
  ),
  download: {
    summary: "fetch public data sets into data/",
    needs: ["read", "write", "net"],
    load: async () => (await import("./download.ts")).download,
  },
  reproduce: {
    summary: "make a table of a paper",
    needs: ["read", "write", "run"],
    load: async () => (await import("./reproduce.ts")).reproduce,
  },
};

/** Drops all permissions of the executable except some. */
export async function keepOnly(needs: readonly Permission[]): Promise<void> {
  for (const name of permissions) {
    if (!needs.includes(name)) await Deno.permissions.revoke({ name });
  }
}

/** `weft`. */
export async function weft(args: string[]): Promise<number> {
  callAs("weft");
  let code = 0;
  const program = command(
    "weft",
    "Sequence models of continuous time: trained on tables of series, measured, and served.",
  )
    .version(config.version)
    .enablePositionalOptions()
    .showSuggestionAfterError();
  for (const [name, { summary, needs, load }] of Object.entries(subcommands)) {
    program.command(name).description(summary)
      // All arguments after the name belong to the command.
      .argument("[arguments...]").passThroughOptions().allowUnknownOption().helpOption(false)
      .action(async (commandArgs: string[]) => {
        await keepOnly(needs);
        if (name === "train" && !showsView(commandArgs)) await Deno.permissions.revoke({ name: "net" });
        code = await (await load())(commandArgs);
      });
  }
  program.helpCommand(false).addHelpText("after", "\nweft <command> --help shows the options of a command.");
  const [first, ...rest] = args;
  await program.parseAsync(first === "help" ? [...rest, "--help"] : args, { from: "user" });
  return code;
}

if (import.meta.main) {
  narrowPermissions();
  await main(weft);
}
