import type { DType } from "../../device/dtype.ts";
import { type Layer, layer, type ParameterOptions, type ParameterTree } from "../../nn/layer.ts";
import { Linear } from "../../nn/linear.ts";
import { type Activation, activationFunction, type HiddenLayers, MLP } from "../../nn/mlp.ts";
import { type Key, splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** The map from a vector field's last hidden layer to its matrix. */
export type MatrixForm = "full" | "rank-one";

/** Options of {@linkcode MatrixField}. */
interface MatrixFieldOptions extends ParameterOptions, HiddenLayers {
  /** Features of the state, and rows of the matrix. */
  hiddenChannels: number;
  /** Columns of the matrix. */
  inputChannels: number;
  form: MatrixForm;
  /** Activation after each element of the matrix. */
  finalActivation: Activation;
}

/**
 * The vector field of a controlled differential equation: a multi-layer perceptron with ReLU that maps states
 * `(..., hidden)` to matrices `(..., hidden, input)`. In the form `"rank-one"` the matrix is an outer product
 * of a column and a row, each linear in the last hidden layer. It has `width (hidden + input)` parameters
 * instead of `width hidden input` (Kidger et al., 2020, section 6.3).
 */
export function MatrixField(options: MatrixFieldOptions): Layer {
  const { hiddenChannels, inputChannels, width, depth, form, finalActivation, key, dtype } = options;
  if (form === "full") {
    const outputs = hiddenChannels * inputChannels;
    const network = MLP({ inputs: hiddenChannels, outputs, width, depth, finalActivation, key, dtype });
    return layer(
      network.parameters,
      (z: Tensor) => network(z).reshape([...z.shape.slice(0, -1), hiddenChannels, inputChannels]),
    );
  }
  const [trunkKey, columnKey, rowKey] = splitKey(key, 3);
  const trunk = Trunk({ inputs: hiddenChannels, width, depth, lastActivation: "relu", key: trunkKey, dtype });
  const column = Linear({ inputs: trunk.features, outputs: hiddenChannels, key: columnKey, dtype });
  const row = Linear({ inputs: trunk.features, outputs: inputChannels, key: rowKey, dtype });
  const activation = activationFunction(finalActivation);
  return layer(
    { ...trunk.parameters, column: column.parameters, row: row.parameters },
    (z: Tensor) => {
      const hidden = trunk.apply(z);
      return activation(column(hidden).expandDims(-1).mul(row(hidden).expandDims(-2)));
    },
  );
}

/** The hidden layers of a vector field, without its output layer. */
export interface Trunk {
  /** Features of the last hidden layer. */
  readonly features: number;
  readonly parameters: { readonly hidden?: ParameterTree };
  apply(z: Tensor): Tensor;
}

/**
 * Makes hidden layers with ReLU; the last one uses `lastActivation`. With depth 0 the result is the identity.
 */
export function Trunk(
  options: {
    inputs: number;
    width: number;
    depth: number;
    lastActivation: Activation;
    key: Key;
    dtype?: DType;
  },
): Trunk {
  const { depth, width, inputs, lastActivation, ...rest } = options;
  if (depth === 0) return { features: inputs, parameters: {}, apply: (z) => z };
  const hidden = MLP({
    ...rest,
    ...{ inputs, outputs: width, width, depth: depth - 1, finalActivation: lastActivation },
  });
  return { features: width, parameters: { hidden: hidden.parameters }, apply: hidden };
}
