/** Numbers in sentences that follow from recorded tables are computed again. */
import assert from "node:assert/strict";
import { readRecorded } from "../../../tasks/papers/pages/recorded_tables.ts";

/** The rows of a recorded table by the text of their first column, without it. */
async function rowsOf(table: string): Promise<Record<string, string[]>> {
  const { rows } = await readRecorded(table);
  return Object.fromEntries(rows.map(([name, ...cells]) => [name, cells]));
}

/** The first number of a cell: a mean without its standard deviation. */
const number = (cell: string) => Number(/-?[\d,.]*\d/.exec(cell)![0].replaceAll(",", ""));
const range = (values: number[], digits = 0) =>
  `${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)}`;
const percentAbove = (value: number, reference: number) => 100 * (value / reference - 1);

/** Errors of models on Lotka-Volterra by the paper's recipe, in percent above the paper's error. */
async function abovePaper(...models: string[]): Promise<number[]> {
  const table = await rowsOf("warp-lotka-volterra-paper-recipe");
  return models.flatMap((model) => {
    const [, , halves] = table[model];
    const published = Number(table[model.replace(/,.*/, "")][3]);
    return halves.split(", ").map((half) => percentAbove(Number(half), published));
  });
}

/** Phrases that a page must contain, with the numbers of the tables. */
const phrases: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  async "docs/research/warp_results.md"() {
    const oscillations = await rowsOf("warp-oscillations-paper-recipe");
    const [weft, authors] = [oscillations["WARP"], oscillations["WARP, its authors' code (JAX)"]];
    const differences = authors.slice(0, 5).flatMap((cell, i) =>
      cell === "" ? [] : [Math.abs(percentAbove(number(cell), number(weft[i])))]
    );
    const authorsAbove = await abovePaper("WARP, its authors' code (JAX)");
    const minutes = (await Promise.all(["28", "14"].map((side) => rowsOf(`warp-completion-${side}`))))
      .flatMap((rows) => Object.values(rows).map((row) => row.at(-4)!).filter((cell) => cell !== ""));
    const digits = await rowsOf("warp-sequential-mnist");
    const hours = Object.values(await rowsOf("warp-ett")).slice(0, 3).map(([parameters]) =>
      number(parameters)
    );
    const classified = ["GRU", "LSTM"].map((model) => number(digits["WARP"][0]) / number(digits[model][0]));
    const msdZero = await rowsOf("warp-oscillations");
    return [
      `differ from Weft's by ${range(differences)} %`,
      `Weft's errors are ${range(await abovePaper("WARP", "GRU", "LSTM"))} % larger`,
      `are ${authorsAbove.map((x) => x.toFixed(0)).join(" and ")} % larger`,
      `A run of completed digits takes ${range(minutes.map(Number))} minutes`,
      `WARP has ${range([...classified, hours[0] / hours[1], hours[0] / hours[2]], 1)} times as many`,
      `${number(msdZero["WARP-Phys, E(τ) x_0"][4]).toFixed(2)} against ${
        number(msdZero["WARP"][4]).toFixed(2)
      }`,
    ];
  },
  async "docs/research/results.md"() {
    const { head, rows } = await readRecorded("ncde-table-1");
    const lines = rows.map((row) => Object.fromEntries(head.map((title, i) => [title, row[i]])));
    const runs = lines.filter(({ column }) => column.endsWith("dropped"));
    const numbers = (column: string, models: readonly string[]) =>
      runs.filter(({ model }) => models.includes(model)).map((run) => Number(run[column]));
    const columns = [...new Set(runs.map(({ column }) => column))];
    const lower = columns.map((column) => {
      const cell = runs.filter((run) => run.model === "ODE-RNN" && run.column === column);
      const mean = cell.reduce((sum, { value }) => sum + Number(value), 0) / cell.length;
      return Number(cell[0].published) - mean;
    });
    const seconds = runs.reduce((sum, run) => sum + Number(run.epochs) * Number(run["seconds an epoch"]), 0);
    const memory = lines.map((line) => Number(line["peak memory in bytes"]) / 2 ** 20);
    const changes = Object.values(await rowsOf("uea-characters")).map((row) => {
      const means = row.slice(0, 3).map(number);
      return Math.max(...means) - Math.min(...means);
    });
    const first = runs.filter(({ model, seed }) => model === "GRU-ODE" && seed === "0");
    assert.equal(first[0].value, first[1].value);
    return [
      `by ${range(lower, 1)}.`,
      `The epochs of the ${runs.length} runs took ${(seconds / 3600).toFixed(1)} hours`,
      `is ${range(memory)} MiB over all runs`,
      `took ${range(numbers("seconds an epoch", ["Neural CDE"]), 1)} s for the Neural CDE`,
      `and ${range(numbers("seconds an epoch", ["GRU-Δt", "GRU-D"]), 1)} s for GRU-Δt and GRU-D`,
      `seed 0 has ${Number(first[0].value).toFixed(1)} % with both`,
      `by at most ${Math.max(...changes).toFixed(1)} percentage points`,
    ];
  },
  async "docs/research/fast_weights.md"() {
    const characters = await rowsOf("uea-characters");
    const others = await rowsOf("uea-vowels-motions");
    const below = ["Oja, direct", "Delta, direct"].flatMap((rule) => [
      ...[0, 1, 2].map((i) => number(characters[rule][i]) - number(characters["Hebb, direct"][i])),
      ...[0, 3].map((i) => number(others[rule][i]) - number(others["Hebb, direct"][i])),
    ]);
    const gates = await rowsOf("gated-rules");
    const [vowels, motions] = [1, 2].map((i) =>
      (number(gates["Oja"][i]) - number(gates["Oja with a forget gate"][i])).toFixed(1)
    );
    return [
      `at most ${Math.max(...below).toFixed(1)} percentage points below`,
      `differ by ${vowels} on JapaneseVowels and by ${motions} on BasicMotions`,
    ];
  },
  async "docs/research/model_choice.md"() {
    const { mean, ...tables } = await rowsOf("model-choice-forecasts");
    const means = [0, 1, 2, 3, 4].map((i) =>
      Object.values(tables).reduce((sum, row) => sum + Number(row[i]), 0) / Object.keys(tables).length
    );
    assert.deepEqual(mean.slice(0, 5), means.map((mean) => mean.toFixed(2)));
    return [`The mean is ${mean[0]} for \`auto\`, and ${mean[3]} for AutoARIMA`];
  },
  async "docs/research/equations.md"() {
    const { head, rows } = await readRecorded("ncde-table-1");
    const parameters = (model: string) =>
      number(rows.find((row) => row[head.indexOf("model")] === model)![head.indexOf("parameters")])
        .toLocaleString("en");
    return [
      `and ${parameters("GRU-Δt")}, ${parameters("GRU-D")} and ${parameters("ODE-RNN")} parameters.`,
      `and ${parameters("GRU-ODE")} in Weft.`,
    ];
  },
  async "docs/research/errata.md"() {
    return [`errors that are ${range(await abovePaper("WARP", "GRU", "LSTM"))} % larger than the paper's`];
  },
};

for (const [page, expected] of Object.entries(phrases)) {
  Deno.test(`numbers in sentences of ${page} follow from the recorded tables`, async () => {
    const text = (await Deno.readTextFile(new URL(`../../../${page}`, import.meta.url))).replaceAll(
      /\s+/g,
      " ",
    );
    assert.deepEqual((await expected()).filter((phrase) => !text.includes(phrase)), []);
  });
}

Deno.test("recurrent networks of warp_results.md have within 3 % of the parameters of WARP, as the page states", async () => {
  const page = new URL("../../../docs/research/warp_results.md", import.meta.url);
  const tables = (await Deno.readTextFile(page)).matchAll(
    /<!-- table: ([\w-]+) -->([^]*?)<!-- end of table -->/g,
  );
  const compared: string[] = [];
  for (const [, name, table] of tables) {
    if (["warp-sequential-mnist", "warp-ett"].includes(name)) continue;
    const [head, , ...rows] = table.trim().split("\n").map((line) =>
      line.split("|").slice(1, -1).map((cell) => cell.trim())
    );
    const column = head.indexOf("parameters");
    const warp = rows.find(([model]) => model === "WARP");
    for (const row of rows.filter(([model]) => /^(GRU|LSTM)/.test(model) && column > 0)) {
      const difference = percentAbove(number(row[column]), number(warp![column]));
      assert(Math.abs(difference) <= 3, `${name}, ${row[0]}: ${difference} %`);
      compared.push(name);
    }
  }
  assert(compared.length >= 10, `${compared}`);
});
