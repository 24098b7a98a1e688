/** Colours of charts and pages, for light and dark screens. */
import { colourCount } from "./chart.ts";

const light =
  "--page: #f6f7f9; --card: #fff; --ink: #1b2230; --soft: #566072; --rule: #dfe4ec; --good: #15803d; " +
  "--bad: #c2293f; --c0: #2f6fde; --c1: #d0660a; --c2: #15803d; --c3: #c2293f; --c4: #7a3fc4; --c5: #0f8a8a; " +
  "--c6: #9a6a00; --c7: #5d6778;";
const dark =
  "--page: #12161d; --card: #1b212b; --ink: #e8ecf3; --soft: #a3aec0; --rule: #323c4b; --good: #4ade80; " +
  "--bad: #fb7185; --c0: #6ea8fe; --c1: #f5a54a; --c2: #4ade80; --c3: #fb7185; --c4: #c4a1ff; --c5: #4fd1d1; " +
  "--c6: #e5c04b; --c7: #a3aec0;";

/** Class of a drawing whose colours and classes must not affect the page around it. */
export const scopedClass = "weft-chart";

/**
 * Style sheet of charts: the colours as variables, and the classes of drawings.
 *
 * @param root Selector of the element with the colours. The classes apply within it.
 * @param drawing Selector of a drawing.
 */
export function chartStyle(root: string, drawing: string): string {
  const colours = Array.from({ length: colourCount }, (_, i) => `${root} .c${i} { color: var(--c${i}); }`);
  return `
${root} { color-scheme: light dark; ${light} }
@media (prefers-color-scheme: dark) { ${root} { ${dark} } }
${colours.join("\n")}
${drawing} text { fill: var(--soft); font: 12px system-ui, sans-serif; }
${drawing} .title { fill: var(--ink); }
${root} .grid { stroke: var(--rule); }
${root} .axis { stroke: var(--soft); fill: none; }
${root} .line { fill: none; stroke: currentColor; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
${root} .dashed .line { stroke-dasharray: 5 4; }
${root} .reference { color: var(--soft); }
${root} .reference .line { stroke-width: 1.2; stroke-dasharray: 2 3; }
${root} :is(.dot, .bar) { fill: currentColor; }
${root} .dots { stroke: currentColor; stroke-width: 4; stroke-linecap: round; }
${root} .points { opacity: .75; }
${root} .rings .dot { fill: none; stroke: currentColor; stroke-width: 2; r: 5px; }
${root} .band { fill: currentColor; opacity: .22; }
${root} .region { fill: var(--rule); opacity: .55; color: var(--rule); }
`;
}
