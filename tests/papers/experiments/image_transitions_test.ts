import assert from "node:assert/strict";
import { init, key, treeFlatten } from "../../../mod.ts";
import type { DataRecord } from "../../../src/series/record/data_record.ts";
import { imageTransitions } from "../../../tasks/papers/experiments/image_transitions.ts";
import type { SeriesBatch } from "../../../src/series/targets/classifier.ts";
import { withFolder } from "../../tasks/command_line.ts";
import { writeDigits } from "../data/digit_files.ts";

const settings = {
  ...{ seed: 0, epochs: 1, batchSize: 8, learningRate: 0.01, hidden: 2, model: "warp-rotation" },
  ...{ samples: 40, noise: 0.5 },
};

Deno.test(
  "all parts are disjoint test images of MNIST, also if there are training images",
  withFolder(async (folder) => {
    await init({ device: "cpu" });
    await writeDigits(folder, "t10k", 70);
    await writeDigits(folder, "train", 70);
    const { record } = await imageTransitions.prepare({ ...settings, data: folder });
    const { train, validation, test }: DataRecord["split"] = record!.split;
    const names = [...train, ...validation, ...test].map(({ name }) => name);
    assert.equal(new Set(names).size, 40);
    assert.deepEqual(names.filter((name) => !name.startsWith("t10k ")), []);
  }),
);

Deno.test(
  "noise is added to the pixels in training alone, and the model's name decides A",
  withFolder(async (folder) => {
    await init({ device: "cpu" });
    await writeDigits(folder, "t10k", 40);
    const lossesOf = async (chosen: object) => {
      const { data, evaluate, parameters } = await imageTransitions.prepare({
        ...settings,
        data: folder,
        ...chosen,
      });
      const [, A] = treeFlatten(parameters).find(([name]) => name === "A")!;
      // With B = 0 the pixels have no effect.
      const [, B] = treeFlatten(parameters).find(([name]) => name === "B")!;
      B.assign(B.add(0.1));
      const batch = data.train as SeriesBatch;
      const losses = await Promise.all(
        [undefined, key(1), key(2)].map((key) => evaluate(batch, key).loss.item()),
      );
      return { losses, corner: (await A.data())[0] };
    };
    const noisy = await lossesOf({});
    assert.equal(new Set(noisy.losses).size, 3);
    const quiet = await lossesOf({ noise: 0 });
    assert.deepEqual(quiet.losses, new Array(3).fill(noisy.losses[0]));
    assert.ok(Math.abs(noisy.corner - Math.cos(Math.PI / 34)) < 1e-6);
    assert.equal((await lossesOf({ model: "warp" })).corner, 1);
  }),
);
