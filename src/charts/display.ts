/** Outputs of notebooks. `deno jupyter` shows a value by its method `Symbol.for("Jupyter.display")`. */
import { chartFile } from "./file.ts";
import type { Chart } from "./chart.ts";
import { escapeText } from "./format.ts";
import { renderTable } from "./render.ts";
import type { TableSection } from "./section.ts";

/** Contents of an output by MIME type. The notebook shows the richest type that it supports. */
export type MimeBundle = Readonly<Record<string, string>>;

/** Name of the method that `deno jupyter` calls. It may be asynchronous. */
export const displaySymbol: unique symbol = Symbol.for("Jupyter.display");

/** Adds the method for notebooks to a value. Copies and comparisons of the value ignore the method. */
export function displayAs<T extends object>(value: T, bundle: () => MimeBundle | Promise<MimeBundle>): T {
  return Object.defineProperty(value, displaySymbol, { value: bundle, configurable: true });
}

/** Sets the text of a value in template strings and in `console.log`. */
export function printAs<T extends object>(value: T, text: () => string): T {
  const print = { value: text, configurable: true };
  return Object.defineProperties(value, {
    toString: print,
    [Symbol.for("Deno.customInspect")]: print,
    [Symbol.for("nodejs.util.inspect.custom")]: print,
  });
}

/** A table of an output. */
export interface OutputTable extends Pick<TableSection, "head" | "rows" | "texts"> {
  /** Text above the table. */
  readonly title?: string;
}

/** Notebooks align all cells of tables to the right. */
const tableStyle = '<style>.weft th[scope="row"], .weft td:not(.number) { text-align: left; }</style>';

/** Tables, with the text for frontends without HTML. */
export function tableBundle(text: string, ...tables: readonly OutputTable[]): MimeBundle {
  const html = tables.map(({ title, ...table }) =>
    (title === undefined ? "" : `<p>${escapeText(title)}</p>\n`) +
    (table.rows.length > 0 ? renderTable(table) : "")
  );
  return { "text/plain": text, "text/html": `<div class="weft">${html.join("\n")}${tableStyle}</div>` };
}

/** An SVG image, with the text for frontends without images. */
export function imageBundle(text: string, svg: string): MimeBundle {
  return { "text/plain": text, "image/svg+xml": svg };
}

/** Charts side by side. */
export function chartBundle(charts: readonly Chart[]): MimeBundle {
  return imageBundle(charts.map(({ title }) => title).join("; "), chartFile(charts));
}

/** A picture for notebooks and files. */
export interface Figure {
  /** Reads the values and draws the picture as the text of an SVG file. */
  svg(): Promise<string>;
}

/** Makes a figure from a description and a function that draws it. */
export function makeFigure(text: string, svg: () => Promise<string>): Figure {
  const figure = printAs({ svg }, () => text);
  return displayAs(figure, async () => imageBundle(text, await svg()));
}
