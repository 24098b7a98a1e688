/** Fuses the kernels that a function queues under `jit`. */
import type { Buffer, KernelDevice, View } from "../../device/device.ts";
import type { DeferredKernel, Fuse } from "../../device/deferred.ts";
import type { ScalarFunction } from "../../device/scalar/scalar.ts";
import { isContiguous, type Shape, sizeOf } from "../../device/shape.ts";
import { numberView } from "../../device/view.ts";
import { expressionOf } from "../program/expressions.ts";
import {
  type FusedKernel,
  fuseElementwise,
  type FusionKernel,
  type FusionRules,
  reshaped,
} from "../program/passes/fuse_elementwise.ts";

/** Maximum arrays that a fused kernel reads. With the result, every WebGPU adapter can bind this many buffers. */
const maxArrays = 6;
/** Maximum arrays and numbers that a fused kernel reads. */
const maxOperands = 18;

/** Fuses elementwise kernels and drops kernels without readers. */
export const fuseDeferred: Fuse = (device, queued, isReleased) => {
  const needed = neededOf(queued, isReleased);
  const kernels = queued.filter((_, i) => needed[i]);
  // Results that a fused kernel need not store. Other kernels take no part: expressions are slow to make.
  const released = new Set<View["source"]>();
  for (const { fn, output } of kernels) if (fn && isReleased(output.source)) released.add(output.source);
  if (released.size === 0) return kernels;
  const plan = fuseElementwise(
    kernels.map(({ fn, inputs, output }): FusionKernel<View> => {
      const canFuse = fn &&
        (released.has(output.source) || inputs.some(({ source }) => released.has(source)));
      return {
        operands: inputs,
        output,
        expression: canFuse ? expressionOf(fn, inputs.map(({ dtype }) => dtype)) : undefined,
        shape: output.shape,
        recompute: "one",
        isStored: !released.has(output.source),
      };
    }),
    rules,
  );
  return kernels.flatMap((kernel, i) => {
    const fused = plan[i];
    if (fused === "fused") return [];
    return fused === "unchanged" ? [kernel] : [fusedKernel(device, kernel, fused)];
  });
};

/** Whether each kernel writes a buffer that another kernel, or anything later, reads. */
function neededOf(kernels: readonly DeferredKernel[], isReleased: (buffer: Buffer) => boolean): boolean[] {
  const read = new Set<Buffer>();
  const needed = kernels.map(() => false);
  for (let i = kernels.length - 1; i >= 0; i--) {
    const { inputs, output: { source: target } } = kernels[i];
    if (isReleased(target) && !read.has(target)) continue;
    needed[i] = true;
    for (const { source } of inputs) if (typeof source !== "number") read.add(source);
  }
  return needed;
}

const isArray = ({ source }: View) => typeof source !== "number";

const rules: FusionRules<View> = {
  memoryOf: ({ source }) => source,
  isWhole: ({ source, dtype, shape, strides, offset }) =>
    typeof source !== "number" && offset === 0 && isContiguous(shape, strides) &&
    sizeOf(shape) * (dtype === "float64" ? 8 : 4) === source.byteLength,
  fits: (operands) => operands.length <= maxOperands && operands.filter(isArray).length <= maxArrays,
  // V8 compiles large expressions with both 64 and 32 bits slowly.
  isCompatible: (kernel, root) => {
    const output = kernel.output!;
    if (mixesWidths(kernel) || mixesWidths(root)) return false;
    return (output.dtype === "float64") === isWide(root) ||
      output.dtype === "bool" && isWide(kernel) === isWide(root);
  },
  inShape: (view, shape: Shape) =>
    typeof view.source === "number" ? numberView(view.source, shape, view.dtype) : reshaped(view, shape),
  reshapesOutput: true,
};

/** Whether a kernel computes with 64 bits. */
function isWide({ operands, output }: FusionKernel<View>): boolean {
  return [...operands, output!].some(({ dtype }) => dtype === "float64");
}

/** Whether a kernel computes with both 64 and 32 bits. */
function mixesWidths(kernel: FusionKernel<View>): boolean {
  return isWide(kernel) &&
    [...kernel.operands, kernel.output!].some(({ dtype }) => dtype !== "float64" && dtype !== "bool");
}

function fusedKernel(
  device: KernelDevice,
  kernel: DeferredKernel,
  { expression, operands, output: { shape } }: FusedKernel<View>,
): DeferredKernel {
  // The inputs of the expression are numbered as the operands.
  const fn: ScalarFunction = { name: "fused", build: () => expression };
  const output = reshaped(kernel.output, shape)!;
  return { fn, inputs: operands, output, run: () => device.map(fn, operands, output) };
}
