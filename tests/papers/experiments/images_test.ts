import assert from "node:assert/strict";
import { execute } from "../../../src/train/mod.ts";
import { withFolder } from "../../tasks/command_line.ts";
import { defaultSettings, startRun } from "../../runs.ts";
import { writeDigits } from "../data/digit_files.ts";
import { testLong } from "../../devices.ts";

const small = { device: "cpu", seed: 0, epochs: 1, batchSize: 200, hidden: 2 } as const;
const chosen = {
  "mnist-transitions": { samples: 20 },
  "sequential-mnist": { samples: 20, length: 16, fromTestImages: true },
  "mnist-completion": { samples: 20, length: 16, fromTestImages: true },
};

for (const [experiment, settings] of Object.entries(chosen)) {
  testLong(
    `the summary of ${experiment} states that the model learns from test images`,
    withFolder(async (folder) => {
      await writeDigits(folder, "t10k", 1520);
      const config = { ...defaultSettings(experiment), ...small, ...settings, experiment, data: folder };
      const run = await startRun(config, `${folder}/run`);
      await execute(run, {});
      const { notices } = JSON.parse(await Deno.readTextFile(run.folder.summary));
      assert.deepEqual(notices, [
        "The model learns from test images of the data set; others of them are tested.",
      ]);
    }),
  );
}
