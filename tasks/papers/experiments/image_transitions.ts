import {
  Adam,
  cosineDecay,
  type Layer,
  layer,
  MLP,
  multiplySchedules,
  normal,
  parameterCount,
  type Tensor,
  warmup,
  WARP,
  type WARPTransitionOptions,
} from "@weft/weft";
import type { Series, SeriesSet } from "@weft/weft/data";
import {
  blocksOf,
  dataOptions,
  type ModelExperiment,
  modelOptions,
  openRows,
  type SeriesCall,
  seriesExperiment,
  type SeriesModelKind,
  type SeriesSettings,
} from "@weft/weft/series";
import { numberOption, pickOptions, trainingOptions } from "@weft/weft/train";
import { someSeries } from "../data/some_series.ts";
import { imageSeries } from "./image_classes.ts";
import { readImages, readLearningImages } from "./images.ts";

/** Settings of {@linkcode imageTransitions}. */
interface TransitionSettings extends SeriesSettings {
  /** Standard deviation of the noise that training adds to the pixels, which range from -1 to 1. */
  readonly noise: number;
}

/** Number of pixels of an image: 14 by 14. */
const length = 196;

/**
 * WARP with a form of A, which can depend on the number of weights. The state starts from a learned theta_0, and
 * the root network decodes the last state alone, at tau = 1.
 */
function warpWith(
  form: WARPTransitionOptions | ((size: number) => WARPTransitionOptions),
): SeriesModelKind {
  return {
    takes: ["hidden", "depth"],
    reads: "observations",
    takesStatic: false,
    make({ outputChannels, hidden: width, depth, key }, settings): Layer<[series: Tensor, call: SeriesCall]> {
      const { noise } = settings as TransitionSettings;
      const root = { width, depth, activation: "silu" } as const;
      const weights = parameterCount(MLP({ ...root, inputs: 1, outputs: outputChannels, key }).parameters);
      const transition = typeof form === "function" ? form(weights) : form;
      const model = WARP({
        ...{ inputChannels: 1, outputChannels, output: "logits", initial: "learned", transition, key },
        root,
      });
      return layer(model.parameters, (series, { key }) => {
        const pixels = openRows(series).values.slice(-1, 1);
        if (!key || noise === 0) return model(pixels);
        return model(
          pixels.add(normal(key, pixels.shape, { standardDeviation: noise, dtype: pixels.dtype })),
        );
      });
    },
  };
}

const models = {
  "warp": warpWith("dense"),
  "warp-rotation": warpWith({ initialization: "rotation" }),
  "warp-planes": warpWith("planes"),
  "warp-planes-low-rank": warpWith({ diagonal: "planes", rank: 16 }),
  "warp-rotation-blocks": warpWith((size) => ({ blocks: blocksOf(size), initialization: "rotation" })),
  "warp-rotation-low-rank": warpWith({ rank: 32, initialization: "rotation" }),
};

/**
 * Classifies digits from their 14 by 14 pixels by WARPs that differ in A alone: an extension of WARP's
 * appendix C.2. Adam with a warm-up and half a cosine. Training, validation and test set are disjoint parts of
 * MNIST's test images, also if the training images exist, so that results can be compared.
 */
export const imageTransitions: ModelExperiment = seriesExperiment<TransitionSettings>({
  name: "mnist-transitions",
  summary: "digits of MNIST by WARPs with other transitions",
  options: {
    ...pickOptions(dataOptions, ["data", "samples", "dataSeed"], { data: "data/mnist", samples: 4000 }),
    ...pickOptions(modelOptions, ["model", "hidden", "depth"], { model: "warp-rotation", hidden: 24 }),
    noise: numberOption({
      group: "training",
      help: "standard deviation of noise added to the pixels in training",
      default: 0.4,
    }, { from: 0 }),
    ...trainingOptions({ epochs: 60, batchSize: 50, learningRate: 0.001 }),
  },
  models,
  async make({ data, samples }, key) {
    const { test, notice } = await readLearningImages(data!, { fromTestImages: true });
    const series = someSeries(imageSeries("t10k", test, length), samples, key);
    return { ...setOf(data!, series), notices: [notice!] };
  },
  async read(path) {
    if (typeof path !== "string") throw new Error("mnist-transitions reads a folder of images");
    return setOf(path, imageSeries("t10k", (await readImages(path)).test, length));
  },
  rules: ({ learningRate, epochs }) => ({
    metric: { name: "accuracy", mode: "max" },
    learning(parameters, stepsPerEpoch) {
      const steps = epochs! * stepsPerEpoch;
      return {
        optimizer: Adam(parameters, { learningRate }),
        schedule: multiplySchedules(warmup({ steps: Math.min(100, steps / 10) }), cosineDecay({ steps })),
        clipNorm: 1,
      };
    },
  }),
  timeScale: () => 0.01,
  scaling: () => "none",
  width: 24,
  depth: 1,
});

function setOf(name: string, series: readonly Series[]): SeriesSet {
  return { name, channels: ["grey"], times: "number", classes: [..."0123456789"], series };
}
