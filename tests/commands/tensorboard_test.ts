import assert from "node:assert/strict";
import { tensorBoardLog } from "../../src/commands/tensorboard.ts";
import { encodeEvent, fileHeader } from "../../src/files/event_file.ts";
import { runFolder } from "../../src/train/run/run_folder.ts";
import { testLong } from "../devices.ts";
import { onlyRun, runTask, withFolder } from "../tasks/command_line.ts";

/** Numbers of the records of each part's event files, after the header, by part. */
async function recordsIn(run: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for await (const { name: part } of Deno.readDir(`${run}/tensorboard`)) {
    for await (const { name } of Deno.readDir(`${run}/tensorboard/${part}`)) {
      assert.match(name, /^events\.out\.tfevents\.\d{10}\.weft\.\d+$/);
      const bytes = await Deno.readFile(`${run}/tensorboard/${part}/${name}`);
      assert.deepEqual(bytes.slice(12, 13), fileHeader(0).slice(12, 13));
      let count = -1;
      for (let at = 0; at < bytes.length; count++) at += 16 + new DataView(bytes.buffer).getUint32(at, true);
      counts[part] = (counts[part] ?? 0) + count;
    }
  }
  return counts;
}

Deno.test(
  "a log has the measures of epochs in a file for each part, after the start of training",
  withFolder(async (folder) => {
    {
      using log = tensorBoardLog(runFolder(folder));
      log.onLoss(0.5, 1);
      log.onEpoch({ epoch: 1, step: 1, learningRate: 0.1, train: { loss: 0.5 }, validation: {}, seconds: 1 });
    }
    assert.deepEqual(await recordsIn(folder), { train: 3 });
    const [{ name }] = await Array.fromAsync(Deno.readDir(`${folder}/tensorboard/train`));
    const bytes = await Deno.readFile(`${folder}/tensorboard/train/${name}`);
    const wallTime = new DataView(bytes.buffer).getFloat64(13, true);
    const first = [
      fileHeader(wallTime),
      encodeEvent({ wallTime, step: 1, isStart: true }),
      encodeEvent({ wallTime, step: 1, scalars: { "step/loss": 0.5 } }),
    ].flatMap((record) => [...record]);
    assert.deepEqual([...bytes.subarray(0, first.length)], first);
    assert.match(new TextDecoder().decode(bytes.subarray(first.length)), /epoch\/loss.*epoch\/learningRate/s);
  }),
);

testLong(
  "--tensorboard writes the losses of steps and the measures of epochs, also of a resumed run",
  withFolder(async (folder) => {
    const train = async (...args: string[]) => {
      const { code, stdout, stderr } = await runTask("train", ...args, "--tensorboard");
      assert.equal(code, 0, stderr);
      return stdout;
    };
    const out = await train("spirals", "--device", "cpu", "--epochs", "1", "--out", folder);
    const run = await onlyRun(folder, "spirals");
    assert.ok(out.trimEnd().endsWith(`tensorboard --logdir ${run}`), out);
    // 700 training samples in 22 steps. Each file begins with the start of training.
    assert.deepEqual(await recordsIn(run), { train: 1 + 22 + 1, validation: 2, test: 2 });
    await train("--resume", run, "--epochs", "2");
    assert.deepEqual(await recordsIn(run), { train: 2 * 24, validation: 4, test: 4 });
  }),
);
