import assert from "node:assert/strict";
import type { DataRecord } from "../../../src/series/record/data_record.ts";
import { init } from "../../../mod.ts";
import { sequentialMnist } from "../../../tasks/papers/experiments/image_classes.ts";
import { lacksTrainingImages } from "../../../tasks/papers/experiments/images.ts";
import { writeDigits } from "../data/digit_files.ts";
import { withFolder } from "../../tasks/command_line.ts";

const settings = {
  seed: 0,
  epochs: 1,
  batchSize: 8,
  learningRate: 0.01,
  hidden: 2,
  model: "gru",
  length: 16,
};

Deno.test(
  "the test images of a data set are the test set, and a given number of the others are for training and validation",
  withFolder(async (folder) => {
    await init({ device: "cpu" });
    await writeDigits(folder, "t10k", 70);
    const config = { ...settings, data: folder, samples: 60 };
    const parts = async (fromTestImages = false) => {
      const { record, notices } = await sequentialMnist.prepare({ ...config, fromTestImages });
      assert.equal(
        notices?.some((line) => line.includes("learns from test images")) ?? false,
        fromTestImages,
      );
      const { train, validation, test }: DataRecord["split"] = record!.split;
      return {
        record: record!,
        parts: [train, validation, test].map((part) => part.map(({ name }) => name)),
      };
    };
    await assert.rejects(parts(), /no training images .*from-?[tT]est-?[iI]mages/);
    assert.deepEqual((await parts(true)).parts.map(({ length }) => length), [40, 10, 10]);

    await writeDigits(folder, "train", 100);
    const { parts: fromTest } = await parts(true);
    assert(
      fromTest.flat().every((name) => name.startsWith("t10k ")),
      "the option does not depend on the files",
    );
    const { record, parts: [train, validation, test] } = await parts();
    assert.deepEqual(test, Array.from({ length: 70 }, (_, i) => `t10k ${i + 1}`));
    assert.deepEqual([train.length, validation.length], [50, 10]);
    assert([...train, ...validation].every((name) => name.startsWith("train ")));
    assert.deepEqual([record.length, record.classes.length], [16, 10]);
    assert.equal((await (await sequentialMnist.open!(config, record)).samples(folder)).count, 70);
  }),
);

Deno.test(
  "a table at the scale of the paper needs the training images, and the small table does not",
  withFolder(async (folder) => {
    await writeDigits(folder, "t10k", 10);
    const lacks = (experiment: string, fromTestImages?: boolean) =>
      lacksTrainingImages(folder, { experiment, fromTestImages });
    assert.deepEqual(
      await Promise.all([
        ...["sequential-mnist", "mnist-completion", "fashion-mnist-completion"].map((name) => lacks(name)),
        ...[lacks("sequential-mnist", true), lacks("mnist-transitions"), lacks("etth1")],
      ]),
      [true, true, true, false, false, false],
    );
    await writeDigits(folder, "train", 10);
    assert.equal(await lacks("sequential-mnist"), false);
  }),
);
