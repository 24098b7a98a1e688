/** Charts as SVG files. */
import { type Chart, type Key, legendOf } from "./chart.ts";
import { characterWidth, drawPanels, panelSize } from "./draw.ts";
import { escapeText } from "./format.ts";
import { round } from "./marks.ts";
import { chartStyle, scopedClass } from "./style.ts";

const margin = 12;
// A notebook puts the drawing into its page, so all rules are limited to the drawing.
const scope = `.${scopedClass}`;
const fileStyle = `${
  chartStyle(scope, scope)
}${scope} .head { font: 600 14px system-ui, sans-serif; fill: var(--ink); }
${scope} .key-area { fill: currentColor; opacity: .4; }`;

/** Charts side by side as one SVG file, for light and dark screens. */
export function chartFile(charts: readonly Chart[]): string {
  const drawn = charts.map(drawColumn);
  const width = drawn.reduce((sum, { width }) => sum + width, 0);
  const height = Math.max(...drawn.map(({ height }) => height));
  let left = 0;
  const columns = drawn.map((column) => {
    const placed = `<g transform="translate(${left})">${column.content}</g>`;
    left += column.width;
    return placed;
  });
  const label = escapeText(charts.map(({ title }) => title).join("; "));
  return `<svg xmlns="http://www.w3.org/2000/svg" class="${scopedClass}" viewBox="0 0 ${width} ${height}" width="${width}" ` +
    `role="img" aria-label="${label}">\n<style>${fileStyle}</style>\n` +
    `<rect width="100%" height="100%" fill="var(--card)"/>\n${columns.join("\n")}\n</svg>\n`;
}

/** A chart with its title and legend above its panels. */
function drawColumn(chart: Chart): { content: string; width: number; height: number } {
  const [panelWidth, panelHeight] = panelSize(chart);
  const titles = wrap(chart.title, Math.floor(panelWidth / (1.2 * characterWidth)));
  const parts = titles.map((line, i) =>
    `<text class="head" x="${margin}" y="${22 + 18 * i}">${escapeText(line)}</text>`
  );
  const keys = placeKeys(legendOf(chart), panelWidth, 24 + 18 * titles.length);
  const head = keys.bottom;
  const panels = drawPanels(chart).map((panel, i) =>
    `<g transform="translate(${margin / 2} ${head + i * panelHeight})">${panel}</g>`
  );
  return {
    content: [...parts, ...keys.drawn, ...panels].join("\n"),
    width: panelWidth + margin,
    height: head + chart.panels.length * panelHeight + margin / 2,
  };
}

function placeKeys(keys: readonly Key[], width: number, top: number): { drawn: string[]; bottom: number } {
  let [x, y] = [margin, top];
  const drawn = keys.map(({ name, classes, shape }) => {
    const length = 34 + characterWidth * name.length;
    if (x > margin && x + length > width) [x, y] = [margin, y + 18];
    const at = round(x);
    x += length;
    const symbol = shape === "line"
      ? `<path class="line" d="M${at},${y - 4}h16"/>`
      : shape !== "area"
      ? `<g class="${shape}s"><circle class="dot" cx="${at + 8}" cy="${y - 4}" r="3"/></g>`
      : `<rect class="key-area" x="${at}" y="${y - 9}" width="16" height="10"/>`;
    return `<g class="${classes}">${symbol}</g><text x="${at + 22}" y="${y}">${escapeText(name)}</text>`;
  });
  return { drawn, bottom: keys.length > 0 ? y + 8 : top - 10 };
}

/** Breaks a text into lines of at most `most` characters where it has spaces. */
function wrap(text: string, most: number): string[] {
  return text.split(" ").reduce<string[]>((lines, word) => {
    const last = lines.at(-1);
    return last !== undefined && last.length + word.length < most
      ? [...lines.slice(0, -1), `${last} ${word}`]
      : [...lines, word];
  }, []);
}
