import type { Series, SeriesSet } from "@weft/weft/data";
import { type ModelExperiment, neuralModels } from "@weft/weft/series";
import { type Digits, pixelSeries } from "../data/mnist.ts";
import { type PaperSeriesSettings, seriesOptions } from "./options.ts";
import { recipeDefaults } from "./recipe_defaults.ts";
import { paperExperiment } from "./classification_recipe.ts";
import {
  fromTestImagesOption,
  type ImageSettings,
  readImages,
  readLearningImages,
  squareOf,
} from "./images.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { sequentialMnist as sequentialMnistRecipe } from "../recipes/warp_uea.ts";
import { someSeries } from "../data/some_series.ts";

/** Default number of pixels per series, and of training images. */
const defaultSizes = { length: 196, samples: 4000 };

/** The models for series. By the recipe of WARP's paper, theta_0 is learned. */
const models: typeof neuralModels = {
  ...neuralModels,
  warp: {
    ...neuralModels.warp,
    make(sizes, settings) {
      const { recipe } = settings as PaperSeriesSettings;
      const { initial } = valuesOf(sequentialMnistRecipe.rules);
      return neuralModels.warp.make({ ...sizes, ...(recipe === "paper" ? { initial } : {}) }, settings);
    },
  },
};

/** Classifies images as series of pixels. Tests on the data set's test images if the data set is complete. */
function sequentialImages(
  name: string,
  summary: string,
  data: string,
  classes: readonly string[],
): ModelExperiment {
  const setOf = (path: string, series: readonly Series[], testFrom?: number): SeriesSet => ({
    ...{ name: path, channels: ["grey"], times: "number", classes, series, testFrom },
  });
  return paperExperiment({
    name,
    summary: `${summary} from their pixels`,
    options: {
      ...seriesOptions({
        ...{ epochs: 20, batchSize: 50, learningRate: 0.003, hidden: 64, ...defaultSizes },
        ...{ model: "gru", data },
      }, ["data", "length", "samples"]),
      ...fromTestImagesOption,
    },
    async make(settings: PaperSeriesSettings & ImageSettings, key) {
      const { data: path, length = defaultSizes.length, samples = defaultSizes.samples } = settings;
      const { train, test, notice } = await readLearningImages(path!, settings);
      const learned = someSeries(imageSeries(train ? "train" : "t10k", train ?? test, length), samples, key);
      return train
        ? setOf(path!, [...learned, ...imageSeries("t10k", test, length)], learned.length)
        : { ...setOf(path!, learned), notices: [notice!] };
    },
    async read(path, _, { length = defaultSizes.length }) {
      if (typeof path !== "string") throw new Error(`${name} reads a folder of images, not a table`);
      return setOf(path, imageSeries("t10k", (await readImages(path)).test, length));
    },
    models,
    ...recipeDefaults({}, { warp: valuesOf(sequentialMnistRecipe.settings) }),
    timeScale: () => 0.01,
    scaling: () => "none",
    width: 32,
    depth: 1,
  });
}

/** Images as series of pixels from -1 to 1. */
export function imageSeries(part: string, digits: Digits, length: number): Series[] {
  const { values } = pixelSeries(digits, squareOf(length).every);
  const times = Float64Array.from({ length }, (_, pixel) => pixel);
  return Array.from({ length: digits.shape[0] }, (_, i): Series => ({
    name: `${part} ${i + 1}`,
    times,
    values: values.subarray(i * length, (i + 1) * length),
    label: digits.labels[i],
  }));
}

/** Digits, as in WARP's appendix C.2, at 14 by 14 pixels. */
export const sequentialMnist: ModelExperiment = sequentialImages(
  "sequential-mnist",
  "digits of MNIST",
  "data/mnist",
  [..."0123456789"],
);

/** Clothes of Fashion-MNIST, at 14 by 14 pixels. */
export const sequentialFashionMnist: ModelExperiment = sequentialImages(
  "sequential-fashion-mnist",
  "clothes of Fashion-MNIST",
  "data/fashion-mnist",
  ["T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"],
);
