/** Runs commands as `deno task` does, with the permissions from deno.json. */

const config = new URL("../../deno.json", import.meta.url);
const { tasks } = JSON.parse(await Deno.readTextFile(config));

/** Output and exit code of a command. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The process of a task with some arguments. @param env Environment variables in addition to the variables of this
 * process.
 */
export function task(name: string, args: string[], env: Record<string, string> = {}): Deno.Command {
  return commandOf(wordsOf(name, args), { ...variablesOf(name), ...env });
}

/** The words of a task's command, after its environment variables. */
export function wordsOf(name: string, args: readonly string[]): [executable: string, ...args: string[]] {
  const [deno, ...taskArgs] = tasks[name].command.replace(variables, "").split(" ");
  if (deno !== "deno") throw new Error(`task ${name} does not start with deno`);
  return [Deno.execPath(), ...taskArgs, ...args];
}

/** Environment variables that a task sets. */
export function variablesOf(name: string): Record<string, string> {
  const [set] = variables.exec(tasks[name].command)!;
  return Object.fromEntries(set.split(" ").filter(Boolean).map((word) => word.split("=")));
}

/** The assignments before a command. */
const variables = /^(\w+=\S+ )*/;

/** A process in the folder of the repository, whose output is read. */
export function commandOf(
  [executable, ...args]: readonly [string, ...string[]],
  env: Record<string, string> = {},
): Deno.Command {
  return new Deno.Command(executable, {
    args,
    env,
    cwd: new URL("../..", import.meta.url),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Runs a task to its end. */
export async function runTask(name: string, ...args: string[]): Promise<Outcome> {
  const { code, stdout, stderr } = await task(name, args).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, stdout: out, stderr: err };
}

/**
 * A folder with a problem that has the name and the channels of the real one. Its runs take
 * milliseconds.
 */
export async function makeCharacters(folder: string): Promise<string> {
  const data = `${folder}/data`;
  await Deno.mkdir(data);
  const header =
    "@problemName CharacterTrajectories\n@dimensions 3\n@equalLength false\n@classLabel true a b\n@data\n";
  for (const part of ["TRAIN", "TEST"]) {
    const lines = Array.from({ length: 16 }, (_, i) => {
      const label = i % 2;
      const channel = (c: number) =>
        Array.from({ length: 4 + i % 3 }, (_, t) => Math.sin(t * (1 + label) + c + i / 10).toFixed(4)).join(
          ",",
        );
      return `${channel(0)}:${channel(1)}:${channel(2)}:${"ab"[label]}`;
    });
    await Deno.writeTextFile(`${data}/CharacterTrajectories_${part}.ts`, `${header}${lines.join("\n")}\n`);
  }
  return data;
}

/** Runs a test with a folder for data and runs. */
export function withFolder(body: (folder: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = await Deno.makeTempDir();
    try {
      await body(folder);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  };
}

/** The only run in a folder of runs. */
export async function onlyRun(out: string, experiment = "character-trajectories"): Promise<string> {
  const runs = await Array.fromAsync(Deno.readDir(`${out}/${experiment}`));
  if (runs.length !== 1) throw new Error(`${runs.length} runs in ${out}`);
  return `${out}/${experiment}/${runs[0].name}`;
}
