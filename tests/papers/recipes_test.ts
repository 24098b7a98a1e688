import assert from "node:assert/strict";
import { CubicSpline, naturalCubicCoeffs, stack, tensor } from "../../mod.ts";
import type { ChannelStatistics } from "../../src/data/scaling.ts";
import { openRows, seriesForm } from "../../src/series/models/series_reading.ts";
import { parameterCount } from "../../src/nn/layer.ts";
import { forecastModel, type ForecastModelSizes } from "../../src/series/models/next_step_models.ts";
import { imageModel } from "../../tasks/papers/experiments/image_models.ts";
import { key } from "../../src/tensor/random.ts";
import { zipFile } from "../data/zip_file.ts";
import { testLong } from "../devices.ts";
import { treeFlatten } from "../../src/tensor/tree.ts";
import { experimentNamed } from "../runs.ts";
import { settingsOf } from "../../src/train/experiment.ts";
import { tables } from "../../tasks/papers/tables/registry.ts";
import { tableRuns } from "../../tasks/papers/tables/table.ts";
import { papers } from "../../tasks/papers/recipes/papers.ts";
import { valuesOf } from "../../tasks/papers/recipes/recipe.ts";
import { learning } from "../../tasks/papers/experiments/recipe.ts";
import { zeros } from "../../src/tensor/creation.ts";
import { withFolder } from "../tasks/command_line.ts";
import { writeDigits } from "./data/digit_files.ts";
import { type Numbers, recipeNumbers, stateSizes } from "./recipe_numbers.ts";
import { runNumbers } from "./run_numbers.ts";

/** Rounds to twelve digits: factors of learning rates have rounding errors. */
function rounded<Of>(numbers: Readonly<Record<string, Readonly<Record<string, Of>>>>) {
  const round = (value: Of) => typeof value === "number" ? Number(value.toPrecision(12)) : value;
  return Object.fromEntries(
    Object.entries(numbers).map(([title, values]) => [
      title,
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, round(value)])),
    ]),
  );
}

for (const { paper, recipes } of papers) {
  Deno.test(`each value of the recipes of ${paper} is that of the paper or of the authors' code`, () => {
    const found = recipes.map(({ title, settings, rules }) =>
      [title, valuesOf({ ...settings, ...rules })] as const
    );
    assert.equal(new Set(found.map(([title]) => title)).size, recipes.length, "two recipes have one title");
    assert.deepEqual(rounded(Object.fromEntries(found)), rounded(recipeNumbers[paper]));
  });
}

for (const table of tables.filter(({ scales }) => scales.paper)) {
  Deno.test(`each run of ${table.name} has the numbers of the paper and the authors' code`, async () => {
    const runs = await tableRuns(table, { scale: "paper", seeds: [0] });
    const found = runs.map(({ row, columns, config }) => {
      const { experiment: _, device: __, seed: ___, data: ____, ...settings } = config;
      return [`${row.title} | ${columns[0].title}`, settings as Numbers] as const;
    });
    assert.equal(new Set(found.map(([run]) => run)).size, runs.length, "two runs have one name");
    assert.deepEqual(rounded(Object.fromEntries(found)), rounded(runNumbers[table.name]));
  });
}

Deno.test("--recipe paper has the settings of the tables at the scale of the paper as defaults", async () => {
  const chosen = [
    ["ncde-table-1", "gru-d", "character-trajectories", {}],
    ["ncde-table-2", "ode-rnn", "sepsis", { intensity: true }],
    ["ncde-table-3", "neural-cde", "speech-commands", {}],
    ["fast-weights-table-1", "oja-cde", "sepsis", { intensity: true }],
    ["fast-weights-table-1", "delta-ode", "speech-commands", {}],
    ["fast-weights-table-2", "delta-rde", "eigenworms", {}],
    ["warp-table-1", "s4d", "mnist-completion", {}],
    ["warp-table-1", "gru", "mnist-completion", {}],
    ["warp-table-1", "lstm", "celeba-completion", {}],
    ["warp-table-1", "conv-cnp", "celeba-completion", {}],
    ["warp-table-2", "warp-phys", "mass-spring-damper-zero", {}],
    ["warp-table-2", "transformer", "lotka-volterra", {}],
    ["warp-table-2", "lstm", "sine", {}],
    ["warp-table-3", "warp", "motor-imagery", {}],
    ["warp-sequential-mnist", "warp", "sequential-mnist", {}],
    ["warp-figure-2", "warp", "ettm2", {}],
  ] as const;
  for (const [name, model, experiment, others] of chosen) {
    const runs = await tableRuns(tables.find((table) => table.name === name)!, {
      scale: "paper",
      seeds: [0],
    });
    const run = runs.find(({ row, config }) =>
      row.model === model && config.experiment === experiment &&
      Object.entries(others).every(([key, value]) =>
        (config as unknown as Record<string, unknown>)[key] === value
      )
    )!;
    const found = settingsOf(experimentNamed(experiment), { recipe: "paper", model, ...others });
    for (const [key, value] of Object.entries(run.config)) {
      if (["experiment", "device", "seed", "data", "dataSeed", "drop", "signatureDepth"].includes(key)) {
        continue;
      }
      assert.equal(found[key], value, `${name}, ${model}, ${experiment}: ${key}`);
    }
  }
});

Deno.test("WARP's recipe clips each element of the gradients to 1e-7 before AdaBelief, and S4's decays weights by 0.05", async () => {
  const parameters = { x: zeros([1]) };
  const optimizerOf = (model: string) =>
    learning({ parameters, settings: { learningRate: 0.001, recipe: "paper", model }, steps: 1 });
  assert.equal(optimizerOf("warp").clipValue, 1e-7);
  const s4 = optimizerOf("s4d");
  assert.equal(s4.clipValue, undefined);
  assert.equal(s4.plateau, undefined);
  parameters.x = zeros([1]).add(1);
  const { optimizer } = learning({
    ...{ parameters, settings: { learningRate: 0.1, recipe: "paper", model: "s4d" }, steps: 1 },
  });
  optimizer!.step({ x: zeros([1]) });
  assert.ok(Math.abs(await parameters.x.sum().item() - (1 - 0.1 * 0.05)) < 1e-6);
});

Deno.test("WARP's recipe halves the rate at the twentieth average of 50 losses without improvement, down to 1 %", () => {
  const { plateau } = learning({
    ...{ parameters: { x: zeros([1]) }, settings: { learningRate: 1, recipe: "paper", model: "warp" } },
    steps: 1,
  });
  // The first average is an improvement.
  for (let loss = 1; loss < 50 * 21; loss++) assert.equal(plateau!.update(1), 1);
  assert.equal(plateau!.update(1), 0.5);
  for (let loss = 0; loss < 50 * 20 * 7; loss++) plateau!.update(1);
  assert.equal(plateau!.state.factor, 0.01);
});

/** Number of weights and biases of a chain of linear layers. */
function countOf(...widths: readonly number[]): number {
  return widths.slice(1).reduce((sum, outputs, i) => sum + outputs * (widths[i] + 1), 0);
}

/** Twenty months of one hourly row, of seven channels between -5 and 20. */
function transformer(): string {
  const start = Date.UTC(2016, 6, 1);
  const rows = Array.from({ length: 20 * 30 * 24 }, (_, row) => {
    const time = new Date(start + row * 3_600_000).toISOString().slice(0, 19).replace("T", " ");
    return [time, ...Array.from({ length: 7 }, (_, c) => (8 + 3 * c * Math.sin(row / (4 + c))).toFixed(3))]
      .join(",");
  });
  return ["date,HUFL,HULL,MUFL,MULL,LUFL,LULL,OT", ...rows].join("\n") + "\n";
}

/** Hidden layers and outputs of each experiment's root network in the paper. */
const roots: Readonly<Record<string, readonly [width: number, depth: number, outputs: number]>> = {
  "mnist-completion": [24, 3, 2],
  "fashion-mnist-completion": [24, 3, 2],
  "celeba-completion": [24, 3, 6],
  "sequential-mnist": [24, 3, 10],
  "mass-spring-damper": [48, 3, 2],
  "mass-spring-damper-zero": [48, 3, 2],
  "lotka-volterra": [48, 3, 2],
  "sine": [48, 3, 1],
  "etth1": [148, 1, 14],
};

testLong(
  "in the paper's recipe WARP's root network reads tau alone, and has the number of weights of the paper",
  withFolder(async (folder) => {
    for (const part of ["t10k", "train"] as const) await writeDigits(folder, part, 1600);
    await Deno.writeTextFile(`${folder}/ETTh1.csv`, transformer());
    const small = 3;
    for (const [name, { D, inputs, hasPhi }] of Object.entries(stateSizes)) {
      const [width, depth, outputs] = roots[name];
      const layers = (width: number) => Array<number>(depth).fill(width);
      assert.equal(countOf(inputs, ...layers(width), outputs), D, name);
      // Its images need a package: celeba_checks.ts.
      if (name === "celeba-completion") continue;
      const experiment = experimentNamed(name);
      const { parameters } = await experiment.prepare({
        ...{ model: "warp", recipe: "paper", seed: 0, epochs: 1, batchSize: 8, learningRate: 1e-5 },
        ...{ hidden: small, depth, samples: 20 },
        ...(name.includes("mnist") ? { data: folder, length: 16, context: 4 } : {}),
        ...(name.startsWith("mass") ? { length: 12, context: 4 } : {}),
        ...(name === "lotka-volterra" ? { length: 16 } : {}),
        ...(name === "etth1" ? { data: `${folder}/ETTh1.csv`, samples: undefined } : {}),
      });
      const shapes = new Map(treeFlatten(parameters).map(([path, { shape }]) => [path, shape]));
      assert.deepEqual(shapes.get("A"), Array(2).fill(countOf(inputs, ...layers(small), outputs)), name);
      assert.equal(shapes.has("initial.theta"), !hasPhi, name);
    }
  }),
);

testLong("only WARP-Phys reads the previous input on mass-spring-damper", async () => {
  const { parameters } = await experimentNamed("mass-spring-damper").prepare({
    ...{ model: "warp-phys", recipe: "paper", seed: 0, epochs: 1, batchSize: 8, learningRate: 1e-5 },
    ...{ hidden: 3, depth: 3, samples: 20, length: 12, context: 4 },
  });
  const shapes = new Map(treeFlatten(parameters).map(([path, { shape }]) => [path, shape]));
  assert.deepEqual(shapes.get("A"), Array(2).fill(countOf(3, 3, 3, 3, 4)));
});

Deno.test("WARP's recipe scales four UEA problems to [-1, 1] and leaves two as they are", async () => {
  const problem = (channels: number, classes: string[]) => {
    const line = (i: number) =>
      Array.from(
        { length: channels },
        (_, c) => Array.from({ length: 9 }, (_, t) => (5 + 3 * Math.sin(t + c + i)).toFixed(3)).join(","),
      ).join(":");
    const rows = Array.from({ length: 20 }, (_, i) => `${line(i)}:${classes[i % classes.length]}`);
    return `@problemName p\n@dimensions ${channels}\n@classLabel true ${classes.join(" ")}\n@data\n${
      rows.join("\n")
    }\n`;
  };
  await withFolder(async (folder) => {
    const channelsOf = async (experiment: string, name: string, model: string) => {
      const content = problem(2, ["a", "b"]);
      await Deno.writeFile(
        `${folder}/${name}.zip`,
        zipFile([{ name: `${name}_TRAIN.ts`, content }, { name: `${name}_TEST.ts`, content }]),
      );
      const { record, parameters } = await experimentNamed(experiment).prepare({
        ...{ model, recipe: "paper", data: `${folder}/${name}.zip`, hidden: 2, depth: 1 },
        ...{ seed: 0, epochs: 1, batchSize: 8, learningRate: 1e-5 },
      });
      return { channels: record.channels as ChannelStatistics[], parameters };
    };
    const scaled = await channelsOf("self-regulation-scp1", "SelfRegulationSCP1", "warp");
    for (const { mean, standardDeviation } of scaled.channels) {
      assert.ok(Math.abs(mean - 5) < 0.1 && Math.abs(standardDeviation - 3) < 0.1, "the range is 2 to 8");
    }
    // Two classes have two logits: D = 2 * 2 + 2 * 3.
    assert.deepEqual(new Map(treeFlatten(scaled.parameters)).get("A")!.shape, [10, 10]);
    for (
      const { mean, standardDeviation } of (await channelsOf("motor-imagery", "MotorImagery", "warp"))
        .channels
    ) {
      assert.deepEqual([mean, standardDeviation], [0, 1]);
    }
    const others = await channelsOf("self-regulation-scp1", "SelfRegulationSCP1", "gru");
    assert.ok(others.channels.every(({ standardDeviation }) => standardDeviation < 2.5));
  })();
});

Deno.test("the paper's recipe fills missing values of the discrete models by natural cubic splines", async () => {
  const values = [0, 1, NaN, 3, NaN, NaN, 0];
  const x = stack([tensor([0, 1, 2, 3, 4, 5, 6]), tensor(values)], -1).expandDims(0);
  const rows = (fill?: "spline") => openRows(seriesForm("observations", { fill }).read(x));
  const column = async (fill?: "spline") => [...await rows(fill).values.select(-1, 1).data()];
  assert.deepEqual(await column(), [0, 1, 1, 3, 3, 3, 0]);
  const spline = CubicSpline(naturalCubicCoeffs(x));
  const found = await column("spline");
  for (const [t, value] of found.entries()) {
    const expected = await spline.evaluate(t).select(-1, 1).sum().item();
    assert.ok(Math.abs(value - expected) < 1e-6, `${t}: ${value}, expected ${expected}`);
    if (!Number.isNaN(values[t])) assert.ok(Math.abs(value - values[t]) < 1e-6);
  }
  assert.ok(found[2] !== 1 && found[4] !== 3);
  assert.deepEqual(
    [...await rows("spline").observed.data()].map(Boolean),
    values.map((v) => !Number.isNaN(v)),
  );
});

Deno.test("the models of image completion have the numbers of parameters of the paper's appendix C.1", () => {
  const base: ForecastModelSizes = {
    ...{ channels: 1, length: 784, hidden: 24, leastDeviation: 0.5, key: key(0) },
    root: { depth: 3, activation: "relu" },
    initial: "learned",
    bound: "dynamicTanh",
  };
  const published = { warp: 1.687, gru: 1.694, lstm: 1.696 };
  const units = { warp: undefined, gru: 750, lstm: 650 };
  for (const name of ["warp", "gru", "lstm"] as const) {
    const { parameters } = forecastModel(name, { ...base, units: units[name] });
    const millions = parameterCount(parameters) / 1e6;
    // PyTorch's cells, and Weft's, have a second bias.
    assert.ok(Math.abs(millions - published[name]) < 0.0035, `${name}: ${millions} M`);
  }
});

Deno.test("the models of CelebA have about the 2 M parameters of the paper's section 3.1", () => {
  const base: ForecastModelSizes = {
    ...{ channels: 3, length: 1024, hidden: 24, leastDeviation: 1e-4, key: key(0) },
    root: { depth: 3, activation: "relu" },
    initial: "learned",
    bound: "dynamicTanh",
  };
  const sizes = { "warp": { time: true }, "gru": { units: 825 }, "lstm": { units: 700 } };
  for (const [name, chosen] of Object.entries({ ...sizes, "conv-cnp": { units: 128, layers: 5 } })) {
    const millions = parameterCount(imageModel(name, { ...base, ...chosen }).parameters) / 1e6;
    assert.ok(millions > 1.95 && millions < 2.08, `${name}: ${millions} M`);
  }
});
