/** Resizes images as Pillow does with `Image.LANCZOS`. */

/** Lobes of the Lanczos kernel on each side. */
const lobes = 3;

/** An image of bytes. */
export interface ByteImage {
  /** Channels of each pixel, row by row, from 0 to 255. Shape (rows, columns, channels). */
  readonly pixels: Uint8Array;
  /** Shape of the pixels. */
  readonly shape: readonly [rows: number, columns: number, channels: number];
}

/**
 * Resizes an image by a Lanczos kernel, which is stretched if the image becomes smaller: first along the rows,
 * then along the columns. Both results are rounded to bytes.
 *
 * @param size Number of rows and of columns of the result, at least 1.
 */
export function resizeLanczos(
  { pixels, shape: [rows, columns, channels] }: ByteImage,
  size: number,
): ByteImage {
  const narrow = resizeAxis(pixels, [rows, columns, channels], size);
  return { pixels: resizeAxis(narrow, [1, rows, size * channels], size), shape: [size, size, channels] };
}

/** Resizes the middle axis of pixels of shape `(outer, from, inner)` to `to` elements. */
function resizeAxis(pixels: Uint8Array, [outer, from, inner]: readonly number[], to: number): Uint8Array {
  const resized = new Uint8Array(outer * to * inner);
  for (const [place, { start, weights }] of lanczosWeights(from, to).entries()) {
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        let sum = 0;
        for (let k = 0; k < weights.length; k++) {
          sum += weights[k] * pixels[(o * from + start + k) * inner + i];
        }
        resized[(o * to + place) * inner + i] = Math.min(255, Math.max(0, Math.round(sum)));
      }
    }
  }
  return resized;
}

/** For each element of the result, the first element that it reads, and the weights, whose sum is 1. */
function lanczosWeights(from: number, to: number): { start: number; weights: number[] }[] {
  const scale = from / to;
  const stretch = Math.max(scale, 1);
  const sinc = (x: number) => x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
  return Array.from({ length: to }, (_, place) => {
    const center = (place + 0.5) * scale;
    const start = Math.max(0, Math.floor(center - lobes * stretch + 0.5));
    const end = Math.min(from, Math.floor(center + lobes * stretch + 0.5));
    const kernel = Array.from({ length: end - start }, (_, k) => {
      const x = (start + k + 0.5 - center) / stretch;
      return Math.abs(x) < lobes ? sinc(x) * sinc(x / lobes) : 0;
    });
    const sum = kernel.reduce((sum, weight) => sum + weight, 0);
    return { start, weights: kernel.map((weight) => weight / sum) };
  });
}
