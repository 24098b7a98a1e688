/** Plots of measurements as SVG. */

/** Measurements along one line. */
interface Line {
  readonly name?: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

/** One plot of a figure. */
export interface Panel {
  readonly title: string;
  readonly lines: readonly Line[];
  /** Whether to add a dashed line of proportional growth through the last point of the first line. */
  readonly proportional?: boolean;
}

const size = { width: 300, height: 260, left: 52, right: 20, top: 34, bottom: 44 };
const colours = ["#1762a6", "#c0392b", "#2e8b57", "#8e44ad", "#e08e0b", "#444"];

/** The powers of ten around some numbers. */
function decades(values: readonly number[]): readonly [low: number, high: number] {
  return [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
}

/** Panels side by side, both axes logarithmic. @param shared Whether all panels share the vertical axis. */
export function plot(panels: readonly Panel[], { shared = false }: { shared?: boolean } = {}): string {
  const heights = ({ lines }: Panel) => lines.flatMap(({ points }) => points.map(({ y }) => y));
  const common = shared ? decades(panels.flatMap(heights)) : undefined;
  const parts = panels.map((panel, i) =>
    `<g transform="translate(${i * size.width})">${drawPanel(panel, common ?? decades(heights(panel)))}</g>`
  );
  const [width, height] = [panels.length * size.width, size.height];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}">
<style>
text { font: 10px sans-serif; fill: #444 } .title { font-size: 12px; font-weight: bold }
.grid { stroke: #ddd } .line { stroke-width: 2; fill: none } .proportional { stroke: #999; stroke-dasharray: 4 3 }
</style>
<rect width="100%" height="100%" fill="white"/>
${parts.join("\n")}
</svg>
`;
}

function drawPanel(
  { title, lines, proportional }: Panel,
  [low, high]: readonly [number, number],
): string {
  const values = [...new Set(lines.flatMap(({ points }) => points.map(({ x }) => x)))].sort((a, b) => a - b);
  const [first, last] = [values[0], values[values.length - 1]];
  const across = (value: number) =>
    size.left + Math.log(value / first) / Math.log(last / first) * (size.width - size.left - size.right);
  const up = (value: number) =>
    size.top + (high - Math.log10(value)) / (high - low) * (size.height - size.top - size.bottom);
  const at = ({ x, y }: { x: number; y: number }) => `${across(x).toFixed(1)},${up(y).toFixed(1)}`;
  const grid = Array.from({ length: high - low + 1 }, (_, k) => {
    const value = 10 ** (low + k);
    return `<path class="grid" d="M${size.left},${up(value).toFixed(1)}H${size.width - size.right}"/>` +
      `<text x="${size.left - 6}" y="${(up(value) + 4).toFixed(1)}" text-anchor="end">${value}</text>`;
  });
  const labels = values.map((value) =>
    `<text x="${across(value).toFixed(1)}" y="${
      size.height - size.bottom + 18
    }" text-anchor="middle">${value}</text>`
  );
  const drawn = lines.map(({ name, points }, i) => {
    const colour = colours[i % colours.length];
    const label = name &&
      `<text x="${size.left + 8}" y="${size.top + 10 + 12 * i}" style="fill:${colour}">${name}</text>`;
    return `<path class="line" stroke="${colour}" d="M${points.map(at).join("L")}"/>` +
      points.map((point) => {
        const [cx, cy] = at(point).split(",");
        return `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`;
      }).join("") + (label ?? "");
  });
  return `<text class="title" x="${size.left}" y="18">${title}</text>` + grid.join("") +
    (proportional ? drawProportional(lines[0], first, low, at) : "") + drawn.join("") + labels.join("");
}

/** Through the last point, clipped at the bottom. */
function drawProportional(
  { points }: Line,
  first: number,
  low: number,
  at: (point: { x: number; y: number }) => string,
): string {
  const { x, y } = points[points.length - 1];
  const from = Math.max(first, x * 10 ** low / y);
  return `<path class="proportional" d="M${
    [from, x].map((value) => at({ x: value, y: y * value / x })).join("L")
  }"/>`;
}
