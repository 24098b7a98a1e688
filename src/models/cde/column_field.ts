import type { Tensor } from "../../tensor/tensor.ts";
import type { MLPParameters } from "../../nn/mlp.ts";

/** The columns of a vector field at a state, and sums of their derivatives. */
export interface Columns {
  /** f_1, f_2, ..., `(..., hidden, channels)`. */
  readonly columns: Tensor;
  /** The sum over i of J_i d_i, for the Jacobian J_i of f_i and a direction d_i `(..., hidden, channels)` for each column. */
  alongEach(directions: Tensor): Tensor;
  /** J_q f_p for all columns, `(..., hidden, channels p, channels q)`. */
  alongAll(): Tensor;
  /** The sum over p, q and r of m_pqr times the second derivative of f_r along f_p and f_q. `(..., hidden)`. */
  second(m: Tensor): Tensor;
}

/**
 * The columns tanh(W SiLU(...)) of a multi-layer perceptron with `hidden * channels` outputs, at a state `(...,
 * hidden)`.
 */
export function columnsAt(
  { layers }: MLPParameters,
  hidden: number,
  channels: number,
  z: Tensor,
): Columns {
  const asColumns = (x: Tensor) => x.reshape([...x.shape.slice(0, -1), hidden, channels]);
  let value = z;
  /** First and second derivatives of the activations of the hidden layers, `(..., 1, width)`. */
  const slopes: Tensor[] = [];
  const curvatures: (() => Tensor)[] = [];
  for (const { weight, bias } of layers.slice(0, -1)) {
    const x = value.matmul(weight.mT).add(bias!);
    const gate = x.sigmoid();
    const output = x.mul(gate);
    const closed = gate.neg().add(1);
    const slope = gate.add(output.mul(closed));
    slopes.push(slope.expandDims(-2));
    curvatures.push(() => closed.mul(gate.add(slope).sub(output.mul(gate))).expandDims(-2));
    value = output;
  }
  const { weight, bias } = layers[layers.length - 1];
  const columns = asColumns(value.matmul(weight.mT).add(bias!)).tanh();
  const slope = columns.square().neg().add(1);
  /** The output of the last layer before tanh, from features `(..., channels, width)` of each column. */
  const lastOfEach = (features: Tensor) => {
    const last = weight.reshape([hidden, channels, weight.shape[1]]).permute([1, 2, 0]);
    return features.expandDims(-2).matmul(last).squeeze(-2);
  };
  /** Derivatives of the layers along all columns: before the activations, and of the last layer before tanh. */
  let along: { inner: Tensor[]; last: Tensor } | undefined;
  const alongColumns = () => {
    if (along) return along;
    let tangents = columns.mT; // (..., channels, hidden)
    const inner = slopes.map((slope, l) => {
      const before = tangents.matmul(layers[l].weight.mT);
      tangents = before.mul(slope);
      return before;
    });
    return along = { inner, last: asColumns(tangents.matmul(weight.mT)) };
  };
  /** The sum over p and q of m_pqr x_p x_q for each r, from x `(..., channels r or 1, channels p, features)`. */
  const quadratic = (ofEach: Tensor, x: Tensor) => ofEach.matmul(x).mul(x).sum(-2);
  return {
    columns,
    alongEach(directions) {
      let tangents = directions.mT; // (..., channels, hidden)
      slopes.forEach((slope, l) => tangents = tangents.matmul(layers[l].weight.mT).mul(slope));
      // Only the derivative of column i along direction i.
      return slope.mul(lastOfEach(tangents).mT).sum(-1);
    },
    alongAll() {
      const { last } = alongColumns(); // (..., p, hidden, q)
      const derivatives = last.mul(slope.expandDims(-3));
      return derivatives.transpose(-3, -2);
    },
    second(m) {
      const { inner, last } = alongColumns();
      // (..., r, p, q)
      const ofEach = m.transpose(-1, -3).transpose(-1, -2);
      let features: Tensor | undefined; // (..., r, width)
      inner.forEach((before, l) => {
        const bent = curvatures[l]().mul(quadratic(ofEach, before.expandDims(-3)));
        features = features ? bent.add(features.matmul(layers[l].weight.mT).mul(slopes[l])) : bent;
      });
      // (..., r, p, hidden)
      const lastOfColumns = last.transpose(-1, -3).transpose(-1, -2);
      const bent = columns.mul(slope).mul(-2).mul(quadratic(ofEach, lastOfColumns).mT);
      return (features ? bent.add(slope.mul(lastOfEach(features).mT)) : bent).sum(-1);
    },
  };
}
