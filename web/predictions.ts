/// <reference lib="dom" />
/** Predictions of a table, as a table and as CSV. */
import { escapeText, formatNumber } from "../src/charts/format.ts";
import { csvOf } from "../src/series/read/csv.ts";
import type { Prediction } from "../src/series/record/predictions.ts";
import { predictionRows } from "../src/series/targets/prediction_table.ts";
import { byId } from "./elements.ts";
import { download } from "./files.ts";

/** Maximum number of rows of the table. */
const mostRows = 100;

let csv = "";

/** Shows predictions. @param file Name of the table that was predicted. */
export function showPredictions(file: string, predictions: readonly Prediction[]): void {
  const [header, ...rows] = predictionRows(predictions);
  csv = `${csvOf([header, ...rows])}\n`;
  const cells = (row: readonly (string | number)[], tag: string) =>
    row.map((cell) =>
      typeof cell === "number"
        ? `<${tag} class="number">${formatNumber(cell)}</${tag}>`
        : `<${tag}>${escapeText(cell)}</${tag}>`
    ).join("");
  const box = byId("predictions");
  byId("predictions-title").textContent = `Predictions of ${file}` +
    (rows.length > mostRows ? `: ${mostRows} of ${rows.length} rows` : "");
  box.querySelector("table")!.innerHTML = `<thead><tr>${cells(header, "th")}</tr></thead><tbody>${
    rows.slice(0, mostRows).map((row) => `<tr>${cells(row, "td")}</tr>`).join("")
  }</tbody>`;
  box.hidden = false;
}

byId("download").addEventListener("click", () => download("predictions.csv", csv, "text/csv"));
