import { kernelCalls, type KernelDevice, type View } from "../../../device/device.ts";
import { span, type SpanName } from "../../../device/profiler.ts";
import { formatShape } from "../../../device/shape.ts";

/** Names of spans of a device's methods, from their arguments. */
const names: Record<string, (...args: never[]) => SpanName> = {
  ...Object.fromEntries(Object.entries(kernelCalls).map(([name, { span }]) => [name, span])),
  addMatmul: kernelCalls.matmul.span,
  prepare: (right: View) => ({ kind: "kernel", name: `packing of ${formatShape(right.shape)}` }),
};

/** Records a span for each kernel of a device, until the result is disposed. */
export function recordKernelSpans(device: KernelDevice): Disposable {
  const methods = device as unknown as Record<string, (...args: unknown[]) => unknown>;
  for (const [operation, describe] of Object.entries(names)) {
    const run = methods[operation];
    if (!run) continue;
    methods[operation] = (...args) => span(() => describe(...args as never[]), () => run.apply(device, args));
  }
  return {
    [Symbol.dispose]() {
      for (const operation of Object.keys(names)) delete methods[operation];
    },
  };
}
