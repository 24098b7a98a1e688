/** Line charts of the documentation, as SVG files. */
import { type ChartOptions, chartSize, escapeHtml, namesOf, plot } from "../src/train/chart.ts";

const [width, height] = chartSize;
const [head, left, margin] = [48, 58, 16];
const fileStyle = `text { font: 13px system-ui, sans-serif; fill: #5d6778 }
.title { font-weight: 600; font-size: 15px; fill: #1b2230 } .grid { stroke: #e3e7ee } .axis { stroke: #5d6778 }
.line path { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round }
.line circle { fill: currentColor } .key { stroke: currentColor; stroke-width: 3 }
.line-0 { color: #2f6fde } .line-1 { color: #d9730d } .line-2 { color: #15803d } .line-3 { color: #c2293f }`;

/** A line chart as an SVG file, with its title and at most four names. */
export function lineChartFile(options: ChartOptions): string {
  let at = left;
  const legend = namesOf(options).map((name, i) => {
    const key = `<path class="key line-${i}" d="M${at},37h16"/>` +
      `<text x="${at + 22}" y="41">${escapeHtml(name)}</text>`;
    at += 46 + 7 * name.length;
    return key;
  });
  const [fullWidth, fullHeight] = [width, height + head];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${fullWidth} ${fullHeight}" width="${fullWidth}" ` +
    `role="img" aria-label="${escapeHtml(options.title)}">\n<style>\n${fileStyle}\n</style>\n` +
    `<rect width="100%" height="100%" fill="white"/>\n` +
    `<text class="title" x="${margin}" y="20">${escapeHtml(options.title)}</text>\n${legend.join("\n")}\n` +
    `<g transform="translate(0,${head})">${plot(options)}</g>\n</svg>\n`;
}
