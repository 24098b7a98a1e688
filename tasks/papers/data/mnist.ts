import { checkCount } from "./check_count.ts";
import { readBytesIfPresent } from "../files.ts";
import { gunzip, type IdxArray, parseIdx } from "./idx.ts";
import { timesUpTo, type Trajectories } from "./trajectories.ts";

/** Handwritten digits (LeCun, Cortes, Burges: the MNIST database). */
export interface Digits {
  /** Pixels from 0 to 255, row-major. Shape (count, rows, columns). */
  readonly images: Uint8Array;
  /** Shape of the images. */
  readonly shape: readonly [count: number, rows: number, columns: number];
  /** Digits from 0 to 9. Shape (count). */
  readonly labels: Uint8Array;
}

/** MNIST's parts: 60,000 training images and 10,000 test images. */
type DigitsPart = "train" | "t10k";

/**
 * Reads a part of MNIST from a folder with `<part>-images-idx3-ubyte` and `<part>-labels-idx1-ubyte`, with or
 * without the ending `.gz`.
 *
 * @param folder Path of the folder.
 * @param part Part to read.
 * @returns The part, or `undefined` if the folder does not contain it.
 * @throws {Error} If a file is damaged, or images and labels do not match.
 */
export async function readDigits(folder: string, part: DigitsPart): Promise<Digits | undefined> {
  const [images, labels] = await Promise.all([
    readArray(`${folder}/${part}-images-idx3-ubyte`),
    readArray(`${folder}/${part}-labels-idx1-ubyte`),
  ]);
  if (!images || !labels) return undefined;
  const [count, rows, columns] = images.shape;
  if (images.shape.length !== 3 || labels.shape.length !== 1 || labels.shape[0] !== count) {
    throw new Error(
      `${folder}: images of ${images.shape.join(" by ")} and labels of ${labels.shape.join(" by ")}, ` +
        "expected one label for each image",
    );
  }
  return { images: images.values, shape: [count, rows, columns], labels: labels.values };
}

async function readArray(path: string): Promise<IdxArray | undefined> {
  for (const name of [`${path}.gz`, path]) {
    const bytes = await readBytesIfPresent(name);
    if (bytes) return parseIdx(name.endsWith(".gz") ? gunzip(bytes, name) : bytes, name);
  }
  return undefined;
}

/**
 * Images as series, pixel by pixel and row by row, from -1 (black) to 1.
 *
 * @param digits Images `(count, rows, columns)`.
 * @param every Stride of rows and columns, at least 1, 1 by default. 2 turns 28 by 28 pixels into 14 by 14.
 * @returns Series `(count, pixels, 1)` at times from 0 to 1.
 * @throws {RangeError} If `every` is not a positive integer.
 */
export function pixelSeries(digits: Digits, every = 1): Trajectories {
  checkCount("pixelSeries", "every", every);
  const { images, shape: [count, rows, columns] } = digits;
  const [height, width] = [Math.ceil(rows / every), Math.ceil(columns / every)];
  const length = height * width;
  const values = Float64Array.from({ length: count * length }, (_, i) => {
    const [image, pixel] = [Math.floor(i / length), i % length];
    const [row, column] = [every * Math.floor(pixel / width), every * (pixel % width)];
    return images[(image * rows + row) * columns + column] / 127.5 - 1;
  });
  return { times: timesUpTo(1, length), values, shape: [count, length, 1] };
}
