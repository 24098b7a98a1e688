import assert from "node:assert/strict";
import { init, type Tensor } from "../../../mod.ts";
import { readSepsis } from "../../../tasks/papers/data/sepsis.ts";
import { addIntensity } from "../../../src/data/series.ts";
import { sepsis } from "../../../tasks/papers/experiments/sepsis.ts";
import { treeLeaves } from "../../../src/tensor/tree.ts";
import { withFolder } from "../../tasks/command_line.ts";
import { stay, upTo, writeStays } from "../data/stays.ts";
import { testLong } from "../../devices.ts";

Deno.test(
  "stays are read from both archives with their first 72 hours, static channels and sepsis in these hours",
  withFolder(async (folder) => {
    await writeStays(folder, "training_setA.zip", {
      "training/p000001.psv": stay(upTo(80), { septicFrom: 75 }),
      "training/._p000001.psv": "what macOS keeps",
      "training/p000002.psv": stay([2, 3, 5], { unit: "1", septicFrom: 5 }),
      "training/p000003.psv": stay([1, 2]),
    });
    await writeStays(folder, "training_setB.zip", {
      "training_setB/p100001.psv": stay(upTo(3), { age: 20 }),
    });
    const { series, channels, kinds, classes } = await readSepsis(folder);
    assert.deepEqual(
      series.map(({ name, times, label }) => [name, times.length, classes[label]]),
      [["p000001", 72, "no sepsis"], ["p000002", 3, "sepsis"], ["p100001", 3, "no sepsis"]],
    );
    assert.deepEqual(channels.slice(34), ["Age", "Gender", "Unit1", "Unit2", "HospAdmTime"]);
    assert.deepEqual(kinds!.map(({ role }) => role).slice(33), ["observed", ...Array(5).fill("static")]);
    assert.deepEqual([...series[1].times], [2, 3, 5]);
    assert.deepEqual([...series[1].values.subarray(0, 4)], [NaN, NaN, 2.6, NaN]);
    assert.deepEqual([...series[0].values.subarray(34, 39)], [60, 1, 0, 0, -0.5]);

    const marked = await readSepsis(folder, { marks: true });
    assert.deepEqual([...marked.series[0].values.subarray(39, 41)], [0, 0]);
    assert.deepEqual([...marked.series[1].values.subarray(39, 41)], [1, 1]);

    await writeStays(folder, "training_setB.zip", {
      "p.psv": stay([1, 2, 4]).replace("|-0.5|2|", "|-0.5|x|"),
    });
    await assert.rejects(readSepsis(folder), /p\.psv, line 3: expected a number or NaN in ICULOS, got "x"/);
    await writeStays(folder, "training_setB.zip", { "p.psv": stay([1, 3, 2]) });
    await assert.rejects(
      readSepsis(folder),
      /p\.psv, line 4: hour 2, expected a later hour than in the row before/,
    );
    await assert.rejects(
      readSepsis(`${folder}/none`),
      /none: no such folder; expected training_setA\.zip and training_setB/,
    );
  }),
);

Deno.test("intensity channels count the observations of each channel or mark them", () => {
  const series = [{ name: "a", times: Float64Array.of(0, 1, 2), label: 0 }].map((one) => ({
    ...one,
    values: Float64Array.of(5, NaN, NaN, 6, 7, 8),
  }));
  assert.deepEqual(
    [...addIntensity(series, 2, "count")[0].values],
    [5, NaN, 1, 0, NaN, 6, 1, 1, 7, 8, 2, 2],
  );
  assert.deepEqual([...addIntensity(series, 2, "mask")[0].values], [5, NaN, 1, 0, NaN, 6, 0, 1, 7, 8, 1, 1]);
});

testLong(
  "sepsis models have as many parameters as the paper's and read static features at the start",
  withFolder(async (folder) => {
    await init({ device: "cpu" });
    await writeStays(
      folder,
      "training_setA.zip",
      Object.fromEntries(
        upTo(12).map((i) => [
          `p${i}.psv`,
          stay(upTo(3 + i % 2), { age: 20 + 5 * i, septicFrom: i % 3 === 0 ? 2 : Infinity }),
        ]),
      ),
    );
    const settings = { seed: 0, epochs: 1, batchSize: 8, learningRate: 0.01, hidden: 49, data: folder };
    const prepare = async (model: string, intensity: boolean, hidden: number, width?: number) =>
      await sepsis.prepare({
        ...{ ...settings, ...(intensity ? { intensity } : {}), model, hidden, width },
        recipe: "paper",
      });
    const count = async (...choices: Parameters<typeof prepare>) =>
      treeLeaves((await prepare(...choices)).parameters).reduce((sum, { size }) => sum + size, 0);
    // Appendix D.3.
    assert.equal(await count("neural-cde", true, 49), 193541);
    assert.equal(await count("neural-cde", false, 49), 109729);
    assert.equal(await count("gru-dt", true, 187), 195033);

    for (const model of ["neural-cde", "gru-d", "delta-cde", "gru"]) {
      const { data, evaluate } = await prepare(model, true, 8, 4);
      const batch = data.train as { readonly staticFeatures: Tensor };
      assert.deepEqual(batch.staticFeatures.shape.slice(1), [7]);
      const loss = async (scale: number) =>
        await evaluate({ ...batch, staticFeatures: batch.staticFeatures.mul(scale) }).loss.item();
      assert.notEqual(await loss(1), await loss(2), model);
    }
  }),
);
