import * as weft from "../../mod.ts";
import { type Arguments, counts, key, random, shares, sizes, type Subject, unknown } from "./subjects.ts";

/** A subject whose only argument is an options object. */
function factory(
  name: keyof typeof weft,
  options: Arguments,
  wrong: Readonly<Record<string, readonly unknown[]>>,
  { isRandom = true } = {},
): Subject {
  return {
    name,
    call: (args) => (weft[name] as (options: unknown) => unknown)(args),
    valid: () => ({ ...(isRandom ? { key } : {}), ...options }),
    wrong,
  };
}

const rates = [-1, NaN, Infinity];
const parameters = () => ({ w: weft.parameter(random(2)) });
const heads = { heads: [...counts, 3] };
const fastWeight = { inputChannels: 2, modelDim: 4, heads: 2, outputChannels: 2 };
const fastWeightWrong = {
  inputChannels: counts,
  modelDim: [...counts, 3],
  ...heads,
  outputChannels: counts,
  layers: counts,
  feedForward: counts,
};

/** Layers, models, optimizers and schedules. */
export const modelSubjects: readonly Subject[] = [
  factory("Linear", { inputs: 2, outputs: 3 }, { inputs: counts, outputs: counts, dtype: unknown }),
  factory("MLP", { inputs: 2, outputs: 3, width: 4, depth: 1 }, {
    inputs: counts,
    outputs: counts,
    width: counts,
    depth: sizes,
  }),
  factory("LayerNorm", { features: 3 }, { features: counts, eps: [-1, NaN, Infinity] }, { isRandom: false }),
  factory("Embedding", { count: 3, features: 2 }, { count: counts, features: counts }),
  factory("GRU", { inputs: 2, hidden: 3 }, { inputs: counts, hidden: counts }),
  factory("LSTM", { inputs: 2, hidden: 3 }, { inputs: counts, hidden: counts }),
  factory("NeuralCDE", { inputChannels: 2, hiddenChannels: 3, outputChannels: 2, width: 4, depth: 1 }, {
    inputChannels: counts,
    hiddenChannels: counts,
    outputChannels: counts,
    width: counts,
    depth: sizes,
  }),
  factory("NeuralODE", { features: 2, width: 4, depth: 1 }, {
    features: counts,
    width: counts,
    depth: sizes,
  }),
  factory("LatentODE", { inputChannels: 2, outputChannels: 1, latentChannels: 3, width: 4, depth: 1 }, {
    inputChannels: counts,
    outputChannels: counts,
    latentChannels: counts,
    width: counts,
    depth: sizes,
    noise: rates,
  }),
  factory("FastWeightODE", fastWeight, fastWeightWrong),
  factory("FastWeightCDE", fastWeight, fastWeightWrong),
  factory("FastWeightRDE", { ...fastWeight, depth: 2 }, { ...fastWeightWrong, depth: counts }),
  factory("FastWeightDirectMap", { inputChannels: 2, modelDim: 4, outputChannels: 2, width: 4, depth: 1 }, {
    inputChannels: counts,
    modelDim: counts,
    outputChannels: counts,
    width: counts,
    depth: sizes,
  }),
  factory("DeltaNet", fastWeight, { ...fastWeightWrong, dropout: [...shares, 1], mode: unknown }),
  factory("LinearTransformer", fastWeight, fastWeightWrong),
  factory("RecurrentFWP", fastWeight, fastWeightWrong),
  factory("ODERFWP", { ...fastWeight, width: 4, depth: 1 }, {
    ...fastWeightWrong,
    width: counts,
    depth: sizes,
    stepsPerGap: counts,
  }),
  factory("WARP", { inputChannels: 2, outputChannels: 2, root: { width: 4, depth: 1 } }, {
    inputChannels: counts,
    outputChannels: counts,
    root: counts.map((width) => ({ width, depth: 1 })),
    mode: unknown,
  }),
  factory("Recurrent", { cell: "gru", inputChannels: 2, hiddenChannels: 3, outputChannels: 2 }, {
    cell: unknown,
    inputChannels: counts,
    hiddenChannels: counts,
    outputChannels: counts,
  }),
  factory("IrregularGRU", { inputChannels: 2, hiddenChannels: 3, outputChannels: 2 }, {
    inputChannels: counts,
    hiddenChannels: counts,
    outputChannels: counts,
    between: ["", "linear", "constructor"],
  }),
  ...(["SGD", "Adam", "AdamW", "AdaBelief"] as const).map((name): Subject => ({
    name,
    call: (options) => weft[name](parameters(), options as never),
    valid: () => ({ learningRate: 0.1 }),
    wrong: {
      learningRate: rates,
      weightDecay: rates,
      ...(name === "SGD"
        ? { momentum: rates }
        : { betas: [[1, 0.9], [0.9, -1], [NaN, 0.9]], eps: [-1, NaN] }),
    },
  })),
  {
    name: "cosineDecay",
    call: (options) => weft.cosineDecay(options as never)(0),
    valid: () => ({ steps: 10 }),
    wrong: { steps: [0, -1, NaN], minimum: [-1, NaN] },
  },
  {
    name: "warmup",
    call: (options) => weft.warmup(options as never)(0),
    valid: () => ({ steps: 10 }),
    wrong: { steps: [-1, NaN] },
  },
  {
    name: "reduceOnPlateau",
    call: (options) => weft.reduceOnPlateau(options as never),
    valid: () => ({}),
    wrong: { factor: [-1, NaN], patience: [-1, NaN], mode: unknown },
  },
];

const along = () => weft.LinearInterpolation(weft.logsigWindows(random(2, 7, 2), 2, 2));
const neuralRde = {
  ...{ inputChannels: 2, hiddenChannels: 3, outputChannels: 2 },
  ...{ signatureDepth: 2, width: 4, depth: 1 },
};
const fractions = [1.5, 2.5, 0.1, NaN];

/**
 * Calls with an argument that bounds a loop. A bound that the loop never reaches exactly must not cause an
 * infinite loop.
 */
export const endlessSubjects: readonly Subject[] = [
  factory("FastWeightRDE", { ...fastWeight, depth: 2 }, { inputChannels: fractions, depth: fractions }),
  factory("NeuralRDE", neuralRde, { inputChannels: fractions, signatureDepth: fractions, depth: fractions }),
  {
    name: "logsignatureChannels",
    call: ({ channels, depth }) => weft.logsignatureChannels(channels as number, depth as number),
    valid: () => ({ channels: 2, depth: 2 }),
    wrong: { channels: fractions, depth: [...fractions, Infinity] },
  },
  {
    name: "NeuralRDE's solve",
    call: (solver) =>
      weft.NeuralRDE({
        ...neuralRde,
        key,
        ...solver,
      })(along()),
    valid: () => ({}),
    wrong: { stepsPerPiece: [0, ...fractions, Infinity], stepSize: [0, NaN, 1e-300] },
  },
];
