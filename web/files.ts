/// <reference lib="dom" />
/** Files that come from a visitor, files for a visitor, and the predictions of a table. */
import { escapeText, formatNumber } from "../src/charts/format.ts";
import { csvOf } from "../src/series/read/csv.ts";
import type { Prediction } from "../src/series/record/predictions.ts";
import { predictionRows } from "../src/series/targets/prediction_table.ts";
import { byId } from "./elements.ts";

/** Calls a function with the files that are dropped on the page; the files of a folder, if a folder is dropped. */
export function onDrop(receive: (files: File[]) => void): void {
  const show = (isDropping: boolean) => document.body.classList.toggle("dropping", isDropping);
  addEventListener("dragover", (event) => {
    event.preventDefault();
    show(true);
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) show(false);
  });
  addEventListener("drop", async (event) => {
    event.preventDefault();
    show(false);
    // The list is empty after the event.
    const entries = [...event.dataTransfer?.items ?? []].flatMap((item) => item.webkitGetAsEntry() ?? []);
    const files = await Promise.all(entries.map(filesOf));
    receive(files.flat());
  });
}

/** A file, or the files directly in a folder. */
async function filesOf(entry: FileSystemEntry): Promise<File[]> {
  if (entry.isFile) {
    return [
      await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject)),
    ];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: FileSystemEntry[] = [];
  for (;;) {
    // A reader returns some entries at a time.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject)
    );
    if (some.length === 0) break;
    found.push(...some.filter(({ isFile }) => isFile));
  }
  return (await Promise.all(found.map(filesOf))).flat();
}

/** Whether files are those of a run's folder, or a zip archive. */
export function isRun(files: readonly File[]): boolean {
  return files.some(({ name }) => /\.zip$/i.test(name) || name === "config.json");
}

/** Saves a file by the browser's download. */
export function download(name: string, content: BlobPart, type: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

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
