import assert from "node:assert/strict";
import { gradientTraining, lengthOfTraining } from "../../src/series/targets/learning.ts";
import { parameter } from "../../src/nn/layer.ts";
import { zeros } from "../../src/tensor/creation.ts";
import "../devices.ts";

Deno.test("a given number of epochs is a number of visits to each series", () => {
  assert.deepEqual(lengthOfTraining({ epochs: 7, batchSize: 16 }, 35), { epochs: 7, visits: 1, steps: 21 });
});

Deno.test("a small table is trained for at least 1,000 steps, in epochs of some 25", () => {
  assert.deepEqual(lengthOfTraining({ batchSize: 16 }, 35), { epochs: 40, visits: 11, steps: 1000 });
  assert.deepEqual(lengthOfTraining({ batchSize: 16 }, 35, 100), { epochs: 4, visits: 11, steps: 100 });
  assert.deepEqual(lengthOfTraining({ batchSize: 16 }, 35, 3), { epochs: 1, visits: 1, steps: 3 });
});

Deno.test("a large table is visited at least 40 times", () => {
  assert.deepEqual(lengthOfTraining({ batchSize: 16 }, 2000), { epochs: 40, visits: 1, steps: 5000 });
});

const settings = { epochs: 10, batchSize: 16, learningRate: 0.01 };
const taskOf = (version: 1 | 2, ensemble = 1) =>
  gradientTraining({
    parameters: { "0": parameter(zeros([2])), "1": parameter(zeros([2])) },
    ...{ settings, samples: 160, record: { length: 20, version, training: { ensemble } } },
  });

Deno.test("the learning rate warms up and then falls to zero along half a cosine over all steps", () => {
  const { schedule, epochs } = taskOf(2);
  assert.equal(epochs, undefined);
  assert.deepEqual([0, 4].map((step) => schedule!(step).toFixed(2)), ["0.10", "0.50"]);
  assert.ok(Math.abs(schedule!(50) - 0.5) < 1e-9);
  assert.ok(schedule!(99) < 1e-3 && schedule!(100) === 0);
});

Deno.test("each member of an ensemble is clipped by itself, for the mean of the losses", () => {
  const { isEnsemble, clipNorm } = taskOf(2, 2);
  assert.deepEqual({ isEnsemble, clipNorm }, { isEnsemble: true, clipNorm: 0.5 });
});

Deno.test("a run with version 1 of its record is not trained further, and the message names the release", () => {
  assert.throws(() => taskOf(1).checkTraining!(), {
    code: "unsupported-version",
    message: /started with Weft 0\.1 .*; continue the training with Weft 0\.1/,
  });
  assert.equal(taskOf(2).checkTraining, undefined);
});

Deno.test("WARP's learning rate falls with the length of a long series, also if rows are not condensed", async () => {
  const changeFor = async (length: number) => {
    const A = parameter(zeros([2, 400]));
    const { optimizer } = gradientTraining({
      parameters: { A },
      ...{ settings: { ...settings, model: "warp" }, samples: 160 },
      record: { length, version: 2 },
    });
    optimizer!.step({ A: zeros([2, 400]).add(1) });
    return Math.abs((await A.data())[0]);
  };
  const short = await changeFor(100);
  const long = await changeFor(10_000);
  assert.ok(Math.abs(short / long - 5000) < 5, `${short / long}`);
  assert.equal(await changeFor(2048), short);
});

Deno.test("every experiment writes the newest version of the record", async () => {
  const root = new URL("../../", import.meta.url);
  const found: string[] = [];
  for (const folder of ["src/series/run/", "tasks/papers/experiments/"]) {
    for await (const { name, isFile } of Deno.readDir(new URL(folder, root))) {
      const text = isFile ? await Deno.readTextFile(new URL(`${folder}${name}`, root)) : "";
      for (const [, version] of text.matchAll(/\bversion: ([\w.]+),/g)) found.push(version);
    }
  }
  assert.ok(found.length >= 4);
  assert.deepEqual([...new Set(found)], ["recordVersion"]);
});
