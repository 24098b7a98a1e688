import assert from "node:assert/strict";
import type { RunOutcome } from "../../../src/train/run/outcome.ts";
import { type MadeRun, tableCsv, tableMarkdown, tablePage } from "../../../tasks/papers/tables/render.ts";
import { type PaperTable, tableRuns } from "../../../tasks/papers/tables/table.ts";

const table: PaperTable = {
  name: "made-up",
  title: "Made up <table>",
  source: "Nobody, 2026",
  columns: [{
    ...{ title: "waves", experiment: "sine", measure: "loss", factor: 100, digits: 1, better: "small" },
  }],
  rows: [
    { title: "WARP", model: "warp", published: [[2.5, 0.4]] },
    { title: "GRU", model: "gru", published: [undefined] },
    { title: "LSTM", model: "lstm", published: [null] },
  ],
  reference: "warp",
  scales: {
    paper: { seeds: 2, differs: "Nothing.", hours: 1 },
    small: { seeds: 2, differs: "All.", hours: 1 },
  },
};

const summary = (loss: number, notices?: readonly string[]): RunOutcome => ({
  summary: {
    ...{
      experiment: "sine",
      test: { loss },
      bestEpoch: 1,
      epochs: 4,
      parameters: 1234,
      seconds: 10,
      seed: 0,
    },
    ...{ peakMemory: 5e7, device: "cpu", deviceDescription: "a processor", notices },
  },
});

/** Runs with two seeds of WARP and of GRU. One run has diverged. */
async function filled() {
  const runs = await tableRuns(table, { scale: "small" });
  const outcomes = [summary(0.02), summary(0.05), summary(0.04), { failure: "the loss is NaN" }];
  const start = { command: "deno task train sine, again", commit: "0123456789abcdef", time: "" };
  const made = runs.map((run, i): MadeRun => ({ ...run, outcome: outcomes[i], start }));
  // In place of the t test: the mean difference of the pairs.
  const test = (one: readonly number[], other: readonly number[]) =>
    one.length > 1 ? (one[0] - other[0] + one[1] - other[1]) / 2 / 100 : NaN;
  return { table, scale: "small" as const, runs: made, test };
}

Deno.test("a table has means, standard deviations, seeds, published numbers, significance tests, costs and commands of runs", async () => {
  const lines = tableMarkdown(await filled()).split("\n").map((line) => line.replaceAll(/ +/g, " "));
  assert(lines.includes("| WARP | 3.0 ± 1.4 (2) | 2.5 ± 0.4 |"));
  assert(lines.includes("| GRU | 5.0 (1), 1 diverged | |"));
  assert(lines.includes("| LSTM | | - |"));
  assert(lines.some((line) => line.includes("4 of 4 runs have ended. Scale small: All.")));
  assert(lines.includes("| WARP | waves | 1,234 | 4 | 2.5 seconds | 50 MB | a processor |"));
  assert(lines.includes("| GRU | 1 | the loss is NaN | 0123456789 | deno task train sine, again |"));
});

Deno.test("a table has each notice of its runs once", async () => {
  const made = await filled();
  const notice = "The model learns from test images.";
  const runs = made.runs.map((run, i) => i < 2 ? { ...run, outcome: summary(0.02, [notice]) } : run);
  for (const rendered of [tableMarkdown({ ...made, runs }), tablePage({ ...made, runs })]) {
    assert(rendered.includes(`Scale small: All. ${notice}`));
    assert.equal(rendered.split(notice).length, 2);
  }
});

Deno.test("two rows are compared by a paired test if both have two values, and a correction counts the comparisons", async () => {
  const made = await filled();
  assert.doesNotMatch(tableMarkdown(made), /Paired/);
  // WARP has 2 and 4, the GRU 5 and 8: differences of 3 and 4.
  const runs = made.runs.map((run, i) => i === 3 ? { ...run, outcome: summary(0.08) } : run);
  assert.match(
    tableMarkdown({ ...made, runs }),
    /## Paired t test against WARP[^#]*all 1 comparisons[^#]*\| GRU +\| +0\.035 \(0\.035\) \|/,
  );
});

Deno.test("a CSV table has one line per value and quotes fields with commas", async () => {
  const lines = tableCsv(await filled()).trimEnd().split("\n");
  assert.equal(lines.length, 5);
  assert.equal(
    lines[1],
    'made-up,small,WARP,waves,0,2,2.5,0.4,1234,4,2.5,50000000,a processor,,0123456789abcdef,"deno task train sine, again"',
  );
});

Deno.test("a table that the paper plots has a line chart of means on its page", async () => {
  const made = await filled();
  const drawn = { ...made, table: { ...table, chart: { x: [3], xLabel: "size", yLabel: "error" } } };
  assert.match(tablePage(drawn), /<title>WARP: error 3, size 3<\/title>/);
  assert.doesNotMatch(tablePage(made), /<svg/);
});

Deno.test("a table whose figure in the paper is a picture of errors has bars of the means for each column", async () => {
  const made = await filled();
  const page = tablePage({ ...made, table: { ...table, chart: { bars: "error" } } });
  assert.match(page, /<title>WARP: 3<\/title>/);
  assert.match(page, /<title>GRU: 5<\/title>/);
  assert.doesNotMatch(page, /<title>LSTM/);
});

Deno.test("the page of a table escapes text and marks the best two values of a column", async () => {
  const page = tablePage(await filled());
  assert(page.includes("<h1>Made up &#60;table&#62;</h1>"));
  assert(page.includes('<td class="number"><b>3.0 ± 1.4 (2)</b></td>'), "the best");
  assert(page.includes('<td class="number"><u>5.0 (1), 1 diverged</u></td>'), "the second best");
});

Deno.test("a table omits columns without a run, and the published numbers stay with their column", async () => {
  const other = { title: "other", experiment: "mass-spring-damper" };
  const columns = [{ ...table.columns[0], ...other }, table.columns[0]];
  const rows = table.rows.map((row) => ({ ...row, published: [[9] as const, row.published?.[0]] }));
  const made = await filled();
  const runs = made.runs.map((run, i) => ({
    ...run,
    row: rows[table.rows.indexOf(run.row)],
    columns: [columns[1]],
    outcome: i === 0 ? run.outcome : undefined,
  }));
  const wide = { ...made, table: { ...table, columns, rows } };
  const markdown = (runs: readonly MadeRun[]) => tableMarkdown({ ...wide, runs }).replaceAll(/ +/g, " ");
  assert.match(markdown(runs), /\| model \| waves \| paper \|\n[^]*\| WARP \| 2.0 \(1\) \| 2.5 ± 0.4 \|/);
  const unmade = runs.map((run) => ({ ...run, outcome: undefined }));
  assert.match(markdown(unmade), /\| model \| other \| paper \| waves \| paper \|/);
});
