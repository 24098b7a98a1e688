/**
 * Neural CDEs are universal (Kidger et al., 2020, appendix B): a linear map of their terminal state approximates any continuous
 * function of a path. The proof has two steps, and both can be run.
 *
 * 1. The signature of a path solves a controlled differential equation with a linear vector field, dy = y (x) dX (definition
 *    B.4): {@linkcode SignatureCDE} is a `NeuralCDE` whose parameters are set so that its state is the signature.
 * 2. Linear functions of signatures are dense in the continuous functions of paths (theorem B.6). For X that starts at zero,
 *    exp(X(T)) say is the sum over k of the word 1...1 of k letters, X(T)^k / k!: with each depth the error becomes smaller.
 */
import {
  key,
  LinearInterpolation,
  loadParameters,
  NeuralCDE,
  type NeuralCDEModel,
  normal,
  signatureChannels,
  type Tensor,
  tensor,
  treeFlatten,
} from "../mod.ts";

/** Options of {@linkcode SignatureCDE}. */
export interface SignatureCDEOptions {
  /** Channels of the control. */
  channels: number;
  /** Letters of the longest words. */
  depth: number;
  /** Weights of the readout: a row for each output, of the empty word and then of all others in the order of `signature`. */
  weights: number[][];
}

/** A Neural CDE whose state is the signature of its control. The output is a linear map of the state. */
export function SignatureCDE(
  { channels, depth, weights }: SignatureCDEOptions,
): NeuralCDEModel {
  const words = 1 + signatureChannels(channels, depth);
  const model = NeuralCDE({
    inputChannels: channels,
    hiddenChannels: words,
    outputChannels: weights.length,
    ...{ width: 1, depth: 0, finalActivation: "identity", key: key(0), dtype: "float64" },
    // Tight tolerances: the approximation dominates the error. Steps end where the slope of a path jumps.
    ...{ method: "dopri5", rtol: 1e-9, atol: 1e-11 },
  });
  const parameters = new Map<string, Tensor>(treeFlatten(model.parameters));
  const values = (name: string) => new Float64Array(parameters.get(name)!.size);
  const field = values("vectorField.layers.0.weight");
  // The word w grows into the word w i, whose derivative is that of w times dX_i: M of definition B.4.
  for (let word = 0; word * channels + channels < words; word++) {
    for (let letter = 0; letter < channels; letter++) {
      const longer = word * channels + letter + 1;
      field[(longer * channels + letter) * words + word] = 1;
    }
  }
  // y(t0): 1 for the empty word and 0 for all others.
  const start = values("initial.bias");
  start[0] = 1;
  const parameterValues = {
    ...Object.fromEntries([...parameters.keys()].map((name) => [name, values(name)])),
    "vectorField.layers.0.weight": field,
    "initial.bias": start,
    "readout.weight": Float64Array.from(weights.flat()),
  };
  const tensors = Object.entries(parameterValues).map(([name, x]) =>
    [name, tensor(x, { shape: parameters.get(name)!.shape, dtype: "float64" })] as const
  );
  loadParameters(model.parameters, Object.fromEntries(tensors));
  return model;
}

/** Weights of {@linkcode SignatureCDE} that approximate exp(X_1(T) - X_1(t0)). */
export function exponentialWeights(channels: number, depth: number): number[] {
  const weights = new Array<number>(1 + signatureChannels(channels, depth)).fill(0);
  // The first word of each length is 1...1.
  for (let length = 0, first = 0; length <= depth; first += channels ** length++) weights[first] = 1;
  return weights;
}

/** The largest error of exp(X_1(T) - X_1(t0)) over four random paths, from their signatures to a depth. */
export async function approximationError(depth: number): Promise<number> {
  const x = normal(key(1), [4, 6, 2], { dtype: "float64" }).mul(0.3).cumsum(1);
  const exact = x.select(1, -1).sub(x.select(1, 0)).select(-1, 0).exp();
  const model = SignatureCDE({ channels: 2, depth, weights: [exponentialWeights(2, depth)] });
  const error = model(LinearInterpolation(x)).select(-1, 0).sub(exact).abs().max();
  return Number(await error.item());
}

if (import.meta.main) {
  for (const depth of [1, 2, 3, 4]) console.log(`depth ${depth}: off by ${await approximationError(depth)}`);
}
