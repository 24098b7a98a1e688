/** Threads of predictions. */
import assert from "node:assert/strict";
import { init } from "../../mod.ts";
import { computeWith, type PredictionJob } from "../../src/serve/predictions/compute.ts";
import { limitsOf, startPredictionThreads } from "../../src/serve/mod.ts";
import { columnNames } from "../../src/series/run/observation_stream.ts";
import { requirePredictions } from "../../src/series/models/trained_model.ts";
import { testLong } from "../devices.ts";
import { openTrained } from "../runs.ts";
import { withFolder } from "../tasks/command_line.ts";
import { table, trainedRun } from "./served.ts";

testLong(
  "threads of predictions give the same bits as one thread, also at the same time",
  withFolder(async (folder) => {
    const { config, folder: runFolder } = await trainedRun(folder, { hidden: 64 });
    const limits = limitsOf();
    // Kernels of this thread use one processor thread, those of the started threads use all.
    await init({ device: "cpu", threads: 1 });
    const alone = computeWith(
      requirePredictions(await openTrained(config, runFolder)),
      columnNames(config),
      limits,
    );
    const url = new URL("../../tasks/serve_worker.ts", import.meta.url);
    const start = { config, folder: runFolder.path, limits };
    const threads = await startPredictionThreads(url, start, (error) => assert.fail(`${error}`));
    try {
      for (const count of [1, 64, 200]) {
        const job = (): PredictionJob => ({
          bytes: new TextEncoder().encode(table(count, false)),
          ...{ mostBytes: 2 ** 23, kind: "text", notation: {}, form: "lines" },
        });
        const { signal } = new AbortController();
        const [expected, ...found] = await Promise.all(
          [alone, threads.small, threads.large].map((compute) => compute(job(), signal)),
        );
        assert.equal(expected.count, count);
        for (const { body } of found) assert.deepEqual(body, expected.body, `${count} series`);
      }
    } finally {
      await threads.terminate();
      await init({ device: "cpu" });
    }
  }),
);
