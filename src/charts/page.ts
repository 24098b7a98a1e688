/** Web pages without external resources: reports, tables and the page of a server. */
import { escapeText } from "./format.ts";
import { shades } from "./render.ts";
import { chartStyle } from "./style.ts";

/** Background of a cell of a confusion matrix by its shade. */
const shadeStyle = Array.from({ length: shades }, (_, i) => {
  const share = (most: number) => Math.round(most * (i + 1) / shades);
  return `.hit-${i + 1} { background: color-mix(in srgb, var(--good) ${share(55)}%, transparent); } ` +
    `.miss-${i + 1} { background: color-mix(in srgb, var(--bad) ${share(80)}%, transparent); }`;
}).join("\n");

/** Style sheet of pages. The shadows at the sides of a table show that it scrolls. */
export const pageStyle = `${chartStyle(":root", ".chart")}
:root { --shadow: color-mix(in srgb, var(--soft) 60%, transparent); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 16px 60px; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 10px; }
h2, summary { font-size: 17px; font-weight: 600; margin: 32px 0 8px; }
summary { cursor: pointer; }
p { color: var(--soft); margin: 4px 0 14px; max-width: 75ch; }
ul { color: var(--soft); margin: 4px 0 14px; padding-left: 20px; }
a { color: color-mix(in srgb, var(--c0) 80%, var(--ink)); }
.verdict { color: var(--ink); font-size: 17px; margin: 12px 0; }
.tiles, .charts, .samples { display: grid; gap: 12px; }
.tiles { grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); margin: 16px 0; }
.charts { grid-template-columns: repeat(auto-fill, minmax(min(100%, 400px), 1fr)); margin-top: 12px; }
.samples { grid-template-columns: repeat(auto-fill, minmax(165px, 1fr)); }
.tile, figure, .table { background-color: var(--card); border: 1px solid var(--rule); border-radius: 10px; min-width: 0; }
.tile { padding: 10px 14px; }
.tile b { display: block; font-size: 20px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile span, small { color: var(--soft); font-size: 13px; }
.tile.chosen { border-color: var(--c0); }
figure { margin: 0; padding: 12px; }
.samples figure { padding: 8px; }
figcaption { font-weight: 600; }
.samples figcaption { font-weight: 400; font-size: 13px; }
.legend { color: var(--soft); font-size: 13px; display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 4px 0; }
.key { display: inline-block; width: 16px; margin-right: 6px; vertical-align: middle; }
.key.line { height: 0; border-top: 3px solid currentColor; }
.key.dashed { border-top-style: dashed; }
.key.reference { border-top: 2px dotted; }
.key.dot { width: 8px; height: 8px; border-radius: 4px; background: currentColor; margin-left: 4px; }
.key.ring { width: 10px; height: 10px; border-radius: 5px; border: 2px solid currentColor; margin-left: 3px; }
.key.area { height: 10px; background: currentColor; opacity: .4; }
.key.region { opacity: 1; }
svg { display: block; width: 100%; height: auto; margin-top: 6px; }
.right figcaption b { color: var(--good); }
.wrong { border-color: var(--bad); }
.wrong figcaption b { color: var(--bad); }
.images { display: flex; gap: 10px; }
.images > div { flex: 1; }
.table { overflow-x: auto; max-width: 100%; background-repeat: no-repeat;
  background-image: linear-gradient(90deg, var(--card) 40%, transparent), linear-gradient(270deg, var(--card) 40%, transparent),
    linear-gradient(90deg, var(--shadow), transparent), linear-gradient(270deg, var(--shadow), transparent);
  background-position: left, right, left, right; background-size: 28px 100%, 28px 100%, 10px 100%, 10px 100%;
  background-attachment: local, local, scroll, scroll; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { text-align: left; vertical-align: top; padding: 6px 14px; border-top: 1px solid var(--rule); }
thead:first-child th, tbody:first-child tr:first-child > * { border-top: 0; }
th { color: var(--soft); font-weight: 400; }
th[scope="row"] { min-width: 7em; }
th.long { min-width: 11em; }
td:not(.number) { min-width: 6em; }
td.wide { min-width: 18em; }
th[aria-sort="ascending"]::after { content: " ↑"; }
th[aria-sort="descending"]::after { content: " ↓"; }
.confusion td { min-width: 0; text-align: center; }
.confusion thead th + th { text-align: center; }
td.number, th.number { text-align: right; }
td.number, td.short { white-space: nowrap; }
@media (max-width: 600px) { th, td { padding: 6px 8px; } }
${shadeStyle}
`;

/** Options of {@linkcode renderPage}. */
interface PageOptions {
  /** Title of the page, and of its window. */
  readonly title: string;
  /** Content below the title, as HTML. */
  readonly body: string;
  /** Further rules of the style sheet. */
  readonly style?: string;
  /** Value of the `nonce` attribute of the style sheet, for a content security policy. */
  readonly nonce?: string;
}

/** A web page without external resources. */
export function renderPage({ title, body, style = "", nonce }: PageOptions): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(title)} - Weft</title>
<style${nonce === undefined ? "" : ` nonce="${nonce}"`}>${pageStyle}${style}</style>
</head>
<body>
<main>
<h1>${escapeText(title)}</h1>
${body}
</main>
</body>
</html>
`;
}
