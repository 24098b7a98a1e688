/**
 * Addresses of slots, inputs and outputs in the functions of a shader.
 *
 * Workgroup memory and constants consist of blocks: arrays of a constant number of words. Products read words at constant positions
 * of a block. Compilers combine these reads, and check the index of a block once.
 */
import type { Walk } from "../../../device/collapse.ts";
import type { DType } from "../../../device/dtype.ts";
import { fromWord, type FunctionText, literal, toWord } from "./function_text.ts";
import { type Place, sizeOfAll, type Word } from "./buffer_groups.ts";
import type { GpuLayout } from "./gpu_layout.ts";
import type { SumOperand } from "./packed_weights.ts";

/** Axes that a function iterates over, and the strides of an operand on them. */
export interface Path {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** An operand inside a function. */
export interface Pointer {
  /** An expression for the value at coordinates. */
  read(coordinates: readonly string[]): string;
  /** A statement that stores a value at coordinates. */
  write(coordinates: readonly string[], value: string): string;
  /** Whether the operand is one element that a step does not write. Functions read such an operand once, before their loop. */
  readonly isConstant: boolean;
}

/** Invocations of a sample that access an element of an operand. */
export type Use =
  /** On one axis, each element is accessed only by the invocation that computes the element with the same coordinate. */
  | "read own"
  | "write own"
  /** Any invocation accesses any element. */
  | "read any"
  /** Any invocation accesses any element of all samples. */
  | "read samples";

/** An operand in an array `name`, or `name[block][word]` if the array has blocks. */
export interface Location {
  readonly name: string;
  readonly word: Word;
  readonly dtype: DType;
  /** Words of a block. One if the array has no blocks. */
  readonly block: number;
  /** Offset of the operand, in words. */
  readonly base: number;
  /** Where the sample begins, in blocks. Undefined for arrays that the samples share. */
  readonly start?: string;
  /** Words between consecutive elements. */
  readonly unit: number;
  /** Words between the samples of a workgroup. */
  readonly sampleStride: number;
}

export class ShaderMemory {
  readonly #layout: GpuLayout;

  constructor(layout: GpuLayout) {
    this.#layout = layout;
  }

  /** Address of a slot. */
  #placeOf(slot: number): { space: "slots" | "spill"; offset: number } | undefined {
    const { local, spilled } = this.#layout;
    const [near, far] = [local.offsets[slot], spilled.offsets[slot]];
    if (near !== undefined) return { space: "slots", offset: near };
    return far === undefined ? undefined : { space: "spill", offset: far };
  }

  /** Whether a slot has memory. */
  has(slot: number): boolean {
    return this.#placeOf(slot) !== undefined;
  }

  /** Declares an operand in a function. */
  pointer(f: FunctionText, name: string, operand: SumOperand, path: Path, use: Use): Pointer {
    const location = this.locate(f, name, operand, path, use);
    const element = elements(f, name, location, path);
    const { word, dtype } = location;
    return {
      isConstant: operand.slot === undefined &&
        path.strides.every((stride, axis) => stride === 0 || path.shape[axis] === 1),
      read: (coordinates) => fromWord(word, dtype, element(coordinates)),
      write: (coordinates, value) => `${element(coordinates)} = ${toWord(word, dtype, value)};`,
    };
  }

  /** Finds an operand, and records which elements the function accesses. */
  locate(f: FunctionText, name: string, operand: SumOperand, path: Path, use: Use): Location {
    const { slot, shared, packed, dtype, offset } = operand;
    if (slot === undefined) {
      const { inputAt, packedAt } = this.#layout;
      const place = packed ? packedAt[packed.matrix] : inputAt[shared!]!;
      const { group, member } = place;
      const own = { name: group.name, word: group.word, dtype, unit: 1, sampleStride: 0 };
      if (group.block > 1) {
        return { ...own, block: group.block, base: sizeOfAll(group.members.slice(0, member)) + offset };
      }
      this.member(f, `${name}_array`, place);
      return { ...own, block: 1, base: offset, start: `${name}_array_start` };
    }
    const { samples, lanes, word, local, spilled } = this.#layout;
    const { space, offset: place } = this.#placeOf(slot)!;
    const base = place + offset;
    const ends = path.shape.map((length, axis) => path.strides[axis] * (length - 1));
    // An element that all invocations read has no owner.
    const isOwn = (use === "read own" || use === "write own") && path.shape.length === 1 &&
      (path.shape[0] === 1 || path.strides[0] !== 0);
    f.accesses.push({
      space,
      start: base + ends.reduce((sum, end) => sum + Math.min(0, end), 0),
      end: base + ends.reduce((sum, end) => sum + Math.max(0, end), 0) + 1,
      isWrite: use === "write own",
      owner: lanes === 1
        ? "the only one"
        : isOwn
        ? `${f.first} ${base} ${path.shape[0] === 1 ? "alone" : path.strides[0]}`
        : undefined,
    });
    const isForAll = use === "read samples";
    // Samples with one invocation each are interleaved, because compilers of software GPUs vectorize over invocations.
    const unit = lanes === 1 ? samples : 1;
    const shape = { word, dtype, unit, base: base * unit };
    return space === "spill"
      ? {
        ...shape,
        name: space,
        block: 1,
        start: isForAll ? "first_spill" : "spill_start",
        sampleStride: spilled.size,
      }
      : {
        ...shape,
        name: space,
        block: this.#layout.block,
        start: isForAll ? undefined : "own_start",
        sampleStride: local.size,
      };
  }

  /** Declares an array in a function. Returns expressions for the words of the current sample and step. */
  member(f: FunctionText, prefix: string, { group, member }: Place): (position: string) => string {
    const { name, rows, members } = group;
    const size = f.size(`${prefix}_size`, members[member].size);
    const before = f.param(`${prefix}_before`, sizeOfAll(members.slice(0, member)));
    const [volume, index] = {
      "shared": ["1u", "0u"],
      "shared steps": ["params.steps", "row"],
      "one": ["params.batch", "position"],
      "steps": ["params.steps * params.batch", "(row * params.batch + position)"],
      "steps of a product": [
        "params.product_volume",
        "(product_step * (params.last_sample - params.first_sample) + position - params.first_sample)",
      ],
    }[rows];
    f.push(`let ${prefix}_start = params.${name}_offset + ${before} * ${volume} + ${index} * ${size};`);
    return (position) => `${name}[${prefix}_start + ${position}]`;
  }
}

/** The address of coordinates in an operand: `blocks` in blocks, plus `rest` in words. */
export interface Address {
  readonly blocks: readonly string[];
  readonly rest: readonly string[];
  /** Whether the rest is at most a block. */
  readonly isWithinBlock: boolean;
}

/** Declares the start of an operand. Returns the address of coordinates. */
export function addresses(
  f: FunctionText,
  name: string,
  { block, base, start, unit }: Location,
  { shape, strides }: Path,
): (coordinates: readonly string[]) => Address {
  const axes = strides.flatMap((stride, axis) =>
    stride === 0 || shape[axis] === 1 ? [] : [{ axis, stride: stride * unit, length: shape[axis] }]
  );
  const isWhole = ({ stride }: { stride: number }) => block > 1 && stride % block === 0;
  const inside = axes.filter((axis) => !isWhole(axis));
  // A negative distance within a block could not be divided.
  const isForward = block > 1 && inside.every(({ stride }) => stride > 0);
  const span = inside.reduce((sum, { stride, length }) => sum + stride * (length - 1), 0);
  const word = base % block;
  const isWithinBlock = isForward && word + span < block;
  const inBlocks = isWithinBlock || isForward && word === 0;
  const first = f.param(`${name}_base`, inBlocks ? Math.floor(base / block) : base);
  const own = block === 1 || inBlocks ? [first, ...start ? [start] : []] : [first];
  f.push(`let ${name}_start = ${own.join(" + ")};`);
  const words = isWithinBlock && word > 0 ? [f.param(`${name}_word`, word)] : [];
  const steps = axes.map((axis) => {
    const step = isWhole(axis) ? axis.stride / block : axis.stride;
    const text = step === 1 ? undefined : distanceText(f, `${name}_stride${axis.axis}`, step, unit);
    return { ...axis, isWhole: isWhole(axis), step: text };
  });
  return (coordinates) => {
    const terms = (isInBlocks: boolean) =>
      steps.filter(({ isWhole }) => isWhole === isInBlocks).map(({ axis, step }) =>
        step === undefined ? coordinates[axis] : `${coordinates[axis]} * ${step}`
      );
    const first = `${name}_start`;
    if (inBlocks) {
      return { blocks: [first, ...terms(true)], rest: [...words, ...terms(false)], isWithinBlock };
    }
    const blocks = block > 1 && start ? [start] : [];
    return { blocks: [...blocks, ...terms(true)], rest: [first, ...terms(false)], isWithinBlock };
  };
}

/** Declares an operand. Returns expressions for the words at coordinates. */
function elements(
  f: FunctionText,
  name: string,
  location: Location,
  path: Path,
): (coordinates: readonly string[]) => string {
  const { name: array, block } = location;
  const addressOf = addresses(f, name, location, path);
  return (coordinates) => {
    const { blocks, rest, isWithinBlock } = addressOf(coordinates);
    const within = sumOf(rest);
    if (block === 1) return `${array}[${within}]`;
    if (isWithinBlock) return `${array}[${sumOf(blocks)}][${within}]`;
    return `${array}[${sumOf([...blocks, `(${within}) / ${literal(block)}`])}][(${within}) % ${
      literal(block)
    }]`;
  };
}

/** A distance as an expression. The distance of consecutive elements is a literal, because it is equal in all calls. */
export function distanceText(f: FunctionText, name: string, words: number, unit: number): string {
  return words === unit ? literal(words) : f.size(name, words);
}

/** A sum of terms. */
export function sumOf(terms: readonly string[]): string {
  return terms.length === 0 ? "0u" : terms.join(" + ");
}

/** The axes of a row-major iteration, and the strides of one of its views. */
export function pathOf({ shape, strides }: Walk, view: number): Path {
  return { shape, strides: strides[view] };
}
