/// <reference lib="dom" />
/** Predictions of a table, as a table and as CSV. */
import { escapeText } from "../src/charts/format.ts";
import { csvOf } from "../src/series/read/csv.ts";
import type { ClassPrediction } from "../src/series/record/predictions.ts";
import { byId } from "./elements.ts";
import { download } from "./files.ts";

/** Maximum number of rows of the table. */
const mostRows = 100;

let csv = "";

/** Shows predictions. @param file Name of the table that was predicted. */
export function showPredictions(
  file: string,
  predictions: readonly ClassPrediction[],
  classes: readonly string[],
): void {
  const header = ["series", "label", ...classes.map((name) => `p(${name})`)];
  const rows = predictions.map(({ series, label, probabilities }) => [
    ...[series, label],
    ...classes.map((name) => probabilities[name]),
  ]);
  csv = `${csvOf([header, ...rows])}\n`;
  const text = (cell: string | number) => typeof cell === "number" ? cell.toFixed(4) : escapeText(cell);
  const cells = (row: readonly (string | number)[], tag: string) =>
    row.map((cell, i) => `<${tag}${i > 1 ? ' class="number"' : ""}>${text(cell)}</${tag}>`).join("");
  const box = byId("predictions");
  byId("predictions-title").textContent = `Predictions of ${file}` +
    (rows.length > mostRows ? `: ${mostRows} of ${rows.length} series` : "");
  box.querySelector("table")!.innerHTML = `<thead><tr>${cells(header, "th")}</tr></thead><tbody>${
    rows.slice(0, mostRows).map((row) => `<tr>${cells(row, "td")}</tr>`).join("")
  }</tbody>`;
  box.hidden = false;
}

byId("download").addEventListener("click", () => download("predictions.csv", csv, "text/csv"));
