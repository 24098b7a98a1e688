import assert from "node:assert/strict";
import { runFolder } from "../../src/train/mod.ts";
import { displayOf } from "../display.ts";
import { run, withRun } from "./tiny_run.ts";

Deno.test(
  "a notebook shows the curves of training",
  withRun(async (folder) => {
    const result = await run(folder);
    const bundle = await displayOf(result);
    assert.deepEqual(Object.keys(bundle), ["text/plain", "image/svg+xml"]);
    assert.match(bundle["text/plain"], /^run, epoch 4: training loss [\d.]+, .*validation loss [\d.]+/);
    assert.match(bundle["image/svg+xml"], />training<.*>validation</s);
    assert.match(bundle["image/svg+xml"], />best epoch</);
  }),
);

Deno.test(
  "a notebook shows the curves of the run in a folder, before its end too",
  withRun(async (folder) => {
    const { path, metrics } = folder;
    assert.deepEqual(await displayOf(runFolder(path)), { "text/plain": `${path}: no epoch has ended` });
    await run(folder, { epochs: 2 });
    await Deno.writeTextFile(metrics, '{"epoch": 3, "st', { append: true });
    const bundle = await displayOf(runFolder(`${path}/`));
    assert.ok(bundle["text/plain"].startsWith(`${path}, epoch 2: training loss `));
    assert.match(bundle["image/svg+xml"], />training<.*>validation</s);
  }),
);
