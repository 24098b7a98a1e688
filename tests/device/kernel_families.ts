import { linearRecurrence, naturalCubicCoeffs, type Tensor, tensor } from "../../mod.ts";

/** (77, 23) to complex numbers (77, 2, 11). */
const pairs = (x: Tensor): Tensor => x.slice(1, 1).reshape([77, 2, 11]);

/** Every family of kernels, on strided inputs (77, 23) and (23, 77). */
export const families: Record<string, (x: Tensor, y: Tensor) => Tensor> = {
  map: (x, y) => x.mul(2).add(y.mT).tanh(),
  "map of a broadcast": (x) => x.sub(x.mean(0)),
  "sum over rows": (x) => x.sum(0),
  "sum over columns": (x) => x.sum(1),
  "sum over columns of a transpose": (x) => x.mT.sum(1),
  "sum of all": (x) => x.sum(),
  "maximum over outer axes": (x) => x.reshape([7, 11, 23]).max([0, 2]),
  "minimum of all": (x) => x.min(),
  "arg max over rows": (x) => x.argmax(0),
  "arg min over columns": (x) => x.argmin(1),
  "cumulative sum over rows": (x) => x.cumsum(0),
  "cumulative sum over columns": (x) => x.cumsum(1),
  "linear recurrences over rows": (x, y) => linearRecurrence(x, y.mT, { axis: 1 }),
  "linear recurrences over columns": (x, y) => linearRecurrence(x, y.mT),
  "linear recurrences of complex numbers, backwards": (x, y) =>
    linearRecurrence(pairs(x), pairs(y.mT).flip(0), { complex: true }),
  "a long linear recurrence": (x) => linearRecurrence(x.reshape([-1]), x.reshape([-1]).flip(0)),
  matmul: (x, y) => x.matmul(y),
  "matmul of transposes": (x, y) => y.mT.matmul(x.mT),
  "matmul, batched": (x, y) => x.reshape([7, 11, 23]).matmul(y.reshape([23, 7, 11]).permute([1, 0, 2])),
  "matmul with a long sum": (x) => x.reshape([1, 1771]).matmul(x.reshape([1771, 1])),
  gather: (x) => x.take(tensor([3, 0, 76, 3, 99], { dtype: "int32" })),
  sort: (x) => x.argsort(1),
  "few long tridiagonal systems": (x) => naturalCubicCoeffs(x.reshape([1, 1771, 1])),
  "many tridiagonal systems": (x) => naturalCubicCoeffs(x.reshape([1, 77, 23])),
  "scatter add": (x, y) =>
    x.scatterAdd(tensor(Int32Array.from({ length: 77 }, (_, i) => i % 5), { dtype: "int32" }), y.mT),
};
