/** Addresses of slots, inputs and outputs in the functions of a shader. */
import type { Walk } from "../../../device/collapse.ts";
import type { Operand } from "../../program/program.ts";
import { fromWord, type FunctionText, toWord } from "./function_text.ts";
import { type Place, sizeOfAll, type Word } from "./buffer_groups.ts";
import type { GpuLayout } from "./gpu_layout.ts";

/** Axes that a function iterates over, and the strides of an operand on them. */
export interface Path {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** An operand inside a function. */
export interface Pointer {
  /** An expression for the address at coordinates. */
  at(coordinates: readonly string[]): string;
  /** An expression for the value at an address. */
  read(address: string): string;
  /** A statement that stores a value. */
  write(address: string, value: string): string;
  /** Expressions for the strides. Undefined if the stride is zero or the axis has one element. */
  readonly strides: readonly (string | undefined)[];
  /** Whether the operand is one element that a step does not write, so that it can be read before a loop. */
  readonly isConstant: boolean;
}

/** Invocations of a sample that access an element of an operand. */
export type Use =
  /** On one axis, each element is accessed only by the invocation that computes the element with the same coordinate. */
  | "read own"
  | "write own"
  /** Any invocation accesses any element. */
  | "read any"
  /** Any invocation accesses any element of all samples: element + sample. */
  | "read samples";

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
  pointer(f: FunctionText, name: string, operand: Operand, path: Path, use: Use): Pointer {
    return operand.slot === undefined
      ? this.#sharedPointer(f, name, operand, path)
      : this.#slotPointer(f, name, operand, path, use);
  }

  #slotPointer(
    f: FunctionText,
    name: string,
    { slot, dtype, offset }: Operand,
    path: Path,
    use: Use,
  ): Pointer {
    const { samples, lanes, word } = this.#layout;
    const { space, offset: place } = this.#placeOf(slot!)!;
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
    const first = f.param(`${name}_base`, base * samples);
    const ofSample = space === "spill" ? "spill_start" : "own";
    const start = use !== "read samples"
      ? [first, ofSample]
      : space === "spill"
      ? [first, "first_spill"]
      : [first];
    return point(f, name, dtype, path, samples, start, word, (address) => `${space}[${address}]`, true);
  }

  #sharedPointer(f: FunctionText, name: string, { shared, dtype, offset }: Operand, path: Path): Pointer {
    const place = this.#layout.inputAt[shared!]!;
    const element = this.member(f, `${name}_array`, place);
    return point(f, name, dtype, path, 1, [f.param(`${name}_base`, offset)], place.group.word, element);
  }

  /** Declares an array in a function. Returns expressions for the words of the current sample and step. */
  member(f: FunctionText, prefix: string, { group, member }: Place): (position: string) => string {
    const { name, rows, members } = group;
    const size = f.param(`${prefix}_size`, members[member].size);
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

function point(
  f: FunctionText,
  name: string,
  dtype: Operand["dtype"],
  { shape, strides }: Path,
  unit: number,
  start: readonly string[],
  word: Word,
  element: (address: string) => string,
  isWritten = false,
): Pointer {
  f.push(`let ${name}_start = ${start.join(" + ")};`);
  const steps = strides.map((stride, axis) => {
    if (stride === 0 || shape[axis] === 1) return undefined;
    return stride === 1 ? `${unit}u` : f.param(`${name}_stride${axis}`, stride * unit);
  });
  return {
    strides: steps,
    isConstant: !isWritten && steps.every((step) => step === undefined),
    at: (coordinates) =>
      [
        `${name}_start`,
        ...coordinates.flatMap((coordinate, axis) =>
          steps[axis] === undefined
            ? []
            : [steps[axis] === "1u" ? coordinate : `${coordinate} * ${steps[axis]}`]
        ),
      ].join(" + "),
    read: (address) => fromWord(word, dtype, element(address)),
    write: (address, value) => `${element(address)} = ${toWord(word, dtype, value)};`,
  };
}

/** The axes of a row-major iteration, and the strides of one of its views. */
export function pathOf({ shape, strides }: Walk, view: number): Path {
  return { shape, strides: strides[view] };
}
