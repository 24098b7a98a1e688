import type { DType } from "../../device/dtype.ts";
import { checkCount, type ParameterTree } from "../../nn/layer.ts";
import { stack } from "../../tensor/functions.ts";
import { foldIn, type Key, split } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { checkSizes, product } from "./heads.ts";
import { OutputBlock } from "./output_block.ts";
import type { LearningRule } from "./rules.ts";
import { type ControlSource, type Reading, SlowNetwork } from "./slow_network.ts";

/** The differential equation that fast weights follow along a control, and what they answer to it. */
export interface WeightEquation {
  readonly parameters: { readonly [name: string]: ParameterTree };
  /** Names of the axes of W after the batch. */
  readonly axes: readonly string[];
  /** W(t0) from the control at t0. */
  start(read: Reading): Tensor;
  /** dW/ds. */
  slope(read: Reading, w: Tensor): Tensor;
  /** What W answers to the control: `(..., modelDim)`; `key` turns dropout on. */
  answer(read: Reading, w: Tensor, key?: Key): Tensor;
}

/** Options of {@linkcode FastWeightLayers}. */
export interface FastWeightLayersOptions {
  inputChannels: number;
  modelDim: number;
  heads: number;
  layers: number;
  feedForward: number;
  rule: LearningRule;
  keysFrom: ControlSource;
  valuesFrom: "keys" | ControlSource;
  transposeQuery: boolean;
  dropout: number;
  key: Key;
  dtype?: DType;
}

/**
 * Layers of fast weights that change together (Irie et al., 2022, appendix C.1): the control of layer l + 1 is what the
 * weights of layer l answer to their own control, passed through the output block of layer l. Its derivative, where one is
 * read, is what dW/ds answers, passed through the same block: the derivative of the query would take x''.
 *
 * The state is W `(..., heads, values, keys)` of one layer, `(..., layers, heads, values, keys)` of several. Of the first
 * layer all but the rule depends on the control alone; what later ones emit depends on the state.
 */
export function FastWeightLayers(model: string, options: FastWeightLayersOptions): WeightEquation {
  const { inputChannels, modelDim, heads, layers: count, feedForward, rule, transposeQuery, dropout, dtype } =
    options;
  checkSizes(model, { inputChannels, modelDim, heads, feedForward });
  checkCount(model, "layers", count);
  const layers = Array.from({ length: count }, (_, l) => {
    const keys = split(foldIn(options.key, l));
    const slow = SlowNetwork({
      inputs: l === 0 ? inputChannels : modelDim,
      project: l === 0,
      from: options.keysFrom,
      valuesFrom: options.valuesFrom,
      ...{ modelDim, heads, key: keys[0], dtype },
    });
    const block = OutputBlock({ modelDim, feedForward, dropout, key: keys[1], dtype });
    return { slow, block };
  });

  const recall = (l: number, read: Reading, w: Tensor) =>
    product(transposeQuery ? w.mT : w, layers[l].slow.query(read));
  const slopeOf = (l: number, read: Reading, w: Tensor) => rule(layers[l].slow.signals(read), w);
  /** The controls of all layers; weights may be added while they are read. */
  const controls = (read: Reading, weights: readonly Tensor[]) => {
    const all = [onceEach(read)];
    for (let l = 1; l < count; l++) {
      const [below, own] = [l - 1, all[l - 1]];
      all.push(onceEach((source) => {
        const w = source === "value" ? weights[below] : slopeOf(below, own, weights[below]);
        return layers[below].block(recall(below, own, w));
      }));
    }
    return all;
  };
  const join = (weights: readonly Tensor[]) => count === 1 ? weights[0] : stack(weights, -4);
  const separate = (w: Tensor) => count === 1 ? [w] : layers.map((_, l) => w.at(-4, l));

  return {
    parameters: { layers: layers.map(({ slow, block }) => ({ ...slow.parameters, ...block.parameters })) },
    axes: [...count === 1 ? [] : ["layer"], "head", "value", "key"],
    start(read) {
      const weights: Tensor[] = [];
      const reads = controls(read, weights);
      layers.forEach(({ slow }, l) => weights.push(rule(slow.signals(reads[l]))));
      return join(weights);
    },
    slope(read, w) {
      const weights = separate(w);
      const reads = controls(read, weights);
      return join(weights.map((own, l) => slopeOf(l, reads[l], own)));
    },
    answer(read, w, key) {
      const weights = separate(w);
      const last = count - 1;
      return layers[last].block(recall(last, controls(read, weights)[last], weights[last]), { key });
    },
  };
}

/** Computes either kind when it is first asked for. */
function onceEach(read: Reading): Reading {
  const known = new Map<ControlSource, Tensor>();
  return (source) => {
    const value = known.get(source) ?? read(source);
    known.set(source, value);
    return value;
  };
}
