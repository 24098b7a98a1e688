/** Images that experiments on MNIST and Fashion-MNIST read. */
import { type Digits, readDigits } from "../data/mnist.ts";
import { whyNoFolder } from "../../../src/files/disk.ts";

/** Rows and columns of the images. */
const rows = 28;

/** Pixels that are taken of an image. */
export interface Square {
  /** Distance of the rows and columns that are taken. */
  readonly every: number;
  /** Number of rows, and of columns, that are taken. */
  readonly side: number;
}

/** A square of so many pixels. @throws {RangeError} If none can be taken. */
export function squareOf(length: number): Square {
  const sides = Array.from({ length: rows }, (_, i) => Math.ceil(rows / (i + 1)));
  const side = Math.sqrt(length);
  if (sides.includes(side)) return { every: sides.indexOf(side) + 1, side };
  throw new RangeError(
    `--length ${length}: expected the pixels of a square of ${
      [...new Set(sides)].slice(0, 4).join(", ")
    }, ... rows`,
  );
}

/**
 * The images of a folder: those to test on, and those to train on where they are there.
 *
 * @throws {Error} If there are none to test on.
 */
export async function readImages(folder: string): Promise<{ test: Digits; train?: Digits }> {
  const test = await readDigits(folder, "t10k");
  if (test) return { test, train: await readDigits(folder, "train") };
  throw new Error(
    `${folder}: ${
      await whyNoFolder(folder) ?? "a folder without images"
    }; expected a folder with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz, and perhaps those that ` +
      "begin with train: deno task download mnist fashion-mnist",
  );
}
