/** The file `progress.json` of a run in training. */
import assert from "node:assert/strict";
import type { Section } from "../../src/charts/section.ts";
import { exists } from "../../src/files/disk.ts";
import { type RunFolder, runFolder } from "../../src/train/run/run_folder.ts";
import { openProgress, readProgress, type RunProgress } from "../../src/train/run/run_progress.ts";
import { execute } from "../../src/train/run/run.ts";
import type { Task } from "../../src/train/task.ts";
import { init } from "../../src/compile/init.ts";
import { withFolder } from "../tasks/command_line.ts";
import { tinyTask } from "./tiny_task.ts";

const config = {
  experiment: "tiny",
  device: "cpu",
  seed: 0,
  epochs: 3,
  batchSize: 8,
  learningRate: 0.05,
} as const;

/** Executes the tiny task in a folder. */
async function executed(path: string, task: Partial<Task>, options: Parameters<typeof execute>[1] = {}) {
  const { info: device } = await init({ device: "cpu" });
  const run = {
    config,
    folder: runFolder(path),
    task: { ...await tinyTask(), ...task } as Task,
    device,
    resume: false,
  };
  return await execute(run, options);
}

const chart: Section = {
  kind: "charts",
  title: "examples",
  charts: [{
    title: "values",
    panels: [{
      x: { title: "x" },
      y: { title: "y" },
      marks: [{ kind: "line", name: "a", x: Float64Array.of(1, 2), y: Float32Array.of(NaN, 3) }],
    }],
  }],
};

Deno.test(
  "the progress of a run is in its folder while the run trains, and not after its end",
  withFolder(async (path) => {
    const folder = runFolder(path);
    const found: (RunProgress | undefined)[] = [];
    await executed(path, { description: ["fifty points"] }, {
      onEpoch: async () => void found.push(await readProgress(folder)),
    });
    assert.equal(found.length, 3);
    for (const progress of found) {
      assert.ok(Math.abs(Date.now() - Date.parse(progress!.time)) < 3_600_000);
      assert.deepEqual(progress!.report.description, ["fifty points"]);
      assert.equal(progress!.report.config.experiment, "tiny");
    }
    assert.equal(await exists(folder.progress), false);
    const stop = () => {
      throw new Error("stopped");
    };
    await assert.rejects(executed(path, {}, { onEpoch: stop }), /stopped/);
    assert.equal(await exists(folder.progress), false, "an error ends the training too");
  }),
);

Deno.test(
  "examples are computed after epochs, if a view shows them",
  withFolder(async (path) => {
    let made = 0;
    const examples = () => {
      made++;
      return Promise.resolve([chart]);
    };
    await executed(path, { examples });
    assert.equal(made, 1, "for the report alone");
    await Deno.remove(path, { recursive: true });
    await Deno.mkdir(path);
    await executed(path, { examples }, { showsExamples: true });
    assert.ok(made > 2, `${made} times`);
  }),
);

Deno.test(
  "numbers of charts are restored from the file, missing ones too",
  withFolder(async (path) => {
    const folder: RunFolder = runFolder(path);
    const report = { config, metric: { name: "loss", mode: "min" }, sections: [chart] } as const;
    await using _file = await openProgress(folder, { device: "a processor", report });
    const [section] = (await readProgress(folder))!.report.sections!;
    assert.equal(section.kind, "charts");
    const [mark] = section.kind === "charts" ? section.charts[0].panels[0].marks : [];
    assert.deepEqual(mark, { kind: "line", name: "a", x: [1, 2], y: [NaN, 3] });
    assert.deepEqual(await readProgress(runFolder(`${path}/other`)), undefined);
  }),
);
