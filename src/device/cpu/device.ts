import type { Buffer, BufferView, Device, Reduction, View } from "../device.ts";
import { deviceArray, type DType, type TypedArray } from "../dtype.ts";
import { instantiate, type ScalarFunction } from "../scalar.ts";
import { emitJs } from "./scalar_js.ts";
import { contiguousStrides, sizeOf } from "../shape.ts";

function erf(x: number): number {
  const a = Math.abs(x);
  if (a > 6) return Math.sign(x);
  let term = a, sum = a;
  for (let n = 1; n < 200 && term > sum * 1e-17; n++) sum += term *= 2 * a * a / (2 * n + 1);
  return Math.sign(x) * 2 / Math.sqrt(Math.PI) * Math.exp(-a * a) * sum;
}
function roundEven(x: number): number {
  const r = Math.round(x);
  return r - x === 0.5 && r % 2 !== 0 ? r - 1 : r;
}
const word = new DataView(new ArrayBuffer(4));
const set = (x: number) => Number.isInteger(x) ? word.setUint32(0, x) : word.setFloat32(0, x);
const bitcast = {
  float32: (x: number) => (word.setUint32(0, x >>> 0), word.getFloat32(0)),
  int32: (x: number) => (set(x), word.getInt32(0)),
  uint32: (x: number) => (set(x), word.getUint32(0)),
};

export function createCpuDevice(): Device {
  return new CpuDevice();
}

type Fn = (index: number, ...x: number[]) => number;

/** Interim: plain loops. */
class CpuDevice implements Device {
  info = { kind: "cpu" as const, description: "CPU", software: false };
  #fns = new Map<string, Fn>();
  allocate(byteLength: number) {
    return new ArrayBuffer(byteLength);
  }
  release() {}
  destroy() {}
  async synchronize() {}
  #words(view: { source: Buffer; dtype: DType }): TypedArray {
    return new (deviceArray(view.dtype))(view.source.memory as ArrayBuffer) as TypedArray;
  }
  write(buffer: Buffer, words: TypedArray) {
    new Uint8Array(buffer.memory as ArrayBuffer).set(
      new Uint8Array(words.buffer, words.byteOffset, words.byteLength),
    );
  }
  readSync(view: BufferView): TypedArray {
    return this.#words(view).slice(view.offset, view.offset + sizeOf(view.shape));
  }
  // deno-lint-ignore require-await
  async read(views: readonly BufferView[]) {
    return views.map((view) => this.readSync(view));
  }
  map(fn: ScalarFunction, inputs: readonly View[], output: BufferView) {
    const key = `${fn.name}(${inputs.map((x) => x.dtype)})`;
    let f = this.#fns.get(key);
    if (!f) {
      const names = inputs.map((_, i) => `x${i}`);
      const body = emitJs(instantiate(fn, inputs.map((x) => x.dtype)));
      f = new Function("erf", "roundEven", "bitcast", `return (index, ${names}) => {${body}}`)(
        erf,
        roundEven,
        bitcast,
      ) as Fn;
      this.#fns.set(key, f);
    }
    const arrays = inputs.map((x) => typeof x.source === "number" ? undefined : this.#words(x as BufferView));
    const out = this.#words(output);
    let index = 0;
    const args = inputs.map((x) => typeof x.source === "number" ? x.source : 0);
    this.#walk(output.shape, [output, ...inputs], (offsets) => {
      for (let i = 0; i < arrays.length; i++) if (arrays[i]) args[i] = arrays[i]![offsets[i + 1]];
      out[offsets[0]] = f(index++, ...args);
    });
  }
  #walk(shape: readonly number[], views: readonly View[], visit: (offsets: number[]) => void) {
    const size = sizeOf(shape);
    const position = shape.map(() => 0);
    const offsets = views.map((x) => x.offset);
    for (let n = 0; n < size; n++) {
      visit(offsets);
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        const wrap = ++position[axis] === shape[axis];
        views.forEach((view, i) => offsets[i] += view.strides[axis] * (wrap ? 1 - shape[axis] : 1));
        if (!wrap) break;
        position[axis] = 0;
      }
    }
  }
  #over(output: BufferView, size: number) {
    return { ...output, strides: output.strides.map((s, i) => output.shape[i] === 1 ? 0 : s), size };
  }
  reduce(reduction: Reduction, input: BufferView, output: BufferView) {
    const [x, y] = [this.#words(input), this.#words(output)];
    y.fill(reduction === "sum" ? 0 : reduction === "max" ? -Infinity : Infinity);
    const sums = new Float64Array(y.length).fill(y[0]);
    this.#walk(input.shape, [input, this.#over(output, 0)], ([i, o]) => {
      const v = x[i];
      sums[o] = reduction === "sum"
        ? sums[o] + v
        : reduction === "max"
        ? Math.max(sums[o], v)
        : Math.min(sums[o], v);
    });
    for (let i = 0; i < y.length; i++) y[i] = sums[i];
  }
  argReduce(reduction: "max" | "min", input: BufferView, axis: number, output: BufferView) {
    const [x, y] = [this.#words(input), this.#words(output)];
    this.#walk(output.shape, [input, output], ([i, o]) => {
      let best = 0;
      for (let k = 1; k < input.shape[axis]; k++) {
        const [a, b] = [x[i + k * input.strides[axis]], x[i + best * input.strides[axis]]];
        if (reduction === "max" ? a > b : a < b) best = k;
      }
      y[o] = best;
    });
  }
  cumulativeSum(input: BufferView, axis: number, output: BufferView) {
    const [x, y] = [this.#words(input), this.#words(output)];
    this.#walk(output.shape.map((l, i) => i === axis ? Math.min(l, 1) : l), [input, output], ([i, o]) => {
      let sum = 0;
      for (let k = 0; k < input.shape[axis]; k++) {
        y[o + k * output.strides[axis]] = sum += x[i + k * input.strides[axis]];
      }
    });
  }
  matmul(a: BufferView, b: BufferView, output: BufferView) {
    const [x, y, z] = [a, b, output].map((v) => this.#words(v));
    const k = a.shape.at(-1)!;
    const [ak, bk] = [a.strides.at(-1)!, b.strides.at(-2)!];
    const rows = { ...a, strides: [...a.strides.slice(0, -1), 0] };
    const columns = { ...b, strides: [...b.strides.slice(0, -2), 0, b.strides.at(-1)!] };
    this.#walk(output.shape, [rows, columns, output], ([i, j, o]) => {
      let sum = 0;
      for (let n = 0; n < k; n++) sum += x[i + n * ak] * y[j + n * bk];
      z[o] = sum;
    });
  }
  gather(input: BufferView, indices: BufferView, output: BufferView) {
    const [x, n, y] = [input, indices, output].map((v) => this.#words(v));
    const [outer, size, inner] = input.shape;
    const count = indices.shape[0];
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < count; i++) {
        for (let k = 0; k < inner; k++) {
          const at = n[indices.offset + i];
          y[(o * count + i) * inner + k] = at >= 0 && at < size
            ? x[input.offset + (o * size + at) * inner + k]
            : NaN;
        }
      }
    }
  }
  scatterAdd(updates: BufferView, indices: BufferView, output: BufferView) {
    const [x, n, y] = [updates, indices, output].map((v) => this.#words(v));
    const [outer, size, inner] = output.shape;
    const count = indices.shape[0];
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < count; i++) {
        for (let k = 0; k < inner; k++) {
          const at = n[indices.offset + i];
          if (at >= 0 && at < size) {
            y[output.offset + (o * size + at) * inner + k] += x[updates.offset + (o * count + i) * inner + k];
          }
        }
      }
    }
  }
  tridiagonal(
    lower: BufferView,
    diagonal: BufferView,
    upper: BufferView,
    rhs: BufferView,
    output: BufferView,
  ) {
    const [l, d, u, r, x] = [lower, diagonal, upper, rhs, output].map((v) => this.#words(v));
    const [systems, n] = rhs.shape;
    const at = (v: BufferView, s: number, i: number) =>
      v.offset + (v.shape[0] === 1 ? 0 : s * v.strides[0]) + i * v.strides[1];
    const c = new Float64Array(n);
    for (let s = 0; s < systems; s++) {
      let previous = 0;
      for (let i = 0; i < n; i++) {
        const low = i > 0 ? l[at(lower, s, i)] : 0;
        const pivot = d[at(diagonal, s, i)] - low * (i > 0 ? c[i - 1] : 0);
        c[i] = i + 1 < n ? u[at(upper, s, i)] / pivot : 0;
        previous = (r[at(rhs, s, i)] - low * previous) / pivot;
        x[at(output, s, i)] = previous;
      }
      for (let i = n - 2; i >= 0; i--) x[at(output, s, i)] -= c[i] * x[at(output, s, i + 1)];
    }
  }
}
void contiguousStrides;
