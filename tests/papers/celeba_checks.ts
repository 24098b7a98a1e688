/** Checks of CelebA's reader and experiment, which celeba_test.ts runs in a process without the lock file. */
import assert from "node:assert/strict";
import { init, type Tensor, treeFlatten } from "../../mod.ts";
import { readOutcome } from "../../src/train/run/outcome.ts";
import { runFolder } from "../../src/train/run/run_folder.ts";
import { celebaCompletion } from "../../tasks/papers/experiments/celeba_completion.ts";
import { openFaces } from "../../tasks/papers/data/celeba.ts";
import { zipEntries } from "../../src/data/zip.ts";
import { withFolder } from "../tasks/command_line.ts";
import { colorOf, photograph, writeFaces } from "./data/celeba_files.ts";

/** Settings of a run. */
const tiny = {
  ...{
    model: "gru",
    seed: 0,
    epochs: 1,
    batchSize: 8,
    learningRate: 1e-3,
    hidden: 3,
    length: 16,
    context: 4,
  },
};

/** Runs a command with the permissions of `deno task train`. */
async function deno(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-P=train", "--no-lock", ...args],
    cwd: new URL("../..", import.meta.url),
  }).output();
  const [out, error] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, stdout: out, stderr: error };
}

/** Whether the upper half has a color, and the lower half its opposite, but for JPEG's errors. */
function isPhotograph(pixels: Uint8Array, color: readonly number[]): boolean {
  const rows = pixels.length / 12;
  return pixels.every((byte, i) => {
    const row = Math.floor(i / 12);
    if (Math.abs(row - rows / 2 + 0.5) < 1) return true;
    const wanted = row < rows / 2 ? color[i % 3] : 255 - color[i % 3];
    return Math.abs(byte - wanted) <= 12;
  });
}

Deno.test(
  "faces are read from the archive and from the unpacked folder, in the parts of the list",
  withFolder(async (folder) => {
    await writeFaces(folder, { train: 3, validation: 1, test: 2 });
    const zipped = await openFaces(folder);
    assert.deepEqual(zipped.names, {
      train: ["000001.jpg", "000002.jpg", "000003.jpg"],
      validation: ["000004.jpg"],
      test: ["000005.jpg", "000006.jpg"],
    });
    const { pixels, shape } = await zipped.read("000006.jpg", 4);
    assert.deepEqual(shape, [4, 4, 3]);
    assert(isPhotograph(pixels, colorOf(5)), `${pixels}`);

    await Deno.remove(`${folder}/img_align_celeba.zip`);
    await Deno.mkdir(`${folder}/img_align_celeba`);
    await Deno.writeFile(`${folder}/img_align_celeba/000006.jpg`, await photograph(colorOf(5)));
    const unpacked = await openFaces(folder);
    assert.deepEqual((await unpacked.read("000006.jpg", 4)).pixels, pixels);
    await assert.rejects(unpacked.read("000001.jpg", 4), /no img_align_celeba\/000001\.jpg; expected/);
    await Deno.writeTextFile(`${folder}/img_align_celeba/000001.jpg`, "text");
    await assert.rejects(unpacked.read("000001.jpg", 4), /000001\.jpg: not a JPEG file, or damaged: /);
  }),
);

Deno.test(
  "a folder without CelebA's list, or with another list, is rejected",
  withFolder(async (folder) => {
    await assert.rejects(openFaces(folder), /no list_eval_partition\.txt; expected the files of CelebA/);
    await Deno.writeTextFile(`${folder}/list_eval_partition.txt`, "000001.jpg 0\n000002.jpg 3\n");
    await assert.rejects(openFaces(folder), /line 2 is "000002\.jpg 3", expected such as "000001\.jpg 0"/);
  }),
);

Deno.test(
  "an archive in the form of CelebA's has its files",
  withFolder(async (folder) => {
    await writeFaces(folder, { train: 2, validation: 1, test: 1 });
    const names = zipEntries(await Deno.readFile(`${folder}/img_align_celeba.zip`), "x").map(({ name }) =>
      name
    );
    assert.deepEqual(names.slice(0, 2), ["img_align_celeba/", "img_align_celeba/000001.jpg"]);
    assert.equal(names.length, 5);
  }),
);

Deno.test(
  "in the paper's recipe WARP has D = 30 weights for 3 features, a learned theta_0 and the time as an input",
  withFolder(async (folder) => {
    await init({ device: "cpu" });
    await writeFaces(folder, { train: 4, validation: 1, test: 2 });
    const { parameters, data, record } = await celebaCompletion.prepare({
      ...{ model: "warp", recipe: "paper", seed: 0, epochs: 1, batchSize: 8, learningRate: 1e-5 },
      ...{ hidden: 3, depth: 1, samples: 4, length: 16, context: 4, data: folder },
    });
    const shapes = new Map(treeFlatten(parameters).map(([path, { shape }]) => [path, shape]));
    // 1 * 3 + 3 weights of the hidden layer, 3 * 6 + 6 of the outputs.
    assert.deepEqual([shapes.get("A"), shapes.get("B")], [[30, 30], [30, 4]]);
    assert(shapes.has("initial.theta"));
    assert.deepEqual((record!.split.test as { name: string }[]).map(({ name }) => name).sort(), [
      "000006.jpg",
      "000007.jpg",
    ]);
    const { x } = data.test as { x: Tensor };
    assert.deepEqual(x.shape, [2, 16, 3]);
    const values = await x.data();
    assert(values.every((value) => value >= -1 && value <= 1) && values.some((value) => value < 0));
    await assert.rejects(
      async () => await celebaCompletion.prepare({ ...tiny, data: folder, samples: 5 }),
      /4 training images, expected more; choose at most 4 /,
    );
  }),
);

Deno.test(
  "deno task train celeba-completion learns from an archive in CelebA's form, and its run is evaluated",
  withFolder(async (folder) => {
    await writeFaces(`${folder}/celeba`, { train: 12, validation: 3, test: 3 });
    const run = runFolder(`${folder}/run`);
    const { stderr, code } = await deno(
      ...["tasks/train.ts", "celeba-completion", "--data", `${folder}/celeba`, "--run", run.path],
      ...["--model", "conv-cnp", "--samples", "12", "--length", "64", "--epochs", "1", "--device", "cpu"],
    );
    assert.equal(code, 0, stderr);
    const outcome = await readOutcome(run, 1);
    assert(outcome && "summary" in outcome);
    const { test } = outcome.summary;
    for (const given of [100, 300, 600]) {
      const mse = test[`mse after ${given}/1024 in [0, 1]`];
      assert(mse > 0 && mse === test[`mse after ${given}/1024`] / 4, `${mse}`);
    }
    const report = await Deno.readTextFile(`${run.path}/report.html`);
    assert.match(report, /Completed test images[^]*aria-label="ground truth"/);
    const evaluated = await deno("tasks/evaluate.ts", run.path, "--data", `${folder}/celeba`);
    assert.equal(evaluated.code, 0, evaluated.stderr);
    assert.match(evaluated.stdout, /3 images/);
  }),
);
