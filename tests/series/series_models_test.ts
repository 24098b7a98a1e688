import assert from "node:assert/strict";
import { concatenate, key, linearFlow, normal, tensor } from "../../mod.ts";
import { spirals } from "../../src/data/spirals.ts";
import { settingsOf } from "../../src/train/experiment.ts";
import type { SeriesSettings } from "../../src/series/record/settings.ts";
import { forecastModels } from "../../src/series/models/next_step_models.ts";
import { kindNamed, loadKind } from "../../src/series/models/model_settings.ts";
import type { DataRecord } from "../../src/series/record/data_record.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";
import { seriesNetwork } from "../../src/series/models/series_network.ts";
import { openRows, seriesForm } from "../../src/series/models/series_reading.ts";
import { neuralModels } from "../../src/series/models/neural/neural_models.ts";
import { testLong } from "../devices.ts";

const sizes = { inputChannels: 3, outputChannels: 2, hidden: 8, width: 4, depth: 1, key: key(1) };
for (const [name, { load, make, reads, takes }] of Object.entries(neuralModels)) {
  Deno.test(`${name} reads each series at its last row`, async () => {
    const isWindowed = reads === "windows";
    const form = seriesForm(reads, isWindowed ? { window: 2 } : {});
    await load!();
    const model = make({ ...sizes, ...(takes.includes("method") ? { method: "midpoint" } : {}) });
    const x = normal(key(0), [2, 7, 3]);
    const read = async (lengths: number[]) => {
      const ends = tensor(lengths.map(form.gridPoints), { dtype: "int32" });
      const logits = model(form.read(x), { lengths: ends });
      assert.deepEqual(logits.shape, [2, 2]);
      return await logits.data();
    };
    const [a, b] = [await read([4, 7]), await read([7, 7])];
    assert.ok(a.every(Number.isFinite));
    assert.notEqual(a[0], b[0], "the first series ends earlier");
    assert.deepEqual(a.slice(2), b.slice(2), "the second one does not");
  });
}

Deno.test("a row of observations has the last values and their ages", async () => {
  const x = tensor([[[1, NaN, NaN], [1.5, 2, NaN], [3, NaN, NaN], [4, NaN, NaN], [6, NaN, 5]]]);
  const { values, gaps, since, observed } = openRows(seriesForm("observations").read(x));
  assert.deepEqual(await values.toArray(), [[[1, 0, 0], [1.5, 2, 0], [3, 2, 0], [4, 2, 0], [6, 2, 5]]]);
  assert.deepEqual(await gaps.toArray(), [[0, 0.5, 1.5, 1, 2]]);
  assert.deepEqual(await since.squeeze(-1).toArray(), [[0, 0.5, 1.5, 2.5, 4.5]]);
  assert.deepEqual([...await observed.data()], [0, 1, 0, 0, 1]);
});

Deno.test("ode-rnn rejects steps that are longer than the time between observations", async () => {
  await neuralModels["ode-rnn"].load!();
  assert.throws(
    () => neuralModels["ode-rnn"].make({ ...sizes, inputChannels: 2, stepSize: 2 }),
    /ode-rnn: stepSize 2, expected at most 1/,
  );
});

for (const [name, more] of Object.entries({ "gru-dt": {}, "ode-rnn": { stepSize: 0.02 } })) {
  Deno.test(`rows without observations do not change predictions of ${name}`, async () => {
    const { make } = await loadKind(neuralModels, name);
    const model = make({ ...sizes, ...more, inputChannels: 2 });
    const read = (rows: number[][]) => {
      const lengths = tensor([rows.length], { dtype: "int32" });
      return model(seriesForm(neuralModels[name].reads).read(tensor([rows])), { lengths });
    };
    const expected = read([[0, 1], [1, 2], [4, 3]]);
    const found = read([[0, 1], [1, 2], [2, NaN], [3, NaN], [4, 3]]);
    assert.ok(await found.sub(expected).abs().max().item() < 1e-5);
  });
}

for (const name of ["s4d", "lru", "s5", "mamba", "structured-cde"]) {
  Deno.test(`a batched stream of ${name} gives the predictions of whole series`, async () => {
    const { make } = await loadKind(neuralModels, name);
    const model = make(sizes);
    const [count, length] = [17, 5];
    const times = tensor([0, 1, 1.5, 4, 4.5]).reshape([1, length, 1]).broadcastTo([count, length, 1]);
    const x = concatenate([times, normal(key(0), [count, length, 2])], -1);
    const rows = await x.toArray() as number[][][];
    const { push, check } = model.streams!();
    let known: unknown[] = rows.map(() => undefined);
    for (let t = 0; t < length; t++) {
      const now = await push(rows.map((row) => row[t]), known);
      known = JSON.parse(JSON.stringify(now.map((one) => one.state)));
      const lengths = tensor(rows.map(() => t + 1), { dtype: "int32" });
      const whole = model(seriesForm(neuralModels[name].reads).read(x), { lengths });
      assert.ok(
        await whole.sub(tensor(now.map(({ outputs }) => outputs))).abs().max().item() < 1e-5,
        `row ${t}`,
      );
    }
    check(known[0]);
    assert.throws(
      () => check({ observations: [[0, 0, 0]], state: [1, 2] }),
      /of another model, or damaged: expected one or two observations of 3 channels, and a state/,
    );
  });
}

Deno.test("a window covers a fixed number of observations, and the last window may be shorter", () => {
  const { gridPoints } = seriesForm("windows", { window: 3 });
  assert.deepEqual([1, 2, 4, 5, 7, 8].map(gridPoints), [2, 2, 2, 3, 3, 4]);
});

/** Non-default settings of models. */
const changed = {
  ...{ hidden: 16, width: 5, depth: 3, heads: 2, feedForward: 5, window: 2, signatureDepth: 1 },
  ...{ method: "euler", stepSize: 0.5, clipWeights: 1e-3, online: true },
} as const;
for (const [name, { takes }] of Object.entries(neuralModels)) {
  testLong(`every setting of ${name} changes its outputs, and other settings are rejected`, async () => {
    const series = spirals(2, key(0), { length: 6 }).series;
    const channel = { kind: "number", mean: 0, standardDeviation: 1 } as const;
    const record: DataRecord = {
      ...{ version: 1, classes: [], split: { train: [], validation: [], test: [] }, ignored: [] },
      channels: [{ ...channel, name: "x" }, { ...channel, name: "y" }],
      time: { kind: "number", origin: "first observation of each series", scale: 1 },
      length: 6,
    };
    const read = async (chosen: Partial<SeriesSettings>) => {
      const settings = settingsOf(ownSeries, {
        hidden: 8,
        model: name,
        ...chosen,
      }) as unknown as SeriesSettings;
      await loadKind(neuralModels, name);
      const network = seriesNetwork({ record, settings, key: key(0), width: 4, depth: 1 }, 2);
      return { rows: await network.read(series), isStreamed: network.streams !== undefined };
    };
    const before = await read({});
    for (const [setting, value] of Object.entries(changed) as [keyof typeof changed, never][]) {
      if (!takes.includes(setting)) {
        await assert.rejects(
          read({ [setting]: value }),
          new RegExp(`the model ${name} cannot use .*: leave it out`),
        );
      } else if (name !== "hebb-rde" || setting !== "method") {
        // The vector field of Hebb's rule does not depend on its state within a window, so every method is
        // exact.
        assert.notDeepEqual(await read({ [setting]: value }), before, setting);
      }
    }
  });
}

for (const [name, { make, takes }] of Object.entries(forecastModels)) {
  testLong(`every setting of the forecaster ${name} changes its outputs`, async () => {
    const read = (chosen: { hidden?: number; depth?: number; clipWeights?: number }) => {
      const { hidden = 4, depth = 1, clipWeights } = chosen;
      const model = make({
        ...{ channels: 2, length: 6, hidden, clipWeights, physics: linearFlow(), key: key(1) },
        root: { depth, activation: "silu" },
      });
      return model(normal(key(0), [2, 6, 2]), { context: 3 }).toArray();
    };
    for (const [setting, value] of Object.entries({ hidden: 6, depth: 2, clipWeights: 1e-3 })) {
      const isSame = JSON.stringify(await read({ [setting]: value })) === JSON.stringify(await read({}));
      assert.equal(isSame, !takes.some((used) => used === setting), setting);
    }
  });
}

Deno.test("the error of an unknown model suggests the nearest model, or lists the models", () => {
  assert.throws(
    () => kindNamed(neuralModels, "neural-cd"),
    /unknown model "neural-cd"; did you mean neural-cde\?$/,
  );
  assert.throws(
    () => kindNamed(neuralModels, "perceptron"),
    /unknown model "perceptron"; expected neural-cde, gru-ode/,
  );
});

Deno.test("docs/guides/choosing.md describes every model", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/guides/choosing.md", import.meta.url));
  for (const name of Object.keys(neuralModels)) assert.match(page, new RegExp(`^\\|.*\`${name}\`.*\\|`, "m"));
});
