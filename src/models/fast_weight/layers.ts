import type { CdeSolveOptions } from "../../solvers/controlled.ts";
import { checkCount } from "../../nn/layer.ts";
import { stack } from "../../tensor/functions.ts";
import { foldIn, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { type Equation, onceEach, type Reading } from "../along_control.ts";
import { checkStaticFeatures } from "../static_features.ts";
import { checkSizes, product } from "./heads.ts";
import type { FastWeightOptions } from "./options.ts";
import { OutputBlock } from "./output_block.ts";
import { checkRule } from "./rules.ts";
import { SlowNetwork } from "./slow_network.ts";
import { StaticWeights } from "./static_weights.ts";

/** Options of {@linkcode FastWeightLayers}. */
type FastWeightLayersOptions =
  & Pick<FastWeightOptions, "staticFeatures" | "key" | "dtype">
  & Required<
    Omit<
      FastWeightOptions,
      "staticFeatures" | "key" | "dtype" | "outputChannels" | "slopeScale" | keyof CdeSolveOptions
    >
  >;

/**
 * Layers of fast weights that are solved together (Irie et al., 2022, equations 33 to 35). The control of
 * layer l + 1 is x(t, l) = FFN(W(t, l) q): the output of the weights of layer l for the query,
 * passed through a feed-forward block. The output of the last layer passes through a linear map before its
 * block, as in the authors' code. For the controlled form, which the paper calls analogous, the derivative of x(t, l) is
 * approximated by the output of dW/ds, passed through the same block, because the derivative of the query
 * would need x''.
 *
 * The first layer starts from its rule at x(t0), or from a network of static features. Later layers start
 * from zeros, as in the authors' code. The state is W `(..., heads, values, keys)` for one layer, `(...,
 * layers, heads, values, keys)` for several. In the first layer everything except the rule depends only on
 * the control; in later layers the keys, values and rates depend on the state.
 */
export function FastWeightLayers(
  model: string,
  options: FastWeightLayersOptions,
): Omit<Equation, "readoutKey"> {
  const { inputChannels, modelDim, heads, layers: count, feedForward, rule, transposeQuery } = options;
  const { staticFeatures, dropout, dtype } = options;
  checkRule(model, rule);
  checkSizes(model, { inputChannels, modelDim, heads, feedForward });
  checkCount(model, "layers", count);
  const layers = Array.from({ length: count }, (_, l) => {
    const keys = splitKey(foldIn(options.key, l));
    const slow = SlowNetwork({
      inputs: l === 0 ? inputChannels : modelDim,
      project: l === 0,
      from: options.keysFrom,
      valuesFrom: options.valuesFrom,
      normalizeValues: options.normalizeValues,
      signals: rule.signals,
      ...{ modelDim, heads, key: keys[0], dtype },
    });
    const project = l === count - 1;
    const block = OutputBlock({ modelDim, feedForward, project, dropout, key: keys[1], dtype });
    return { slow, block };
  });
  const initial = staticFeatures &&
    StaticWeights(model, staticFeatures, { modelDim, heads, key: foldIn(options.key, count), dtype });

  const recall = (l: number, read: Reading, w: Tensor) =>
    product(transposeQuery ? w.mT : w, layers[l].slow.query(read));
  const slopeOf = (l: number, read: Reading, w: Tensor) => rule(layers[l].slow.signals(read), w);
  /** The controls of all layers. */
  const controls = (read: Reading, weights: readonly Tensor[], from = "weights") => {
    const all = [onceEach(read)];
    for (let l = 1; l < count; l++) {
      const [below, control] = [l - 1, all[l - 1]];
      all.push(onceEach((source) => {
        const w = source === "value" && from === "weights"
          ? weights[below]
          : slopeOf(below, control, weights[below]);
        return layers[below].block(recall(below, control, w));
      }));
    }
    return all;
  };
  const join = (weights: readonly Tensor[]) => count === 1 ? weights[0] : stack(weights, -4);
  const separate = (w: Tensor) => count === 1 ? [w] : layers.map((_, l) => w.select(-4, l));

  return {
    channels: inputChannels,
    features: modelDim,
    parameters: {
      layers: layers.map(({ slow, block }) => ({ ...slow.parameters, ...block.parameters })),
      ...(initial ? { staticFeatures: initial.parameters } : {}),
    },
    axes: [...count === 1 ? [] : ["layer"], "head", "value", "key"],
    start(read, features) {
      checkStaticFeatures(model, features, staticFeatures, read("value").shape.slice(0, -1));
      const first = initial && features ? initial(features) : rule(layers[0].slow.signals(read));
      return join(layers.map((_, l) => l === 0 ? first : first.zerosLike()));
    },
    slope(read, w) {
      const weights = separate(w);
      const reads = controls(read, weights, options.controlsFrom);
      return join(weights.map((layerWeights, l) => slopeOf(l, reads[l], layerWeights)));
    },
    output(read, w, key) {
      const weights = separate(w);
      const last = count - 1;
      return layers[last].block(recall(last, controls(read, weights)[last], weights[last]), { key });
    },
  };
}
