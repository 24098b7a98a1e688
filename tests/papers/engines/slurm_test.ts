import assert from "node:assert/strict";
import { trainWords } from "../../../src/commands/command.ts";
import { readOutcome } from "../../../src/train/run/outcome.ts";
import { tables } from "../../../tasks/papers/tables/registry.ts";
import { type TableRun, tableRuns } from "../../../tasks/papers/tables/table.ts";
import {
  runOnSlurm,
  type SlurmArray,
  slurmCommands,
  slurmScript,
} from "../../../tasks/papers/engines/slurm.ts";
import { withFolder } from "../../tasks/command_line.ts";

const resources = { cpus: 1, memory: "200M", time: "10:00" };

/** Runs of SINE with a tiny network. Seeds 0 and 1 take some seconds. */
async function tinyRuns(out: string, seeds: readonly number[]): Promise<TableRun[]> {
  const table = tables.find(({ name }) => name === "warp-table-2")!;
  const sizes = {
    recipe: "short",
    hidden: 2,
    depth: 1,
    batchSize: 100,
    learningRate: 0.001,
    epochs: 2,
  } as const;
  const row = { ...table.rows[0], settings: sizes, paper: undefined, published: [undefined] };
  const columns = table.columns.slice(-1);
  const runs = await tableRuns({ ...table, columns, rows: [row] }, {
    scale: "paper",
    out,
    seeds,
    device: "cpu",
  });
  return runs.map((run) => run.config.seed > 1 ? run : { ...run, config: { ...run.config, epochs: 300 } });
}

Deno.test("the script of a job array contains the resources, and the list of commands one line per run", async () => {
  const array: SlurmArray = {
    path: "runs/made up",
    folder: "/home/o'hara",
    deno: "/bin/deno",
    train: trainWords,
  };
  const runs = await tinyRuns("runs/made up", [3, 2]);
  const script = slurmScript(2, array, { ...resources, jobs: 4, others: ["--partition=long"] });
  for (
    const option of ["array=1-2%4", "cpus-per-task=1", "mem=200M", "time=10:00", "requeue", "partition=long"]
  ) {
    assert.match(script, new RegExp(`^#SBATCH --${option}$`, "m"));
  }
  assert.match(script, /--output='runs\/made up-%a.txt'$/m);
  assert.match(script, /^cd '\/home\/o'\\''hara' \|\| exit$/m);
  const lines = slurmCommands(runs, array).trimEnd().split("\n");
  assert.equal(lines.length, 2);
  assert.match(
    lines[1],
    /^"\$deno" run --quiet --no-prompt -P=train --no-lock tasks\/train.ts sine .* --seed 2 .* --run 'runs\/made up\/sine-gru-2-.*'$/,
  );
});

/** Kills the process of a run, like a kernel that is out of memory. */
async function kill({ folder }: TableRun): Promise<void> {
  for await (const { name } of Deno.readDir("/proc")) {
    const line = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    const words = line.split("\0");
    const isTraining = words.includes(folder.path) &&
      words.some((word) => word.endsWith("tasks/train.ts"));
    if (isTraining) Deno.kill(Number(name), "SIGKILL");
  }
}

/** Waits until a run reaches its fiftieth epoch, at most three minutes. */
async function fiftiethEpoch({ folder }: TableRun): Promise<void> {
  for (const start = performance.now(); (await linesOf(folder.metrics).catch(() => [])).length < 50;) {
    assert(performance.now() - start < 180_000, `${folder.path}: not fifty epochs in three minutes`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function linesOf(path: string): Promise<string[]> {
  return (await Deno.readTextFile(path)).trimEnd().split("\n");
}

Deno.test({
  name: "eight Slurm runs, one of them killed and resumed, give one result each",
  // .ci/slurm starts a cluster.
  ignore: Deno.env.get("SLURM_CONF") === undefined,
  fn: withFolder(async (out) => {
    const runs = await tinyRuns(out, [2, 3, 1, 0, 4, 5, 6, 7]);
    const killed = runs[3];
    const array = { path: `${out}/array`, folder: Deno.cwd(), deno: Deno.execPath(), train: trainWords };
    const ended: [seed: number, error?: string][] = [];
    const options: Parameters<typeof runOnSlurm>[1] = {
      array,
      resources,
      onStart: () => {},
      onEnd: (run, error) => Promise.resolve(void ended.push([run.config.seed, error])),
    };
    // Another process submits half of the runs, and does not follow them.
    await runOnSlurm(runs.slice(0, 4), { ...options, signal: AbortSignal.abort() });
    const followed = runOnSlurm(runs, options);
    await fiftiethEpoch(killed);
    await kill(killed);
    await followed;
    const lastLines = [1, 2, 3, 4].map(async (n) =>
      (await linesOf(`${array.path}-${n}.txt`)).slice(-3).join("\n")
    );
    assert.deepEqual(
      ended.sort(),
      runs.map((_, seed) => [seed, undefined]),
      `ended: ${JSON.stringify(ended)}; last lines of the jobs\n${(await Promise.all(lastLines)).join("\n")}`,
    );
    for (const { folder, config } of runs) {
      const outcome = await readOutcome(folder, config.epochs);
      assert(outcome && "summary" in outcome, folder.path);
      const epochs = (await linesOf(folder.metrics)).map((line) => JSON.parse(line).epoch);
      assert.deepEqual(epochs, Array.from({ length: config.epochs! }, (_, i) => i + 1));
      assert.equal((await linesOf(folder.starts)).length, folder === killed.folder ? 2 : 1);
    }
  }),
});
