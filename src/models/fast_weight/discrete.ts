/** Fast weights that change at every element of a sequence: code shared by the discrete models. */
import { checkOptions, namesOf } from "../../device/options.ts";
import { checkCount, type Layer, layer } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { scanSequences, zeroState } from "../../nn/recurrent.ts";
import { checkWord } from "../../tensor/checks.ts";
import { zeros } from "../../tensor/creation.ts";
import { foldIn, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Reading } from "../along_control.ts";
import {
  checkReadout,
  chooseStates,
  sequenceCallNames,
  type SequenceCallOptions,
} from "../readout_states.ts";
import { checkSequences, sequenceOptionNames, type SequenceOptions } from "../sequences.ts";
import { areChunksCheaper, runInChunks } from "./chunks.ts";
import { checkSizes, type FastWeightLayerSizes, layerSizeNames, product } from "./heads.ts";
import { OutputBlock } from "./output_block.ts";
import { checkRule, type LearningRule, type LinearForm } from "./rules.ts";
import { SlowNetwork } from "./slow_network.ts";
import type { TransformerSizes } from "../transformer.ts";

/** Options of {@linkcode DeltaNet}, {@linkcode LinearTransformer} and {@linkcode RecurrentFWP}. */
export interface DiscreteFastWeightOptions
  extends SequenceOptions, FastWeightLayerSizes, Pick<TransformerSizes, "dropout"> {
  /**
   * Another learning rule than the model's own, such as {@linkcode gatedDeltaRule}: the increment of W at each
   * observation.
   */
  rule?: LearningRule;
  /**
   * The algorithm for whole sequences: `"recurrent"`, step by step; `"chunked"`, with products of matrices over
   * chunks of time, for rules that are linear in W and models without feedback; or `"auto"` (default), chunked
   * if possible and if an estimate is lower: for few sequences of at least 256 steps. Results agree up to rounding.
   *
   * @default {"auto"}
   */
  mode?: FastWeightMode | "auto";
}

/** The algorithm that computes the outputs of fast weights. */
export type FastWeightMode = "recurrent" | "chunked";

export const discreteOptionNames = namesOf<DiscreteFastWeightOptions>()(
  sequenceOptionNames,
  layerSizeNames,
  "dropout? rule? mode?",
);

/** A model of sequences `(batch, length, inputChannels)`. */
export type SequenceModel = Layer<[x: Tensor, options?: SequenceCallOptions]>;

/** The choices that distinguish discrete models. */
interface DiscreteKind {
  /** Learning rule that computes the change of W. */
  rule: LearningRule;
  /** Whether the slow network outputs a learning rate. */
  rates: boolean;
  /** Whether the slow network also reads the previous output. */
  feedback: boolean;
}

/**
 * Updates W by the rule, then reads it with the query (Irie et al., 2022, equations 16 and 17). Returns the
 * new W and the outputs `(..., heads, values)`.
 */
export function writeAndRead(
  slow: SlowNetwork,
  rule: LearningRule,
  read: Reading,
  w: Tensor,
  previous?: Tensor,
): [w: Tensor, outputs: Tensor] {
  const written = w.add(rule(slow.signals(read, previous), w));
  return [written, product(written, slow.query(read, previous))];
}

/** Zero fast weights, `(batch, heads, values, keys)`, for sequences `(batch, length, ...)`. */
export function zeroWeights(x: Tensor, modelDim: number, heads: number): Tensor {
  return zeros([x.shape[0], heads, modelDim / heads, modelDim / heads], { dtype: x.dtype });
}

/**
 * The outputs of fast weights along sequences `(batch, length, inputs)`, in chunks. As step by step, a row that
 * is not finite changes no earlier output.
 */
function outputsInChunks(slow: SlowNetwork, { corrects, terms }: LinearForm, x: Tensor): Tensor {
  const isFinite = x.isFinite().all(-1, { keepDims: true });
  const rows = isFinite.where(x, 0);
  const outputs = runInChunks(terms(slow.signals(() => rows)), slow.query(() => rows), corrects);
  const isFiniteSoFar = isFinite.not().cast("int32").cumsum(1).equal(0);
  return isFiniteSoFar.expandDims(-1).where(outputs, NaN);
}

/**
 * A stack of Transformer layers with fast weights instead of attention: W_t = W_(t-1) + rule(k_t, v_t,
 * beta_t, W_(t-1)) with W_0 = 0, and y_t = W_t q_t.
 */
export function DiscreteFastWeight(
  name: string,
  { rule: ownRule, rates: ownRates, feedback }: DiscreteKind,
  options: DiscreteFastWeightOptions,
): SequenceModel {
  const { inputChannels, modelDim, heads, outputChannels, layers: count = 1, dropout, dtype } = options;
  const { feedForward = 4 * modelDim, rule = ownRule, mode = "auto" } = options;
  const rates = ownRates || options.rule !== undefined;
  checkRule(name, rule);
  checkSizes(name, { inputChannels, modelDim, heads, feedForward });
  checkCount(name, "layers", count);
  checkWord(name, "mode", mode, ["auto", "recurrent", "chunked"]);
  const linear = feedback ? undefined : rule.linear;
  if (mode === "chunked" && !linear) {
    throw new TypeError(
      `${name}: mode "chunked" needs a rule that is linear in W, as deltaRule() without postTanh, and no feedback of ` +
        'outputs; use mode: "auto"',
    );
  }
  const keys = splitKey(options.key);
  const layers = Array.from({ length: count }, (_, l) => {
    const [slowKey, key] = splitKey(foldIn(keys[0], l));
    const [inputs, project] = l === 0 ? [inputChannels, true] : [modelDim, false];
    const slow = SlowNetwork({
      ...{ inputs, project, modelDim, heads, rates, feedback, key: slowKey, dtype },
      signals: rule.signals,
    });
    return { slow, block: OutputBlock({ modelDim, feedForward, dropout, key, dtype }) };
  });
  const readout = Linear({ inputs: modelDim, outputs: outputChannels, key: keys[1], dtype });
  const parameters = {
    layers: layers.map(({ slow, block }) => ({ ...slow.parameters, ...block.parameters })),
    readout: readout.parameters,
  };

  function outputsInSteps(slow: SlowNetwork, x: Tensor): Tensor {
    const start = {
      w: zeroWeights(x, modelDim, heads),
      y: feedback ? zeroState(x, modelDim) : undefined,
    };
    return scanSequences(name, x, start, (input, { w, y }) => {
      const [next, outputs] = writeAndRead(slow, rule, () => input, w, y);
      return [{ w: next, y: feedback ? outputs.flatten(-2) : undefined }, outputs];
    });
  }

  return layer(parameters, (x: Tensor, call: SequenceCallOptions = {}) => {
    checkOptions(name, call, sequenceCallNames);
    checkReadout(name, call);
    checkSequences(name, x, inputChannels);
    const features = layers.reduce((x, { slow, block }, l) => {
      const isChunked = linear && mode !== "recurrent" &&
        (mode === "chunked" || areChunksCheaper(x, { modelDim, heads }, linear.corrects));
      const outputs = isChunked ? outputsInChunks(slow, linear, x) : outputsInSteps(slow, x);
      return block(outputs, { residual: slow.embed(() => x), key: call.key && foldIn(call.key, l) });
    }, x);
    return readout(chooseStates(name, features, call));
  });
}
