import { checkCount } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { MLP } from "../../nn/mlp.ts";
import { split } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { alongControl, type FastWeightModel } from "./along_control.ts";
import type { FastWeightModelOptions } from "./fast_weight.ts";
import { checkSizes, product } from "./heads.ts";
import { OutputBlock } from "./output_block.ts";
import { QueryNetwork } from "./slow_network.ts";

/** Options of {@linkcode FastWeightDirectMap}. */
export interface FastWeightDirectMapOptions extends Omit<FastWeightModelOptions, "rule" | "layers"> {
  /** Features of each hidden layer of the network from W. */
  width: number;
  /** The number of these layers. */
  depth: number;
}

/**
 * A controlled differential equation of fast weights without a learning rule (Irie et al., 2022, equation 22):
 * dW/ds = F(W) x'(s) with a multi-layer perceptron F (ReLU, tanh at the end) from the whole of W to a matrix of as many rows
 * and `inputChannels` columns, and W(t0) linear in x(t0). For comparison: F has `width` times `inputChannels` parameters for
 * each element of W, where a rule needs none. W is queried with x as in {@linkcode FastWeight}, which gives the shapes.
 *
 * @example
 * ```ts
 * import { CubicSpline, FastWeightDirectMap, key, naturalCubicCoeffs, normal } from "@weft/weft";
 *
 * const X = new CubicSpline(naturalCubicCoeffs(normal(key(0), [8, 50, 3])));
 * const sizes = { inputChannels: 3, modelDim: 8, heads: 2, outputChannels: 2, width: 16, depth: 1 };
 * const model = FastWeightDirectMap({ ...sizes, key: key(1) });
 * model(X).shape; // (8, 2)
 * ```
 *
 * @throws {RangeError} If a size is not a whole number above zero (`depth` may be zero), or `modelDim` is not a multiple of
 * `heads`.
 */
export function FastWeightDirectMap(options: FastWeightDirectMapOptions): FastWeightModel {
  const {
    inputChannels,
    modelDim,
    heads,
    outputChannels,
    feedForward = 4 * modelDim,
    width,
    depth,
    ...rest
  } = options;
  const { dropout = 0, key, dtype, ...solver } = rest;
  const name = "FastWeightDirectMap";
  checkSizes(name, { inputChannels, modelDim, heads, feedForward });
  checkCount(name, "depth", depth, 0);
  const [headDim, size] = [modelDim / heads, modelDim * modelDim / heads];
  const keys = split(key, 5);
  const asking = QueryNetwork({ inputs: inputChannels, modelDim, heads, key: keys[0], dtype });
  const initial = Linear({ inputs: inputChannels, outputs: size, key: keys[1], dtype });
  const field = MLP({
    ...{ inputs: size, outputs: size * inputChannels, width, depth, finalActivation: "tanh" },
    ...{ key: keys[2], dtype },
  });
  const block = OutputBlock({ modelDim, feedForward, dropout, key: keys[3], dtype });
  const inMatrices = (w: Tensor) => w.reshape([...w.shape.slice(0, -1), heads, headDim, headDim]);

  return alongControl({
    parameters: {
      ...asking.parameters,
      initial: initial.parameters,
      vectorField: field.parameters,
      ...block.parameters,
    },
    axes: ["head", "value", "key"],
    start: (read) => inMatrices(initial(read("value"))),
    slope(read, w) {
      const map = field(w.flatten(-3));
      const matrix = map.reshape([...map.shape.slice(0, -1), size, inputChannels]);
      return inMatrices(matrix.matmul(read("derivative").expandDims(-1)).squeeze(-1));
    },
    answer: (read, w, key) => block(product(w, asking.query(read)), { key }),
  }, { name, inputChannels, outputChannels, modelDim, solver, key: keys[4], dtype });
}
