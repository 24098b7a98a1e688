/** Reads of the factors of a product. */
import { fromWord, type FunctionText, literal } from "./function_text.ts";
import { groupSize, type SumOperand } from "./packed_weights.ts";
import {
  addresses,
  distanceText,
  type Location,
  type Path,
  type ShaderMemory,
  sumOf,
  type Use,
} from "./shader_memory.ts";

/** The elements that a tile reads of a factor. */
export interface Factor {
  readonly operand: SumOperand;
  /** The axes of the outputs, without that of the terms. */
  readonly path: Path;
  /** Terms of a sum, or of a part. */
  readonly terms: number;
  /** Elements between terms. */
  readonly stride: number;
  /** Elements between the outputs of a tile. */
  readonly hop: number;
  readonly use: Use;
}

/** A position in a factor that moves along the terms. */
export interface Cursor {
  /** Statements that put the cursor at the first term of an output. */
  start(coordinates: readonly string[]): string[];
  /**
   * An expression for a term, relative to the cursor, of an output and a sample of the tile.
   *
   * @param isRest Whether fewer than four terms follow: those of a packed matrix are not consecutive.
   */
  read(output: number, sample: number, term: number, isRest?: boolean): string;
  /** Statements that move the cursor by a number of terms. */
  advance(terms: number): string[];
}

/**
 * Declares a cursor.
 *
 * @param move Terms between two positions of the cursor.
 */
export function makeCursor(
  f: FunctionText,
  memory: ShaderMemory,
  name: string,
  factor: Factor,
  move: number,
): Cursor {
  const { operand, path, stride, hop, use } = factor;
  const { packed } = operand;
  const location = memory.locate(f, name, operand, withTerms(factor), use);
  const { unit, sampleStride, block, name: array, word, dtype } = location;
  const termAt = (term: number) =>
    packed ? Math.floor(term / groupSize) * packed.outputs + term % groupSize : term * stride * unit;
  const distance = (output: number, sample: number, term: number) =>
    output * hop * unit + sample * sampleStride + termAt(term);
  const element = (address: string) => fromWord(word, dtype, `${array}${address}`);
  const addressOf = addresses(f, name, location, path);
  const at = `${name}_at`;
  if (block === 1) {
    // The strides of software GPUs are parameters.
    const [step, jump] = [["step", stride], ["hop", hop]].map(([kind, length]) =>
      length === 0 ? undefined : distanceText(f, `${name}_${kind}`, Number(length) * unit, unit)
    );
    const far = (output: number, sample: number, term: number) =>
      f.hasLiteralSizes ? plus(distance(output, sample, term)) : sumOfSteps([[output, jump], [term, step]]);
    return {
      start: (coordinates) => [`var ${at} = ${sumOf(addressOf(coordinates).rest)};`],
      read: (output, sample, term) => element(`[${at}${far(output, sample, term)}]`),
      advance: (terms) => stride === 0 ? [] : [`${at} = ${at}${far(0, 0, terms)};`],
    };
  }
  const isWhole = (words: number) => words % block === 0;
  const isAtBlock = path.strides.every((stride, axis) => path.shape[axis] === 1 || isWhole(stride)) &&
    isWhole(location.base) && isWhole(termAt(move));
  const advance = (
    terms: number,
  ) => (termAt(terms) === 0 ? [] : [`${at} = ${at}${plus(termAt(terms) / block)};`]);
  if (isAtBlock) {
    const read = (words: number) =>
      element(`[${at}${plus(Math.floor(words / block))}][${words - Math.floor(words / block) * block}]`);
    const rest = packed && restOf(f, name, factor, location, element);
    return {
      start: (coordinates) => [`var ${at} = ${sumOf(addressOf(coordinates).blocks)};`],
      read: (output, sample, term, isRest) =>
        isRest && rest ? rest(output, term) : read(distance(output, sample, term)),
      advance,
    };
  }
  if (isWhole(hop * unit) && isWhole(stride * unit)) {
    return {
      start: (coordinates) => {
        const { blocks, rest, isWithinBlock } = addressOf(coordinates);
        if (isWithinBlock) return [`var ${at} = ${sumOf(blocks)};`, `let ${name}_word = ${sumOf(rest)};`];
        const words = `(${sumOf(rest)})`;
        return [
          `var ${at} = ${sumOf([...blocks, `${words} / ${literal(block)}`])};`,
          `let ${name}_word = ${words} % ${literal(block)};`,
        ];
      },
      read: (output, sample, term) =>
        element(`[${at}${plus(distance(output, sample, term) / block)}][${name}_word]`),
      advance,
    };
  }
  return {
    start: (coordinates) => {
      const { blocks, rest } = addressOf(coordinates);
      const whole = blocks.length > 0 ? [`(${sumOf(blocks)}) * ${literal(block)}`] : [];
      return [`var ${at} = ${sumOf([...whole, ...rest])};`];
    },
    read: (output, sample, term) => {
      const words = `(${at}${plus(distance(output, sample, term))})`;
      return element(`[${words} / ${literal(block)}][${words} % ${literal(block)}]`);
    },
    advance: (terms) => [`${at} = ${at}${plus(termAt(terms))};`],
  };
}

/** The axes of the outputs and of the terms. */
function withTerms({ path, stride, operand, terms }: Factor): Path {
  if (operand.packed) return path;
  return { shape: [...path.shape, terms], strides: [...path.strides, stride] };
}

/**
 * Reads of the terms after the last four of a packed matrix. The cursor is where the next four terms of output o would be: o blocks
 * after the first of these terms.
 */
function restOf(
  f: FunctionText,
  name: string,
  { operand, hop }: Factor,
  { block, base }: Location,
  element: (address: string) => string,
): ((output: number, term: number) => string) | undefined {
  const { outputs, terms } = operand.packed!;
  if (terms % groupSize === 0) return undefined;
  const first = (base + Math.floor(terms / groupSize) * outputs) / block;
  const words = f.param(`${name}_rest`, first * (block - 1));
  return (output, term) => {
    const blocks = (Math.floor(term / groupSize) + term % groupSize) * outputs + output * hop;
    const position = `(${name}_at + ${words}${plus(blocks / block)})`;
    return element(`[${position} / ${literal(block)}][${position} % ${literal(block)}]`);
  };
}

/** A distance that follows a position. */
function plus(words: number): string {
  return words === 0 ? "" : ` + ${literal(words)}`;
}

function sumOfSteps(steps: readonly (readonly [count: number, step: string | undefined])[]): string {
  return steps.flatMap(([count, step]) => {
    if (count === 0 || step === undefined) return [];
    return [count === 1 ? ` + ${step}` : ` + ${count}u * ${step}`];
  }).join("");
}
