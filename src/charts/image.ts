/** Grey images as SVG. */
import { escapeText } from "./format.ts";
import type { GreyImage } from "./section.ts";

/**
 * Draws a grey image. Runs of equal pixels become one rectangle: the image is small, and sharp at every size.
 * A pixel that is NaN is transparent.
 *
 * @param attributes Further attributes of the element.
 */
export function drawImage({ width, pixels, name }: GreyImage, attributes = ""): string {
  const rows = Math.ceil(pixels.length / width);
  const grey = (at: number) => Math.round(255 * Math.min(1, Math.max(0, pixels[at])));
  const rectangles: string[] = [];
  for (let row = 0; row < rows; row++) {
    for (let start = 0, column = 1; column <= width; column++) {
      const shade = grey(row * width + start);
      if (column < width && Object.is(grey(row * width + column), shade)) continue;
      const hex = shade.toString(16).padStart(2, "0").repeat(3);
      const length = column - start;
      if (!Number.isNaN(shade)) {
        rectangles.push(`<path fill="#${hex}" d="M${start},${row}h${length}v1h-${length}z"/>`);
      }
      start = column;
    }
  }
  return `<svg ${attributes}viewBox="0 0 ${width} ${rows}" shape-rendering="crispEdges" role="img" aria-label="${
    escapeText(name)
  }">${rectangles.join("")}</svg>`;
}
