/**
 * Draws the four pictures of the first page of the site. Their colours suit light and dark pages.
 * `deno run --allow-write=docs/figures docs/figures/purposes.ts` in a checkout.
 */
import { key } from "../../mod.ts";
import { normalPair } from "../../src/data/host_random.ts";

const [blue, orange, grey] = ["#2f6fde", "#d0660a", "#8a93a5"];
const [width, height] = [240, 130];

type Point = readonly [x: number, y: number];

const points = (count: number, at: (share: number) => Point) =>
  Array.from({ length: count }, (_, i) => at(i / (count - 1)));
const text = (all: readonly Point[]) =>
  all.map((point) => point.map((place) => place.toFixed(1)).join()).join("L");
const line = (all: readonly Point[], color: string, attributes = "") =>
  `<path d="M${
    text(all)
  }" fill="none" stroke="${color}" stroke-width="2.5" stroke-linejoin="round" stroke-linecap="round" ${attributes}/>`;
const dots = (all: readonly Point[], color: string) =>
  all.map(([x, y]) => `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3.2" fill="${color}"/>`).join("");
const frame = (x: number, y: number, width: number, height: number) =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" fill="none" stroke="${grey}" stroke-width="1.5"/>`;

/** Rows of a table become two classes of curves. */
function classify(): string {
  const rows = [30, 50, 70, 90].map((y) => `<path d="M22,${y}h62" stroke="${grey}" stroke-width="1.5"/>`);
  const curves = [0, 1, 2].flatMap((i) => [
    line(points(30, (s) => [126 + 90 * s, 38 + 7 * i - 18 * Math.sin(3.2 * s)]), blue, 'opacity=".8"'),
    line(
      points(30, (s) => [126 + 90 * s, 88 + 7 * i + 14 * Math.sin(9 * s + i / 3)]),
      orange,
      'opacity=".8"',
    ),
  ]);
  return `${frame(16, 16, 74, 98)}<path d="M40,16v98M65,16v98" stroke="${grey}" stroke-width="1.5"/>${
    rows.join("")
  }<path d="M98,65h14m-5,-5l5,5l-5,5" fill="none" stroke="${grey}" stroke-width="2"/>${curves.join("")}`;
}

/** A noisy season, and its future with an interval that widens. */
function forecast(): string {
  const level = (x: number) => 70 - 24 * Math.sin((x - 14) / 11) - (x - 120) / 8;
  const past = points(
    40,
    (s) => [14 + 130 * s, level(14 + 130 * s) + 3 * normalPair(key(0), Math.round(39 * s))[0]],
  );
  const future = points(30, (s) => [144 + 82 * s, level(144 + 82 * s)]);
  const side = (sign: number) => future.map(([x, y]): Point => [x, y + sign * (5 + (x - 144) / 4.5)]);
  return `<path d="M${text([...side(-1), ...side(1).reverse()])}Z" fill="${orange}" opacity=".25"/>${
    line(past, blue)
  }${line(future, orange)}<path d="M144,12v106" stroke="${grey}" stroke-width="1.5" stroke-dasharray="3 4"/>`;
}

/** Observations drive the weights of a matrix. */
function research(): string {
  const seen = points(6, (s) => [18 + 78 * s, 66 - 34 * Math.sin(4.5 * s + 0.4)]);
  const path = points(50, (s) => [18 + 78 * s, 66 - 34 * Math.sin(4.5 * s + 0.4)]);
  const cells = Array.from({ length: 36 }, (_, i) => {
    const value = normalPair(key(7), i)[0];
    const place = `x="${138 + i % 6 * 14}" y="${23 + Math.floor(i / 6) * 14}"`;
    const opacity = Math.min(1, Math.abs(value) / 1.6).toFixed(2);
    return `<rect ${place} width="13" height="13" fill="${value < 0 ? orange : blue}" opacity="${opacity}"/>`;
  });
  return `${line(path, blue)}${
    dots(seen, blue)
  }<path d="M106,65h18m-5,-5l5,5l-5,5" fill="none" stroke="${grey}" stroke-width="2"/>${cells.join("")}${
    frame(134, 19, 91, 91)
  }`;
}

/** A window of a browser with a drawn spiral and its class. */
function page(): string {
  const spiral = points(14, (s) => {
    const [angle, radius] = [7.5 * s, 32 / (1 + 2 * s)];
    return [82 + radius * Math.cos(angle), 74 - radius * Math.sin(angle)];
  });
  const bars = [[54, 62, blue], [74, 18, orange]] as const;
  return `${frame(16, 12, 208, 106)}<path d="M16,32h208" stroke="${grey}" stroke-width="1.5"/>${
    dots([[28, 22], [40, 22], [52, 22]], grey)
  }${line(spiral, blue)}${dots(spiral, blue)}${
    bars.map(([y, length, color]) =>
      `<rect x="140" y="${y}" width="70" height="9" rx="4" fill="${grey}" opacity=".3"/>` +
      `<rect x="140" y="${y}" width="${length}" height="9" rx="4" fill="${color}"/>`
    ).join("")
  }`;
}

for (const [name, draw] of Object.entries({ classify, forecast, research, page })) {
  const picture =
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}">${draw()}</svg>\n`;
  await Deno.writeTextFile(new URL(`purpose_${name}.svg`, import.meta.url), picture);
}
