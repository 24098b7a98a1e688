/// <reference lib="dom" />
/** The choice of the roles of a table's columns. */
import { escapeText } from "../src/charts/format.ts";
import type { TableOptions } from "../src/data/table/options.ts";
import { byId, setOptions } from "./elements.ts";
import type { Columns, Task } from "./messages.ts";

/** Pickers by the option of tables that they set. */
const pickers = {
  layout: "layout",
  series: "series-column",
  time: "time-column",
  target: "label-column",
} as const;
const picker = (option: keyof typeof pickers) => byId<HTMLSelectElement>(pickers[option]);

/** Maximum number of columns that can be chosen; all columns of other tables are channels. */
const mostColumns = 40;

const task = byId<HTMLSelectElement>("task");

/** The table that is chosen, and what it contains. */
let chosen: { file: File; columns: Columns } | undefined;

/** A table with its options and its purpose. */
export interface PickedTable {
  readonly file: File;
  readonly table: TableOptions;
  readonly task: Task;
}

/** Shows the first rows of a table, and its columns with the roles that they probably have, or with these ones. */
export function showPickers(file: File, columns: Columns, given?: Omit<PickedTable, "file">): void {
  chosen = { file, columns };
  const { names, rows, roles } = columns;
  const text = (cells: readonly string[], tag: string) =>
    cells.map((cell) => `<${tag}>${escapeText(cell)}</${tag}>`).join("");
  byId("first-rows").innerHTML = `<thead><tr>${text(names, "th")}</tr></thead><tbody>${
    rows.map((row) => `<tr>${text(row, "td")}</tr>`).join("")
  }</tbody>`;
  const none = ["", "none"];
  const options = names.filter((name) => name !== "").map((name) => [name, name]);
  for (const option of ["series", "time", "target"] as const) setOptions(picker(option), [none, ...options]);
  const { layout, series, time, target } = given?.table ?? { ...roles, target: [roles.label] };
  task.value = given?.task ?? roles.task;
  picker("layout").value = layout ?? roles.layout;
  picker("series").value = series ?? "";
  picker("time").value = time ?? "";
  picker("target").value = target?.[0] ?? "";
  byId("columns-title").textContent = `${file.name}: the first rows, and what the columns are`;
  byId("columns").hidden = false;
  byId("channel-boxes").innerHTML = "";
  showChannels(given?.table.ignore);
}

/** Hides the pickers. */
export function hidePickers(): void {
  chosen = undefined;
  byId("columns").hidden = true;
}

/** Offers the columns without another role as channels. Those that a visitor left out stay so. */
function showChannels(left: readonly string[] = []): void {
  const { names } = chosen!.columns;
  const unchecked = new Set([
    ...left,
    ...boxes().filter(({ checked }) => !checked).map(({ value }) => value),
  ]);
  const isRows = picker("layout").value === "rows";
  picker("time").disabled = isRows;
  picker("target").disabled = task.value === "forecast";
  const taken = (["series", "time", "target"] as const).map((option) => picker(option))
    .filter(({ disabled }) => !disabled).map(({ value }) => value);
  const free = names.filter((name) => name !== "" && !taken.includes(name));
  byId("channels").hidden = isRows || free.length > mostColumns;
  byId("channel-boxes").innerHTML = free.map((name) =>
    `<label class="switch"><input type="checkbox" value="${escapeText(name)}"${
      unchecked.has(name) ? "" : " checked"
    }>${escapeText(name)}</label>`
  ).join("");
}

const boxes = () => [...byId("channel-boxes").querySelectorAll<HTMLInputElement>("input")];

/** Marks the picker of an option that an error names. */
export function markPicker(option?: string): void {
  for (const name of Object.keys(pickers) as (keyof typeof pickers)[]) {
    picker(name).setAttribute("aria-invalid", `${name === option}`);
  }
}

/** The options that the pickers describe. */
function chosenOptions(): TableOptions {
  const [series, time, label] = (["series", "time", "target"] as const).map((name) => picker(name).value);
  const isRows = picker("layout").value === "rows";
  const left = byId("channels").hidden ? [] : boxes().filter(({ checked }) => !checked);
  return {
    layout: isRows ? "rows" : "observations",
    ...(series ? { series } : {}),
    ...(time && !isRows ? { time } : {}),
    ...(label && task.value === "classify" ? { target: [label] } : {}),
    ...(left.length > 0 ? { ignore: left.map(({ value }) => value) } : {}),
  };
}

/** Calls a function after each change of a choice. */
export function onPicked(receive: () => void): void {
  byId("columns").addEventListener("change", () => {
    showChannels();
    receive();
  });
}

/** The chosen table and its options; undefined without a table. */
export function pickedTable(): PickedTable | undefined {
  return chosen && { file: chosen.file, table: chosenOptions(), task: task.value as Task };
}
