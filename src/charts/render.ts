/** Renders charts and sections as HTML without scripts, inline styles and external resources. */
import { type Chart, coloursOf, type Key, legendOf } from "./chart.ts";
import { drawPanels, panelSize } from "./draw.ts";
import { escapeSentence, escapeText, formatNumber } from "./format.ts";
import { drawImage } from "./image.ts";
import type { Cell, ConfusionSection, HeadCell, Link, Section, TableSection } from "./section.ts";

/**
 * A chart as an HTML figure.
 *
 * @param colours Class names of colours by name, for a chart of a group with a common legend. By default the
 * chart has its own colours and legend.
 */
export function renderChart(chart: Chart, colours?: ReadonlyMap<string, string>): string {
  const { title, note, outcome } = chart;
  const [width, height] = panelSize(chart);
  const drawings = drawPanels(chart, colours).map((panel, i) =>
    `<svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-label="${
      escapeText(`${title}: ${chart.panels[i].y.title}`)
    }">${panel}</svg>`
  );
  const mark = outcome === "right" ? "<b>✓</b> " : outcome === "wrong" ? "<b>✗</b> " : "";
  const caption = escapeSentence(title);
  return `<figure${outcome ? ` class="${outcome}"` : ""}><figcaption>${mark}${caption}</figcaption>${
    colours ? "" : renderLegend(legendOf(chart))
  }${drawings.join("")}${note ? `<small>${escapeText(note)}</small>` : ""}</figure>`;
}

function renderLegend(keys: readonly Key[]): string {
  if (keys.length === 0) return "";
  return `<div class="legend">${
    keys.map(({ name, classes, shape }) =>
      `<span><i class="key ${shape} ${classes}"></i>${escapeText(name)}</span>`
    ).join("")
  }</div>`;
}

/** A section as HTML. */
export function renderSection(section: Section): string {
  const { title, text } = section;
  const note = text ? `<p>${escapeText(text)}</p>\n` : "";
  if (section.kind === "table" && section.isFolded) {
    return `<details><summary>${escapeText(title)}</summary>\n${note}${renderTable(section)}</details>`;
  }
  return `<section><h2>${escapeText(title)}</h2>\n${note}${contentOf(section)}</section>`;
}

function contentOf(section: Section): string {
  if (section.kind === "table") return renderTable(section);
  if (section.kind === "confusion") return renderConfusion(section);
  if (section.kind === "text") {
    return `<ul>${section.lines.map((line) => `<li>${escapeText(line)}</li>`).join("")}</ul>`;
  }
  if (section.kind === "images") {
    const groups = section.groups.map(({ title, images }) =>
      `<figure><figcaption>${escapeText(title)}</figcaption><div class="images">${
        images.map((image) => `<div>${drawImage(image)}<small>${escapeText(image.name)}</small></div>`).join(
          "",
        )
      }</div></figure>`
    );
    return `<div class="charts">${groups.join("\n")}</div>`;
  }
  const { charts } = section;
  if (!charts.some(({ size }) => size === "small")) {
    return `<div class="charts">${charts.map((chart) => renderChart(chart)).join("\n")}</div>`;
  }
  const all = { panels: charts.flatMap(({ panels }) => panels) };
  const colours = coloursOf(all);
  return `${renderLegend(legendOf(all))}<div class="samples">${
    charts.map((chart) => renderChart(chart, colours)).join("\n")
  }</div>`;
}

/** Maximum number of characters of a text cell that is never broken into lines, such as a date. */
const mostWithoutBreak = 19;

/** Minimum number of characters of a text cell in a wide column, such as a command. */
const leastWide = 60;

/** A table that scrolls inside its frame where it is wider than the page. */
export function renderTable({ head, rows, texts = [] }: Omit<TableSection, "kind">): string {
  const isText = (column: number) => column === 0 || texts.includes(column);
  const nameClass = (cell: Cell) => textOf(cell).length > mostWithoutBreak ? ' class="long"' : "";
  const classOf = (column: number, cell: Cell) => {
    if (!isText(column)) return ` class="number"`;
    const { length } = textOf(cell);
    return length >= leastWide ? ` class="wide"` : length > mostWithoutBreak ? "" : ` class="short"`;
  };
  const headCells = head.map((cell, i) =>
    `<th scope="col"${isText(i) ? "" : ` class="number"`}${orderOf(cell)}>${renderCell(cell)}</th>`
  );
  const lines = rows.map((row) =>
    `<tr>${
      row.map((cell, i) =>
        i === 0
          ? `<th scope="row"${nameClass(cell)}>${renderCell(cell)}</th>`
          : `<td${classOf(i, cell)}>${renderCell(cell)}</td>`
      ).join("")
    }</tr>`
  );
  return `<div class="table" tabindex="0"><table>${
    head.length > 0 ? `<thead><tr>${headCells.join("")}</tr></thead>` : ""
  }<tbody>${lines.join("\n")}</tbody></table></div>`;
}

function orderOf(cell: HeadCell): string {
  return typeof cell === "object" && cell.order ? ` aria-sort="${cell.order}"` : "";
}

/** The text of a cell; empty for a number. */
function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : typeof cell === "number" ? "" : cell.text;
}

function renderCell(cell: Cell | Link): string {
  if (typeof cell === "number") return formatNumber(cell);
  if (typeof cell === "string") return escapeText(cell);
  if ("href" in cell) return `<a href="${escapeText(cell.href)}">${escapeText(cell.text)}</a>`;
  const tag = cell.mark === "best" ? "b" : "u";
  return `<${tag}>${escapeText(cell.text)}</${tag}>`;
}

/** Number of shades of a confusion matrix. The style sheet has a class for each. */
export const shades = 10;

function renderConfusion({ classes, matrix }: ConfusionSection): string {
  const names = classes.map((name) => `<th scope="col">${escapeText(name)}</th>`);
  const rows = matrix.map((row, i) => {
    const total = Math.max(1, row.reduce((sum, count) => sum + count, 0));
    const cells = row.map((count, k) => {
      const shade = count === 0 ? 0 : Math.max(1, Math.round(shades * count / total));
      return `<td class="${i === k ? "hit" : "miss"}-${shade}">${count}</td>`;
    });
    return `<tr><th scope="row">${escapeText(classes[i])}</th>${cells.join("")}</tr>`;
  });
  return `<div class="table confusion" tabindex="0"><table><thead><tr><th scope="col">true class</th>${
    names.join("")
  }</tr></thead><tbody>${rows.join("\n")}</tbody></table></div>`;
}
