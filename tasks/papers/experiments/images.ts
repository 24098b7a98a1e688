/** Images for experiments on MNIST and Fashion-MNIST. */
import { OptionError } from "@weft/weft";
import { type OptionSchema, switchOption } from "@weft/weft/train";
import { type Digits, readDigits } from "../data/mnist.ts";
import { exists, whyNoFolder } from "../files.ts";

/** Rows and columns of the images. */
const rows = 28;

/** The subsampled square of pixels of an image. */
export interface Square {
  /** Stride of the rows and columns. */
  readonly every: number;
  /** Number of rows, and of columns. */
  readonly side: number;
}

/** The square with `length` pixels. @throws {OptionError} If there is no such square. */
export function squareOf(length: number): Square {
  const sides = Array.from({ length: rows }, (_, i) => Math.ceil(rows / (i + 1)));
  const side = Math.sqrt(length);
  if (sides.includes(side)) return { every: sides.indexOf(side) + 1, side };
  const expected = `the pixels of a square of ${[...new Set(sides)].slice(0, 4).join(", ")}, ... rows`;
  throw new OptionError("invalid-option", (write) => `${write("length")} ${length}: expected ${expected}`, {
    option: "length",
    expected,
  });
}

/** Option of experiments on images that learn from the data set's training images. */
export const fromTestImagesOption: OptionSchema = {
  fromTestImages: switchOption({
    group: "data",
    help: "learn from test images that are not tested, instead of the training images",
  }),
};

/** Setting of {@linkcode fromTestImagesOption}. */
export interface ImageSettings {
  /** Whether to learn from test images that are not tested, instead of the training images. */
  readonly fromTestImages?: boolean;
}

/** Test images, and the images to learn from. */
interface LearningImages {
  readonly test: Digits;
  /** Training images; undefined if test images that are not tested take their place. */
  readonly train?: Digits;
  /** Line that says so, for the run and its report. */
  readonly notice?: string;
}

/**
 * The images of a folder. Without `fromTestImages` the folder must contain training images.
 *
 * @throws {OptionError} If there are no training images.
 */
export async function readLearningImages(
  folder: string,
  { fromTestImages = false }: ImageSettings,
): Promise<LearningImages> {
  const { test, train } = await readImages(folder);
  if (fromTestImages) {
    return { test, notice: "The model learns from test images of the data set; others of them are tested." };
  }
  if (train) return { test, train };
  throw new OptionError(
    "invalid-option",
    (write) =>
      `${folder}: no training images (train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz); run deno task ` +
      `download mnist fashion-mnist, or add ${
        write("fromTestImages")
      } to learn from test images that are not tested`,
    { option: "fromTestImages" },
  );
}

/** Whether a run needs training images that its folder does not have. */
export async function lacksTrainingImages(
  folder: string,
  { experiment, fromTestImages }: ImageSettings & { readonly experiment: string },
): Promise<boolean> {
  if (!learnsFromImages(experiment) || fromTestImages) return false;
  const names = ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"];
  const found = await Promise.all(
    names.map(async (name) => await exists(`${folder}/${name}.gz`) || await exists(`${folder}/${name}`)),
  );
  return !found.every(Boolean);
}

/** Whether an experiment learns from training images, by its name. */
function learnsFromImages(experiment: string): boolean {
  return /^(sequential-)?(fashion-)?mnist(-completion)?$/.test(experiment);
}

/**
 * The test images of a folder, and the training images if they exist.
 *
 * @throws {Error} If there are no test images.
 */
export async function readImages(folder: string): Promise<{ test: Digits; train?: Digits }> {
  const test = await readDigits(folder, "t10k");
  if (test) return { test, train: await readDigits(folder, "train") };
  throw new Error(
    `${folder}: ${
      await whyNoFolder(folder) ?? "a folder without images"
    }; expected a folder with t10k-images-idx3-ubyte.gz and t10k-labels-idx1-ubyte.gz, and optionally the ` +
      "files of the training set (train-*); run deno task download mnist fashion-mnist",
  );
}
