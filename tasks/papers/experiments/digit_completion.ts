/** Completion of the images of MNIST and Fashion-MNIST. */
import { type Key, OptionError } from "@weft/weft";
import { randpermArray, type Splits } from "@weft/weft/data";
import { digestOf, type ModelExperiment, type RecordedSeries } from "@weft/weft/series";
import { type Digits, pixelSeries } from "../data/mnist.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { mnist, recurrent, s4 } from "../recipes/warp_images.ts";
import { type CompletedImages, imageCompletion, type ImageProblem } from "./image_completion.ts";
import { fromTestImagesOption, readImages, readLearningImages, squareOf } from "./images.ts";

const { gruUnits, lstmUnits } = valuesOf(recurrent.rules);
/** Numbers of images. Settings can change the number of training images. */
const counts = { train: 4000, validation: 500, test: 1000 };

/** By default 10 by 10 pixels. */
const digits: Omit<ImageProblem, "name" | "summary" | "data"> = {
  channels: ["grey"],
  length: 100,
  options: fromTestImagesOption,
  recipe: mnist,
  ofModels: { gru: { units: gruUnits }, lstm: { units: lstmUnits }, s4d: valuesOf(s4.settings) },
  sideOf: (length) => squareOf(length).side,
  model({ depth = 1, clipWeights = mnist.settings.clipWeights.value, recipe }) {
    return {
      root: recipe === "paper"
        ? { depth, activation: mnist.rules.activation.value }
        : { depth, activation: "silu", frequencies: 5, previousInput: true },
      clipWeights,
    };
  },
  async read(settings, side, key) {
    const images = await readLearningImages(settings.data!, settings);
    const splits = chooseSplits(settings.data!, images, key, {
      ...counts,
      ...(settings.samples === undefined ? {} : { train: settings.samples }),
      // The paper tests on all test images.
      ...(settings.recipe === "paper" && images.train ? { test: images.test.shape[0] } : {}),
    });
    const [train, validation, test] = await Promise.all(
      [splits.train, splits.validation, splits.test].map((chosen) => imagesOf(chosen, side)),
    );
    return { splits: { train, validation, test }, notice: images.notice };
  },
  async readTest(folder, side) {
    const { test } = await readImages(folder);
    const positions = Array.from({ length: test.shape[0] }, (_, i) => i);
    return await imagesOf({ file: "t10k", digits: test, positions }, side);
  },
};

/** Completes images of the handwritten digits of MNIST. */
export const mnistCompletion: ModelExperiment = imageCompletion({
  ...digits,
  ...{ name: "mnist-completion", summary: "complete digits of MNIST, pixel by pixel", data: "data/mnist" },
});

/** Completes images of the clothes of Fashion-MNIST. */
export const fashionMnistCompletion: ModelExperiment = imageCompletion({
  ...digits,
  name: "fashion-mnist-completion",
  summary: "complete images of Fashion-MNIST, pixel by pixel",
  data: "data/fashion-mnist",
});

async function imagesOf(chosen: Chosen, side: number): Promise<CompletedImages> {
  const series = pixelSeries(chosen.digits, squareOf(side ** 2).every);
  return { recorded: await recordDigits(chosen), series };
}

/** Selected digits of a file, with their positions in the file. */
interface Chosen {
  readonly file: string;
  readonly digits: Digits;
  readonly positions: readonly number[];
}

/**
 * Training, validation and test digits. The test set comes from MNIST's test images. The other sets come from
 * its training images, or from other test images if there are no training images to learn from.
 */
function chooseSplits(
  folder: string,
  { train, test }: Awaited<ReturnType<typeof readLearningImages>>,
  shuffleKey: Key,
  counts: Splits<number>,
): Splits<Chosen> {
  const part = (file: "train" | "t10k", digits: Digits, from: number, count: number): Chosen => {
    const there = digits.shape[0];
    if (from + count > there) {
      throw new OptionError(
        "invalid-option",
        `${folder}: ${there} images of ${file}, expected ${from + count}`,
        { option: "samples", fixes: [(write) => `choose fewer ${write("samples")}`] },
      );
    }
    const positions = [...randpermArray(shuffleKey, there).subarray(from, from + count)];
    const size = digits.shape[1] * digits.shape[2];
    const images = new Uint8Array(count * size);
    positions.forEach((image, i) =>
      images.set(digits.images.subarray(image * size, (image + 1) * size), i * size)
    );
    const labels = Uint8Array.from(positions, (image) => digits.labels[image]);
    return {
      file,
      digits: { images, labels, shape: [count, digits.shape[1], digits.shape[2]] },
      positions,
    };
  };
  // Of test images, the first ones of the shuffled order are tested.
  const first = train ? 0 : counts.test;
  const rest = (from: number, count: number) =>
    train ? part("train", train, from, count) : part("t10k", test, from, count);
  return {
    test: part("t10k", test, 0, counts.test),
    train: rest(first, counts.train),
    validation: rest(first + counts.train, counts.validation),
  };
}

async function recordDigits({ file, digits, positions }: Chosen): Promise<RecordedSeries[]> {
  const size = digits.shape[1] * digits.shape[2];
  return await Promise.all(positions.map(async (position, i) => ({
    name: `${file} ${position + 1}`,
    position,
    digest: await digestOf("", Float64Array.from(digits.images.subarray(i * size, (i + 1) * size))),
  })));
}
