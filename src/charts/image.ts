/** Grey and coloured images as SVG. */
import { escapeText } from "./format.ts";
import type { PixelImage } from "./section.ts";

/**
 * Draws an image. Runs of equal pixels become one rectangle: the image is small, and sharp at every size.
 * A pixel that is NaN is transparent.
 *
 * @param attributes Further attributes of the element.
 */
export function drawImage({ width, pixels, name, channels = 1 }: PixelImage, attributes = ""): string {
  const rows = Math.ceil(pixels.length / channels / width);
  /** The color of a pixel; undefined if it is NaN. */
  const colorOf = (pixel: number) => {
    const [red, green = red, blue = red] = Array.from(
      { length: channels },
      (_, i) => Math.round(255 * Math.min(1, Math.max(0, pixels[pixel * channels + i]))),
    );
    if (Number.isNaN(red + green + blue)) return undefined;
    return `#${[red, green, blue].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  };
  const rectangles: string[] = [];
  for (let row = 0; row < rows; row++) {
    for (let start = 0, column = 1; column <= width; column++) {
      const color = colorOf(row * width + start);
      if (column < width && colorOf(row * width + column) === color) continue;
      const length = column - start;
      if (color) rectangles.push(`<path fill="${color}" d="M${start},${row}h${length}v1h-${length}z"/>`);
      start = column;
    }
  }
  return `<svg ${attributes}viewBox="0 0 ${width} ${rows}" shape-rendering="crispEdges" role="img" aria-label="${
    escapeText(name)
  }">${rectangles.join("")}</svg>`;
}
