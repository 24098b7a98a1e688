/** Outputs of notebooks: tables, images and charts. */
import { chartFile } from "./file.ts";
import type { Chart } from "./chart.ts";
import { displayAs, type MimeBundle, printAs } from "./display_symbol.ts";
import { escapeText } from "./format.ts";
import { renderTable } from "./render.ts";
import type { TableSection } from "./section.ts";

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
