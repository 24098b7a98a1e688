/** Matrix products as WGSL functions. */
import { collapse } from "../../../device/collapse.ts";
import { sizeOf } from "../../../device/shape.ts";
import type { ContractKernel, Operand } from "../../program/program.ts";
import { type ChainCode, eachElement, scattered } from "./elements.ts";
import { type Factor, makeCursor } from "./cursor.ts";
import { coordinatesOf, indent, literal } from "./function_text.ts";
import { maxTileWidth, type WorkgroupShape } from "./choose_workgroup.ts";
import { groupSize, type SumOperand } from "./packed_weights.ts";
import { pathOf } from "./shader_memory.ts";
import { roundUp } from "./buffer_groups.ts";
import { type Blocks, unitOf } from "./block_size.ts";
import { sharesWeights, type SumKernel } from "./split_sums.ts";

/** Maximum number of outputs that an invocation of a software GPU computes at once. */
const softwareTileWidth = 4;

/** Maximum number of sums in the registers of an invocation: outputs times samples. */
const maxSums = 16;

/** Terms and multiply-adds of an iteration, at least. */
const [termsAtOnce, addsAtOnce] = [16, 64];

/** Maximum multiply-adds of a product without iterations. */
const maxAdds = 160;

/** Values of both factors that an invocation reads before it adds the first of their terms. */
const valuesAhead = 32;

/** The tile of an invocation. */
export interface Tile {
  readonly outputs: number;
  /** One, or all samples of the workgroup. */
  readonly samples: number;
  /** Terms of an iteration. */
  readonly terms: number;
  /** Terms that are read before the first of them is added. */
  readonly termsAhead: number;
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
  const { common, more, rest } = termsOfParts(kernel, f.hasLiteralSizes);
  const rounds = Math.floor(common / tile.terms);
  const isLoop = rounds > 1 || !f.hasLiteralSizes;

  /** A factor of the products. It is read once for outputs that share it, and once for samples that share it. */
  const factor = (name: string, operand: SumOperand, view: number, stride: number) => {
    const ofSamples = tile.samples > 1 && operand.slot !== undefined;
    const hop = tile.outputs === 1 ? 0 : walk.strides[view][last] * invocations;
    const use = ofSamples ? "read samples" : "read any";
    const elementsRead: Factor = { operand, path: pathOf(walk, view), terms: depth, stride, hop, use };
    const cursor = makeCursor(f, memory, name, elementsRead, isLoop ? tile.terms : 0);
    const [outputs, own] = [hop ? elements : [0], ofSamples ? samples : [0]];
    const value = (t: number, s: number, k: number) => `${name}${hop ? t : 0}_${ofSamples ? s : 0}_${k}`;
    return {
      start: cursor.start,
      advance: cursor.advance,
      value,
      // Values past the last column are read but not used.
      reads: (k: number, isRest: boolean) =>
        outputs.flatMap((t) => own.map((s) => `let ${value(t, s, k)} = ${cursor.read(t, s, k, isRest)};`)),
    };
  };
  const x = factor("a", a, 1, a.strides[rank - 1]);
  const y = factor("b", b, 2, b.strides[rank - 2]);
  const size = sizeOf(output.shape);
  const count = f.size("count", size);
  const add = (k: number) =>
    elements.flatMap((t) =>
      samples.map((s) => `sum${t}_${s} = fma(${x.value(t, s, k)}, ${y.value(t, s, k)}, sum${t}_${s});`)
    );
  /** Adds terms, counted from the cursors. Reads precede the sums, so that they overlap. */
  const straight = (first: number, count: number, isRest = false): string[] => {
    const { termsAhead } = tile;
    if (count > termsAhead) {
      return [
        ...straight(first, termsAhead, isRest),
        ...straight(first + termsAhead, count - termsAhead, isRest),
      ];
    }
    const all = Array.from({ length: count }, (_, k) => first + k);
    return [...all.flatMap((k) => [...x.reads(k, isRest), ...y.reads(k, isRest)]), ...all.flatMap(add)];
  };
  const iteration = () =>
    [...straight(0, tile.terms), ...x.advance(tile.terms), ...y.advance(tile.terms)].map(indent);
  const { lines, names } = coordinatesOf(f, walk.shape);
  const done = isLoop ? rounds * tile.terms : 0;
  const restTerms = straight(common - done, rest, true);
  const sums = [
    ...x.start(names),
    ...y.start(names),
    ...elements.flatMap((t) => samples.map((s) => `var sum${t}_${s} = 0.0;`)),
    ...isLoop ? [`for (var k = 0u; k < ${f.size("terms", rounds)}; k++) {`, ...iteration(), "}"] : [],
    ...straight(0, common - done),
    ...more === 0 ? restTerms : [
      `if (i < ${literal(firstOfLastPart(kernel))}) {`,
      ...straight(common - done, more).map(indent),
      "} else {",
      ...restTerms.map(indent),
      "}",
    ],
  ];
  const finish = (value: (t: number) => string) => [
    ...store.result(names, value(0)),
    ...epilogue("i", value(0)),
    ...elements.slice(1).flatMap((t) => [
      `let i${t} = i + ${t * invocations}u;`,
      `if (i${t} < ${count}) {`,
      ...[...store.result([`i${t}`], value(t)), ...epilogue(`i${t}`, value(t), `_${t}`)].map(indent),
      "}",
    ]),
  ];
  if (tile.samples === 1) {
    f.push(...store.lines);
    return eachElement(f, count, size, invocations, tile.outputs, [
      ...lines,
      ...sums,
      ...finish((t) => `sum${t}_0`),
    ]);
  }
  eachElement(f, count, size, invocations, tile.outputs, [
    ...lines,
    ...sums,
    ...elements.map((t) =>
      `var sums${t} = array<f32, samples>(${samples.map((s) => `sum${t}_${s}`).join(", ")});`
    ),
    "for (var s = 0u; s < samples; s++) {",
    ...["select_sample(s);", ...store.lines, ...prelude, ...finish((t) => `sums${t}[s]`)].map(indent),
    "}",
  ]);
  f.push("select_sample(invocation / lanes);");
}

/**
 * The terms of a sum: `common` terms of all parts, and after these `more` terms of all parts but the last, or the `rest` of the last.
 * Only the rest may have fewer than four terms.
 */
function termsOfParts({ operands: [a], output, terms }: ContractKernel & SumKernel, hasRest = true) {
  const depth = a.shape.at(-1)!;
  const last = terms === undefined ? depth : terms - (output.shape[0] - 1) * depth;
  const common = hasRest ? last - last % groupSize : last;
  return { common, more: terms === undefined ? 0 : depth - common, rest: last - common };
}

/** The position of the first element of the last part. */
function firstOfLastPart({ output: { shape } }: ContractKernel & SumKernel): number {
  return (shape[0] - 1) * sizeOf(shape.slice(1));
}

/** The axes of the outputs, and the strides of the output and of both matrices on them. */
function walkOf({ operands: [a, b], output }: ContractKernel) {
  const rank = output.shape.length;
  const without = ({ strides }: Operand, axis: number) => strides.map((stride, i) => i === axis ? 0 : stride);
  return collapse(output.shape, [output.strides, without(a, rank - 1), without(b, rank - 2)]);
}

/** Outputs, samples and terms that an invocation computes at once. */
export function tileOfProduct(kernel: ContractKernel & SumKernel, workgroup: Blocks): Tile {
  const { shape } = walkOf(kernel);
  const { samples, lanes, block } = workgroup;
  const isForAllSamples = sharesWeights(kernel, workgroup);
  const tile = { samples: isForAllSamples ? samples : 1 };
  // Only outputs with a single axis are tiled. Otherwise lanes take single outputs, so that no lane is idle.
  const isTiled = shape.length === 1 && kernel.terms === undefined;
  const outputs = isTiled ? tileWidth(shape[0], invocationsOf(tile, workgroup), tile.samples) : 1;
  // Software GPUs compile long functions slowly and wait for no reads.
  if (lanes === 1) return { ...tile, outputs, terms: 1, termsAhead: 1 };
  const { common } = termsOfParts(kernel);
  const atOnce = outputs * tile.samples;
  const terms = common * atOnce <= maxAdds
    ? Math.max(1, common)
    : roundUp(Math.max(termsAtOnce, addsAtOnce / atOnce), unitOf(block));
  return { ...tile, outputs, terms, termsAhead: roundUp(valuesAhead / (outputs + tile.samples), groupSize) };
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
