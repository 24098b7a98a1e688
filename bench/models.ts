/** The models of the papers' workloads, written as a user of the library writes them. */
import {
  type CubicSpline,
  type Key,
  type Layer,
  layer,
  LayerNorm,
  Linear,
  MLP,
  odeint,
  type ParameterTree,
  type SolveOptions,
  split,
  type Tensor,
} from "../mod.ts";

/** Sizes of a {@linkcode neuralField}. */
export interface NeuralFieldSizes {
  channels: number;
  hidden: number;
  width: number;
  depth: number;
}

/** The vector field of a neural CDE (Kidger et al., 2020, appendix D): `(batch, hidden)` to `(batch, hidden, channels)`. */
export function neuralField(
  { channels, hidden, width, depth }: NeuralFieldSizes,
  key: Key,
): Layer<[t: Tensor, z: Tensor]> {
  const mlp = MLP({ inputs: hidden, outputs: hidden * channels, width, depth, finalActivation: "tanh", key });
  return layer(mlp.parameters, (_t: Tensor, z: Tensor) => mlp(z).reshape([-1, hidden, channels]));
}

/** A fast weight programmer and how it learns. */
export interface FastWeightOptions {
  /** `"hebb"`: the direct NODE with the Hebb rule. `"delta"`: the CDE with the delta rule. */
  rule: "hebb" | "delta";
  /** Channels of the control. */
  inputs: number;
  /** Features of keys, of values and of the state of the whole, over all heads. */
  features: number;
  heads: number;
  /** Features of the feed-forward block's hidden layer. */
  feedForward: number;
  outputs: number;
  /** Whether values pass through tanh after the old ones are subtracted; before, otherwise. */
  postTanh?: boolean;
  solver: SolveOptions;
  key: Key;
}

/** Keys and values `(batch, heads, features / heads)` and learning rates `(batch, heads, 1)` at a time. */
interface Programme {
  k: Tensor;
  v: Tensor;
  rate: Tensor;
}

/**
 * Continuous-time fast weight programmers (Irie et al., 2022), two of their variants: a control X with values
 * `(batch, inputs)` to `(batch, outputs)`. The arithmetic is that of the authors' `FastWeightODE` and `FastWeightCDEv2`.
 */
export function fastWeightProgrammer(options: FastWeightOptions): Layer<[X: CubicSpline]> {
  const { rule, inputs, features, heads, feedForward, outputs, postTanh = false, solver } = options;
  const keys = split(options.key, 8);
  const size = features / heads;
  const linear = (key: Key, inputs: number, outputs: number) => Linear({ key, inputs, outputs });
  const project = linear(keys[0], inputs, features);
  const normalize = LayerNorm({ features });
  const query = linear(keys[1], features, features);
  const output = linear(keys[2], features, features);
  const forward = {
    normalize: LayerNorm({ features }),
    in: linear(keys[3], features, feedForward),
    out: linear(keys[4], feedForward, features),
  };
  const readout = linear(keys[5], features, outputs);
  const slowNetwork = rule === "hebb" ? hebb() : delta();

  /** The direct NODE: all from X. */
  function hebb() {
    const program = linear(keys[6], features, heads * (2 * size + 1));
    return {
      parameters: program.parameters as ParameterTree,
      source: (X: CubicSpline, t: Tensor | number) => X.evaluate(t),
      programme(X: CubicSpline, t: Tensor | number): Programme {
        const [k, v, rate] = parts(program(normalize(project(X.evaluate(t)))), [size, size, 1]);
        return { k: k.softmax(), v: v.tanh(), rate: rate.sigmoid() };
      },
      slope: ({ k, v, rate }: Programme) => outer(rate.mul(v), k),
    };
  }

  /** The CDE: keys and rates from X', values from X. */
  function delta() {
    const program = linear(keys[6], features, heads * (size + 1));
    const values = linear(keys[7], inputs, features);
    return {
      parameters: { program: program.parameters, values: values.parameters } as ParameterTree,
      source: (X: CubicSpline, t: Tensor | number) => X.derivative(t),
      programme(X: CubicSpline, t: Tensor | number): Programme {
        const [k, rate] = parts(program(normalize(project(X.derivative(t)))), [size, 1]);
        const [v] = parts(values(X.evaluate(t)), [size]);
        return { k: k.softmax(), v: postTanh ? v : v.tanh(), rate: rate.sigmoid() };
      },
      slope({ k, v, rate }: Programme, W?: Tensor) {
        const change = W ? v.sub(recall(W, k)) : v;
        return outer(rate.mul(postTanh ? change.tanh() : change), k);
      },
    };
  }

  /** Heads apart, and in each what the widths say. */
  function parts(x: Tensor, widths: number[]): Tensor[] {
    const apart = x.reshape([-1, heads, widths.reduce((sum, width) => sum + width)]);
    let end = 0;
    return widths.map((width) => apart.slice(-1, end, end += width));
  }

  const parameters = {
    project: project.parameters,
    normalize: normalize.parameters,
    slowNetwork: slowNetwork.parameters,
    query: query.parameters,
    output: output.parameters,
    forward: [forward.normalize.parameters, forward.in.parameters, forward.out.parameters],
    readout: readout.parameters,
  };
  return layer(parameters, (X: CubicSpline) => {
    const { source, programme, slope } = slowNetwork;
    const [start, end] = [X.times[0], X.times[X.times.length - 1]];
    const W0 = slope(programme(X, start));
    const W = odeint((t, W) => slope(programme(X, t), W), W0, X.interval, solver).at(0, -1);
    const [q] = parts(query(normalize(project(source(X, end)))), [size]);
    const answer = output(recall(W, q.softmax()).reshape([-1, features]));
    return readout(forward.out(forward.in(forward.normalize(answer)).relu()).add(answer));
  });
}

/** v (x) k: `(..., values)` and `(..., keys)` to `(..., values, keys)`. */
function outer(v: Tensor, k: Tensor): Tensor {
  return v.expandDims(-1).mul(k.expandDims(-2));
}

/** W k: `(..., values, keys)` and `(..., keys)` to `(..., values)`. */
function recall(W: Tensor, k: Tensor): Tensor {
  return W.matmul(k.expandDims(-1)).squeeze(-1);
}
