/** Primitives of each kind, at typical sizes of time series models, and one large matrix product. */
import { bernoulli, key, linearRecurrence, normal, type Tensor, tensor, tridiagonalSolve } from "../mod.ts";
import { benchOnDevices } from "./devices.ts";

const bench = (name: string, shapes: readonly number[][], f: (...x: Tensor[]) => Tensor) =>
  benchOnDevices(name, () => {
    const x = shapes.map((shape, i) => normal(key(i), shape));
    return () => f(...x);
  });

const million = [1024, 1024];

await bench("matmul, 1024 x 1024 by 1024 x 1024 (2.1 GFLOP)", [million, million], (a, b) => a.matmul(b));
await bench("matmul, 32 of 64 x 64 by 64 x 64", [[32, 64, 64], [32, 64, 64]], (a, b) => a.matmul(b));
await bench("add, 1024 x 1024", [million, million], (a, b) => a.add(b));
await bench("multiply by a row, 1024 x 1024", [million, [1024]], (a, b) => a.mul(b));
await bench("tanh, 1024 x 1024", [million], (a) => a.tanh());
await bench("exp, 1024 x 1024", [million], (a) => a.exp());
await bench("sum over all, 1024 x 1024", [million], (a) => a.sum());
await bench("sum over rows, 1024 x 1024", [million], (a) => a.sum(0));
await bench("softmax, 1024 x 1024", [million], (a) => a.softmax());
await bench("cumulative sum over columns, 1024 x 1024", [million], (a) => a.cumsum(1));
await bench("copy of a transpose, 1024 x 1024", [million], (a) => a.mT.add(0));
await bench("normal numbers, 1024 x 1024", [], () => normal(key(7), million));
await benchOnDevices("where, 1024 x 1024", () => {
  const [mask, a, b] = [bernoulli(key(0), 0.5, million), normal(key(1), million), normal(key(2), million)];
  return () => mask.where(a, b);
});
await benchOnDevices("gather and scatter-add 256 rows, 1024 x 64", () => {
  const x = normal(key(0), [1024, 64]);
  const rows = tensor(Int32Array.from({ length: 256 }, (_, i) => 37 * i % 1024), { dtype: "int32" });
  return () => x.zerosLike().scatterAdd(rows, x.take(rows));
});
await bench(
  "linear recurrence, 32 x 512 x 256",
  [[32, 512, 256], [32, 512, 256]],
  (a, b) => linearRecurrence(a, b, { axis: 1 }),
);
await bench(
  "linear recurrence, complex, constant, 32 x 512 x 2 x 128",
  [[2, 128], [32, 512, 2, 128]],
  (a, b) => linearRecurrence(a, b, { axis: 1, complex: true }),
);
await benchOnDevices("tridiagonal solve, 1024 systems of 161", () => {
  const [off, diagonal] = [normal(key(0), [161]).tanh(), normal(key(1), [161]).abs().add(3)];
  const rhs = normal(key(2), [1024, 161]);
  return () => tridiagonalSolve(off, diagonal, off, rhs);
});
