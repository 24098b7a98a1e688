import type { ParameterOptions, ParameterTree } from "../../nn/layer.ts";
import { LayerNorm } from "../../nn/layer_norm.ts";
import { Linear } from "../../nn/linear.ts";
import { splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { ControlSource, Reading } from "../along_control.ts";
import { type HeadSizes, inHeads } from "./heads.ts";
import { type LinearLayer, normalizedMap } from "./normalized_map.ts";
import type { Signals, SignalSizes } from "./rules.ts";

/** Options of {@linkcode QueryNetwork}. */
interface QueryNetworkOptions extends ParameterOptions, HeadSizes {
  /** Channels of the control. */
  inputs: number;
  /**
   * Source of the features.
   *
   * @default {"value"}
   */
  from?: ControlSource;
  /**
   * Whether to project the control. If false, the control must have `modelDim` channels.
   *
   * @default {true}
   */
  project?: boolean;
}

/**
 * The query of a fast network, q = softmax(W_q x) (Irie et al., 2022, equations 19 and 31): a projection of
 * the control, a layer norm, a linear map and softmax.
 */
interface QueryNetwork {
  readonly parameters: { readonly [name: string]: ParameterTree };
  /** The control, projected to `modelDim` channels. */
  embed(read: Reading): Tensor;
  /** A linear map of the `modelDim` features that keys and queries share. */
  mapFeatures(map: LinearLayer): (read: Reading) => Tensor;
  /** q `(..., heads, keys)`, positive with sum one. `change` is added before the softmax. */
  query(read: Reading, change?: Tensor): Tensor;
}

/** Makes a {@linkcode QueryNetwork}. */
export function QueryNetwork(
  { inputs, modelDim, heads, from = "value", project = true, key, dtype }: QueryNetworkOptions,
): QueryNetwork {
  const keys = splitKey(key);
  const input = project ? Linear({ inputs, outputs: modelDim, key: keys[0], dtype }) : undefined;
  const norm = LayerNorm({ features: modelDim, dtype });
  const query = Linear({ inputs: modelDim, outputs: modelDim, key: keys[1], dtype });
  const embed = (read: Reading) => input ? input(read(from)) : read(from);
  const mapFeatures = (map: LinearLayer) => {
    const apply = input ? normalizedMap(input, norm, map) : (x: Tensor) => map(norm(x));
    return (read: Reading) => apply(read(from));
  };
  const ask = mapFeatures(query);
  return {
    parameters: {
      ...(input ? { input: input.parameters } : {}),
      inputNorm: norm.parameters,
      query: query.parameters,
    },
    embed,
    mapFeatures,
    query(read, change) {
      const asked = ask(read);
      return inHeads(change ? asked.add(change) : asked, heads).softmax();
    },
  };
}

/** Options of {@linkcode SlowNetwork}. */
interface SlowNetworkOptions extends QueryNetworkOptions {
  /** Source of the values: the features of the keys (default), or a separate projection of the control. */
  valuesFrom?: "keys" | ControlSource;
  /**
   * Whether to apply a layer norm and a second linear map after the separate projection of the values.
   *
   * @default {false}
   */
  normalizeValues?: boolean;
  /**
   * Whether the network outputs a learning rate, `true` by default. If false, rules receive zeros.
   *
   * @default {true}
   */
  rates?: boolean;
  /** Further signals that the learning rule reads. */
  signals?: SignalSizes;
  /**
   * Whether keys, values, rates and the query also depend on the previous output.
   *
   * @default {false}
   */
  feedback?: boolean;
  /**
   * Whether feedback also applies to the query.
   *
   * @default {true}
   */
  queryFeedback?: boolean;
}

/** The network whose outputs program the fast weights. */
export interface SlowNetwork extends QueryNetwork {
  /** Returns keys, values, rates and the further signals. `previous` is `(..., modelDim)`, for a network with feedback. */
  signals(read: Reading, previous?: Tensor): Signals;
  query(read: Reading, previous?: Tensor): Tensor;
}

/**
 * Makes a {@linkcode SlowNetwork}: a {@linkcode QueryNetwork} and a linear map from its features to keys,
 * values and rates (Irie et al., 2022, equations 15 and 28).
 */
export function SlowNetwork(options: SlowNetworkOptions): SlowNetwork {
  const { inputs, modelDim, heads, valuesFrom = "keys", normalizeValues = false } = options;
  const { rates = true, feedback = false, queryFeedback = feedback, dtype } = options;
  const keys = splitKey(options.key, 6);
  const headDim = modelDim / heads;
  const fromKeys = valuesFrom === "keys";
  const rateEnd = (fromKeys ? 2 : 1) * headDim + (rates ? 1 : 0);
  let perHead = rateEnd;
  const further = Object.entries(options.signals ?? {}).map(([name, size]) =>
    [name, perHead, perHead += typeof size === "number" ? size : headDim] as const
  );
  const linear = (i: number, inputs: number, outputs: number, bias = true) =>
    Linear({ inputs, outputs, bias, key: keys[i], dtype });
  const asking = QueryNetwork({ ...options, key: keys[0] });
  const slow = linear(1, modelDim, heads * perHead);
  const emit = asking.mapFeatures(slow);
  const values = fromKeys ? undefined : linear(2, inputs, modelDim);
  const after = values && normalizeValues
    ? { norm: LayerNorm({ features: modelDim, dtype }), linear: linear(5, modelDim, modelDim) }
    : undefined;
  const valuesOf = after ? normalizedMap(values!, after.norm, after.linear) : values!;
  const back = feedback
    ? {
      slow: linear(3, modelDim, heads * perHead, false),
      query: queryFeedback ? linear(4, modelDim, modelDim, false) : undefined,
    }
    : undefined;

  return {
    parameters: {
      ...asking.parameters,
      slow: slow.parameters,
      ...(values ? { values: values.parameters } : {}),
      ...(after ? { valuesNorm: after.norm.parameters, valuesLinear: after.linear.parameters } : {}),
      ...(back
        ? {
          feedback: {
            slow: back.slow.parameters,
            ...(back.query ? { query: back.query.parameters } : {}),
          },
        }
        : {}),
    },
    embed: asking.embed,
    mapFeatures: asking.mapFeatures,
    signals(read, previous) {
      const fromInput = emit(read);
      const emitted = inHeads(
        back && previous ? fromInput.add(back.slow(previous.tanh())) : fromInput,
        heads,
      );
      const part = (start: number, end: number) => emitted.slice(-1, start, end);
      const k = part(0, headDim);
      return {
        keys: k,
        values: values
          ? inHeads(valuesOf(read(valuesFrom as ControlSource)), heads)
          : part(headDim, 2 * headDim),
        rate: rates ? part(rateEnd - 1, rateEnd) : k.slice(-1, 0, 1).zerosLike(),
        ...Object.fromEntries(further.map(([name, start, end]) => [name, part(start, end)])),
      };
    },
    query(read, previous) {
      return asking.query(read, previous && back?.query?.(previous.tanh()));
    },
  };
}
