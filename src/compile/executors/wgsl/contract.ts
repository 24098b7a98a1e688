/** Matrix products as WGSL functions. */
import { collapse } from "../../../device/collapse.ts";
import { sizeOf } from "../../../device/shape.ts";
import type { ContractKernel, Operand } from "../../program/program.ts";
import { type ChainCode, eachElement, eachTerm, scattered, termsText } from "./elements.ts";
import { coordinatesOf, indent } from "./function_text.ts";
import type { WorkgroupShape } from "./choose_workgroup.ts";
import { pathOf } from "./shader_memory.ts";
import { sharesWeights, type SumKernel } from "./split_sums.ts";

/** Maximum number of outputs that an invocation computes at once. */
const maxTileWidth = 8;
const softwareTileWidth = 4;

/** Maximum number of sums in the registers of an invocation: outputs times samples. */
const maxSums = 32;

/** Reads of the wider operand that an invocation issues before it waits for the first. */
const readsAhead = 16;

/** Maximum terms of an iteration. */
const maxUnroll = 8;

/** The tile of an invocation: outputs, samples, and the terms of their sums that an iteration reads. */
export interface Tile {
  readonly outputs: number;
  /** One, or all samples of the workgroup. */
  readonly samples: number;
  readonly terms: number;
}

/** output[..., i, j] = sum over k of a[..., i, k] b[..., k, j]: a tile of elements of the last axis at once. */
export function contractText(
  kernel: ContractKernel & SumKernel,
  { f, memory, workgroup, epilogue, prelude }: ChainCode,
): void {
  const { operands: [a, b], output } = kernel;
  const rank = output.shape.length;
  const walk = walkOf(kernel);
  const last = walk.shape.length - 1;
  const depth = a.shape[rank - 1];
  const tile = tileOfProduct(kernel, workgroup);
  const invocations = invocationsOf(tile, workgroup);
  const [elements, samples] = [tile.outputs, tile.samples].map((count) =>
    Array.from({ length: count }, (_, i) => i)
  );
  const store = f.capture(() => scattered(f, output, pathOf(walk, 0), memory));
  const terms = termsText(f, kernel, depth);

  /** A factor of the products. It is read once for outputs that share it, and once for samples that share it. */
  const factor = (name: string, operand: Operand, view: number, stride: number) => {
    const path = { shape: [...walk.shape, depth], strides: [...walk.strides[view], stride] };
    const ofSamples = tile.samples > 1 && operand.slot !== undefined;
    const pointer = memory.pointer(f, name, operand, path, ofSamples ? "read samples" : "read any");
    const hop = pointer.strides[last];
    const step = pointer.strides[last + 1];
    const value = (t: number, s: number, k: number) => `${name}${hop ? t : 0}_${ofSamples ? s : 0}_${k}`;
    // Values past the last column are read but not used.
    const address = (t: number, s: number, k: number) =>
      [
        `${name}_at`,
        ...t > 0 ? [`${t * invocations}u * ${hop}`] : [],
        ...s > 0 ? [`${s}u`] : [],
        ...k > 0 && step ? [`${k}u * ${step}`] : [],
      ].join(" + ");
    return {
      start: (first: readonly string[]) => `var ${name}_at = ${pointer.at(first)};`,
      reads: (k: number) =>
        (hop ? elements : [0]).flatMap((t) =>
          (ofSamples ? samples : [0]).map((s) => `let ${value(t, s, k)} = ${pointer.read(address(t, s, k))};`)
        ),
      advance: (count: number) =>
        step ? [`${name}_at += ${count === 1 ? step : `${count}u * ${step}`};`] : [],
      value,
    };
  };
  const x = factor("a", a, 1, a.strides[rank - 1]);
  const y = factor("b", b, 2, b.strides[rank - 2]);
  const { lines, names } = coordinatesOf(f, walk.shape);
  const sums = [
    x.start(names),
    y.start(names),
    ...elements.flatMap((t) => samples.map((s) => `var sum${t}_${s} = 0.0;`)),
    ...terms.lines,
    ...eachTerm(terms.count, tile.terms, {
      reads: (k) => [...x.reads(k), ...y.reads(k)],
      add: (k) =>
        elements.flatMap((t) =>
          samples.map((s) => `sum${t}_${s} = fma(${x.value(t, s, k)}, ${y.value(t, s, k)}, sum${t}_${s});`)
        ),
      advance: (count) => [...x.advance(count), ...y.advance(count)],
    }),
  ];
  const finish = (value: (t: number) => string) => [
    ...store.result(names, value(0)),
    ...epilogue("i", value(0)),
    ...elements.slice(1).flatMap((t) => [
      `let i${t} = i + ${t * invocations}u;`,
      `if (i${t} < count) {`,
      ...[...store.result([`i${t}`], value(t)), ...epilogue(`i${t}`, value(t), `_${t}`)].map(indent),
      "}",
    ]),
  ];
  if (tile.samples === 1) {
    f.push(...store.lines);
    return eachElement(f, sizeOf(output.shape), tile.outputs * invocations, [
      ...lines,
      ...sums,
      ...finish((t) => `sum${t}_0`),
    ]);
  }
  eachElement(f, sizeOf(output.shape), tile.outputs * invocations, [
    ...lines,
    ...sums,
    ...elements.map((t) =>
      `var sums${t} = array<f32, samples>(${samples.map((s) => `sum${t}_${s}`).join(", ")});`
    ),
    "for (var s = 0u; s < samples; s++) {",
    ...["select_sample(s);", ...store.lines, ...prelude, ...finish((t) => `sums${t}[s]`)].map(indent),
    "}",
  ]);
  f.push("select_sample(invocation % samples);");
}

/** The axes of the outputs, and the strides of the output and of both matrices on them. */
function walkOf({ operands: [a, b], output }: ContractKernel) {
  const rank = output.shape.length;
  const without = ({ strides }: Operand, axis: number) => strides.map((stride, i) => i === axis ? 0 : stride);
  return collapse(output.shape, [output.strides, without(a, rank - 1), without(b, rank - 2)]);
}

/** Outputs, samples and terms that an invocation computes at once. */
export function tileOfProduct(kernel: ContractKernel & SumKernel, workgroup: WorkgroupShape): Tile {
  const { shape } = walkOf(kernel);
  const { samples, lanes } = workgroup;
  const isForAllSamples = sharesWeights(kernel, workgroup);
  const tile = { samples: isForAllSamples ? samples : 1 };
  // Only outputs with a single axis are tiled. Otherwise lanes take single outputs, so that no lane is idle.
  const isTiled = shape.length === 1 && kernel.terms === undefined;
  const outputs = isTiled ? tileWidth(shape[0], invocationsOf(tile, workgroup), tile.samples) : 1;
  // Software GPUs compile long loops slowly and wait for no reads.
  const terms = lanes === 1 ? 1 : Math.min(maxUnroll, Math.floor(readsAhead / outputs));
  return { ...tile, outputs, terms };
}

/** Invocations that share the outputs of a product. */
function invocationsOf({ samples }: Pick<Tile, "samples">, workgroup: WorkgroupShape): number {
  return workgroup.lanes * samples;
}

/** The tile width with the lowest cost; the largest of equal widths. */
function tileWidth(columns: number, invocations: number, samples: number): number {
  const largest = invocations === 1 ? softwareTileWidth : Math.min(maxTileWidth, maxSums / samples);
  const most = Math.min(largest, Math.ceil(columns / invocations));
  /** Cost of reading the other operand in an iteration, in elements. */
  const overhead = 4;
  let best = 1;
  const cost = (width: number) => Math.ceil(columns / (width * invocations)) * (width * samples + overhead);
  for (let width = 2; width <= most; width++) if (cost(width) <= cost(best)) best = width;
  return best;
}
