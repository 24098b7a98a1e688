/** Computations that several tests run to compare their results. */
import {
  arange,
  type DType,
  jit,
  key,
  linearRecurrence,
  normal,
  scan,
  type ScanOptions,
  type Tensor,
  tensor,
  tridiagonalSolve,
  type TypedArray,
  valueAndGrad,
} from "../../mod.ts";

const normals = (seed: number, shape: number[], dtype: DType) => normal(key(seed), shape, { dtype });

/** Sums along a path of a loop with products and a table's rows, and their gradient. */
function loop(dtype: DType, executor?: ScanOptions["executor"]): Tensor[] {
  const parameters = { weight: normals(1, [20, 20], dtype).mul(0.2), bias: normals(2, [20], dtype) };
  const table = normals(3, [5, 20], dtype);
  const xs = normals(4, [30, 11, 20], dtype);
  const offsets = tensor(new Int32Array(11), { shape: [11, 1], dtype: "int32" });
  const [value, gradients] = valueAndGrad(({ weight, bias }: typeof parameters) => {
    const body = (y: Tensor, x: Tensor): [Tensor, Tensor] => {
      const at = y.slice(1, 0, 1).add(2).floor().clip(0, 4).cast("int32").add(offsets);
      const next = y.matmul(weight).add(bias).add(x).add(table.take(at).sum(1)).tanh();
      return [next, next.sum(1)];
    };
    const [last, sums] = scan(body, normals(5, [11, 20], dtype), xs, { executor });
    return last.square().mean().add(sums.mean());
  })(parameters);
  return [value, gradients.weight, gradients.bias];
}

/** Computations that need every kind of kernel, by description. */
export const computations: Record<string, (dtype: DType) => Tensor[]> = {
  "elements"(dtype) {
    const [x, row, large] = [
      normals(1, [300, 70], dtype),
      normals(2, [70], dtype),
      normals(3, [500, 700], dtype),
    ];
    return [
      x.mul(2).tanh(),
      x.add(row),
      x.transpose().mul(3),
      x.flip(1).exp(),
      x.greater(0).cast("int32"),
      large.transpose().mul(large.transpose()),
    ];
  },
  "matrix products"(dtype) {
    const [a, b] = [normals(1, [300, 310], dtype), normals(2, [310, 290], dtype)];
    const batch = [normals(3, [40, 5, 7], dtype), normals(4, [40, 7, 9], dtype)];
    return [
      a.matmul(b),
      b.transpose().matmul(a.transpose()),
      a.slice(0, 0, 1).matmul(b),
      a.slice(0, 0, 2).matmul(b.transpose().mul(1).transpose()),
      batch[0].matmul(batch[1]),
    ];
  },
  "reductions"(dtype) {
    const x = normals(1, [300, 30, 70], dtype);
    return [x.sum(), x.sum(0), x.max(1), x.min(2), x.transpose().sum(2), x.argmax(1), x.cumsum(1).sum(1)];
  },
  "rows at positions"(dtype) {
    const x = normals(1, [50, 9], dtype);
    const at = arange(30).mul(1.7).cast("int32");
    return [x.take(at), x.take(at.slice(0, 0, 5), 1), x.scatterAdd(at, x.take(at))];
  },
  "tridiagonal systems"(dtype) {
    const [lower, upper, rhs] = [1, 2, 3].map((seed) => normals(seed, [21, 40], dtype));
    return [tridiagonalSolve(lower, lower.abs().add(upper.abs()).add(1), upper, rhs)];
  },
  "linear recurrences"(dtype) {
    const [a, b] = [1, 2].map((seed) => normals(seed, [9, 2, 21], dtype).tanh());
    return [linearRecurrence(a, b, { axis: 2 }), linearRecurrence(a, b, { complex: true })];
  },
  "a loop and its gradient, fused": (dtype) => loop(dtype, "fused"),
  "a loop and its gradient, stepped": (dtype) => loop(dtype, "stepped"),
  "commands that jit plays again"(dtype) {
    const step = jit((x: Tensor) => x.matmul(x.transpose()).tanh().sum(0));
    return [1, 2, 3].map((seed) => step(normals(seed, [200, 200], dtype)));
  },
};

/** A hash of values, for comparison with the values of another process. */
export async function digest(values: TypedArray): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", values as Float32Array<ArrayBuffer>)).toHex();
}
