import { smallest } from "../../min_max.ts";
import argReduceSource from "../../../../kernels/arg_reduce.wgsl" with { type: "text" };
import reduceSource from "../../../../kernels/reduce.wgsl" with { type: "text" };
import { collapse, type Walk } from "../../collapse.ts";
import type { Reduction } from "../../device.ts";
import type { DType } from "../../dtype.ts";
import { contiguousStrides, sizeOf } from "../../shape.ts";
import { type Gpu, type MemoryView, parallelism } from "../gpu.ts";
import { type Binding, kernelSource, storageType } from "../kernel.ts";
import { wordOf } from "./map.ts";
import { isNaNText } from "./scalar_wgsl.ts";
import {
  chooseLayout,
  layoutCode,
  layoutKey,
  subgroupCode,
  subgroupLanes,
  workgroupCount,
  type WorkgroupLayout,
} from "./workgroup_layout.ts";
import { offsetsFunction, offsetsWords } from "./strided.ts";
import { operationsPerWord } from "../submission_budget.ts";

/** Maximum elements per invocation, for speed and accuracy. */
const maxRunLength = 1024;

/** Minimum elements per invocation. */
const shortestRun = 16;

function bindingsOf(input: DType, output: DType): Binding[] {
  return [
    { name: "input", type: storageType(input), access: "read" },
    { name: "output", type: storageType(output), access: "read_write" },
  ];
}

function combineText(reduction: Reduction, dtype: DType): string {
  let result = reduction === "sum" ? "a + b" : `${reduction}(a, b)`;
  // NaN propagates.
  if (reduction !== "sum" && dtype === "float32") {
    result = `select(select(${result}, b, (${isNaNText("b")})), a, (${isNaNText("a")}))`;
  }
  return `fn combine(a: Element, b: Element) -> Element { return ${result}; }\n`;
}

function identityOf(reduction: Reduction, dtype: DType): number {
  if (reduction === "sum") return 0;
  const largest = reduction === "min";
  if (dtype === "float32") return wordOf({ value: largest ? Infinity : -Infinity, dtype });
  const [low, high] = dtype === "int32" ? [-(2 ** 31), 2 ** 31 - 1] : [0, 2 ** 32 - 1];
  return (largest ? high : low) >>> 0;
}

/** The iteration over some axes of views of one rank. */
function walkAxes(
  shape: readonly number[],
  strides: readonly (readonly number[])[],
  axes: readonly number[],
): Walk {
  return collapse(axes.map((axis) => shape[axis]), strides.map((list) => axes.map((axis) => list[axis])));
}

const smallestStride = (walk: Walk) => smallest(walk.strides[0].map(Math.abs).filter((stride) => stride > 0));

/**
 * Reduces the axes that have length one in `output`.
 *
 * @param combines Whether results are combined with the values of `output`, instead of overwriting them.
 */
export function reduce(
  gpu: Gpu,
  reduction: Reduction,
  input: MemoryView,
  output: MemoryView,
  combines = false,
): void {
  const outputs = sizeOf(output.shape);
  if (outputs === 0) return;
  const axes = input.shape.map((_, axis) => axis);
  const isReduced = (axis: number) => input.shape[axis] !== output.shape[axis];
  const remainingAxes = axes.filter((axis) => !isReduced(axis));
  const reduced = walkAxes(input.shape, [input.strides], axes.filter(isReduced));
  const length = sizeOf(reduced.shape);

  const lanesFirst =
    !(smallestStride(walkAxes(input.shape, [input.strides], remainingAxes)) < smallestStride(reduced));
  const layout = chooseLayout(outputs, length, lanesFirst);
  const segments = segmentsFor(outputs, length, layout);
  const joined = subgroupLanes(layout, gpu);
  const target = segments === 1 ? output : gpu.temporary([segments, ...output.shape], output.dtype);
  const targetStrides = segments === 1 ? output.strides : contiguousStrides(output.shape);
  const remaining = walkAxes(output.shape, [input.strides, targetStrides], remainingAxes);

  gpu.run({
    key: `${reduction} ${input.dtype} ${remaining.shape.length} ${reduced.shape.length} ${layoutKey(layout)}`,
    source: () => {
      const remainingAt = offsetsFunction("remaining", remaining.shape.length, 2);
      const reducedAt = offsetsFunction("reduced", reduced.shape.length, 1);
      const bindings = bindingsOf(input.dtype, output.dtype);
      const params = [
        "outputs",
        "length",
        "segments",
        "identity",
        "combines",
        ...remainingAt.params,
        ...reducedAt.params,
      ];
      return kernelSource(reduction, bindings, params, [
        `alias Element = ${storageType(input.dtype)};`,
        combineText(reduction, input.dtype),
        remainingAt.code,
        reducedAt.code,
        layoutCode(layout),
        subgroupCode(joined),
        reduceSource,
      ], { usesSubgroups: joined > 1 });
    },
    buffers: [input.memory, target.memory],
    words: [
      outputs,
      length,
      segments,
      identityOf(reduction, input.dtype),
      combines && target === output ? 1 : 0,
      ...offsetsWords(remaining, [input.offset, target.offset]),
      ...offsetsWords(reduced, [0]),
    ],
    workgroups: workgroupCount(gpu, layout, outputs, segments),
    operations: operationsPerWord * (outputs * (length + segments)),
    shapes: [input.shape, output.shape],
  });
  if (target !== output) joinSegments(gpu, reduction, target, output, combines);
}

/** Combines partial results `(segments, ...)` and releases their memory. */
export function joinSegments(
  gpu: Gpu,
  reduction: Reduction,
  partial: MemoryView,
  output: MemoryView,
  combines = false,
): void {
  const { shape, strides } = output;
  reduce(gpu, reduction, partial, { ...output, shape: [1, ...shape], strides: [0, ...strides] }, combines);
  gpu.pool.release(partial.memory);
}

/**
 * Number of segments of a result's elements: enough to occupy the GPU, and so many that no loop is too long.
 */
function segmentsFor(outputs: number, length: number, { lanes }: WorkgroupLayout): number {
  const forSpeed = Math.min(
    Math.floor(parallelism / (outputs * lanes)),
    Math.floor(length / (lanes * shortestRun * 2)),
  );
  return Math.max(1, forSpeed, Math.ceil(length / (lanes * maxRunLength)));
}

/**
 * The int32 position of the first largest (smallest) element along an axis. NaN counts as larger (smaller)
 * than any number.
 */
export function argReduce(
  gpu: Gpu,
  reduction: "max" | "min",
  input: MemoryView,
  axis: number,
  output: MemoryView,
): void {
  const outputs = sizeOf(output.shape);
  if (outputs === 0) return;
  const others = input.shape.map((_, i) => i).filter((i) => i !== axis);
  const remaining = walkAxes(output.shape, [input.strides, output.strides], others);
  const length = input.shape[axis];
  const lanesFirst = !(smallestStride(remaining) < Math.abs(input.strides[axis]));
  const layout = chooseLayout(outputs, length, lanesFirst);
  const joined = subgroupLanes(layout, gpu);
  for (const [first, end] of gpu.parts(length, outputs)) {
    gpu.run({
      key: `arg${reduction} ${input.dtype} ${remaining.shape.length} ${layoutKey(layout)}`,
      source: () => {
        const remainingAt = offsetsFunction("remaining", remaining.shape.length, 2);
        const bindings = bindingsOf(input.dtype, output.dtype);
        const unordered = input.dtype === "float32" ? `(${isNaNText("a")})` : "false";
        const params = ["outputs", "stride", "first", "end", ...remainingAt.params];
        return kernelSource(`arg${reduction}`, bindings, params, [
          `alias Element = ${storageType(input.dtype)};`,
          `fn precedes(a: Element, b: Element) -> bool { return a ${reduction === "max" ? ">" : "<"} b; }`,
          `fn unordered(a: Element) -> bool { return ${unordered}; }`,
          remainingAt.code,
          layoutCode(layout),
          subgroupCode(joined),
          argReduceSource,
        ], { usesSubgroups: joined > 1 });
      },
      buffers: [input.memory, output.memory],
      words: [
        outputs,
        input.strides[axis],
        first,
        end,
        ...offsetsWords(remaining, [input.offset, output.offset]),
      ],
      workgroups: workgroupCount(gpu, layout, outputs),
      operations: operationsPerWord * outputs * (end - first),
      shapes: [input.shape, output.shape],
    });
  }
}
