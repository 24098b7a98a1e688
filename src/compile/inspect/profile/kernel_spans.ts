import type { Device, DeviceKernels, View } from "../../../device/device.ts";
import { span, type SpanName } from "../../../device/profiler.ts";
import { identity, type ScalarFunction } from "../../../device/scalar.ts";
import { formatShape } from "../../../device/shape.ts";

const kernel = (name: string) => (input: View): SpanName => ({
  kind: "kernel",
  name: `${name} of ${formatShape(input.shape)}`,
});

/** Names of a device's kernels in a profile. A method of `DeviceKernels` without a name is a type error. */
const names = {
  map: (fn: ScalarFunction, _inputs: readonly View[], output: View): SpanName => {
    const isCopy = fn === identity;
    const shape = formatShape(output.shape);
    return { kind: isCopy ? "copy" : "kernel", name: isCopy ? shape : `${fn.name} ${shape}` };
  },
  reduce: (reduction: string, input: View, output: View): SpanName => ({
    kind: "kernel",
    name: `${reduction} of ${formatShape(input.shape)} to ${formatShape(output.shape)}`,
  }),
  argReduce: (reduction: string, input: View): SpanName => kernel(`position of the ${reduction}`)(input),
  argSort: kernel("sort"),
  cumulativeSum: kernel("cumulative sum"),
  linearRecurrence: (_a: View, b: View): SpanName => kernel("linear recurrence")(b),
  matmul: (a: View, b: View): SpanName => ({
    kind: "product",
    name: `${formatShape(a.shape)}${order(a)} x ${formatShape(b.shape)}${order(b)}`,
  }),
  prepare: kernel("packing"),
  gather: kernel("gather"),
  scatterAdd: kernel("scatter-add"),
  tridiagonal: (_lower: View, diagonal: View): SpanName => kernel("tridiagonal solve")(diagonal),
} satisfies { [K in keyof DeviceKernels]: (...args: never[]) => SpanName };

function order({ shape, strides }: View): string {
  const [rows, columns] = strides.slice(-2);
  return shape.length > 1 && rows === 1 && columns !== 1 ? " transposed" : "";
}

/** Records a span for each kernel of a device, until the result is disposed. */
export function recordKernelSpans(device: Device): Disposable {
  const own = device as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const [operation, describe] of Object.entries(names)) {
    const run = own[operation];
    if (!run) continue;
    own[operation] = (...args) =>
      span(() => (describe as (...args: unknown[]) => SpanName)(...args), () => run.apply(device, args));
  }
  return {
    [Symbol.dispose]() {
      for (const operation of Object.keys(names)) delete own[operation];
    },
  };
}
